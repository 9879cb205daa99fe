"""Convert one change of the table to changes of the metadata table, by partition of the metadata table."""

import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from hudi_table_services.commits.metadata_table.indexed_table import IndexedTable
from hudi_table_services.commits.table_change import CleanedFiles, NewFiles
from hudi_table_services.errors import CorruptTableError, ObjectNotFoundError
from hudi_table_services.execution.metadata_table.data_file_facts import DataFile, DataFileReader
from hudi_table_services.hudi_format.metadata_table.file_groups import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    FILES,
    PARTITION_STATS,
)
from hudi_table_services.hudi_format.metadata_table.keys import column_stats_key, partition_stats_key
from hudi_table_services.model.metadata_table import ColumnStats, FileStatistics, MetadataChange
from hudi_table_services.model.table_version import TableType
from hudi_table_services.model.write_stat import CommitMetadata
from hudi_table_services.planning.metadata_table import file_records
from hudi_table_services.planning.metadata_table.bloom_records import (
    bloom_filter_records,
    deleted_bloom_filters,
)
from hudi_table_services.planning.metadata_table.column_stats import (
    column_stat_records,
    deleted_column_stats,
)
from hudi_table_services.planning.metadata_table.partition_stats import (
    PartitionFiles,
    deleted_partition_stats,
    partition_stat_records,
)
from hudi_table_services.storage.damage import REBUILD_HINT
from hudi_table_services.storage.metadata_table.partition_reader import MetadataPartition
from hudi_table_services.storage.stores.paths import join_path

_LOG = logging.getLogger(__name__)
_Changes = dict[str, Sequence[MetadataChange]]
_UNKNOWN_BYTES = -1


def changes_of_write(table: IndexedTable, change: NewFiles) -> _Changes:
    """Convert a write or a table service to changes of the metadata table.

    The result contains no changes of the record index or of secondary indexes.

    Raises:
        CorruptTableError, UnsupportedTableError: statistics of a column cannot be stored, or are damaged.
    """
    paths = sorted(stat.path for stat in change.metadata.write_stats if stat.path)
    changes: _Changes = {FILES: list(file_records.write_changes(change.metadata))}
    if COLUMN_STATS in table.partitions:
        collected = change.facts.statistics
        missing = [path for path in paths if path not in collected]
        known = {**collected, **_read_statistics(table, missing)}
        new = {path: known[path] for path in paths}
        has_partition_stats = PARTITION_STATS in table.partitions
        changes[COLUMN_STATS] = list(
            column_stat_records(new.values(), table.columns, has_partition_stats=has_partition_stats)
        )
        if has_partition_stats:
            changes[PARTITION_STATS] = _partition_stats(table, change, new)
    if BLOOM_FILTERS in table.partitions:
        files = [_data_file(path) for path in paths]
        # Log files have no bloom filter.
        blooms = DataFileReader(table.storage).blooms([file for file in files if not file.is_log_file])
        changes[BLOOM_FILTERS] = list(bloom_filter_records(blooms))
    return changes


def changes_of_clean(table: IndexedTable, change: CleanedFiles) -> _Changes:
    """Convert a clean to changes of the metadata table. A clean does not change the statistics of partitions."""
    changes: _Changes = {FILES: list(file_records.clean_changes(change.metadata, table.version))}
    deleted = file_records.cleaned_files(change.metadata)
    if COLUMN_STATS in table.partitions:
        changes[COLUMN_STATS] = list(deleted_column_stats(deleted, table.columns))
    if BLOOM_FILTERS in table.partitions:
        changes[BLOOM_FILTERS] = list(deleted_bloom_filters(deleted))
    return changes


def _read_statistics(table: IndexedTable, paths: Iterable[str]) -> dict[str, FileStatistics]:
    """Map the path of each file to its statistics, read from the file."""
    files = [_data_file(path) for path in sorted(paths)]
    if not files:
        return {}
    found = DataFileReader(table.storage).statistics(files, table.column_names)
    return {file.path: statistics for file, statistics in zip(files, found, strict=True)}


def _data_file(path: str) -> DataFile:
    partition_path, _, name = path.rpartition("/")
    return DataFile(partition_path, name, _UNKNOWN_BYTES)


def _partition_stats(
    table: IndexedTable, change: NewFiles, new: Mapping[str, FileStatistics]
) -> list[MetadataChange]:
    """Statistics of every partition that the write touches.

    In copy-on-write tables, the statistics are computed from all live files of the partition.
    """
    metadata = change.metadata
    if table.table.config.table_type is not TableType.COPY_ON_WRITE:
        return _widening_partition_stats(table, change.metadata, new)
    touched = sorted({*metadata.partition_to_write_stats, *(metadata.partition_to_replace_file_ids or {})})
    live = table.live_files_after(metadata, touched)
    by_partition = _known_statistics(table, live, new)
    changes: list[MetadataChange] = []
    is_tight = not table.may_be_overtaken
    if is_tight:  # a deletion would also delete the statistics of an earlier instant that completes later
        changes += deleted_partition_stats((path for path in touched if not live[path]), table.columns)
    for path in touched:
        changes += partition_stat_records(by_partition[path], table.columns, is_tight=is_tight)
    return changes


