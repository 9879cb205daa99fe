"""Find stored statistics that make a reader skip rows that its filter selects (data skipping, Hudi 1.2).

With bounds that are too wide, a reader opens more files, but skips no row by mistake. A reader always reads a file
without any record. But if a file has records of other columns, a reader treats a column without a record as a column of
nulls. A reader skips a partition that has no record of a column if other partitions have a record of this column.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from hudi_table_services.hudi_format.metadata_table.keys import files_key
from hudi_table_services.model.metadata_table import ColumnStats, FileStatistics
from hudi_table_services.planning.metadata_table.column_stats import file_column_stats
from hudi_table_services.planning.metadata_table.indexed_columns import IndexedColumn
from hudi_table_services.planning.metadata_table.partition_stats import ColumnRange

StoredStats = Mapping[tuple[str, str], ColumnStats]
"""Maps a pair to stored statistics. The first value of the pair is the name of a file, or the key of a partition in the
metadata table's partition `files`; the second value is the name of a column."""


def wrong_file_statistics(
    files: Iterable[FileStatistics], stored: StoredStats, columns: Sequence[IndexedColumn]
) -> Iterator[str]:
    """Describe each wrong or missing record of `column_stats` because of which a reader would skip rows.

    Args:
        files: statistics from the footers.
        stored: records that are not deleted.

    Raises:
        UnsupportedTableError: the bounds of a column are not known.
        CorruptTableError: a stored bound does not have the type of the column.
    """
    recorded = {name for name, _ in stored}
    for file in files:
        if file.file_name in recorded:
            actual = {str(s.column_name): s for s in file_column_stats(file, columns)}
            yield from _wrong(file.file_name, [actual], stored, columns, of=f"file {file.file_name}")


def wrong_partition_statistics(
    files: Iterable[FileStatistics], stored: StoredStats, columns: Sequence[IndexedColumn]
) -> Iterator[str]:
    """Describe each wrong or missing record of `partition_stats` because of which a reader would skip rows.

    Args:
        files: statistics from the footers of the live files.

    Raises:
        UnsupportedTableError, CorruptTableError: as in `wrong_file_statistics`.
    """
    by_partition: dict[str, list[dict[str, ColumnStats]]] = {}
    for file in files:
        actual = {str(s.column_name): s for s in file_column_stats(file, columns)}
        by_partition.setdefault(file.partition_path, []).append(actual)
    recorded = {name for _, name in stored}
    for path, found in sorted(by_partition.items()):
        known = [column for column in columns if column.name in recorded]
        yield from _wrong(files_key(path), found, stored, known, of=f"partition {path!r}")


def _wrong(
    key: str,
    actual: Sequence[Mapping[str, ColumnStats]],
    stored: StoredStats,
    columns: Iterable[IndexedColumn],
    *,
    of: str,
) -> Iterator[str]:
    for column in columns:
        found = [each[column.name] for each in actual if column.name in each]
        record = stored.get((key, column.name))
        if record is None and any(not _has_only_nulls(stats) for stats in found):
            yield f"{of}, column {column.name!r}: no record"
        elif record is not None and any(_hides(record, stats, column) for stats in found):
            yield f"{of}, column {column.name!r}: the record excludes values of the data files"


def _hides(record: ColumnStats, actual: ColumnStats, column: IndexedColumn) -> bool:
    kept, real = ColumnRange.of(record, column), ColumnRange.of(actual, column)
    hides_nulls = bool(actual.null_count) and not record.null_count
    hides_low = real.low is not None and (kept.low is None or kept.low[0] > real.low[0])
    hides_high = real.high is not None and (kept.high is None or kept.high[0] < real.high[0])
    return hides_nulls or hides_low or hides_high


def _has_only_nulls(stats: ColumnStats) -> bool:
    return stats.null_count == stats.value_count
