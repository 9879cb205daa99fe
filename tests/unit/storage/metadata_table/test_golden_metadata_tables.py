"""Records that are read from whole metadata tables of real Hudi agree with the folders and rows of the tables."""

import datetime
from collections import defaultdict
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hudi_table_services.hudi_format.metadata_table import file_groups, keys
from hudi_table_services.hudi_format.metadata_table.stat_values import decimal_of_bytes
from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.metadata_table import (
    ColumnStats,
    FileBloomFilter,
    MetadataRecord,
    RecordLocation,
    RecordType,
    StatKind,
    StatValue,
    ValueTypeId,
)
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.file_listing import list_partitions
from hudi_table_services.storage.metadata_table.partition_reader import MetadataPartition
from hudi_table_services.storage.metadata_table.table_listing import ListedTable, list_from_metadata_table
from hudi_table_services.storage.stores.local import LocalStorage
from support.fixed_clock import FixedClock
from support.metadata_table.whole_metadata_golden import NAMES, VERSIONS, WholeTable, whole_table

EACH = pytest.mark.parametrize("name", NAMES)
EACH_VERSION = pytest.mark.parametrize("version", VERSIONS, ids=lambda version: f"v{version.value}")
ORDERED = ("count", "fare", "weight", "ts", "name", "price", "day")
NOT_INDEXED = {TableVersion.V8: {"price"}}
"""Release 1.0.2 keeps no statistics of decimals."""
OLD_DECIMAL_SCALE, DECIMAL_SCALE = 15, 2


def read(table: WholeTable, partition: str) -> dict[str, MetadataRecord]:
    records = list(MetadataPartition(table.metadata_table(), partition).records())
    found = {record.key: record for record in records}
    assert len(found) == len(records)
    return found


def indexed(version: TableVersion) -> list[str]:
    return [column for column in ORDERED if column not in NOT_INDEXED.get(version, ())]


