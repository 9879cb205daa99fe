"""Writes give the same rows with a partitioned record index as with SIMPLE. The index has exactly these rows."""

import random
from collections import defaultdict
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_table_services.contract.metadata_table import RebuildMetadataTableRequest
from hudi_table_services.errors import UnsupportedTableError
from hudi_table_services.hudi_format.metadata_table.file_groups import (
    RECORD_INDEX,
    partition_of_record_index_id,
)
from hudi_table_services.jobs.metadata_table.rebuild import rebuild_metadata_table
from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.metadata_table import RecordLocation
from hudi_table_services.storage.metadata_table.index_definition_store import read_index_definitions
from hudi_table_services.storage.metadata_table.partition_reader import MetadataPartition
from hudi_table_services.storage.stores.local import LocalStorage
from support.depth import by_depth
from support.metadata_table.built_tables import opened
from support.spark.writing import Row, TableUnderTest

INDEX = {"hoodie.index.type": "RECORD_LEVEL_INDEX"}
PARTITIONED = {
    "hoodie.metadata.record.level.index.enable": "true",
    "hoodie.metadata.record.level.index.min.filegroup.count": "2",
}
NOT_USED = "record index of the metadata table is not used"
PARTITIONS = "xyz"
Place = tuple[str, str]


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> TableUnderTest:
    """A table with an index: two partitions with the same keys, each with two files of 20 keys."""
    options = {"hoodie__write__table__version": "9", "hoodie__parquet__small__file__limit": "0"}
    table = TableUnderTest(spark, tmp_path / "t", **options)
    for number in range(2):
        keys = range(20 * number, 20 * (number + 1))
        table.write([(key_of(n), 1, partition, float(n)) for n in keys for partition in "xy"])
    build_index(table, spark)
    return table


def key_of(number: int) -> str:
    return f"key-{number}-ä"


def build_index(table: TableUnderTest, spark: SparkSession, **options: str) -> None:
    request = RebuildMetadataTableRequest(
        base_path=str(table.base_path), partitions=(RECORD_INDEX,), options={**PARTITIONED, **options}
    )
    rebuild_metadata_table(request, spark=spark)


def stored(table: TableUnderTest) -> dict[Place, str]:
    """Partition and key of each row → id of its file group."""
    return {
        (str(row["_hoodie_partition_path"]), str(row["_hoodie_record_key"])): BaseFile.from_file_name(
            str(row["_hoodie_file_name"])
        ).file_id
        for row in table.records()
    }


def indexed(table: TableUnderTest) -> tuple[dict[Place, str], dict[str, int]]:
    """Records of the index, and the number of file groups for each partition of the table."""
    reader = MetadataPartition(opened(LocalStorage(str(table.base_path))), RECORD_INDEX)
    found: dict[Place, str] = {}
    counts: dict[str, int] = defaultdict(int)
    for each in reader.slices:
        path = partition_of_record_index_id(each.file_group_id.file_id)
        assert path is not None
        counts[path] += 1
        for record in reader.records_of(each, reader.changes_of(each)):
            assert isinstance(record.payload, RecordLocation)
            assert record.payload.partition_path == path
            found[path, record.key] = record.payload.file_id
    return found, dict(counts)


def random_rows(seed: int) -> list[Row]:
    rng = random.Random(seed)
    numbers = [rng.randrange(60) for _ in range(25)]
    return [(key_of(n), rng.randrange(4), rng.choice(PARTITIONS), rng.random()) for n in numbers]


