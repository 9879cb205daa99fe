"""The engine and real Hudi undo dead writes and commits of tables whose metadata table real Hudi created."""

from pathlib import Path

import pytest

from hudi_table_services.contract.recovery import RestoreRequest, RollbackRequest
from hudi_table_services.jobs.recovery.restore import restore
from hudi_table_services.jobs.recovery.rollback import rollback
from judges.clusterings import call_procedure
from judges.engine import Engine
from judges.hudi_judge import HudiJudge
from judges.interruption import just_before_completion
from judges.metadata_readers import assert_read, hudi_options
from judges.oracle import EDGES, V9, Oracle
from judges.rows import PLAIN, Model, as_table, merged, some_rows
from judges.table_files import copy_table, instant_names
from support.depth import cases

IN_THE_METADATA_TABLE, IN_THE_TABLE = 1, 2


def hudi_writes(judge: HudiJudge, base_path: Path, oracle: Oracle, model: Model, version: int) -> Model:
    rows = some_rows(range(version, version + 12), version, PLAIN)
    judge.write(base_path, as_table(rows, PLAIN), hudi_options(oracle))
    return merged(model, rows)


def we_write(engine: Engine, base_path: Path, oracle: Oracle, model: Model, version: int) -> Model:
    rows = some_rows(range(version + 2, version + 14), version, PLAIN)
    engine.write(base_path, as_table(rows, PLAIN), version=oracle.table_version)
    return merged(model, rows)


def newest_commit(base_path: Path) -> str:
    return instant_names(base_path, "commit")[-1].partition(".")[0].partition("_")[0]


@pytest.mark.parametrize("completion", cases([IN_THE_METADATA_TABLE, IN_THE_TABLE], []))
@pytest.mark.parametrize("oracle", cases(EDGES, [V9]))
def test_hudi_and_we_undo_a_write_that_died_before_it_completed_an_instant(
    hudi, engine: Engine, tmp_path: Path, oracle: Oracle, completion: int
) -> None:
    judge, base_path = hudi(oracle.release), tmp_path / "t"
    model = hudi_writes(judge, base_path, oracle, {}, 1)
    dead = tmp_path / "dead"
    with just_before_completion(lambda: _died(base_path, dead), completion):
        we_write(engine, base_path, oracle, model, 2)
    for name, write in (("ours", we_write), ("hudis", hudi_writes)):
        copy = copy_table(dead, tmp_path / name)
        writer = engine if write is we_write else judge
        after = write(writer, copy, oracle, model, 3)
        assert_read(judge, copy, after, oracle)
        after = hudi_writes(judge, copy, oracle, after, 4)
        assert_read(judge, copy, after, oracle)


def _died(base_path: Path, target: Path) -> None:
    """Copy the table as if the writer was killed: without its heartbeat and its lock."""
    copy_table(base_path, target)
    for heartbeat in (target / ".hoodie" / ".heartbeat").glob("*"):
        heartbeat.unlink()
    (target / ".hoodie" / "lock").unlink(missing_ok=True)


@pytest.mark.parametrize("oracle", cases(EDGES, []))
def test_we_roll_back_commits_of_hudi_and_of_ours(
    hudi, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), tmp_path / "t"
    first = hudi_writes(judge, base_path, oracle, {}, 1)
    second = we_write(engine, base_path, oracle, first, 2)
    hudi_writes(judge, base_path, oracle, second, 3)
    for model in (second, first):
        rollback(RollbackRequest(base_path=str(base_path), instants=(newest_commit(base_path),)))
        assert_read(judge, base_path, model, oracle)
    model = hudi_writes(judge, base_path, oracle, first, 4)
    assert_read(judge, base_path, model, oracle)
    model = we_write(engine, base_path, oracle, model, 5)
    assert_read(judge, base_path, model, oracle)


@pytest.mark.parametrize("oracle", cases(EDGES, []))
def test_we_restore_a_table_to_a_savepoint_of_hudi(
    hudi, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), tmp_path / "t"
    saved_model = hudi_writes(judge, base_path, oracle, {}, 1)
    saved = newest_commit(base_path)
    call_procedure(judge, base_path, "create_savepoint", f"commit_time => '{saved}'", oracle)
    model = we_write(engine, base_path, oracle, saved_model, 2)
    model = hudi_writes(judge, base_path, oracle, model, 3)
    restore(RestoreRequest(base_path=str(base_path), savepoint=saved))
    assert_read(judge, base_path, saved_model, oracle)
    model = hudi_writes(judge, base_path, oracle, saved_model, 4)
    assert_read(judge, base_path, model, oracle)
    model = we_write(engine, base_path, oracle, model, 5)
    assert_read(judge, base_path, model, oracle)