def rows_by(table: WholeTable, column: str) -> Mapping[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in table.expected["rows"]:
        found[row[column]].append(row)
    return found


@EACH_VERSION
@EACH
def test_the_listing_is_that_of_the_folders(version: TableVersion, name: str, tmp_path: Path) -> None:
    table = whole_table(version, name, LocalStorage(str(tmp_path)))
    table.put_data_files()
    outcome = list_from_metadata_table(table.storage, table.config, table.timeline, FixedClock())
    assert isinstance(outcome, ListedTable)
    found = {path: [(f.path, f.size_bytes) for f in files] for path, files in outcome.files.items() if files}
    assert found == {
        path: [(f.path, f.size_bytes) for f in files if not f.name.startswith(".hoodie_partition_metadata")]
        for path, files in list_partitions(table.storage).items()
    }
    assert {f.modified_ms for files in outcome.files.values() for f in files} == {0}


@EACH_VERSION
@EACH
def test_every_record_is_found_by_its_key_and_by_prefixes(version: TableVersion, name: str) -> None:
    table = whole_table(version, name)
    for partition in table.metadata_table().partitions:
        records = read(table, partition)
        reader = MetadataPartition(table.metadata_table(), partition)
        assert records
        assert reader.find([*records, "absent"]) == records
        prefix = min(records)[:4]
        assert {r.key: r for r in reader.find_prefixes([prefix])} == {
            key: record for key, record in records.items() if key.startswith(prefix)
        }


@EACH_VERSION
def test_all_kinds_of_partitions_are_read(version: TableVersion) -> None:
    table = whole_table(version, "copy_on_write")
    opened = table.metadata_table()
    expected = {"bloom_filters", "column_stats", "files", "record_index"}
    if version is not TableVersion.V6:
        expected |= {"partition_stats", "secondary_index_names"}
    assert set(opened.partitions) == expected
    assert opened.partitions_being_built == ()
    assert opened.config.table_version is version
    assert {t for p in expected for t in {r.record_type for r in read(table, p).values()}} == set(
        RecordType
    ) - (
        set() if version is not TableVersion.V6 else {RecordType.PARTITION_STATS, RecordType.SECONDARY_INDEX}
    )


@EACH_VERSION
def test_the_record_index_locates_every_row_and_nothing_else(version: TableVersion) -> None:
    table = whole_table(version, "copy_on_write")
    found = {}
    for key, record in read(table, file_groups.RECORD_INDEX).items():
        assert isinstance(record.payload, RecordLocation)
        found[key] = (record.payload.partition_path, record.payload.file_id)
    assert found == {
        row["_hoodie_record_key"]: (
            row["_hoodie_partition_path"],
            BaseFile.from_file_name(row["_hoodie_file_name"]).file_id,
        )
        for row in table.expected["rows"]
    }


@EACH_VERSION
def test_bloom_filters_are_those_of_the_files(version: TableVersion) -> None:
    table = whole_table(version, "copy_on_write")
    records = read(table, file_groups.BLOOM_FILTERS)
    assert set(records) == {
        keys.bloom_filter_key(path, name) for path, names in table.files.items() for name in names
    }
    assert all(isinstance(record.payload, FileBloomFilter) for record in records.values())


@EACH_VERSION
def test_statistics_of_files_are_those_of_their_rows(version: TableVersion) -> None:
    """The test reads the statistics of the newest file of each file group, by key and by column.

    The rows of these files are known.
    """
    table = whole_table(version, "copy_on_write")
    reader = MetadataPartition(table.metadata_table(), file_groups.COLUMN_STATS)
    checked, columns = 0, indexed(version)
    for name, rows in rows_by(table, "_hoodie_file_name").items():
        partition = rows[0]["_hoodie_partition_path"]
        for column in columns:
            key = keys.column_stats_key(column, partition, name)
            record = reader.find([key])[key]
            assert record in reader.find_prefixes([keys.column_stats_prefix(column, partition)])
            check(record, column, rows)
            checked += 1
    assert checked == len(table.files) * len(columns)


@EACH_VERSION
def test_each_listed_file_has_statistics_and_from_version_8_on_only_listed_files_have_them(
    version: TableVersion,
) -> None:
    table = whole_table(version, "copy_on_write")
    names = set()
    for record in read(table, file_groups.COLUMN_STATS).values():
        assert isinstance(record.payload, ColumnStats)
        names.add(record.payload.file_name)
    listed = {name for sizes in table.files.values() for name in sizes}
    # When Hudi 0.15.0 cleans a file, it deletes another key than the key of the file's statistics, so these stay.
    assert names == listed if version is not TableVersion.V6 else names > listed


@pytest.mark.parametrize("version", [TableVersion.V8, TableVersion.V9], ids=str)
def test_statistics_of_partitions_are_those_of_their_rows(version: TableVersion) -> None:
    """The range of a partition may be wider than its rows, because it once covered rows that were replaced later."""
    table = whole_table(version, "copy_on_write")
    records = read(table, file_groups.PARTITION_STATS)
    for partition, rows in rows_by(table, "_hoodie_partition_path").items():
        for column in indexed(version):
            stats = records[keys.partition_stats_key(column, partition)].payload
            assert isinstance(stats, ColumnStats)
            values = [value_in_row(row, column) for row in rows if row[column] is not None]
            assert plain(stats.min_value, stats) <= min(values)
            assert plain(stats.max_value, stats) >= max(values)
            assert stats.is_tight_bound


@pytest.mark.parametrize("version", [TableVersion.V8, TableVersion.V9], ids=str)
def test_the_secondary_index_maps_values_to_rows(version: TableVersion) -> None:
    table = whole_table(version, "copy_on_write")
    reader = MetadataPartition(table.metadata_table(), "secondary_index_names")
    rows = [row for row in table.expected["rows"] if row["name"] is not None]
    found = {keys.parse_secondary_index_key(record.key) for record in reader.records()}
    assert {(row["name"], row["id"]) for row in rows} == {pair for pair in found if pair[0] is not None}
    row = rows[0]
    (record,) = reader.find_prefixes([keys.secondary_index_prefix(row["name"])])
    assert reader.find([record.key]) == {record.key: record}


def check(record: MetadataRecord, column: str, rows: list[dict[str, Any]]) -> None:
    stats = record.payload
    assert isinstance(stats, ColumnStats)
    values = [value_in_row(row, column) for row in rows if row[column] is not None]
    assert (stats.value_count, stats.null_count) == (len(rows), len(rows) - len(values))
    assert (plain(stats.min_value, stats), plain(stats.max_value, stats)) == (min(values), max(values))


def value_in_row(row: dict[str, Any], column: str) -> Any:
    match column:
        case "price":
            return Decimal(row[column])
        case "day":
            return (datetime.date.fromisoformat(row[column]) - datetime.date(1970, 1, 1)).days
    return row[column]


def plain(value: StatValue | None, stats: ColumnStats) -> Any:
    assert value is not None
    if value.kind is StatKind.DECIMAL:
        assert isinstance(value.value, bytes)
        return decimal_of_bytes(value.value, OLD_DECIMAL_SCALE)
    if stats.value_type is not None and stats.value_type.type_id == ValueTypeId.DECIMAL:
        assert isinstance(value.value, bytes)
        return decimal_of_bytes(value.value, DECIMAL_SCALE)
    return value.value
