"""Real Hudi and the engine do random actions on one table with a metadata table.

After each action, the metadata table equals the files. After every third or fourth action, all readers agree.
"""

from pathlib import Path

import pytest

from judges.engine import Engine
from judges.metadata_check import assert_describes_the_table
from judges.metadata_readers import assert_read
from judges.metadata_walk import ALL_INDEXES, Walk
from judges.oracle import EDGES, ORACLES, V6_OLD, V8, V9, Oracle
from support.depth import by_depth, cases

STEPS = by_depth(8, 30)
STEPS_BETWEEN_JUDGES = by_depth(4, 3)
COMPACTS_OFTEN = {"hoodie.metadata.compact.max.delta.commits": "4"}


@pytest.mark.oracles(V6_OLD, V8, V9)
@pytest.mark.parametrize("oracle", cases(ORACLES, [V6_OLD]))
def test_all_readers_agree_after_random_actions_of_hudi_and_the_engine(
    hudi, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    seed = EDGES.index(oracle) if oracle in EDGES else 7
    take_a_walk(Walk(engine, hudi(oracle.release), tmp_path / "t", oracle, seed=seed))


@pytest.mark.thorough
@pytest.mark.parametrize("oracle", cases(ORACLES, [V9]))
def test_the_record_index_finds_every_key_after_random_actions(
    hudi, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    """Hudi finds stored keys with the record index only, so a missing entry becomes a duplicate."""
    settings = {**ALL_INDEXES, **COMPACTS_OFTEN}
    judge = hudi(oracle.release)
    take_a_walk(Walk(engine, judge, tmp_path / "t", oracle, seed=11, settings=settings))


def take_a_walk(walk: Walk) -> None:
    judge, base_path, oracle = walk.judge, walk.base_path, walk.oracle
    walk.begin()
    for number in range(1, STEPS + 1):
        try:
            name = walk.step()
            assert_describes_the_table(base_path)
            if number % STEPS_BETWEEN_JUDGES == 0:
                assert_read(judge, base_path, walk.model, oracle)
        except Exception as error:
            error.add_note(f"after the actions {walk.names}")
            raise
        print(f"{number}: {name}")
