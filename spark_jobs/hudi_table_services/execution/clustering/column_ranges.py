"""Ranges of columns by row group, as footers tell them: what a reader that looks for one value can skip."""

import bisect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


@dataclass(frozen=True, slots=True)
class RowGroupRange:
    """One row group.

    Attributes:
        bounds: per column asked for, smallest and largest value; None where the footer does not tell.
    """

    rows: int
    bounds: tuple[tuple[Any, Any] | None, ...]


def ranges_of(metadata: pq.FileMetaData, columns: Sequence[str]) -> tuple[RowGroupRange, ...]:
    """Ranges of all row groups of a file."""
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
    except (
        NotImplementedError,
        pa.ArrowNotImplementedError,
    ):  # of types whose statistics pyarrow does not read
        return None


def read_share(ranges: Iterable[RowGroupRange], column: int) -> float:
    """Share of the rows that a reader has to read to find one value of the column, between 0 and 1.

    The value is drawn from the ends of the ranges, those of larger row groups more often. Row groups whose range
    is not known always have to be read.
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
    except TypeError:  # values of files with different types do not compare
        return 1.0
    return min(1.0, (hit + unknown) / total)


def mean_read_share(by_partition: Iterable[tuple[str, Sequence[RowGroupRange]]], column: int) -> float:
    """`read_share` of each partition, weighted by rows. A partition may come more than once."""
    joined: dict[str, list[RowGroupRange]] = {}
    for path, ranges in by_partition:
        joined.setdefault(path, []).extend(ranges)
    rows = {path: sum(r.rows for r in ranges) for path, ranges in joined.items()}
    total = sum(rows.values())
    return sum(read_share(joined[path], column) * rows[path] for path in joined) / total if total else 0.0


def _mean_rows_hit(ranges: list[tuple[Any, Any, int]]) -> float:
    """Mean over the ends: rows in ranges that begin at or before it, without those that end before it."""
    starts, ends = _running(ranges, 0), _running(ranges, 1)
    weighted = total = 0.0
    for low, high, rows in ranges:
        for value in (low, high):
            begun = starts[1][bisect.bisect_right(starts[0], value)]
            over = ends[1][bisect.bisect_left(ends[0], value)]
            weighted += (begun - over) * rows
            total += rows
    return weighted / total


def _running(ranges: list[tuple[Any, Any, int]], end: int) -> tuple[list[Any], list[int]]:
    """Ends in order, and rows of all ranges before each place."""
    ordered = sorted(((r[end], r[2]) for r in ranges), key=lambda pair: pair[0])
    sums = [0]
    for _, rows in ordered:
        sums.append(sums[-1] + rows)
    return [value for value, _ in ordered], sums
