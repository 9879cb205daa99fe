"""The metadata table lists the log files of a write, and has statistics of the rows in them."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from hudi_table_services.execution.metadata_table.data_file_facts import DataFile, DataFileReader
from hudi_table_services.hudi_format.metadata_table.file_groups import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    FILES,
    PARTITION_STATS,
)
from hudi_table_services.hudi_format.metadata_table.index_definitions import PATH
from hudi_table_services.model.metadata_table import ColumnStats
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.metadata_table.opened_table import open_metadata_table
from hudi_table_services.storage.metadata_table.partition_reader import MetadataPartition
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.log_golden import PARTITION, log_table
from support.spark.log_tables import NAMES, LogTable, Row, new_log_table

OLD: list[Row] = [(f"k{i}", 10 + i, "ab"[i % 2], "old") for i in range(6)]
INDEXES = {
    "hoodie__metadata__index__column__stats__enable": "true",
    "hoodie__metadata__index__bloom__filter__enable": "true",
}


@pytest.fixture(params=[6, 8, 9])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> LogTable:
    made = new_log_table(tmp_path / "t", request.param, hoodie__metadata__enable="true", **INDEXES)
    made.write([(*row, False) for row in OLD])
    return made


def statistics(table: LogTable, partition: str = COLUMN_STATS) -> dict[tuple[str | None, str], ColumnStats]:
    """Statistics by file or partition, and column."""
    config = read_table_config(table.storage)
    metadata = open_metadata_table(table.storage, config, SystemClock())
    payloads = (record.payload for record in MetadataPartition(metadata, partition).records())
    return {(p.file_name, str(p.column_name)): p for p in payloads if isinstance(p, ColumnStats)}


def bounds(stats: ColumnStats) -> tuple[object, object]:
    return (
        None if stats.min_value is None else stats.min_value.value,
        None if stats.max_value is None else stats.max_value.value,
    )


def check_listing(table: LogTable) -> None:
    """Both listings find the same slices, with the same log files."""
    listed, folders = load_snapshot(table.storage), load_snapshot(table.storage, metadata_enable=False)
    assert listed.is_from_metadata_table
    assert listed.file_slices == folders.file_slices


def of_partition(
    found: Mapping[tuple[str | None, str], ColumnStats], column: str
) -> dict[str | None, object]:
    return {name: bounds(stats) for (name, of), stats in found.items() if of == column}


def test_log_files_are_listed_with_their_sizes(table: LogTable) -> None:
    partitions = read_table_config(table.storage).metadata_partitions
    assert {FILES, COLUMN_STATS, BLOOM_FILTERS} <= set(partitions)
    for number in (1, 2):
        table.write([("k0", 20 + number, "a", "new", False), ("n", number, "b", "inserted", False)])
        check_listing(table)
    assert len(table.slice_of("a").log_files) == 2


def test_statistics_of_a_log_file_cover_its_rows_but_not_its_deletes(table: LogTable) -> None:
    table.write([("k0", 5, "a", "late", False), ("k2", 30, "a", "new", False), ("k4", 40, "a", None, True)])
    (log,) = table.slice_of("a").log_files
    found = statistics(table)
    assert bounds(found[log.file_name, "ts"]) == (5, 30)
    assert bounds(found[log.file_name, "v"]) == ("late", "new")
    assert found[log.file_name, "ts"].value_count == 2
    if PARTITION_STATS in read_table_config(table.storage).metadata_partitions:
        # The bounds cover all files of the slices: rows that a log file replaces count too.
        assert of_partition(statistics(table, PARTITION_STATS), "ts") == {"a": (5, 30), "b": (11, 15)}


def test_a_log_file_with_deletes_only_has_no_statistics(table: LogTable) -> None:
    table.write([("k0", 0, "a", None)], "delete", names=("k", "ts", "p", "v"))
    (log,) = table.slice_of("a").log_files
    assert not [key for key in statistics(table) if key[0] == log.file_name]
    table.write([("k2", 30, "a", "new", False)])
    if PARTITION_STATS in read_table_config(table.storage).metadata_partitions:
        assert of_partition(statistics(table, PARTITION_STATS), "ts")["a"] == (10, 30)
    check_listing(table)


@pytest.mark.parametrize("table", [8, 9], indirect=True)
def test_statistics_of_a_new_column_count_the_nulls_of_older_files(table: LogTable) -> None:
    table.types = {"c": pa.int64()}
    table.write([("n", 1, "d", "new", False, 5)], names=(*NAMES, "c"))
    # Hudi adds a new column to the definition of the index.
    definitions = table.base_path / PATH
    definitions.write_text(definitions.read_text().replace('"v",', '"v", "c",'))

    def of_column() -> dict[str | None, ColumnStats]:
        return {s.file_name: s for (_, name), s in statistics(table, PARTITION_STATS).items() if name == "c"}

    table.write([("k0", 20, "a", "new", False, 7), ("m", 1, "e", "new", False, 6)], names=(*NAMES, "c"))
    # A filter for nulls must not skip the partition a, whose other rows have no value.
    found = of_column()
    assert (bounds(found["a"]), found["a"].value_count, found["a"].null_count) == ((7, 7), 4, 3)
    assert (bounds(found["e"]), found["e"].value_count, found["e"].null_count) == ((6, 6), 1, 0)
    table.write([("k2", 21, "a", "new", False, 9)], names=(*NAMES, "c"))
    found = of_column()
    assert (bounds(found["a"]), found["a"].value_count, found["a"].null_count) == ((7, 9), 5, 3)


@pytest.mark.parametrize("encoding", ["avro", "parquet"])
def test_statistics_that_are_read_from_blocks_are_those_that_the_write_collects(
    table: LogTable, encoding: str
) -> None:
    options = {"hoodie.logfile.data.block.format": encoding, "hoodie.logfile.data.block.max.size": "1024"}
    rows: list[Row] = [("k0", 5, "a", "x" * 2000, False), ("k2", 30, "a", "y" * 2000, False)]
    table.write([*rows, ("k4", 9, "a", None, True)], options=options)
    (log,) = table.slice_of("a").log_files
    assert len(table.blocks(table.slice_of("a"))) == 3
    file = DataFile("a", log.file_name, log.size_bytes)
    (read,) = DataFileReader(table.storage).statistics([file], ["ts", "v"])
    assert read.row_count == 2
    collected = statistics(table)
    for column in ("ts", "v"):
        found, stored = read.range_of(column), collected[log.file_name, column]
        assert found is not None
        assert (found.min_value, found.max_value) == bounds(stored)
        assert (found.value_count, found.null_count) == (stored.value_count, stored.null_count)


@pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V8, TableVersion.V9])
def test_log_files_of_hudi_have_statistics_with_bounds(version: TableVersion) -> None:
    golden = log_table(version, "updates")
    files = [DataFile(PARTITION, path.rpartition("/")[2], -1) for path in golden.log_files()]
    columns = ["id", "ts", "fare", "price", "day", "at", "place.city"]
    found = DataFileReader(golden.storage).statistics(files, columns)
    assert sum(each.row_count for each in found) > 0
    assert any(each.row_count == 0 and not each.ranges for each in found), "a log file with deletes only"
    for each in found:
        for column in each.ranges:
            assert column.has_only_nulls or (column.min_value is not None and column.max_value is not None)
