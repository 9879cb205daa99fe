"""Repair of orphan log files: log files whose instant is on no timeline."""

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from hudi_table_services.contract.recovery import CreateSavepointRequest, RepairOrphansRequest
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.jobs.recovery.repair_orphans import repair_orphan_files
from hudi_table_services.jobs.recovery.savepoint import create_savepoint
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.planning.recovery.orphans import NO_INSTANT
from hudi_table_services.storage.locks.heartbeat import heartbeat_path
from support.fixed_clock import FixedClock
from support.log_golden import ARCHIVES
from support.with_logs.logged_tables import A, B, LoggedTable, a_logged_table, data_block, golden_logged_table

VERSIONS = pytest.mark.parametrize(
    "version", [TableVersion.V6, TableVersion.V8, TableVersion.V9], ids=lambda v: v.name
)


def repair(table: LoggedTable, **fields: Any) -> JobResult:
    clock = FixedClock(datetime.now(timezone.utc) + timedelta(days=4), timedelta(milliseconds=1))
    request = RepairOrphansRequest(base_path="/t", **fields)
    return repair_orphan_files(request, storage=table.storage, clock=clock)


def reasons(result: JobResult) -> dict[str, str]:
    report: Any = result.report
    return {each.path: each.reason for each in report.files}


def lost_delta(table: LoggedTable) -> tuple[Instant, str]:
    """A log file of a delta commit that a rollback without markers removed from the timeline, as Hudi does."""
    known = table.data_files()
    dead = table.begin(Action.DELTA_COMMIT)
    table.write(dead, logs=[A])
    table.timeline_store.remove(dead)
    (path,) = table.data_files() - known
    return dead, path


@VERSIONS
def test_a_log_file_without_an_instant_is_deleted(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A, B])
    table.delta(logs=[A])
    _, path = lost_delta(table)
    table.delta(logs=[A, B])
    before, files = table.seen(), table.data_files()
    assert reasons(repair(table)) == {path: NO_INSTANT}
    assert table.data_files() == files
    assert repair(table, execute=True).outcome is Outcome.COMPLETED
    assert table.data_files() == files - {path}
    assert table.seen() == before


@VERSIONS
def test_log_files_of_writes_compactions_and_plans_are_no_orphans(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A, B])
    table.delta(logs=[A, B])
    table.compact(B)
    table.plan_compaction(A)
    table.delta(logs=[A])
    running = table.begin(Action.DELTA_COMMIT)
    table.write(running, logs=[B])
    assert repair(table).outcome is Outcome.NOTHING_TO_DO


@VERSIONS
def test_a_log_file_of_a_living_writer_is_no_orphan(version: TableVersion) -> None:
    """A writer starts its heartbeat before it requests its instant."""
    table = a_logged_table(version)
    table.delta(bases=[A])
    dead, path = lost_delta(table)
    table.delta(logs=[A])
    table.storage.write(heartbeat_path(dead.requested_time), b"")
    result = repair_orphan_files(
        RepairOrphansRequest(base_path="/t", older_than_hours=0), storage=table.storage
    )
    assert path not in reasons(result)


@VERSIONS
def test_a_log_file_in_a_savepoint_is_kept(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A])
    saved = table.delta(logs=[A])
    request = CreateSavepointRequest(base_path="/t", instant=saved.requested_time)
    create_savepoint(request, storage=table.storage, clock=table.clock)
    files = table.data_files()
    table.timeline_store.remove_completed(saved)
    table.timeline_store.remove(saved)
    table.delta(logs=[B])
    repair(table, execute=True)
    assert files <= table.data_files()


def test_a_file_with_a_block_of_another_write_is_kept() -> None:
    table = a_logged_table(TableVersion.V6)
    table.delta(bases=[A])
    first = table.delta(logs=[A])
    dead, path = lost_delta(table)
    table.storage.write(path, data_block(first.requested_time) + data_block(dead.requested_time))
    table.delta(logs=[B])
    before = table.seen()
    repair(table, execute=True)
    assert table.storage.exists(path)
    assert table.seen() == before


def test_incomplete_and_empty_log_files_of_version_6_are_kept() -> None:
    """Readers skip them, and they do not show which write left them."""
    table = a_logged_table(TableVersion.V6)
    table.delta(bases=[A])
    dead, path = lost_delta(table)
    table.storage.write(path, data_block(dead.requested_time)[:-3])
    table.delta(logs=[B])
    assert repair(table).outcome is Outcome.NOTHING_TO_DO


@pytest.mark.parametrize("version", ARCHIVES, ids=str)
@pytest.mark.parametrize("name", ["updates", "compacted_logs"])
def test_tables_of_real_hudi_have_no_orphans(version: TableVersion, name: str) -> None:
    """The table of version 6 contains a log file whose blocks Hudi undid by a rollback block."""
    table = golden_logged_table(version, name)
    assert repair(table, older_than_hours=1).outcome is Outcome.NOTHING_TO_DO


@pytest.mark.parametrize("version", ARCHIVES, ids=str)
def test_a_log_file_of_real_hudi_without_its_instant_is_an_orphan(version: TableVersion) -> None:
    table = golden_logged_table(version, "updates")
    newest = table.timeline_store.load().completed_writes[-1]
    second = table.timeline_store.load().completed_writes[-2]
    (path,) = (p for p in table.data_files() if ".log." in p and is_written_by(table, p, second))
    table.timeline_store.remove_completed(second)
    table.timeline_store.remove(second)
    assert reasons(repair(table)) == {path: NO_INSTANT}
    repair(table, execute=True)
    assert newest.requested_time in next(iter(table.seen().values()))[1]


def is_written_by(table: LoggedTable, path: str, instant: Instant) -> bool:
    return instant.requested_time.encode() in table.storage.read(path) or instant.requested_time in path
