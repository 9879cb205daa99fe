"""Compute statistics of columns from rows: which columns have NaN, and bounds that the footer of a file lacks."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudi_table_services.execution.metadata_table.footer_statistics import greatest, least
from hudi_table_services.model.metadata_table import FileColumnRange, FileStatistics

_BATCH_ROWS = 65_536


def nan_columns(rows: pa.Table | pa.RecordBatch) -> frozenset[str]:
    """Return the names of the columns with NaN in these rows; a dotted path for a member of a struct."""
    found = (
        path
        for field, column in zip(rows.schema, rows.columns, strict=True)
        for path, leaf in leaves(field.name, column)
        if has_nan(leaf)
    )
    return frozenset(found)


def has_nan(column: pa.Array | pa.ChunkedArray) -> bool:
    """Whether a value is NaN. False for all types except floating-point numbers. A null is not NaN."""
    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    if not pa.types.is_floating(column.type):
        return False
    return bool(pc.any(pc.is_nan(column)).as_py())


def completed_from_rows(
    file: pq.ParquetFile, statistics: FileStatistics, columns: Collection[str]
) -> FileStatistics:
    """Complete the statistics from a footer: compute missing bounds from the rows, and check whether columns have NaN.

    The function reads only columns for which a statistic is unknown, one after another.

    Args:
        columns: the columns whose bounds are needed.
    """
    ranges = tuple(
        _range_from_rows(file, found) if found.column in columns and _is_incomplete(found) else found
        for found in statistics.ranges
    )
    return replace(statistics, ranges=ranges)


def _is_incomplete(found: FileColumnRange) -> bool:
    if found.has_only_nulls:
        return False
    return (
        found.has_nan is None
        or found.null_count is None
        or found.min_value is None
        or found.max_value is None
    )


def leaves(path: str, column: pa.Array | pa.ChunkedArray) -> Iterator[tuple[str, pa.Array | pa.ChunkedArray]]:
    """Yield a column with its path. Instead of a struct, yield its members with their dotted paths."""
    if not pa.types.is_struct(column.type):
        yield path, column
        return
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    for place, member in enumerate(column.type):
        leaf = pa.chunked_array([_member(chunk, place) for chunk in chunks], type=member.type)
        yield from leaves(f"{path}.{member.name}", leaf)


def _member(chunk: pa.StructArray, place: int) -> pa.Array:
    """Return the values of a member. In a row whose struct is null, the value is null."""
    return chunk.flatten()[place]


def _range_from_rows(file: pq.ParquetFile, found: FileColumnRange) -> FileColumnRange:
    lows: list[Any] = []
    highs: list[Any] = []
    nulls, nan = 0, False
    for batch in file.iter_batches(_BATCH_ROWS, columns=[found.column], use_threads=False):
        for path, leaf in (pair for name in batch.schema.names for pair in leaves(name, batch[name])):
            if path != found.column:
                continue
            nulls, nan = nulls + leaf.null_count, nan or has_nan(leaf)
            low, high = bounds_of_rows(leaf)
            lows += [low] if low is not None else []
            highs += [high] if high is not None else []
    return replace(
        found,
        min_value=least(lows) if lows else None,
        max_value=greatest(highs) if highs else None,
        null_count=nulls,
        has_nan=nan,
    )


def bounds_of_rows(column: pa.Array | pa.ChunkedArray) -> tuple[Any, Any]:
    """Return the smallest and the greatest value other than NaN, in the form of `FileColumnRange`.

    Both are None if there is no such value.
    """
    plain = column
    if pa.types.is_dictionary(plain.type):
        plain = pc.cast(plain, plain.type.value_type)
    if pa.types.is_timestamp(plain.type):
        plain = pc.cast(pc.cast(plain, pa.timestamp("us", plain.type.tz)), pa.int64())
    elif pa.types.is_date32(plain.type):
        plain = pc.cast(plain, pa.int32())
    elif pa.types.is_floating(plain.type):
        plain = plain.filter(pc.invert(pc.is_nan(plain)))
    bounds = pc.min_max(plain)
    return bounds["min"].as_py(), bounds["max"].as_py()
