"""A stream returns each change of a table once, in batches of whole commits."""

from collections.abc import Iterator

import pytest

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.reading.query import HolesPolicy
from hudi_table_services.model.reading.stream import BatchLimits
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.options.reading.stream_options import stream_request
from hudi_table_services.tables.reading.planned_reads import plan_read
from hudi_table_services.tables.reading.stream_positions import (
    BEFORE_ALL_COMMITS,
    first_position,
    next_position,
)
from support.compaction.jobs_here import execute, schedule
from support.compaction.written_table import NORTH, SOUTH, WrittenTable, a_row
from support.log_golden import ARCHIVES
from support.reading.read_here import rows_of, values
from support.with_logs.clusterings_here import ROWS, a_table

VERSIONS = pytest.mark.parametrize("version", list(ARCHIVES), ids=lambda version: f"v{version.value}")
BLOCK = HolesPolicy.BLOCK
Rows = list[tuple[str, int]]


def visible_times(table: WrittenTable) -> list[str]:
    return [instant.visible_from for instant in table.timeline_store.load().completed_writes]


def batches(table: WrittenTable, start: str, limits: BatchLimits, **more: str) -> Iterator[tuple[str, Rows]]:
    """The end and the rows of each batch until the stream has read all commits."""
    while (end := next_position(table.storage, start, limits, BLOCK, **more)) != start:
        scan = plan_read(table.storage, stream_request({}).options_of(start, end))
        yield end, values(rows_of(table.storage, scan), "_hoodie_record_key", "ts")
        start = end


@VERSIONS
def test_a_stream_without_limits_returns_the_latest_state_and_then_each_change(version: TableVersion) -> None:
    table = a_table(version)
    ((end, rows),) = batches(table, BEFORE_ALL_COMMITS, BatchLimits())
    assert rows == ROWS
    assert end == visible_times(table)[-1]
    assert list(batches(table, end, BatchLimits())) == []
    table.log({NORTH: [a_row("a", 8)]})
    schedule(table.storage, table.clock)
    execute(table.storage, table.clock)
    table.log({SOUTH: [a_row("new", 9)]})
    ((_, rows),) = batches(table, end, BatchLimits())
    assert rows == [("a", 8), ("new", 9)]


@VERSIONS
def test_a_limit_of_commits_divides_a_stream_into_batches(version: TableVersion) -> None:
    table = a_table(version)
    found = list(batches(table, BEFORE_ALL_COMMITS, BatchLimits(commits=1)))
    assert [end for end, _ in found] == visible_times(table)
    assert [rows for _, rows in found] == [
        [("a", 1), ("b", 1), ("c", 1)],
        [("e", 1), ("f", 1), ("g", 1)],
        [("a", 3), ("c", 2), ("d", 1), ("f", 2)],
        [],  # only a delete
    ]
    two = list(batches(table, BEFORE_ALL_COMMITS, BatchLimits(commits=2)))
    assert [end for end, _ in two] == visible_times(table)[1::2]


@VERSIONS
def test_a_limit_of_bytes_counts_the_files_of_the_commits(version: TableVersion) -> None:
    table = a_table(version)
    store = table.timeline_store
    sizes = [
        sum(stat.file_size_bytes for stat in store.commit_metadata(instant).write_stats)
        for instant in store.load().completed_writes
    ]
    times = visible_times(table)
    fits = BatchLimits(size_bytes=sizes[0] + sizes[1])
    assert next_position(table.storage, BEFORE_ALL_COMMITS, fits, BLOCK) == times[1]
    less = BatchLimits(size_bytes=sizes[0] + sizes[1] - 1)
    assert next_position(table.storage, BEFORE_ALL_COMMITS, less, BLOCK) == times[0]
    assert next_position(table.storage, times[0], BatchLimits(size_bytes=1), BLOCK) == times[1]


@VERSIONS
@pytest.mark.parametrize("limits", [BatchLimits(), BatchLimits(commits=1)], ids=["all", "one"])
def test_a_stream_does_not_pass_its_last_position(version: TableVersion, limits: BatchLimits) -> None:
    table = a_table(version)
    times = visible_times(table)
    ends = [end for end, _ in batches(table, BEFORE_ALL_COMMITS, limits, at_most=times[1])]
    assert ends[-1] == times[1]


@pytest.mark.parametrize("limits", [BatchLimits(), BatchLimits(commits=5)], ids=["all", "five"])
def test_without_completion_times_a_stream_waits_for_pending_writes(limits: BatchLimits) -> None:
    table = a_table(TableVersion.V6)
    start = visible_times(table)[-1]
    table.log({NORTH: [a_row("a", 6)]})
    pending = table.begin({NORTH: 1})
    table.log({SOUTH: [a_row("c", 7)]})
    ((end, rows),) = batches(table, start, limits)
    assert rows == [("a", 6)]
    assert end < pending.requested_time
    table.finish(pending, {NORTH: [a_row("b", 8)]})
    ((_, rows),) = batches(table, end, limits)
    assert rows == [("b", 8), ("c", 7)]


def test_without_completion_times_a_pending_write_fails_a_stream_with_the_policy_fail() -> None:
    table = a_table(TableVersion.V6)
    pending = table.begin({NORTH: 1})
    table.log({SOUTH: [a_row("c", 7)]})
    with pytest.raises(InvalidRequestError, match=f"The write {pending.requested_time} is pending"):
        next_position(table.storage, BEFORE_ALL_COMMITS, BatchLimits(), HolesPolicy.FAIL)


def test_with_completion_times_a_slow_write_belongs_to_a_later_batch() -> None:
    table = a_table(TableVersion.V9)
    start = visible_times(table)[-1]
    slow = table.begin({NORTH: 1})
    table.log({SOUTH: [a_row("c", 7)]})
    ((end, rows),) = batches(table, start, BatchLimits())
    assert rows == [("c", 7)]
    table.finish(slow, {NORTH: [a_row("a", 8)]})
    ((_, rows),) = batches(table, end, BatchLimits())
    assert rows == [("a", 8)]


@VERSIONS
def test_a_position_never_decreases(version: TableVersion) -> None:
    table = a_table(version)
    end = visible_times(table)[-1]
    table.undo_newest()
    assert next_position(table.storage, end, BatchLimits(), BLOCK) == end
    assert next_position(table.storage, end, BatchLimits(commits=1), BLOCK) == end


@VERSIONS
def test_an_option_determines_where_a_stream_begins(version: TableVersion) -> None:
    table = a_table(version)
    times = visible_times(table)
    assert first_position(table.storage, "earliest", BLOCK) == BEFORE_ALL_COMMITS
    assert first_position(table.storage, "000", BLOCK) == BEFORE_ALL_COMMITS
    assert first_position(table.storage, "LATEST", BLOCK) == times[-1]
    assert first_position(table.storage, times[1], BLOCK) == times[1]
    with pytest.raises(InvalidRequestError, match="startOffset=soon is not a point in time"):
        first_position(table.storage, "soon", BLOCK)
