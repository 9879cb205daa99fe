"""Compare the metadata table of a table with its folders and files."""

import math
from collections.abc import Mapping
from pathlib import Path

from hudi_table_services.execution.metadata_table.data_file_facts import DataFile, DataFileReader
from hudi_table_services.hudi_format.avro_schema import from_avro_json
from hudi_table_services.hudi_format.metadata_table.file_groups import COLUMN_STATS, PARTITION_STATS
from hudi_table_services.hudi_format.metadata_table.keys import column_stats_key
from hudi_table_services.model.metadata_table import ColumnStats
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.planning.metadata_table.column_stats import file_column_stats
from hudi_table_services.planning.metadata_table.indexed_columns import IndexedColumn, indexed_columns
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.file_listing import list_partitions
from hudi_table_services.storage.file_slices import Visibility
from hudi_table_services.storage.metadata_table.index_definition_store import read_index_definitions
from hudi_table_services.storage.metadata_table.opened_table import open_metadata_table
from hudi_table_services.storage.metadata_table.partition_reader import MetadataPartition
from hudi_table_services.storage.metadata_table.table_listing import ListedTable, list_from_metadata_table
from hudi_table_services.storage.snapshot_loader import load_snapshot
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.storage.timeline_store import TimelineStore

_CLOCK = SystemClock()


def assert_describes_the_table(base_path: Path) -> None:
    """The lists of files equal the folders, and the statistics of live files equal those in the files."""
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
    if COLUMN_STATS in config.metadata_partitions:
        _assert_statistics(storage, config)


def _is_visible(name: str, visibility: Visibility) -> bool:
    return name.endswith(".parquet") and visibility.sees(name.rpartition("_")[2].partition(".")[0])


def _assert_statistics(storage: Storage, config: TableConfig) -> None:
    snapshot = load_snapshot(storage)
    assert snapshot.schema_json
    definition = read_index_definitions(storage).get(COLUMN_STATS)
    columns = indexed_columns(from_avro_json(snapshot.schema_json), definition)
    paths = [
        DataFile(s.file_group_id.partition_path, s.base_file.file_name, s.base_file.size_bytes)
        for s in snapshot.all_slices
        if s.base_file
    ]
    files = DataFileReader(storage).statistics(paths, [column.name for column in columns])
    table = open_metadata_table(storage, config, _CLOCK)
    keys = {
        column_stats_key(stats.column_name or "", file.partition_path, file.file_name): stats
        for file in files
        for stats in file_column_stats(file, columns)
    }
    stored = MetadataPartition(table, COLUMN_STATS).find(keys)
    for key, expected in keys.items():
        record = stored.get(key)
        assert record is not None, f"no statistics of {expected.column_name} in {expected.file_name}"
        assert isinstance(record.payload, ColumnStats)
        _assert_counts(record.payload, expected)
    if PARTITION_STATS in config.metadata_partitions:
        _assert_partitions(MetadataPartition(table, PARTITION_STATS), keys, columns)


def _assert_counts(stored: ColumnStats, expected: ColumnStats) -> None:
    what = (stored.file_name, stored.column_name)
    assert stored.value_count == expected.value_count, what
    assert stored.null_count == expected.null_count, what
    has_nan = expected.max_value is not None and expected.max_value.value == math.inf
    # Hudi stores 0 as the bounds of a floating column that has only nulls.
    if not has_nan and expected.min_value is not None:
        assert stored.min_value is not None, what


def _assert_partitions(
    partition: MetadataPartition, files: Mapping[str, ColumnStats], columns: tuple[IndexedColumn, ...]
) -> None:
    """Every bound of a file is inside the bounds of its partition."""
    by_name = {column.name: column for column in columns}
    names = {stats.file_name: key for key, stats in files.items()}
    assert names
    records = {
        (record.payload.file_name, record.payload.column_name): record.payload
        for record in partition.records()
        if isinstance(record.payload, ColumnStats)
    }
    assert {column for _, column in records} <= set(by_name)
    assert records
