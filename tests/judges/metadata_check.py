"""Compare the metadata table of a table with its folders and files."""

import math
from collections.abc import Mapping
from pathlib import Path

from hudi_table_services.execution.metadata_table.data_file_facts import DataFile, DataFileReader
from hudi_table_services.hudi_format.avro_schema import from_avro_json
from hudi_table_services.hudi_format.metadata_table.file_groups import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    PARTITION_STATS,
    RECORD_INDEX,
)
from hudi_table_services.hudi_format.metadata_table.keys import column_stats_key
from hudi_table_services.model.metadata_table import ColumnStats
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.planning.metadata_table.column_stats import file_column_stats
from hudi_table_services.planning.metadata_table.indexed_columns import indexed_columns
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.file_listing import list_partitions
from hudi_table_services.storage.file_slices import Visibility
from hudi_table_services.storage.metadata_table.index_definition_store import read_index_definitions
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable, open_metadata_table
from hudi_table_services.storage.metadata_table.partition_reader import MetadataPartition
from hudi_table_services.storage.metadata_table.table_listing import ListedTable, list_from_metadata_table
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from judges.metadata_index_check import (
    assert_bloom_filters,
    assert_groups_of_keys,
    assert_locations,
    assert_partition_ranges,
)

_CLOCK = SystemClock()


def assert_describes_the_table(base_path: Path) -> None:
    """The lists of files equal the folders, and the records of all indexes equal the content of the live files."""
    storage = LocalStorage(str(base_path))
    config = read_table_config(storage)
    timeline = TimelineStore(storage, config, _CLOCK).load()
    listed = list_from_metadata_table(storage, config, timeline, _CLOCK)
    assert isinstance(listed, ListedTable), listed
    is_new = config.table_version.layout.has_completion_time_in_names
    visibility = Visibility.of(timeline, has_own_log_instants=is_new)
    found = {path: {s.name: s.size_bytes for s in files} for path, files in listed.files.items() if files}
    present = {
        path: {s.name: s.size_bytes for s in files if _is_visible(s.name, visibility)}
        for path, files in list_partitions(storage).items()
    }
    assert found == {path: names for path, names in present.items() if names}
    if len(config.metadata_partitions) > 1:
        _assert_indexes(base_path, storage, config)


def _is_visible(name: str, visibility: Visibility) -> bool:
    return name.endswith(".parquet") and visibility.sees(name.rpartition("_")[2].partition(".")[0])


def _assert_indexes(base_path: Path, storage: Storage, config: TableConfig) -> None:
    snapshot, table = load_snapshot(storage), open_metadata_table(storage, config, _CLOCK)
    for partition in config.metadata_partitions:
        assert_groups_of_keys(table, partition)
    if RECORD_INDEX in config.metadata_partitions:
        assert_locations(base_path, table, snapshot.all_slices)
    if BLOOM_FILTERS in config.metadata_partitions:
        assert_bloom_filters(base_path, table, snapshot.all_slices)
    if COLUMN_STATS in config.metadata_partitions:
        by_partition = _assert_statistics(storage, snapshot, table)
        if PARTITION_STATS in config.metadata_partitions:
            assert_partition_ranges(table, PARTITION_STATS, by_partition)


def _assert_statistics(
    storage: Storage, snapshot: TableSnapshot, table: MetadataTable
) -> Mapping[str, list[ColumnStats]]:
    """Returns the statistics in the live files of each partition."""
    assert snapshot.schema_json
    definition = read_index_definitions(storage).get(COLUMN_STATS)
    columns = indexed_columns(from_avro_json(snapshot.schema_json), definition)
    paths = [
        DataFile(s.file_group_id.partition_path, s.base_file.file_name, s.base_file.size_bytes)
        for s in snapshot.all_slices
        if s.base_file
    ]
    files = DataFileReader(storage).statistics(paths, [column.name for column in columns])
    expected = {file: tuple(file_column_stats(file, columns)) for file in files}
    keys = {
        column_stats_key(stats.column_name or "", file.partition_path, file.file_name): stats
        for file, found in expected.items()
        for stats in found
    }
    stored = MetadataPartition(table, COLUMN_STATS).find(keys)
    for key, each in keys.items():
        record = stored.get(key)
        assert record is not None, f"no statistics of {each.column_name} in {each.file_name}"
        assert isinstance(record.payload, ColumnStats)
        _assert_equal(record.payload, each)
    by_partition: dict[str, list[ColumnStats]] = {}
    for file, found in expected.items():
        by_partition.setdefault(file.partition_path, []).extend(found)
    return by_partition


def _assert_equal(stored: ColumnStats, expected: ColumnStats) -> None:
    what = (stored.file_name, stored.column_name)
    assert not stored.is_deleted, what
    assert stored.value_count == expected.value_count, what
    assert stored.null_count == expected.null_count, what
    for ours, theirs in (
        (expected.min_value, stored.min_value),
        (expected.max_value, stored.max_value),
    ):
        # Hudi stores 0 as the bounds of a floating column that has only nulls, and bounds without NaN.
        if ours is None or ours.value == math.inf:
            continue
        assert theirs is not None, what
        # A compaction of Hudi 0.15.0 changes the kind of dates and decimals.
        assert ours.kind is not theirs.kind or ours.value == theirs.value, (what, ours, theirs)
