"""A log file that is shorter than its commit recorded is an error, even if the rest looks complete to every reader."""

from collections import Counter

import pytest

from hudi_table_services.errors import CorruptTableError
from hudi_table_services.hudi_format.log_headers import scan_log
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.snapshots.log_sizes import refuse_short_logs
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from hudi_table_services.tables.views.table_rows import READ_OPTIMIZED, read_table_rows
from support.fixed_clock import FixedClock
from support.listing.counting_storage import CountingStorage
from support.log_golden import ARCHIVES
from support.with_logs.logged_tables import LoggedTable, golden_logged_table

TABLES = pytest.mark.parametrize(
    ("version", "name"),
    [(version, name) for version in ARCHIVES for name in ("updates", "compacted_logs")],
    ids=lambda value: value.name if isinstance(value, TableVersion) else value,
)


def recorded_sizes(table: LoggedTable) -> dict[str, list[int]]:
    """The sizes that the commits of Hudi recorded for each log file."""
    store = table.timeline_store
    found: dict[str, list[int]] = {}
    for instant in store.load().completed:
        if instant.action is Action.DELTA_COMMIT:
            for stat in store.commit_metadata(instant).write_stats:
                if stat.is_log_file:
                    found.setdefault(stat.path, []).append(stat.file_size_bytes)
    return found


def contents(table: LoggedTable) -> dict[str, bytes]:
    """Contents of all log files by path."""
    return {path: table.storage.read(path) for path in sorted(table.data_files()) if ".log." in path}


def check(table: LoggedTable) -> None:
    snapshot = load_snapshot(table.storage)
    refuse_short_logs(table.timeline_store, snapshot, snapshot.all_slices)


def block_starts(data: bytes) -> list[int]:
    return [head.position for head in scan_log(lambda at, length: data[at : at + length], len(data)).heads]


@TABLES
def test_hudi_records_the_exact_sizes(version: TableVersion, name: str) -> None:
    table = golden_logged_table(version, name)
    files = contents(table)
    found = recorded_sizes(table)
    assert found
    assert found == {path: [len(files[path])] for path in found}
    check(table)


@TABLES
def test_a_log_file_of_hudi_that_ends_at_any_earlier_block_is_an_error(
    version: TableVersion, name: str
) -> None:
    table = golden_logged_table(version, name)
    files = contents(table)
    recorded = recorded_sizes(table)
    # In version 6, the table also has the log file of an undone write, and the log file with its rollback block.
    assert len(files.keys() - recorded.keys()) == (
        2 if (version, name) == (TableVersion.V6, "updates") else 0
    )
    for path in recorded:
        data = files[path]
        for end in block_starts(data):
            table.storage.write(path, data[:end])
            sizes = f"^{path} has {end} bytes, but the deltacommit [0-9]+ wrote {len(data)} bytes"
            with pytest.raises(CorruptTableError, match=sizes) as caught:
                check(table)
            assert caught.value.path == path
            assert "backup" in (caught.value.hint or "")
            with pytest.raises(CorruptTableError, match=sizes):
                read_table_rows(table.storage)
            assert read_table_rows(table.storage, query_type=READ_OPTIMIZED).num_rows
        table.storage.write(path, data)
    check(table)


@TABLES
def test_a_log_file_may_be_longer(version: TableVersion, name: str) -> None:
    """In version 6, later writes append to log files; in all versions, a dead writer can leave an incomplete block."""
    table = golden_logged_table(version, name)
    rows = read_table_rows(table.storage)
    for path in recorded_sizes(table):
        table.storage.write(path, table.storage.read(path) + b"#HUDI#")
    check(table)
    assert read_table_rows(table.storage).equals(rows)


@TABLES
def test_the_check_reads_each_commit_once_and_no_log_file(version: TableVersion, name: str) -> None:
    table = golden_logged_table(version, name)
    snapshot = load_snapshot(table.storage)
    counted = CountingStorage(table.storage)
    store = TimelineStore(counted, snapshot.config, FixedClock())
    refuse_short_logs(store, snapshot, snapshot.all_slices)
    commits = [i for i in snapshot.timeline.completed_writes if i.action is Action.DELTA_COMMIT]
    named = {path for each in snapshot.all_slices for path in each.paths}.intersection(recorded_sizes(table))
    assert counted.requests <= Counter(store.path_of(instant) for instant in commits)
    assert counted.count >= len(named) > 0
