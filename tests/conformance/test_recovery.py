"""Hudi reads and writes after rollbacks and restores of the engine, and completes them if they are pending.

Oracles: Hudi 0.15.0 on table version 6 and Hudi 1.2.0 on version 9; hudi-rs also reads the tables.
"""

from pathlib import Path

import pytest

from hudi_table_services.contract.recovery import RestoreRequest, RollbackRequest
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.jobs.recovery.restore import restore
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage
from judges.clusterings import BLOOM, STORED, assert_all_read, call_procedure
from judges.engine import Engine
from judges.hudi_judge import HudiJudge
from judges.oracle import ONLY_NEWEST_SAMPLED, ONLY_OLDEST_SAMPLED, Oracle
from judges.rows import Model, as_table, merged, some_rows
from judges.table_files import data_files, instant_names
from support.faulty_storage import Crash, FaultyStorage


def our_rollback(base_path: Path, instant: str, *, storage: Storage | None = None) -> JobResult:
    return rollback(RollbackRequest(base_path=str(base_path), instants=(instant,)), storage=storage)


def our_restore(base_path: Path, savepoint: str, *, storage: Storage | None = None) -> JobResult:
    return restore(RestoreRequest(base_path=str(base_path), savepoint=savepoint), storage=storage)


def newest_commit(base_path: Path) -> str:
    return instant_names(base_path, "commit")[-1].partition(".")[0].partition("_")[0]


def hudi_writes(judge: HudiJudge, base_path: Path, oracle: Oracle, model: Model, version: int) -> Model:
    rows = some_rows([0, 1, *range(40, 45), 60 + version], version)
    judge.write(base_path, as_table(rows), oracle.options("t", **BLOOM))
    return merged(model, rows)


def assert_both_can_write(
    judge: HudiJudge, base_path: Path, oracle: Oracle, engine: Engine, model: Model
) -> None:
    """Check that first Hudi and then the engine can write, and that no reader finds undone rows."""
    assert_all_read(judge, base_path, model, oracle)
    model = hudi_writes(judge, base_path, oracle, model, 8)
    assert_all_read(judge, base_path, model, oracle)
    rows = some_rows([0, 2, 70], 9)
    engine.write(base_path, as_table(rows), version=oracle.table_version)
    assert_all_read(judge, base_path, merged(model, rows), oracle)


@pytest.mark.parametrize("oracle", ONLY_NEWEST_SAMPLED)
def test_hudi_writes_after_we_rolled_back_its_commit_and_our_clustering(
    hudi, fragmented, engine: Engine, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), fragmented(oracle.table_version)
    before = data_files(base_path)
    engine.schedule_clustering(base_path)
    clustering = engine.execute_clustering(base_path).instant_time
    model = hudi_writes(judge, base_path, oracle, STORED, 3)
    commit = newest_commit(base_path)
    assert commit > str(clustering)
    our_rollback(base_path, commit)
    assert_all_read(judge, base_path, STORED, oracle)
    our_rollback(base_path, newest_commit(base_path))
    assert data_files(base_path) == before
    assert model != STORED
    if oracle.release != "0.15.0":
        shown = call_procedure(judge, base_path, "show_rollbacks", "", oracle)
        assert len(shown) == 2
    assert_both_can_write(judge, base_path, oracle, engine, STORED)


@pytest.mark.thorough
@pytest.mark.parametrize("oracle", ONLY_OLDEST_SAMPLED)
def test_hudi_writes_after_we_restored_the_table_to_a_savepoint_of_hudi(
    hudi, fragmented, engine: Engine, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), fragmented(oracle.table_version)
    saved_model = hudi_writes(judge, base_path, oracle, STORED, 3)
    saved, before = newest_commit(base_path), data_files(base_path)
    call_procedure(judge, base_path, "create_savepoint", f"commit_time => '{saved}'", oracle)
    hudi_writes(judge, base_path, oracle, saved_model, 4)
    engine.schedule_clustering(base_path)
    engine.execute_clustering(base_path)
    engine.write(base_path, as_table(some_rows([1, 80], 5)), version=oracle.table_version)
    result = our_restore(base_path, saved)
    assert result.report is not None
    assert len(result.report.undone) == 3
    assert data_files(base_path) == before
    assert_both_can_write(judge, base_path, oracle, engine, saved_model)


class DiesAtTheThirdDataFile(FaultyStorage):
    """Storage that crashes instead of deleting the third data file."""

    deleted = 0

    def delete(self, path: str) -> bool:
        if path.endswith(".parquet"):
            self.deleted += 1
            if self.deleted == 3:
                raise Crash
        return super().delete(path)


@pytest.mark.parametrize("oracle", ONLY_NEWEST_SAMPLED)
def test_hudi_completes_our_pending_rollback_and_our_pending_restore(
    hudi, fragmented, engine: Engine, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), fragmented(oracle.table_version)
    saved = newest_commit(base_path)
    call_procedure(judge, base_path, "create_savepoint", f"commit_time => '{saved}'", oracle)
    before = data_files(base_path)
    for version in (3, 4):
        hudi_writes(judge, base_path, oracle, STORED, version)
    with pytest.raises(Crash):
        our_rollback(base_path, newest_commit(base_path), storage=dying(base_path))
    assert instant_names(base_path, "rollback.inflight")
    model = hudi_writes(judge, base_path, oracle, merged(STORED, some_rows([0, 1, *range(40, 45), 63], 3)), 5)
    assert not pending(base_path, "rollback")
    assert_all_read(judge, base_path, model, oracle)
    with pytest.raises(Crash):
        our_restore(base_path, saved, storage=dying(base_path))
    assert pending(base_path, "restore")
    call_procedure(judge, base_path, "rollback_to_savepoint", f"instant_time => '{saved}'", oracle)
    assert data_files(base_path) == before
    assert our_restore(base_path, saved).outcome in (Outcome.NOTHING_TO_DO, Outcome.COMPLETED)
    assert not pending(base_path, "restore")
    assert_all_read(judge, base_path, STORED, oracle)


def dying(base_path: Path) -> Storage:
    return DiesAtTheThirdDataFile(open_storage(str(base_path), {}))


def pending(base_path: Path, action: str) -> set[str]:
    """Requested times of the pending instants of this action."""
    begun = {name.partition(".")[0] for name in instant_names(base_path, f"{action}.requested")}
    done = {name.partition(".")[0].partition("_")[0] for name in instant_names(base_path, f".{action}")}
    return begun - done