def _widening_partition_stats(
    table: IndexedTable, metadata: CommitMetadata, new: Mapping[str, FileStatistics]
) -> list[MetadataChange]:
    """Statistics of the new files. Readers unite these statistics with the stored statistics of the same partitions.

    If a partition has no statistics of a column yet, for example because the write has added the column to the table,
    the statistics of this column cover all live files. An older file without the column counts as a file in which all
    values of the column are null.
    """
    by_partition: dict[str, list[FileStatistics]] = {}
    for path in sorted(new):
        by_partition.setdefault(new[path].partition_path, []).append(new[path])
    first = _columns_without_partition_stats(table, by_partition)
    live = table.live_files_after(metadata, sorted(first)) if first else {}
    whole = _known_statistics(table, live, new) if first else {}
    changes: list[MetadataChange] = []
    for path, found in by_partition.items():
        names = frozenset(each.file_name for each in found)
        files = PartitionFiles(partition_path=path, live_files=names, statistics=tuple(found))
        known = [column for column in table.columns if column.name not in first.get(path, ())]
        changes += partition_stat_records(files, known, is_tight=False)
        if path in first:
            added = [column for column in table.columns if column.name in first[path]]
            changes += partition_stat_records(whole[path], added, is_tight=False)
    return changes


def _columns_without_partition_stats(
    table: IndexedTable, partition_paths: Iterable[str]
) -> dict[str, frozenset[str]]:
    """Map each partition that lacks statistics of some indexed columns to the names of these columns.

    If the stored statistics are damaged, every column counts as missing. The additional records then do no harm,
    because readers unite records.
    """
    keys = {
        partition_stats_key(column, path): (path, column)
        for path in partition_paths
        for column in table.column_names
    }
    try:
        records = MetadataPartition(table.metadata, PARTITION_STATS).find(keys) if keys else {}
    except (CorruptTableError, ObjectNotFoundError) as error:
        _LOG.warning("Reading statistics of whole partitions: %s %s", error.message, REBUILD_HINT)
        records = {}
    missing: dict[str, set[str]] = defaultdict(set)
    for key, (path, column) in keys.items():
        record = records.get(key)
        if record is None or not isinstance(record.payload, ColumnStats) or record.payload.is_deleted:
            missing[path].add(column)
    return {path: frozenset(columns) for path, columns in missing.items()}


def _known_statistics(
    table: IndexedTable, live: Mapping[str, frozenset[str]], new: Mapping[str, FileStatistics]
) -> dict[str, PartitionFiles]:
    """Statistics of all live files: `new` for new files, else from the metadata table, else from the footers."""
    other = {path: [n for n in names if join_path(path, n) not in new] for path, names in live.items()}
    stored = _stored_statistics(table, other)
    found = {
        path: PartitionFiles(
            partition_path=path,
            live_files=names,
            statistics=tuple(new[p] for n in sorted(names) if (p := join_path(path, n)) in new),
            stored=stored.get(path, {}),
        )
        for path, names in live.items()
    }
    lacking = [join_path(p, n) for p, files in found.items() for n in files.without_statistics(table.columns)]
    read = _read_statistics(table, lacking)
    return {path: _with(files, (read[p] for p in sorted(read))) for path, files in found.items()}


def _with(files: PartitionFiles, read: Iterable[FileStatistics]) -> PartitionFiles:
    own = tuple(stats for stats in read if stats.partition_path == files.partition_path)
    return PartitionFiles(
        partition_path=files.partition_path,
        live_files=files.live_files,
        statistics=(*files.statistics, *own),
        stored=files.stored,
    )


def _stored_statistics(
    table: IndexedTable, files: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, tuple[ColumnStats, ...]]]:
    """Map each partition and file to its statistics in the metadata table; empty if the statistics are damaged."""
    keys = {
        column_stats_key(column, path, name): (path, name)
        for path, names in files.items()
        for name in names
        for column in table.column_names
    }
    found: dict[str, dict[str, tuple[ColumnStats, ...]]] = {}
    if not keys:
        return found
    try:
        records = MetadataPartition(table.metadata, COLUMN_STATS).find(keys)
    except (CorruptTableError, ObjectNotFoundError) as error:
        _LOG.warning("Reading statistics from the footers of data files: %s %s", error.message, REBUILD_HINT)
        return found
    for key, record in records.items():
        if isinstance(record.payload, ColumnStats):
            path, name = keys[key]
            by_file = found.setdefault(path, {})
            by_file[name] = (*by_file.get(name, ()), record.payload)
    return found
