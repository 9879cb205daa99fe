"""Rollback of delta commits of merge-on-read tables."""

from datetime import datetime, timedelta, timezone

import pytest
from undone_log_files import LATER, VERSIONS, metadata_of, pending_delta, undo

from hudi_table_services.contract.recovery import CreateSavepointRequest, RestoreRequest, RollbackRequest
from hudi_table_services.contract.result import Outcome
from hudi_table_services.errors import (
    CorruptTableError,
    FileGroupConflictError,
    InstantHeldError,
    InvalidRequestError,
    ObjectNotFoundError,
)
from hudi_table_services.hudi_format.table_service_plans import encode_rollback_plan
from hudi_table_services.jobs.recovery.restore import restore
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.jobs.recovery.savepoint import create_savepoint
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_service_plans import InstantReference, RollbackPlan
from hudi_table_services.model.table_service_plans import RollbackRequest as PlannedRequest
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.locks.heartbeat import heartbeat_path
from hudi_table_services.tables.cleaned_files import conflict_where_cleaned
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from hudi_table_services.tables.table import TableAccess
from support.fixed_clock import FixedClock
from support.with_logs.logged_tables import A, B, LoggedTable, a_logged_table


@VERSIONS
@pytest.mark.parametrize("marks", [True, False], ids=["markers", "no markers"])
def test_a_dead_delta_commit_leaves_no_file(version: TableVersion, marks: bool) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A])
    table.delta(logs=[A])
    before, files = table.seen(), table.data_files()
    dead = pending_delta(table, marks=marks)
    assert len(table.data_files()) == len(files) + 2
    assert table.seen() == before
    result = undo(table)
    assert (table.seen(), table.data_files()) == (before, files)
    found = metadata_of(table, result)
    assert found.commits_rolled_back == (dead.requested_time,)
    assert found.total_files_deleted == 2
    assert not list(table.storage.list_files(f".hoodie/.temp/{dead.requested_time}"))


def test_a_restore_of_version_6_deletes_the_log_files_of_plans_that_it_undoes() -> None:
    table = a_logged_table(TableVersion.V6)
    saved = table.delta(bases=[A])
    save = CreateSavepointRequest(base_path="/t", instant=saved.requested_time)
    create_savepoint(save, storage=table.storage, clock=table.clock)
    before = table.data_files()
    table.delta(logs=[A])
    table.plan_compaction(A)
    clock = FixedClock(datetime.now(timezone.utc) + LATER, timedelta(milliseconds=1))
    request = RestoreRequest(base_path="/t", savepoint=saved.requested_time)
    restore(request, storage=table.storage, clock=clock)
    assert table.data_files() == before


@VERSIONS
def test_a_completed_delta_commit_is_undone(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A, B])
    table.delta(logs=[A, B])
    before, files = table.seen(), table.data_files()
    newest = table.delta(logs=[A])
    preview = undo(table, newest, preview=True)
    assert preview.outcome is Outcome.PLANNED
    assert newest in table.timeline_store.load().completed_writes
    undo(table, newest)
    assert (table.seen(), table.data_files()) == (before, files)
    assert undo(table, newest).reused


@VERSIONS
def test_a_delta_commit_that_created_a_slice_of_log_files_only_is_undone(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A])
    before = table.seen()
    newest = table.delta(logs=[B])
    assert "b/f2" in table.seen()
    undo(table, newest)
    assert table.seen() == before


@VERSIONS
def test_delta_commits_are_undone_newest_first(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A])
    before = table.seen()
    first, second = table.delta(logs=[A]), table.delta(logs=[A])
    with pytest.raises(InvalidRequestError, match="not the newest"):
        undo(table, first)
    undo(table, first, second)
    assert table.seen() == before


@VERSIONS
def test_a_running_delta_commit_is_not_undone(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A])
    running = pending_delta(table, marks=True)
    table.storage.write(heartbeat_path(running.requested_time), b"")
    files = table.data_files()
    request = RollbackRequest(base_path="/t", instants=(running.requested_time,))
    with pytest.raises(InstantHeldError):
        rollback(request, storage=table.storage)
    assert table.data_files() == files


@VERSIONS
def test_a_log_file_that_a_rollback_removed_during_a_job_is_a_conflict(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A])
    newest = table.delta(logs=[A])
    before = load_snapshot(table.storage)
    (path,) = (p for p in table.data_files() if ".log." in p)
    undo(table, newest)
    access = TableAccess(storage=table.storage, clock=table.clock, config=table.config)
    with (
        pytest.raises(FileGroupConflictError, match=f"Another writer replaced or undid {path}"),
        conflict_where_cleaned(access, lambda: before),
    ):
        raise ObjectNotFoundError("It could not be read.", path=path)


@pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=str)
def test_a_stored_plan_that_deletes_other_log_files_is_refused(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A])
    first = table.delta(logs=[A])
    dead = pending_delta(table, marks=True)
    (log,) = (p for p in table.data_files() if ".log." in p and not is_written_by(table, p, dead))
    plan = RollbackPlan(
        instant_to_rollback=InstantReference(requested_time=dead.requested_time, action="deltacommit"),
        requests=(PlannedRequest(partition_path="a", files_to_delete=(f"/t/{log}",)),),
    )
    table.timeline_store.request(Action.ROLLBACK, encode_rollback_plan(plan))
    with pytest.raises(CorruptTableError, match="nothing was deleted"):
        undo(table)
    assert table.seen()["a/f1"][1] == (first.requested_time,)


def is_written_by(table: LoggedTable, path: str, instant: Instant) -> bool:
    return instant.requested_time.encode() in table.storage.read(path)
