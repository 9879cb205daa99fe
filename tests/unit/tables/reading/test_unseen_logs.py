"""Reads of merge-on-read tables of version 6 whose log files are deleted while the read is running."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from hudi_table_services.contract.recovery import RollbackRequest
from hudi_table_services.errors import ExecutionFailedError
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.tables.reading.planned_reads import plan_read
from hudi_table_services.tables.reading.table_scan import TableScan
from hudi_table_services.tables.reading.unseen_logs import UnseenLogs
from support.faulty_storage import Crash, FaultyStorage
from support.reading.read_here import rows_of, values
from support.spark.leftovers import later
from support.spark.log_tables import LogTable, Row, new_log_table

INSERTED = [("k1", 1, "p0", "inserted"), ("k2", 1, "p0", "inserted")]
UPDATED = [("k1", 2, "p0", "updated")]
DEAD = [("k2", 3, "p0", "never committed")]
ROWS = [("k1", 2, "p0", "updated"), ("k2", 1, "p0", "inserted")]


@pytest.fixture
def table(tmp_path: Path) -> LogTable:
    """A table with one file slice: a base file, and a log file of a completed write."""
    table = new_log_table(tmp_path / "t", 6, hoodie__table__type="MERGE_ON_READ")
    table.write(INSERTED)
    table.write(UPDATED)
    return table


def die_before_completion(table: LogTable, rows: list[Row]) -> None:
    """Stop a write immediately before it completes its commit."""
    copied = replace(table, base_path=table.base_path.parent / "copy")
    shutil.copytree(table.base_path, copied.base_path)
    counting = FaultyStorage(copied.storage)
    copied.write(rows, storage=counting)
    completions = [number for number, change in enumerate(counting.log, 1) if change.endswith(".deltacommit")]
    with pytest.raises(Crash):
        table.write(rows, storage=FaultyStorage(table.storage, fail_at=completions[0]))


def log_paths(scan: TableScan) -> list[str]:
    return [path for each in scan.plan.slices for path in each.paths if ".log." in path]


def found(table: LogTable, scan: TableScan) -> list[Row]:
    return values(rows_of(table.storage, scan), "k", "ts", "p", "v")


def test_a_read_does_not_need_the_log_file_of_a_write_that_was_undone(table: LogTable) -> None:
    (seen,) = log_paths(plan_read(table.storage, {}))
    die_before_completion(table, DEAD)
    scan = plan_read(table.storage, {})
    (dead,) = set(log_paths(scan)) - {seen}
    rollback(
        RollbackRequest(base_path=str(table.base_path), all_failed=True), storage=table.storage, clock=later()
    )
    assert not table.storage.exists(dead), "the rollback must delete the log file"
    assert found(table, scan) == ROWS
    table.storage.delete(seen)
    with pytest.raises(ExecutionFailedError, match="does not exist any more") as caught:
        found(table, scan)
    assert caught.value.path == seen


def test_a_read_needs_the_log_file_of_a_completed_write_that_was_undone_later(table: LogTable) -> None:
    scan = plan_read(table.storage, {})
    (seen,) = log_paths(scan)
    newest = table.newest()[0].requested_time
    rollback(RollbackRequest(base_path=str(table.base_path), instants=(newest,)), storage=table.storage)
    assert not table.storage.exists(seen), "the rollback must delete the log file"
    with pytest.raises(ExecutionFailedError, match="a rollback has undone its write") as caught:
        found(table, scan)
    assert caught.value.path == seen


def test_log_files_of_archived_and_undone_writes_are_unknown(table: LogTable) -> None:
    scan = plan_read(table.storage, {})
    (seen,) = log_paths(scan)
    unknown = f"{seen.rpartition('_')[0]}_9-9-9"
    had_no_rows = UnseenLogs(table.storage, scan.visibility)
    assert had_no_rows(unknown)
    assert not had_no_rows(seen)
    newest = table.newest()[0].requested_time
    archived = replace(scan.visibility, first_write_time=newest)
    assert not UnseenLogs(table.storage, archived)(unknown)
    undone = replace(scan.visibility, completed={**scan.visibility.completed, "99990101000000000": ""})
    assert not UnseenLogs(table.storage, undone)(unknown)


@pytest.mark.parametrize("version", [8, 9])
def test_a_read_opens_no_log_file_of_an_incomplete_write_from_version_8_on(
    tmp_path: Path, version: int
) -> None:
    table = new_log_table(tmp_path / "t", version, hoodie__table__type="MERGE_ON_READ")
    table.write(INSERTED)
    table.write(UPDATED)
    paths = log_paths(plan_read(table.storage, {}))
    die_before_completion(table, DEAD)
    scan = plan_read(table.storage, {})
    assert log_paths(scan) == paths
    assert not UnseenLogs(table.storage, scan.visibility)(paths[0])
