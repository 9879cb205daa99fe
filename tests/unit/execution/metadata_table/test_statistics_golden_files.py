"""From data files and commits of real tables, this project computes the records in the metadata tables of Hudi."""

import json
import math

import pytest

from hudi_table_services.execution.metadata_table.footer_statistics import file_statistics
from hudi_table_services.hudi_format.avro_schema import from_avro_json
from hudi_table_services.model.metadata_table import (
    ColumnStats,
    FileStatistics,
    MetadataRecord,
    StatKind,
    StatValue,
    ValueType,
)
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.planning.metadata_table.column_stats import column_stat_records
from hudi_table_services.planning.metadata_table.file_records import write_changes
from hudi_table_services.planning.metadata_table.indexed_columns import IndexedColumn, indexed_columns
from hudi_table_services.planning.metadata_table.partition_stats import PartitionFiles, partition_stat_records
from support.metadata_table.metadata_golden import RELEASES
from support.statistics_golden import StatisticsTable, statistics_table

ZERO, INFINITE = StatValue(StatKind.DOUBLE, 0.0), StatValue(StatKind.DOUBLE, math.inf)
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


def without_nan(records: dict[str, MetadataRecord]) -> dict[str, MetadataRecord]:
    """Leave out the records of the column with NaN, because Hudi stores wrong bounds in them."""
    return {
        key: record
        for key, record in records.items()
        if (stats := stats_of(record)).column_name != "fare" or stats.max_value not in (ZERO, INFINITE)
    }


def stats_of(record: MetadataRecord) -> ColumnStats:
    assert isinstance(record.payload, ColumnStats)
    return record.payload


def by_key(records) -> dict[str, MetadataRecord]:
    return {record.key: record for record in records}


@EACH
def test_the_lists_of_files_are_those_of_hudi(version: TableVersion) -> None:
    table = statistics_table(version)
    assert len(table.commits) == 3
    for instant_time, metadata in table.commits.items():
        assert by_key(write_changes(metadata)) == by_key(table.records("files", instant_time))


@EACH
def test_the_statistics_of_files_are_those_of_hudi(version: TableVersion) -> None:
    table = statistics_table(version)
    columns = indexed(table)
    kinds = set()
    for instant_time in table.commits:
        files = statistics_of(table, instant_time)
        ours = by_key(column_stat_records(files, columns, has_partition_stats=True))
        theirs = by_key(table.records("column_stats", instant_time))
        assert ours.keys() == theirs.keys()
        assert without_nan(ours) == without_nan(theirs)
        kinds |= {low.kind for record in ours.values() if (low := stats_of(record).min_value)}
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
        theirs = by_key(table.records("partition_stats", instant_time))
        assert ours.keys() == theirs.keys()
        assert without_nan(ours) == without_nan(theirs)
        for record in table.records("column_stats", instant_time):
            stats = stats_of(record)
            stored[str(stats.file_name)] = (*stored.get(str(stats.file_name), ()), stats)
    assert len(live["north"]) == 2


@EACH
def test_the_upper_bound_of_a_column_with_nan_is_infinity_instead_of_hudis_zero(
    version: TableVersion,
) -> None:
    table = statistics_table(version)
    newest = list(table.commits)[-1]
    (file,) = statistics_of(table, newest)
    fare = file.range_of("fare")
    assert fare is not None
    assert (fare.has_nan, fare.min_value) == (True, 28.0)
    ours = column_stat_records([file], indexed(table), has_partition_stats=True)
    theirs = table.records("column_stats", newest)
    bounds = [
        [(s.min_value, s.max_value) for r in records if (s := stats_of(r)).column_name == "fare"]
        for records in (ours, theirs)
    ]
    assert bounds == [[(StatValue(StatKind.DOUBLE, 28.0), INFINITE)], [(ZERO, ZERO)]]
    assert list(column_stat_records([file], indexed(table), has_partition_stats=False)) == []


def test_the_types_of_values_are_those_of_version_9() -> None:
    types = {column.name: column.value_type for column in indexed(statistics_table(TableVersion.V9))}
    assert types["price"] == ValueType(10, "20,2")
    assert types["day"] == ValueType(12)
    assert json.dumps(sorted(types)).count("inner") == 0
