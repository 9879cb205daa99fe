"""A build of the metadata table of a merge-on-read table covers log files, and indexes have the keys of merged rows."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from hudi_table_services.contract.metadata_table import MetadataTableReport, RebuildMetadataTableRequest
from hudi_table_services.hudi_format.metadata_table.file_groups import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    FILES,
    PARTITION_STATS,
    RECORD_INDEX,
)
from hudi_table_services.hudi_format.metadata_table.index_definitions import PATH, encode_index_definitions
from hudi_table_services.jobs.metadata_table.rebuild import rebuild_metadata_table
from hudi_table_services.model.metadata_table import ColumnStats
from hudi_table_services.storage.metadata_table.index_definition_store import read_index_definitions
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from judges.merge_on_read.key_indexes import stored_entries
from support.metadata_table.built_tables import records_in
from support.spark.in_driver import DriverSession
from support.spark.indexed_log_tables import SECONDARY, assert_indexes_equal_rows, secondary_definition
from support.spark.log_tables import LogTable, Row, foreign_log, new_log_table

OLD: list[Row] = [(f"k{i}", 5, "ab"[i % 2], "old", False) for i in range(6)]
STATISTICS = {
    "hoodie__metadata__enable": "true",
    "hoodie__metadata__index__column__stats__enable": "true",
    "hoodie__metadata__index__bloom__filter__enable": "true",
}


def rebuild(table: LogTable, *partitions: str, **fields: Any) -> MetadataTableReport:
    request = RebuildMetadataTableRequest(base_path=str(table.base_path), partitions=partitions, **fields)
    session: Any = DriverSession()
    report = rebuild_metadata_table(request, spark=session).report
    assert isinstance(report, MetadataTableReport)
    return report


def write_logs(table: LogTable) -> None:
    """Updates, deletes, a log file with deletes only, and a late row."""
    table.write(OLD)
    table.write([("k0", 7, "a", None, True), ("k2", 7, "a", "new", False), ("k1", 9, "b", "zzz", False)])
    table.write([("k3", 0, "b", None)], "delete", names=("k", "ts", "p", "v"))
    table.write([("k2", 1, "a", "late", False), ("n", 9, "c", "insert", False)])


def check_listing(table: LogTable) -> None:
    listed, folders = load_snapshot(table.storage), load_snapshot(table.storage, metadata_enable=False)
    assert listed.is_from_metadata_table
    assert listed.file_slices == folders.file_slices


@pytest.mark.parametrize("version", [6, 8, 9])
def test_a_build_gives_the_records_that_writes_maintain(tmp_path: Path, version: int) -> None:
    table = new_log_table(tmp_path / "t", version, **STATISTICS)
    write_logs(table)
    maintained = {name: records_in(table.storage, name) for name in (COLUMN_STATS, BLOOM_FILTERS)}
    names = read_table_config(table.storage).metadata_partitions
    report = rebuild(table)
    assert {each.name for each in report.built} == set(names)
    check_listing(table)
    assert records_in(table.storage, BLOOM_FILTERS) == maintained[BLOOM_FILTERS]
    found = records_in(table.storage, COLUMN_STATS)
    assert found.keys() == maintained[COLUMN_STATS].keys()
    for key, record in found.items():
        earlier = maintained[COLUMN_STATS][key].payload
        assert isinstance(record.payload, ColumnStats)
        assert isinstance(earlier, ColumnStats)
        assert (record.payload.min_value, record.payload.max_value) == (earlier.min_value, earlier.max_value)
    write_and_check(table)


def write_and_check(table: LogTable) -> None:
    table.write([("k4", 11, "a", "later", False), ("m", 11, "b", "insert", False)])
    check_listing(table)


@pytest.mark.parametrize("version", [8, 9])
def test_bounds_of_partitions_contain_the_rows_of_log_files(tmp_path: Path, version: int) -> None:
    table = new_log_table(tmp_path / "t", version, **STATISTICS)
    write_logs(table)
    rebuild(table)
    stats = [record.payload for record in records_in(table.storage, PARTITION_STATS).values()]
    bounds = {
        s.file_name: (s.min_value and s.min_value.value, s.max_value and s.max_value.value, s.is_tight_bound)
        for s in stats
        if isinstance(s, ColumnStats) and s.column_name == "ts"
    }
    assert bounds == {"a": (1, 7, True), "b": (5, 9, True), "c": (9, 9, True)}


@pytest.mark.parametrize(("version", "is_partitioned"), [(6, False), (8, False), (9, False), (9, True)])
def test_the_record_index_has_the_keys_of_the_merged_rows(
    tmp_path: Path, version: int, is_partitioned: bool
) -> None:
    table = new_log_table(tmp_path / "t", version, hoodie__metadata__enable="true")
    write_logs(table)
    options = {"hoodie.metadata.record.level.index.enable": "true"} if is_partitioned else {}
    rebuild(table, RECORD_INDEX, options=options)
    assert_indexes_equal_rows(table)
    assert {key for key, *_ in stored_entries(table.base_path)} == {"k1", "k2", "k4", "k5", "n"}
    write_and_check(table)
    assert_indexes_equal_rows(table)


@pytest.mark.parametrize("version", [8, 9])
def test_the_record_index_has_keys_of_slices_without_base_file(tmp_path: Path, version: int) -> None:
    table = new_log_table(tmp_path / "t", version)
    table.write(OLD)
    group = "11111111-2222-3333-4444-555555555555-0"
    foreign_log(table, "a", group, [("only", 5, "a", "in a log", False)])
    rebuild(table, FILES, RECORD_INDEX)
    found = stored_entries(table.base_path)
    assert found.total() == 7
    assert found["only", "a", group] == 1


@pytest.mark.parametrize("version", [8, 9])
def test_a_secondary_index_has_the_values_of_the_merged_rows(tmp_path: Path, version: int) -> None:
    table = new_log_table(tmp_path / "t", version, hoodie__metadata__enable="true")
    write_logs(table)
    stored = {**read_index_definitions(table.storage), SECONDARY: secondary_definition(version)}
    table.storage.write(PATH, encode_index_definitions(stored))
    rebuild(table, SECONDARY)
    assert_indexes_equal_rows(table)
    write_and_check(table)
    assert_indexes_equal_rows(table)


def test_a_preview_counts_log_files_and_writes_nothing(tmp_path: Path) -> None:
    table = new_log_table(tmp_path / "t", **STATISTICS)
    write_logs(table)
    before = table.files()
    report = rebuild(table, preview=True)
    assert table.files() == before
    assert report.data_files == rebuild(table).data_files


def test_a_repeated_build_gives_the_same_indexes(tmp_path: Path) -> None:
    table = new_log_table(tmp_path / "t", hoodie__metadata__enable="true")
    write_logs(table)
    rebuild(table, RECORD_INDEX)
    other = LogTable(tmp_path / "other", table.options)
    shutil.copytree(table.base_path, other.base_path)
    rebuild(other)
    assert stored_entries(other.base_path) == stored_entries(table.base_path)
