"""Real Hudi and the engine write to one table in turns, and both keep the metadata table up to date.

After every action, readers that use the metadata table and data skipping return the same rows as readers that list
folders. In the first test, Hudi has column statistics in all table versions, and neither cleans nor archives by itself
(`hudi_options`). In the other tests, Hudi has its own defaults (`default_options`).
"""

from pathlib import Path

import pytest
from default_walk import DefaultWalk

from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.jobs.cleaning.clean import clean
from judges.engine import Engine
from judges.metadata_check import assert_describes_the_table
from judges.metadata_readers import assert_read, hudi_options
from judges.oracle import ORACLES, V6_OLD, V8, V9, Oracle
from judges.rows import PLAIN, Model, as_table, merged, some_rows


@pytest.mark.thorough
@pytest.mark.parametrize("oracle", ORACLES, ids=str)
def test_all_readers_agree_while_hudi_and_the_engine_write_in_turns(
    hudi, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), tmp_path / "t"
    model: Model = {}
    for turn in range(3):
        rows = some_rows(range(turn * 6, turn * 6 + 12), 2 * turn + 1, PLAIN)
        judge.write(base_path, as_table(rows, PLAIN), hudi_options(oracle))
        model = merged(model, rows)
        assert_read(judge, base_path, model, oracle)
        rows = some_rows(range(turn * 6 + 4, turn * 6 + 16), 2 * turn + 2, PLAIN)
        rows += some_rows(range(100 + 10 * turn, 106 + 10 * turn), 2 * turn + 2, PLAIN, (f"new-{turn}",))
        engine.write(base_path, as_table(rows, PLAIN), version=oracle.table_version)
        model = merged(model, rows)
        assert_read(judge, base_path, model, oracle)
    engine.schedule_clustering(base_path, sort_columns=("double",))
    engine.execute_clustering(base_path)
    assert_read(judge, base_path, model, oracle)
    clean(CleanRequest(request_id="clean", base_path=str(base_path), commits_retained=1))
    assert_read(judge, base_path, model, oracle)
    rows = some_rows(range(3, 9), 20, PLAIN)
    judge.write(base_path, as_table(rows, PLAIN), hudi_options(oracle))
    model = merged(model, rows)
    assert_read(judge, base_path, model, oracle)


MOST_COMMITS = 60
FEWEST_ACTIONS = 30


@pytest.mark.thorough
@pytest.mark.parametrize("oracle", [V6_OLD], ids=str)
def test_all_readers_agree_after_hudi_with_its_defaults_changes_a_table_that_we_created(
    hudi, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    """The actions include a rollback, a savepoint, a restore and other write operations of Hudi.

    The test ends when Hudi has cleaned and archived.
    """
    walk = DefaultWalk(engine, hudi(oracle.release), tmp_path / "t", oracle)
    _change_and_undo(walk)
    for number in range(MOST_COMMITS):
        (walk.hudi_upserts, walk.we_upsert)[number % 2]()
        assert_describes_the_table(walk.base_path)
        if number % 8 == 0:
            walk.assert_read()
        if walk.has_clean() and walk.has_archived_instants() and number % 2:
            break
    else:
        pytest.fail(f"Hudi neither cleaned nor archived in {MOST_COMMITS} commits")
    walk.assert_read()


@pytest.mark.thorough
@pytest.mark.oracles(V8, V9)
@pytest.mark.parametrize("oracle", [V8, V9], ids=str)
def test_all_readers_agree_after_hudi_with_its_defaults_changes_a_table_of_a_later_version(
    hudi, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    """Do the same actions as the test above, but stop after a fixed number of actions.

    In these versions, a default write of Hudi updates four file groups of three indexes and runs the services of the
    metadata table, so one action takes several times as long as in version 6. Hudi archives only after 30 commits and
    the first compaction of the metadata table. So this test does not wait until Hudi has archived.
    """
    walk = DefaultWalk(engine, hudi(oracle.release), tmp_path / "t", oracle)
    _change_and_undo(walk)
    while len(walk.seconds) < FEWEST_ACTIONS:
        (walk.hudi_upserts, walk.we_upsert)[len(walk.seconds) % 2]()
        assert_describes_the_table(walk.base_path)
    print(walk.times())
    assert walk.has_clean()
    walk.assert_read()


def _change_and_undo(walk: DefaultWalk) -> None:
    walk.we_upsert()
    walk.hudi_upserts()
    walk.assert_read()
    before = dict(walk.model)
    walk.we_upsert()
    walk.hudi_rolls_back(walk.newest())
    walk.model = before
    walk.assert_read()
    walk.we_upsert()
    saved, saved_model = walk.newest(), dict(walk.model)
    walk.hudi_saves(saved)
    walk.hudi_bulk_inserts()
    walk.assert_read()
    walk.we_upsert()
    walk.assert_read()
    walk.hudi_restores(saved)
    walk.hudi_deletes_the_savepoint(saved)
    walk.model = saved_model
    walk.assert_read()
    walk.we_upsert()
    walk.hudi_overwrites_the_table()
    walk.assert_read()
    walk.we_upsert()
    walk.assert_read()
