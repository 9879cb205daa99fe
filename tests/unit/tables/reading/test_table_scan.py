"""Snapshot, read-optimized, time-travel and incremental reads of merge-on-read tables of all versions."""

import pytest

from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.errors import (
    CorruptTableError,
    InvalidRequestError,
    TableNotFoundError,
    UnsupportedTableError,
)
from hudi_table_services.jobs.archival.archive import archive
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.options.reading.read_options import change_request
from hudi_table_services.reading.scan_columns import table_schema
from hudi_table_services.tables.reading.change_scan import plan_changes
from hudi_table_services.tables.reading.planned_reads import plan_read
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.archived_tables import SMALL_LIMITS
from support.compaction.golden_slices import golden_table
from support.compaction.jobs_here import execute, schedule
from support.compaction.written_table import NORTH, SOUTH, Deleted, WrittenTable, a_row, new_storage
from support.log_golden import ARCHIVES, plain_row
from support.reading.read_here import AS_OF, QUERY, READ_OPTIMIZED, read, values, window
from support.with_logs.clusterings_here import ROWS, a_table

VERSIONS = pytest.mark.parametrize("version", list(ARCHIVES), ids=lambda version: f"v{version.value}")
BASE_ROWS = [("a", 1), ("b", 1), ("c", 1), ("e", 1), ("f", 1), ("g", 1)]
KEY, TIME = "_hoodie_record_key", "ts"


def found(
    table: WrittenTable, options: dict[str, str] | None = None, *filters: object
) -> list[tuple[str, int]]:
    return values(read(table.storage, options, *filters), KEY, TIME)


def visible_times(table: WrittenTable) -> list[str]:
    return [instant.visible_from for instant in table.timeline_store.load().completed_writes]


def requested_times(table: WrittenTable) -> list[str]:
    return [instant.requested_time for instant in table.timeline_store.load().completed_writes]


@VERSIONS
def test_a_snapshot_read_merges_log_files_and_a_read_optimized_read_ignores_them(
    version: TableVersion,
) -> None:
    table = a_table(version)
    assert found(table) == ROWS
    assert found(table, READ_OPTIMIZED) == BASE_ROWS


@VERSIONS
def test_rows_of_log_files_are_read_beside_a_pending_compaction(version: TableVersion) -> None:
    table = a_table(version)
    schedule(table.storage, table.clock)
    table.log({NORTH: [a_row("a", 8)]})
    assert ("a", 8) in found(table)
    assert found(table, READ_OPTIMIZED) == BASE_ROWS
    before = requested_times(table)[-2]
    assert found(table, {AS_OF: before}) == ROWS


@VERSIONS
@pytest.mark.parametrize("name", ["updates", "compacted_logs"])
def test_a_snapshot_read_returns_the_rows_that_hudi_returned(version: TableVersion, name: str) -> None:
    table = golden_table(version, name)
    rows = read(table.storage)
    assert len(rows) == len({row[KEY] for row in rows})
    expected = {row[KEY]: row for row in table.snapshot}
    for row in rows:
        stored = {name: value for name, value in plain_row(row).items() if name != "_hoodie_file_name"}
        assert stored == {name: expected[row[KEY]][name] for name in stored}
    assert {row[KEY] for row in rows} == expected.keys()


@VERSIONS
def test_time_travel_returns_the_state_after_each_commit(version: TableVersion) -> None:
    table = a_table(version)
    states = [found(table, {AS_OF: time}) for time in requested_times(table)]
    assert states == [
        [("a", 1), ("b", 1), ("c", 1)],
        BASE_ROWS,
        [("a", 3), ("b", 1), ("c", 2), ("d", 1), ("e", 1), ("f", 2), ("g", 1)],
        ROWS,
    ]


@VERSIONS
def test_an_earlier_state_stays_the_same_after_later_writes_and_compactions(version: TableVersion) -> None:
    table = a_table(version)
    time = requested_times(table)[-1]
    schedule(table.storage, table.clock)
    table.log({NORTH: [a_row("a", 9), Deleted("e")], SOUTH: [a_row("new", 1)]})
    assert found(table, {AS_OF: time}) == ROWS
    assert ("a", 9) in found(table)


@VERSIONS
def test_an_incremental_read_returns_the_latest_state_of_changed_rows_without_deletes(
    version: TableVersion,
) -> None:
    table = a_table(version)
    first, second, third, fourth = visible_times(table)
    assert found(table, window(first, second)) == [("e", 1), ("f", 1), ("g", 1)]
    assert found(table, window(second)) == [("a", 3), ("c", 2), ("d", 1), ("f", 2)]
    assert found(table, window(third)) == []  # only a delete
    assert found(table, window(fourth)) == []
    assert found(table, window("earliest")) == ROWS
    assert found(table, window("000", second)) == BASE_ROWS
    assert found(table, window("earliest", third)) == found(table, {AS_OF: requested_times(table)[2]})


