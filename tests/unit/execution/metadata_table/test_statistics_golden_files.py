"""From the data files and commits of real tables follow the very records that Hudi put into its metadata table."""

import json

import pytest

from hudi_table_services.execution.metadata_table.footer_statistics import file_statistics
from hudi_table_services.hudi_format.avro_schema import from_avro_json
from hudi_table_services.model.metadata_table import (
    ColumnStats,
    FileStatistics,
    MetadataRecord,
    StatKind,
    ValueType,
)
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.planning.metadata_table.column_stats import column_stat_records
from hudi_table_services.planning.metadata_table.file_records import write_changes
from hudi_table_services.planning.metadata_table.indexed_columns import IndexedColumn, indexed_columns
from hudi_table_services.planning.metadata_table.partition_stats import PartitionFiles, partition_stat_records
from support.metadata_golden import RELEASES
from support.statistics_golden import StatisticsTable, statistics_table

EACH = pytest.mark.parametrize("version", list(RELEASES), ids=lambda version: f"v{version}")
WITH_PARTITION_STATS = pytest.mark.parametrize("version", [TableVersion.V8, TableVersion.V9], ids=str)


def indexed(table: StatisticsTable) -> tuple[IndexedColumn, ...]:
    newest = list(table.commits.values())[-1]
    return indexed_columns(from_avro_json(newest.extra_metadata["schema"]), table.column_stats_definition)


def statistics_of(table: StatisticsTable, instant_time: str) -> list[FileStatistics]:
    return [
        file_statistics(path.partition("/")[0], path.partition("/")[2], file.metadata)
        for path, file in table.data_files.items()
        if instant_time in path
    ]


def by_key(records) -> dict[str, MetadataRecord]:
    return {record.key: record for record in records}


@EACH
def test_the_lists_of_files_are_those_of_hudi(version: TableVersion) -> None:
    table = statistics_table(version)
    assert len(table.commits) == 2
    for instant_time, metadata in table.commits.items():
        assert by_key(write_changes(metadata)) == by_key(table.records("files", instant_time))


@EACH
@pytest.mark.parametrize("has_partition_stats", [False, True])
def test_the_statistics_of_files_are_those_of_hudi(version: TableVersion, has_partition_stats: bool) -> None:
    table = statistics_table(version)
    columns = indexed(table)
    kinds = set()
    for instant_time in table.commits:
        files = statistics_of(table, instant_time)
        ours = by_key(column_stat_records(files, columns, has_partition_stats=has_partition_stats))
        theirs = by_key(table.records("column_stats", instant_time))
        assert ours == theirs
        kinds |= {r.payload.min_value.kind for r in ours.values() if r.payload.min_value}  # type: ignore[union-attr]
    plain = {StatKind.BOOLEAN, StatKind.INT, StatKind.LONG, StatKind.FLOAT, StatKind.DOUBLE, StatKind.STRING}
    assert kinds >= {*plain, StatKind.BYTES}


@WITH_PARTITION_STATS
def test_the_statistics_of_partitions_are_those_of_hudi(version: TableVersion) -> None:
    table = statistics_table(version)
    columns = indexed(table)
    stored: dict[str, tuple[ColumnStats, ...]] = {}
    live: dict[str, set[str]] = {}
    for instant_time in table.commits:
        files = statistics_of(table, instant_time)
        ours: dict[str, MetadataRecord] = {}
        for path in sorted({file.partition_path for file in files}):
            new = tuple(file for file in files if file.partition_path == path)
            live.setdefault(path, set()).update(file.file_name for file in new)
            partition = PartitionFiles(
                partition_path=path, live_files=frozenset(live[path]), statistics=new, stored=stored
            )
            ours |= by_key(partition_stat_records(partition, columns))
        assert ours == by_key(table.records("partition_stats", instant_time))
        for record in table.records("column_stats", instant_time):
            assert isinstance(record.payload, ColumnStats)
            name = str(record.payload.file_name)
            stored[name] = (*stored.get(name, ()), record.payload)
    assert len(live["north"]) == 2


def test_the_types_of_values_are_those_of_version_9() -> None:
    types = {column.name: column.value_type for column in indexed(statistics_table(TableVersion.V9))}
    assert types["price"] == ValueType(10, "20,2")
    assert types["day"] == ValueType(12)
    assert json.dumps(sorted(types)).count("inner") == 0
