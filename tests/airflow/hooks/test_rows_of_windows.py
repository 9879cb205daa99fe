"""`HudiHook.read_incremental` returns the rows of each window once, without Spark."""

from pathlib import Path
from typing import Any

import pytest

from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.incremental import IncrementalWindow
from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.jobs.archival.archive import archive
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.stores.local import LocalStorage
from support.archived_tables import SMALL_LIMITS
from support.compaction.jobs_here import execute, schedule
from support.compaction.written_table import NORTH, WrittenTable, a_row
from support.reading.read_here import FULL_SCAN, KINDS
from support.spark.log_tables import LogTable, new_log_table

NO_FLOOR = {"hoodie.airflow.clean.floor.hours": "0"}


def read(hook: HudiHook, window: IncrementalWindow, **options: Any) -> list[tuple[Any, ...]]:
    found = hook.read_incremental(window, columns=["k", "ts"], **options)
    return sorted((row["k"], row["ts"]) for row in found.to_pylist())


def archive_most(table: LogTable) -> None:
    limits = ArchiveRequest(
        base_path=str(table.base_path), options=SMALL_LIMITS, min_commits=2, max_commits=3
    )
    archive(limits, storage=table.storage)


@KINDS
def test_each_window_returns_the_newest_version_of_the_rows_that_its_commits_wrote(
    tmp_path: Path, version: int, table_type: str
) -> None:
    table = new_log_table(tmp_path / "t", version, hoodie__table__type=table_type)
    hook = HudiHook(str(table.base_path))
    table.write([("a", 1, "p0", "1"), ("b", 1, "p1", "1")])
    first = hook.incremental_window()
    assert read(hook, first) == [("a", 1), ("b", 1)]
    table.write([("a", 2, "p0", "2")])
    table.write([("a", 3, "p0", "3"), ("c", 3, "p0", "3")])
    table.write([("b", 3, "p1", "")], "delete")
    second = hook.incremental_window(first.until)
    assert read(hook, second) == [("a", 3), ("c", 3)]
    nothing = hook.incremental_window(second.until)
    assert nothing.is_empty
    assert hook.read_incremental(nothing).num_columns == 0
    table.write([("c", 4, "p0", "4")])
    assert read(hook, second) == [("a", 3), ("c", 3)]
    names = hook.read_incremental(second).column_names
    assert names[:2] == ["_hoodie_commit_time", "_hoodie_commit_seqno"]


@pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V8, TableVersion.V9], ids=lambda v: v.name)
def test_rows_that_are_written_beside_a_pending_compaction_are_read(
    tmp_path: Path, version: TableVersion
) -> None:
    """hudi-rs 0.5 does not return these rows in table version 6."""
    table = WrittenTable(LocalStorage(str(tmp_path / "t")), version)
    table.insert({NORTH: [a_row("a", 1)]})
    hook = HudiHook(str(tmp_path / "t"))
    first = hook.incremental_window()
    table.log({NORTH: [a_row("a", 2)]})
    assert schedule(table.storage, table.clock).instant_time is not None
    table.log({NORTH: [a_row("a", 3), a_row("b", 3)]})
    window = hook.incremental_window(first.until)
    expected = [("a", 3), ("b", 3)]
    for _ in range(2):
        found = hook.read_incremental(window, columns=["id", "ts"]).to_pylist()
        assert sorted((row["id"], row["ts"]) for row in found) == expected
        execute(table.storage, table.clock)


@KINDS
def test_rows_of_archived_commits_are_read_until_their_files_are_deleted(
    tmp_path: Path, version: int, table_type: str
) -> None:
    table = new_log_table(tmp_path / "t", version, hoodie__table__type=table_type)
    hook = HudiHook(str(table.base_path))
    for number in range(1, 4):
        table.write([("a", number, "p0", "v"), (f"k{number}", number, "p0", "v")])
    first = hook.incremental_window()
    for number in range(4, 13):
        table.write([("a", number, "p0", "v"), (f"k{number}", number, "p0", "v")])
        if (
            table_type == "MERGE_ON_READ"
            and number % 2
            and schedule(table.storage, SystemClock()).instant_time
        ):
            execute(table.storage, SystemClock())
    expected = sorted([("a", 12), *((f"k{number}", number) for number in range(4, 13))])
    window = hook.incremental_window(first.until)
    assert read(hook, window) == expected
    archive_most(table)
    again = hook.incremental_window(first.until)
    assert (again.until, again.count) == (window.until, window.count)
    assert read(hook, again) == expected
    clean(
        CleanRequest(base_path=str(table.base_path), commits_retained=1, options=NO_FLOOR),
        storage=table.storage,
    )
    assert read(hook, again) == expected
    fifth = window.instants[1]
    until = fifth.completion_time or fifth.requested_time
    early = IncrementalWindow(after=first.until, until=until, count=2)
    with pytest.raises(InvalidRequestError, match="do not exist any more"):
        read(hook, early)
    assert read(hook, early, hudi_options=FULL_SCAN) == [("k4", 4), ("k5", 5)]