@VERSIONS
def test_an_incremental_read_returns_a_late_row_although_the_snapshot_keeps_the_newer_one(
    version: TableVersion,
) -> None:
    table = a_table(version)
    end = visible_times(table)[-1]
    table.log({NORTH: [a_row("a", 2)]})
    assert ("a", 3) in found(table)
    assert found(table, window(end)) == [("a", 2)]


@VERSIONS
def test_from_version_8_on_a_window_has_a_late_row_although_a_base_file_has_a_newer_one(
    version: TableVersion,
) -> None:
    """Hudi 1.2 leaves out base rows of other commits before it merges, Hudi 0.15 after it has merged."""
    table = a_table(version)
    end = visible_times(table)[-1]
    schedule(table.storage, table.clock)
    execute(table.storage, table.clock)
    table.log({NORTH: [a_row("a", 2)]})
    assert ("a", 3) in found(table)
    assert found(table, window(end)) == ([] if version is TableVersion.V6 else [("a", 2)])


@VERSIONS
def test_a_log_file_that_lost_its_end_is_an_error(version: TableVersion) -> None:
    table = a_table(version)
    end = visible_times(table)[1]
    (path,) = [
        log.path
        for log in table.storage.list_files("north")
        if ".log." in log.path and len(table.storage.read(log.path)) > 1000 and "n1" in log.path
    ][:1]
    table.storage.write(path, b"")
    for options in (None, window(end)):
        with pytest.raises(CorruptTableError, match="committed rows are missing") as caught:
            found(table, options)
        assert caught.value.path == path
    with pytest.raises(CorruptTableError, match="committed rows are missing"):
        plan_changes(table.storage, change_request({}, end, None))
    assert found(table, READ_OPTIMIZED) == BASE_ROWS


@VERSIONS
def test_the_plan_says_where_the_next_window_begins(version: TableVersion) -> None:
    table = a_table(version)
    times = visible_times(table)
    scan = plan_read(table.storage, window(times[0], times[2]))
    assert scan.until == times[2]
    assert plan_read(table.storage, window(times[3])).until == times[3]
    assert "2 commits" in scan.explain()
    assert "values of rows before the changes" in scan.explain()


@VERSIONS
def test_filters_select_rows_and_skip_partitions(version: TableVersion) -> None:
    table = a_table(version)
    assert found(table, None, ("ts", ">=", 2), ("id", "!=", "f")) == [("a", 3), ("c", 2)]
    assert found(table, None, (KEY, "in", ["a", "b", "g"])) == [("a", 3), ("g", 1)]
    rows = read(table.storage, None, ("s", "=", "a-3"), columns=["_hoodie_partition_path", "id"])
    assert rows == [{"_hoodie_partition_path": "north", "id": "a"}]


@VERSIONS
def test_a_pending_write_blocks_states_that_it_will_belong_to(version: TableVersion) -> None:
    table = a_table(version)
    time = requested_times(table)[-1]
    pending = table.begin({NORTH: 1})
    later = table.log({SOUTH: [a_row("c", 5)]})
    assert found(table, {AS_OF: time}) == ROWS
    assert ("c", 5) in found(table)
    with pytest.raises(InvalidRequestError, match=f"The write {pending.requested_time} is pending"):
        found(table, {AS_OF: later.requested_time})


def test_a_pending_write_ends_the_window_of_a_table_without_completion_times() -> None:
    table = a_table(TableVersion.V6)
    end = visible_times(table)[-1]
    table.log({NORTH: [a_row("a", 6)]})
    pending = table.begin({NORTH: 1})
    table.log({SOUTH: [a_row("c", 7)]})
    with pytest.raises(InvalidRequestError, match=f"The write {pending.requested_time} is pending"):
        found(table, window(end))
    block = {"hoodie.read.timeline.holes.resolution.policy": "BLOCK"}
    assert found(table, {**window(end), **block}) == [("a", 6)]
    scan = plan_read(table.storage, {**window(end), **block})
    assert scan.until < pending.requested_time
    assert found(table, window(end, scan.until)) == [("a", 6)]


def test_with_completion_times_a_pending_write_belongs_to_a_later_window() -> None:
    table = a_table(TableVersion.V9)
    end = visible_times(table)[-1]
    pending = table.begin({NORTH: 1})
    table.log({SOUTH: [a_row("c", 7)]})
    scan = plan_read(table.storage, window(end))
    assert found(table, window(end)) == [("c", 7)]
    table.finish(pending, {NORTH: [a_row("a", 8)]})
    assert found(table, window(scan.until)) == [("a", 8)]


@pytest.mark.parametrize(
    "version", [TableVersion.V8, TableVersion.V9], ids=lambda version: f"v{version.value}"
)
def test_a_write_that_was_archived_soon_after_its_late_completion_belongs_to_its_window(
    version: TableVersion,
) -> None:
    table = a_table(version)
    slow = table.begin({NORTH: 1})
    for number in range(10, 16):
        table.log({SOUTH: [a_row("c", number)]})
    end = visible_times(table)[-1]
    table.finish(slow, {NORTH: [a_row("a", 8)]})
    archive(
        ArchiveRequest(base_path=table.storage.uri, options=SMALL_LIMITS, min_commits=2, max_commits=3),
        storage=table.storage,
        clock=table.clock,
    )
    assert slow.requested_time < requested_times(table)[0] < end
    assert found(table, window(end)) == [("a", 8)]


