"""Build the changes of the partition `column_stats`: statistics of columns in files (HoodieMetadataPayload, Hudi 1.2).

A reader treats a column without a record as a column of nulls if the file has records of other columns. So a file has a
record for every indexed column that it contains, or it has no record at all, and then no filter skips the file.

Columns with NaN: if a stored bound is NaN, Hudi's queries lose rows. Hudi itself stores the bounds 0 and 0 for such a
column, but then its queries lose rows, too. The records of a file with NaN therefore depend on the index
`partition_stats`. Without this index, the file has no record. With this index, Hudi's next write would ignore a file
without a record when the write computes the bounds of the partition. So the file then has a record whose greatest value
is infinity. Spark treats NaN as greater than all numbers, so only filters that compare with NaN itself skip the file.
"""

import math
from collections.abc import Iterable, Iterator, Sequence

from hudi_table_services.errors import UnsupportedTableError
from hudi_table_services.hudi_format.metadata_table.keys import column_stats_key
from hudi_table_services.model.metadata_table import (
    ColumnStats,
    DeletedKey,
    FileColumnRange,
    FileStatistics,
    MetadataRecord,
    RecordType,
    StatValue,
)
from hudi_table_services.planning.metadata_table.indexed_columns import IndexedColumn


def column_stat_records(
    files: Iterable[FileStatistics], columns: Sequence[IndexedColumn], *, has_partition_stats: bool
) -> Iterator[MetadataRecord]:
    """Yield the records of new files, one for each indexed column that the file has.

    Args:
        has_partition_stats: whether the table has the index `partition_stats`. If not, a file gets no records if one of
            its indexed columns has NaN, may have NaN, or has unknown bounds.

    Raises:
        UnsupportedTableError: the bounds of a column are not known, and the table has the index `partition_stats`.
    """
    for file in files:
        if not (has_partition_stats or _is_exact(file, columns)):
            continue
        for stats in file_column_stats(file, columns):
            key = column_stats_key(str(stats.column_name), file.partition_path, file.file_name)
            yield MetadataRecord(key=key, record_type=RecordType.COLUMN_STATS, payload=stats)


def deleted_column_stats(
    files_by_partition: Iterable[tuple[str, Iterable[str]]], columns: Iterable[IndexedColumn]
) -> Iterator[DeletedKey]:
    """Yield a deletion for each column of each deleted file.

    Args:
        files_by_partition: partition paths with the names of the deleted files.
    """
    names = tuple(column.name for column in columns)
    for partition_path, file_names in files_by_partition:
        for file_name in file_names:
            for name in names:
                yield DeletedKey(column_stats_key(name, partition_path, file_name))


def file_column_stats(file: FileStatistics, columns: Iterable[IndexedColumn]) -> Iterator[ColumnStats]:
    """Yield the statistics of a file as the metadata table stores them.

    Raises:
        UnsupportedTableError: the bounds of a column are not known.
    """
    for column in columns:
        found = file.range_of(column.name)
        if found is None:
            continue
        low, high = _bounds(file, found, column)
        yield ColumnStats(
            file_name=file.file_name,
            column_name=column.name,
            min_value=low,
            max_value=high,
            value_count=found.value_count,
            null_count=found.null_count,
            total_size_bytes=found.total_size_bytes,
            total_uncompressed_bytes=found.total_uncompressed_bytes,
            value_type=column.value_type,
        )


def has_known_bounds(found: FileColumnRange, column: IndexedColumn) -> bool:
    """Whether the metadata table can store these statistics. If False, the bounds must be computed from the rows."""
    if found.null_count is None:
        return False
    return found.has_only_nulls or column.is_floating or _has_bounds(found, column)


def _has_bounds(found: FileColumnRange, column: IndexedColumn) -> bool:
    bounds = (found.min_value, found.max_value)
    return all(value is not None and column.can_store(value) for value in bounds)


def _is_exact(file: FileStatistics, columns: Iterable[IndexedColumn]) -> bool:
    for column in columns:
        found = file.range_of(column.name)
        if found is None or found.has_only_nulls:
            continue
        may_have_nan = column.is_floating and found.has_nan is not False
        if may_have_nan or found.null_count is None or not _has_bounds(found, column):
            return False
    return True


def _bounds(
    file: FileStatistics, found: FileColumnRange, column: IndexedColumn
) -> tuple[StatValue | None, StatValue | None]:
    if not has_known_bounds(found, column):
        raise UnsupportedTableError(
            f"The smallest and greatest value of column {column.name!r} in {file.file_name!r} are not known, or the "
            "metadata table cannot store them.",
            hint="Drop this index with rebuild_metadata_table.py --drop column_stats.",
        )
    if found.has_only_nulls:
        return None, None
    if column.is_floating:
        low, high = _bounds_with_nan(found)
        return column.stored(low), column.stored(high)
    assert found.min_value is not None  # noqa: S101 - `has_known_bounds`
    assert found.max_value is not None  # noqa: S101 - `has_known_bounds`
    return column.stored(found.min_value), column.stored(found.max_value)


def _bounds_with_nan(found: FileColumnRange) -> tuple[float, float]:
    low = -math.inf if found.min_value is None else float(found.min_value)
    is_unbounded = found.max_value is None or found.has_nan is not False
    high = math.inf if is_unbounded or found.max_value is None else float(found.max_value)
    return low, high
