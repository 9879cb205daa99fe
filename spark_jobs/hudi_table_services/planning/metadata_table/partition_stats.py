"""Build the changes of the metadata table's partition `partition_stats` (Hudi 1.0 and later).

A record of `partition_stats` has the statistics of one column in one partition of the table. A record is tight if it
covers all live files of the partition; a tight record replaces the earlier record. If a partition has no record for the
column of a filter, but other partitions have a record for this column, Hudi 1.2 skips the partition, and the query
loses its rows. So a commit writes a record for every indexed column of every partition that it changes. The record is
tight, unless an earlier instant is pending (`commits.metadata_table.overtaken_statistics`).

In merge-on-read tables, log files also have values, and not every writer stores statistics of these values. In these
tables, every write and every compaction writes records that are not tight: readers unite them with the earlier records,
so the bounds never become too narrow.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from hudi_table_services.errors import CorruptTableError
from hudi_table_services.hudi_format.metadata_table.keys import files_key, partition_stats_key
from hudi_table_services.model.metadata_table import (
    ColumnStats,
    DeletedKey,
    FileStatistics,
    MetadataRecord,
    RecordType,
    StatValue,
)
from hudi_table_services.planning.metadata_table.column_stats import file_column_stats
from hudi_table_services.planning.metadata_table.indexed_columns import IndexedColumn


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFiles:
    """Statistics of the live files of one partition after a commit.

    Attributes:
        live_files: names of the files in the latest slices of the partition, without replaced file groups.
        statistics: statistics of new files, and of files whose statistics were read from their footers.
        stored: maps each file to the statistics that the partition `column_stats` stores for the file.
    """

    partition_path: str
    live_files: frozenset[str]
    statistics: tuple[FileStatistics, ...] = ()
    stored: Mapping[str, tuple[ColumnStats, ...]] = field(default_factory=dict)

    def without_statistics(self, columns: Iterable[IndexedColumn]) -> frozenset[str]:
        """Return the live files whose statistics must be read from their footers.

        The stored statistics of these files lack an indexed column. Only the footer shows whether a file has the
        column.
        """
        names = {column.name for column in columns}
        known = {file.file_name for file in self.statistics}
        return frozenset(n for n in self.live_files - known if not names <= self._stored_columns(n))

    def _stored_columns(self, file_name: str) -> set[str]:
        return {str(stats.column_name) for stats in _live(self.stored.get(file_name, ()))}


def partition_stat_records(
    files: PartitionFiles, columns: Sequence[IndexedColumn], *, is_tight: bool = True
) -> Iterator[MetadataRecord]:
    """Yield a record for each indexed column of a partition; nothing for a partition without live files.

    A column that a file does not have counts as a column of nulls.

    Args:
        is_tight: whether `files` contains all files with values in this partition. If not, readers unite the record
            with the earlier record.

    Raises:
        CorruptTableError: a live file lacks statistics (`PartitionFiles.without_statistics`), or stored values do
            not have the type of the column.
        UnsupportedTableError: the bounds of a column in a new file are not known.
    """
    _require_statistics(files, columns)
    by_file = _stats_by_file(files, columns)
    for column in columns if by_file else ():
        merged = reduce(_merged, (ColumnRange.of(stats[column.name], column) for stats in by_file.values()))
        yield MetadataRecord(
            key=partition_stats_key(column.name, files.partition_path),
            record_type=RecordType.PARTITION_STATS,
            payload=_statistics(merged, files.partition_path, column, is_tight=is_tight),
        )


def deleted_partition_stats(
    partition_paths: Iterable[str], columns: Sequence[IndexedColumn]
) -> Iterator[DeletedKey]:
    """Yield a deletion for each column of each partition that has no live file any more."""
    for partition_path in partition_paths:
        for column in columns:
            yield DeletedKey(partition_stats_key(column.name, partition_path))


def _require_statistics(files: PartitionFiles, columns: Sequence[IndexedColumn]) -> None:
    if missing := sorted(files.without_statistics(columns)):
        raise CorruptTableError(
            f"The metadata table lacks column statistics of {missing[0]!r} in partition {files.partition_path!r}.",
            hint="Build both indexes again: rebuild_metadata_table.py --partitions column_stats,partition_stats.",
        )


def _stats_by_file(
    files: PartitionFiles, columns: Sequence[IndexedColumn]
) -> dict[str, dict[str, ColumnStats]]:
    """Map each live file, in the order of names, to its statistics by column. New statistics replace stored ones.

    A column that a file does not have counts as a column of nulls.
    """
    by_file: dict[str, tuple[ColumnStats, ...]] = {
        name: _live(stats) for name, stats in files.stored.items() if name in files.live_files
    }
    absent: dict[str, ColumnStats] = {}
    for file in files.statistics:
        if file.file_name in files.live_files:
            by_file[file.file_name] = tuple(file_column_stats(file, columns))
            absent[file.file_name] = _nulls(file.row_count)
    by_name = {name: {str(s.column_name): s for s in by_file[name]} for name in sorted(by_file)}
    return {
        name: {column.name: stats.get(column.name) or absent[name] for column in columns}
        for name, stats in by_name.items()
    }


def _live(stats: Iterable[ColumnStats]) -> tuple[ColumnStats, ...]:
    return tuple(s for s in stats if not s.is_deleted)


def _nulls(rows: int) -> ColumnStats:
    return ColumnStats(
        file_name=None,
        column_name=None,
        min_value=None,
        max_value=None,
        value_count=rows,
        null_count=rows,
        total_size_bytes=0,
        total_uncompressed_bytes=0,
    )


@dataclass(frozen=True, slots=True)
class ColumnRange:
    """Bounds of a column, which can be compared.

    Attributes:
        low, high: pairs of a sort key and the stored value; None if all values are null.
        counts: the four counts of `ColumnStats`.
    """

    low: tuple[Any, StatValue] | None
    high: tuple[Any, StatValue] | None
    counts: tuple[int, ...]

    @classmethod
    def of(cls, stats: ColumnStats, column: IndexedColumn) -> "ColumnRange":
        """Return the range in a record. Raise CorruptTableError if a bound does not have the type of the column."""
        scale_info = stats.value_type.additional_info if stats.value_type else None
        low, high = (
            None if value is None else column.ordered(column.converted(value, scale_info))
            for value in (stats.min_value, stats.max_value)
        )
        counts = (stats.value_count, stats.null_count, stats.total_size_bytes, stats.total_uncompressed_bytes)
        return cls(low, high, tuple(count or 0 for count in counts))


def _merged(one: ColumnRange, other: ColumnRange) -> ColumnRange:
    def order(bound: tuple[Any, StatValue]) -> Any:
        return bound[0]

    lows = [bound for bound in (one.low, other.low) if bound is not None]
    highs = [bound for bound in (one.high, other.high) if bound is not None]
    counts = tuple(left + right for left, right in zip(one.counts, other.counts, strict=True))
    return ColumnRange(min(lows, key=order, default=None), max(highs, key=order, default=None), counts)


def _statistics(
    merged: ColumnRange, partition_path: str, column: IndexedColumn, *, is_tight: bool
) -> ColumnStats:
    value_count, null_count, total_size, total_uncompressed = merged.counts
    return ColumnStats(
        file_name=files_key(partition_path),
        column_name=column.name,
        min_value=merged.low and merged.low[1],
        max_value=merged.high and merged.high[1],
        value_count=value_count,
        null_count=null_count,
        total_size_bytes=total_size,
        total_uncompressed_bytes=total_uncompressed,
        is_tight_bound=is_tight,
        value_type=column.value_type,
    )