def test_replaced_file_groups_are_read_only_as_of_earlier_instants() -> None:
    table = a_table()
    before = requested_times(table)[-1]
    table.replace_groups(NORTH)
    assert ("a", 3) not in found(table)
    assert found(table, {AS_OF: before}) == ROWS


def test_points_in_time_may_be_dates_and_times() -> None:
    table = a_table()
    time = requested_times(table)[1]
    text = f"{time[:4]}-{time[4:6]}-{time[6:8]} {time[8:10]}:{time[10:12]}:{time[12:14]}.{time[14:]}"
    assert found(table, {AS_OF: text}) == BASE_ROWS
    assert found(table, {AS_OF: f"{text}+00:00"}) == BASE_ROWS
    with pytest.raises(InvalidRequestError, match="'yesterday' is not a point in time"):
        found(table, {AS_OF: "yesterday"})
    with pytest.raises(
        InvalidRequestError, match=f"did not exist as of 2001.*first commit is {requested_times(table)[0]}"
    ):
        found(table, {AS_OF: "2001-01-01"})
    with pytest.raises(InvalidRequestError, match="did not exist as of 2001"):
        table_schema(table.storage, "2001-01-01")


def test_wrong_requests_are_refused() -> None:
    table = a_table()
    with pytest.raises(InvalidRequestError, match="no column 'nope'"):
        read(table.storage, columns=["nope"])
    with pytest.raises(InvalidRequestError, match="no column 'nope'"):
        read(table.storage, None, ("nope", "=", 1))
    with pytest.raises(InvalidRequestError, match=r"no column 'tss'.*Did you mean ts\? Its columns are: "):
        read(table.storage, columns=["tss"])
    with pytest.raises(InvalidRequestError, match=r"no column 'tss'.*Did you mean ts\? Its columns are: "):
        read(table.storage, None, ("tss", "=", 1))
    with pytest.raises(InvalidRequestError, match="needs hoodie.datasource.read.begin.instanttime"):
        read(table.storage, {QUERY: "incremental"})
    with pytest.raises(InvalidRequestError, match="has no effect on a snapshot read"):
        read(table.storage, {"hoodie.datasource.read.begin.instanttime": "000"})
    with pytest.raises(InvalidRequestError, match="is not supported"):
        read(table.storage, {QUERY: "cdc"})
    with pytest.raises(InvalidRequestError, match="only the latest state"):
        read(table.storage, {**window("000"), "hoodie.datasource.query.incremental.format": "cdc"})
    with pytest.raises(InvalidRequestError, match="Unknown option"):
        read(table.storage, {"hoodie.datasource.query.typo": "snapshot", "hoodie.nonsense": "1"})
    with pytest.raises(TableNotFoundError):
        read(new_storage())


def test_a_rule_that_this_release_does_not_know_is_refused_only_if_log_files_are_merged() -> None:
    properties = {"hoodie.record.merge.mode": "CUSTOM", "hoodie.table.ordering.fields": "ts"}
    table = WrittenTable(new_storage(), more_properties=properties, has_ordering=False)
    table.insert({NORTH: [a_row("a", 1)]})
    with pytest.raises(UnsupportedTableError, match="CUSTOM"):
        found(table)
    assert found(table, READ_OPTIMIZED) == [("a", 1)]


@VERSIONS
@pytest.mark.parametrize("lost", ["base file", "log file"])
def test_a_state_of_which_a_clean_has_deleted_some_files_is_refused(version: TableVersion, lost: str) -> None:
    """A clean deletes one file after the other, and keeps log files that a later slice needs."""
    table = WrittenTable(new_storage(), version)
    table.insert({NORTH: [a_row("a", 1), a_row("b", 1)]})
    table.log({NORTH: [a_row("a", 2)]})
    table.log({NORTH: [a_row("b", 3)]})
    first, _, third = requested_times(table)
    visible = visible_times(table)[-1]
    schedule(table.storage, table.clock)
    execute(table.storage, table.clock)
    table.log({NORTH: [Deleted("a")]})
    assert found(table, {AS_OF: third}) == [("a", 2), ("b", 3)]
    (slice_before,) = load_snapshot(table.storage, as_of=third).all_slices
    gone = slice_before.paths[0] if lost == "base file" else slice_before.paths[-1]
    table.storage.delete(gone)
    with pytest.raises(InvalidRequestError, match="is incomplete"):
        found(table, {AS_OF: third})
    with pytest.raises(InvalidRequestError, match="is incomplete"):
        plan_changes(table.storage, change_request({}, visible, None))
    if lost == "log file":
        assert found(table, {AS_OF: first}) == [("a", 1), ("b", 1)]
