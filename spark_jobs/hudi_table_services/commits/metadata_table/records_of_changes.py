"""Convert one change of the table to changes of the metadata table, by partition of the metadata table."""

import logging
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
from hudi_table_services.hudi_format.metadata_table.keys import column_stats_key
from hudi_table_services.model.metadata_table import ColumnStats, FileStatistics, MetadataChange
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
    """For a write or a clustering, the changes of each partition of the metadata table except the record index.

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
        blooms = DataFileReader(table.storage).blooms([_data_file(path) for path in paths])
        changes[BLOOM_FILTERS] = list(bloom_filter_records(blooms))
    return changes


def changes_of_clean(table: IndexedTable, change: CleanedFiles) -> _Changes:
    """For a clean, the changes of each partition of the metadata table. Statistics of partitions are not changed."""
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
    """Statistics of every partition that the write touches, computed from all live files of the partition."""
    metadata = change.metadata
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
