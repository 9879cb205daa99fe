"""Statistics of the columns of a data file, from its Parquet footer.

A footer does not contain all statistics. `row_statistics` computes the following from the rows:

- Whether a column has NaN, if pyarrow wrote the file. pyarrow leaves NaN out of the bounds of a chunk, so the footer
  does not show whether a column has NaN. The Java library (parquet-mr) treats NaN as the greatest value and writes NaN
  as the upper bound; a chunk with another upper bound has no NaN.
- Bounds of long strings. pyarrow writes no bounds if one of the two bounds has more than 4096 bytes.
- Bounds of timestamps with 96 bits.
"""

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, TypeAlias

import pyarrow.parquet as pq

from hudi_table_services.model.metadata_table import FileColumnRange, FileStatistics, RangeValue

Bounds: TypeAlias = tuple[RangeValue, RangeValue]
"""Smallest and greatest value."""

CountedBounds: TypeAlias = Mapping[tuple[int, str], Bounds | None]
"""Maps the number of a row group and the path of a column to bounds; None for a column with only nulls and NaN."""

_JAVA_LIBRARY = "parquet-mr"
_FLOATING = ("FLOAT", "DOUBLE")
# Milliseconds and microseconds become microseconds. Nanoseconds are missing, because their bounds would need rounding.
_MICROSECONDS = {"milliseconds": 1000, "microseconds": 1}


def file_statistics(
    partition_path: str,
    file_name: str,
    metadata: pq.FileMetaData,
    counted_nan_columns: Collection[str] | None = None,
    *,
    counted_bounds: CountedBounds | None = None,
    columns: Collection[str] | None = None,
) -> FileStatistics:
    """Return the statistics of the columns of a file. Leave out columns inside lists and maps.

    Args:
        counted_nan_columns: the columns in which the writer of the file found NaN (`row_statistics.nan_columns`); None
            if the writer did not check for NaN.
        counted_bounds: bounds that the writer of the file computed from the rows of row groups. They replace the bounds
            of the footer.
        columns: the columns whose statistics are wanted; None for all columns.
    """
    counted = _Counted(counted_nan_columns, {} if counted_bounds is None else counted_bounds)
    ranges = _ranges(metadata, range(metadata.num_row_groups), columns, counted)
    return FileStatistics(
        partition_path=partition_path,
        file_name=file_name,
        row_count=metadata.num_rows,
        ranges=tuple(ranges),
    )


def row_group_ranges(
    metadata: pq.FileMetaData, number: int, columns: Collection[str]
) -> dict[str, FileColumnRange]:
    """Map columns to their statistics in one row group. Columns that the file does not have are missing."""
    found = _ranges(metadata, (number,), columns, _Counted(None, {}))
    return {each.column: each for each in found}


def _ranges(
    metadata: pq.FileMetaData,
    row_groups: Sequence[int],
    columns: Collection[str] | None,
    counted: "_Counted",
) -> Iterator[FileColumnRange]:
    for place in range(metadata.num_columns):
        column = metadata.schema.column(place)
        if column.max_repetition_level == 0 and (columns is None or column.path in columns):
            yield _column_range(metadata, place, row_groups, counted)


