"""Column ranges of row groups, read from footers, and an estimate of the rows that a query for one value must read."""

import bisect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


@dataclass(frozen=True, slots=True)
class RowGroupRange:
    """Column ranges of one row group.

    Attributes:
        bounds: smallest and largest value of each requested column; None if the footer has no range.
    """

    rows: int
    bounds: tuple[tuple[Any, Any] | None, ...]


def ranges_of(metadata: pq.FileMetaData, columns: Sequence[str]) -> tuple[RowGroupRange, ...]:
    """Return the ranges of the columns in all row groups of a file."""
    if not columns or metadata.num_rows == 0:
        return ()
    first = metadata.row_group(0)
    places = {first.column(i).path_in_schema: i for i in range(first.num_columns)}
    return tuple(
        RowGroupRange(group.num_rows, tuple(_bounds(group, places.get(column)) for column in columns))
        for group in (metadata.row_group(number) for number in range(metadata.num_row_groups))
    )


def _bounds(group: pq.RowGroupMetaData, place: int | None) -> tuple[Any, Any] | None:
    if place is None:
        return None
    try:
        statistics = group.column(place).statistics
        if statistics is None or not statistics.has_min_max:
            return None
        return statistics.min, statistics.max
    except (NotImplementedError, pa.ArrowNotImplementedError):  # pyarrow cannot read statistics of every type
        return None


def read_share(ranges: Iterable[RowGroupRange], column: int) -> float:
    """Return the share of the rows, between 0 and 1, that a reader must read on average to find a value of the column.

    The searched values are the smallest and the largest value of every row group, weighted by the number of rows in the
    row group. A reader must always read row groups without a known range.
    """
    all_ranges = list(ranges)
    total = sum(r.rows for r in all_ranges)
    known = [(r.bounds[column], r.rows) for r in all_ranges if r.bounds[column] is not None]
    if not total:
        return 0.0
    unknown = total - sum(rows for _, rows in known)
    if not known:
        return 1.0
    try:
        hit = _mean_rows_hit([(low, high, rows) for (low, high), rows in known])  # type: ignore[misc]
    except TypeError:  # values from files with different column types cannot be compared
        return 1.0
    return min(1.0, (hit + unknown) / total)


def mean_read_share(by_partition: Iterable[tuple[str, Sequence[RowGroupRange]]], column: int) -> float:
    """Return the mean of `read_share` over the partitions, weighted by rows. A partition may occur more than once."""
    joined: dict[str, list[RowGroupRange]] = {}
    for path, ranges in by_partition:
        joined.setdefault(path, []).extend(ranges)
    rows = {path: sum(r.rows for r in ranges) for path, ranges in joined.items()}
    total = sum(rows.values())
    return sum(read_share(joined[path], column) * rows[path] for path in joined) / total if total else 0.0


def _mean_rows_hit(ranges: list[tuple[Any, Any, int]]) -> float:
    """Return how many rows are, on average, in the ranges that contain a searched value.

    The searched values are the smallest and the largest value of every range, weighted by the number of rows in the
    range.
    """
    starts, ends = _running(ranges, 0), _running(ranges, 1)
    weighted = total = 0.0
    for low, high, rows in ranges:
        for value in (low, high):
            begin_at_or_before = starts[1][bisect.bisect_right(starts[0], value)]
            end_before = ends[1][bisect.bisect_left(ends[0], value)]
            weighted += (begin_at_or_before - end_before) * rows
            total += rows
    return weighted / total


def _running(ranges: list[tuple[Any, Any, int]], end: int) -> tuple[list[Any], list[int]]:
    """Return the sorted ends of the ranges, and for each position in this list the number of rows before the position.

    Args:
        end: which end of a range is used: 0 for the smallest value, 1 for the largest value.
    """
    ordered = sorted(((r[end], r[2]) for r in ranges), key=lambda pair: pair[0])
    sums = [0]
    for _, rows in ordered:
        sums.append(sums[-1] + rows)
    return [value for value, _ in ordered], sums
