"""Real Hudi and this project change a table in random turns. Each turn, readers also read random earlier states.

Every few turns, Hudi reads the same states and windows, and must return the same rows.
"""

from pathlib import Path

import pytest

from judges.engine import Engine
from judges.merge_on_read.log_walk import LogWalk
from judges.metadata_walk import Walk
from judges.oracle import EDGES, ORACLES, V6_OLD, V8, V9, Oracle
from judges.reading.remembered_reads import RememberedReads
from support.depth import by_depth, cases

TURNS = by_depth(12, 60)
TURNS_PER_COMPARISON = 6


@pytest.mark.oracles(V6_OLD, V8, V9)
@pytest.mark.parametrize("oracle", cases((V6_OLD, V8, V9), [V9]))
def test_reads_of_a_merge_on_read_table_are_correct_after_each_change(
    hudi, tmp_path: Path, oracle: Oracle
) -> None:
    judge = hudi(oracle.release)
    walk = LogWalk(judge, tmp_path / "t", oracle, seed=3)
    reads = RememberedReads(tmp_path / "t", seed=3)
    try:
        walk.begin()
        reads.look(walk.models.snapshot, "begin", walk.models.read_optimized)
        for turn in range(TURNS):
            name = walk.turn()
            reads.look(walk.models.snapshot, name, walk.models.read_optimized)
            if turn % TURNS_PER_COMPARISON == TURNS_PER_COMPARISON - 1:
                reads.compare_with_hudi(judge)
    except BaseException as error:
        error.add_note(f"the walk: {walk}")
        raise
    assert all(reads.counts.values()), reads.counts
    assert all(reads.compared.values()), reads.compared


@pytest.mark.oracles(V6_OLD, V8, V9)
@pytest.mark.parametrize("oracle", cases(ORACLES, [V6_OLD]))
@pytest.mark.thorough
def test_reads_of_a_copy_on_write_table_are_correct_after_each_change(
    hudi, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    seed = EDGES.index(oracle) if oracle in EDGES else 5
    judge = hudi(oracle.release)
    walk = Walk(engine, judge, tmp_path / "t", oracle, seed=seed)
    reads = RememberedReads(tmp_path / "t", seed=seed)
    try:
        walk.begin()
        reads.look(walk.model, "begin")
        for turn in range(TURNS):
            name = walk.step()
            reads.look(walk.model, name)
            if turn % TURNS_PER_COMPARISON == TURNS_PER_COMPARISON - 1:
                reads.compare_with_hudi(judge)
    except BaseException as error:
        error.add_note(f"after the actions {walk.names}")
        raise
    assert all(reads.counts.values()), reads.counts
    assert all(reads.compared.values()), reads.compared