@dataclass(frozen=True, slots=True)
class _Counted:
    """The facts that the writer of the file found in the rows; see `file_statistics`."""

    nan_columns: Collection[str] | None
    bounds: CountedBounds


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Bounds and nulls of a column in one row group. `bounds` is None if the footer contains no bounds."""

    bounds: Bounds | None
    value_count: int
    null_count: int | None

    @property
    def needs_bounds(self) -> bool:
        return self.null_count != self.value_count

    def known_bounds(self, counted: CountedBounds, place: tuple[int, str]) -> list[Bounds | None]:
        """Return the bounds as a list with one element, or with no element if there are no values.

        The element contains the bounds from the rows, or else those from the footer. The element is None for unknown
        bounds.
        """
        if not self.needs_bounds:
            return []
        if place not in counted:
            return [self.bounds]
        from_rows = counted[place]
        return [] if from_rows is None else [from_rows]


def _column_range(
    metadata: pq.FileMetaData, place: int, row_groups: Sequence[int], counted: _Counted
) -> FileColumnRange:
    column = metadata.schema.column(place)
    groups = [metadata.row_group(number).column(place) for number in row_groups]
    chunks = [_chunk(group, column) for group in groups]
    null_counts = [chunk.null_count for chunk in chunks if chunk.null_count is not None]
    known = FileColumnRange(
        column=column.path,
        min_value=None,
        max_value=None,
        value_count=sum(chunk.value_count for chunk in chunks),
        null_count=sum(null_counts) if len(null_counts) == len(chunks) else None,
        total_size_bytes=sum(group.total_compressed_size for group in groups),
        total_uncompressed_bytes=sum(group.total_uncompressed_size for group in groups),
    )
    bounds = [
        pair
        for number, chunk in zip(row_groups, chunks, strict=True)
        for pair in chunk.known_bounds(counted.bounds, (number, column.path))
    ]
    if column.physical_type in _FLOATING:
        is_java = metadata.created_by.startswith(_JAVA_LIBRARY)
        has_nan = None if counted.nan_columns is None else column.path in counted.nan_columns
        return _with_floating_bounds(known, bounds, has_nan, is_java)
    present = [pair for pair in bounds if pair is not None]
    if not present or len(present) < len(bounds):
        return known
    return replace(known, min_value=least(b[0] for b in present), max_value=greatest(b[1] for b in present))


def _with_floating_bounds(
    known: FileColumnRange,
    bounds: Sequence[tuple[Any, Any] | None],
    counted: bool | None,
    is_java: bool,
) -> FileColumnRange:
    """Add bounds to `known`. NaN is not a bound: the bounds of a column with NaN are the bounds of its other values.

    If the footer has NaN as the upper bound, the greatest other value is unknown, so `max_value` is None.
    """
    values = [value for pair in bounds if pair is not None for value in pair]
    numbers = [value for value in values if not math.isnan(value)]
    shows_nan = len(numbers) < len(values)
    is_complete = None not in bounds
    if shows_nan:
        nan: bool | None = True
    elif counted is not None:
        nan = counted
    else:
        nan = False if is_java and is_complete else None
    if known.has_only_nulls:
        return known
    if not numbers or not is_complete:
        return replace(known, has_nan=nan)
    return replace(known, min_value=min(numbers), max_value=None if shows_nan else max(numbers), has_nan=nan)


def _chunk(group: pq.ColumnChunkMetaData, column: pq.ColumnSchema) -> _Chunk:
    if group.num_values == 0:
        return _Chunk(None, 0, 0)
    statistics = group.statistics if group.is_stats_set else None
    if statistics is None:
        return _Chunk(None, group.num_values, None)
    nulls = statistics.null_count if statistics.has_null_count else None
    return _Chunk(_bounds(statistics, column), group.num_values, nulls)


def _bounds(statistics: pq.Statistics, column: pq.ColumnSchema) -> Bounds | None:
    if not statistics.has_min_max:
        return None
    low, high = (_value(raw, column) for raw in (statistics.min_raw, statistics.max_raw))
    return None if low is None or high is None else (low, high)


def _value(raw: Any, column: pq.ColumnSchema) -> RangeValue | None:
    logical = column.logical_type.type
    match logical:
        case "STRING" | "ENUM" | "JSON":
            return bytes(raw).decode()
        case "DECIMAL":
            unscaled = raw if isinstance(raw, int) else int.from_bytes(raw, "big", signed=True)
            return _decimal(unscaled, column.scale)
        case "TIMESTAMP":
            unit = json.loads(column.logical_type.to_json())["timeUnit"]
            return raw * _MICROSECONDS[unit] if unit in _MICROSECONDS else None
        case "NONE" | "DATE" | "INT":
            value: RangeValue | None = None if column.physical_type == "INT96" else raw
            return value
        case _:
            return None


def _decimal(unscaled: int, scale: int) -> Decimal:
    digits = tuple(int(digit) for digit in str(abs(unscaled)))
    return Decimal((int(unscaled < 0), digits, -scale))


def least(values: Iterable[Any]) -> Any:
    """Return the smallest value of a column."""
    return min(values, key=_order)


def greatest(values: Iterable[Any]) -> Any:
    """Return the greatest value of a column."""
    return max(values, key=_order)


def _order(value: Any) -> Any:
    """Return the sort key of a value. Strings are sorted by their UTF-8 bytes, as in Parquet and Spark."""
    return value.encode() if isinstance(value, str) else value