def test_random_batches_give_the_same_rows_as_with_a_simple_index(
    table: TableUnderTest, tmp_path: Path
) -> None:
    other = table.copied_to(tmp_path / "other")
    more = {**INDEX, "hoodie.metadata.record.level.index.min.filegroup.count": "3"}
    steps = ("upsert", "delete", "insert_overwrite", "upsert", "delete", "upsert")
    for step, operation in enumerate(steps[: by_depth(4, 6)]):
        rows = random_rows(seed=step)
        found = table.write(rows, operation, options=more)
        expected = other.write(rows, operation, options={"hoodie.index.type": "SIMPLE"})
        assert found.rows == expected.rows
        assert not [warning for warning in found.warnings if NOT_USED in warning]
        assert table.rows() == other.rows(), f"step {step}, {operation}"
        records, counts = indexed(table)
        assert records == stored(table), f"step {step}, {operation}"
        # The write that adds the first row to a partition decides how many file groups the partition of the index gets.
        assert counts == {"x": 2, "y": 2, "z": 3}
        assert indexed(other)[0] == stored(other)


def test_only_files_that_the_index_names_are_searched(
    table: TableUnderTest, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [
        (key_of(0), 2, "x", 0.5),
        (key_of(30), 2, "y", 0.5),
        ("new", 2, "y", 0.5),
        (key_of(1), 2, "z", 0.5),
    ]
    caplog.set_level("INFO")
    result = table.write(rows, options=INDEX)
    assert (result.rows.updated, result.rows.inserted) == (2, 2)
    assert "Looked up 4 keys in 2 base files (indexes and footers ruled out 2): 2 were found" in caplog.text


def test_the_index_equals_the_rows_after_a_deleted_partition_a_clustering_and_new_rows(
    table: TableUnderTest,
) -> None:
    table.write([], "delete_partition", options={"hoodie.datasource.write.partitions.to.delete": "x"})
    assert {path for path, _ in indexed(table)[0]} == {"y"}
    table.schedule()
    table.execute()
    assert indexed(table)[0] == stored(table)
    result = table.write([(key_of(n), 5, p, 9.0) for n in range(10) for p in "xy"], options=INDEX)
    assert (result.rows.updated, result.rows.inserted) == (10, 10)
    records, counts = indexed(table)
    assert records == stored(table)
    assert counts == {"x": 2, "y": 2}


@pytest.mark.thorough
def test_a_build_keeps_the_kind_of_the_index_unless_an_option_changes_it(
    table: TableUnderTest, spark: SparkSession
) -> None:
    request = RebuildMetadataTableRequest(base_path=str(table.base_path))
    rebuild_metadata_table(request, spark=spark)
    assert indexed(table) == (stored(table), {"x": 1, "y": 1})
    dropped = RebuildMetadataTableRequest(base_path=str(table.base_path), drop=(RECORD_INDEX,))
    rebuild_metadata_table(dropped, spark=spark)
    whole = {"hoodie.metadata.global.record.level.index.enable": "true"}
    request = RebuildMetadataTableRequest(
        base_path=str(table.base_path), partitions=(RECORD_INDEX,), options=whole
    )
    with pytest.raises(UnsupportedTableError, match="more than once in the table"):
        rebuild_metadata_table(request, spark=spark)
    build_index(table, spark)
    definitions = read_index_definitions(LocalStorage(str(table.base_path)))
    assert definitions[RECORD_INDEX].options == {"isPartitioned": "true"}
    assert indexed(table) == (stored(table), {"x": 2, "y": 2})


def test_a_write_that_needs_keys_to_be_unique_in_the_whole_table_does_not_use_the_index(
    table: TableUnderTest,
) -> None:
    result = table.write([("only", 2, "x", 2.0)], options={"hoodie.index.type": "RECORD_INDEX"})
    (warning,) = result.warnings
    assert NOT_USED in warning
    assert "as with GLOBAL_SIMPLE" in warning
    assert "for each partition of the table" in warning
    assert indexed(table)[0] == stored(table)


def test_without_a_partitioned_index_the_files_of_the_partitions_are_searched_with_a_warning(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = TableUnderTest(spark, tmp_path / "t")
    assert not table.write([("a", 1, "x", 1.0)], options=INDEX).warnings
    result = table.write([("a", 2, "x", 2.0), ("a", 2, "y", 2.0)], options=INDEX)
    (warning,) = result.warnings
    assert NOT_USED in warning
    assert "as with SIMPLE" in warning
    assert (result.rows.updated, result.rows.inserted) == (1, 1)
