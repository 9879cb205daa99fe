"""Two jobs insert rows at the same time into different file groups. Upserts still create no duplicate keys."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_table_services.errors import FileGroupConflictError
from support.depth import cases
from support.spark.held_up import NO_RETRY, HeldUp
from support.spark.writing import Row, TableUnderTest

OLD: list[Row] = [("a", 1, "x", 1.0), ("b", 1, "y", 1.0)]
RETRIED = "Trying again"


@pytest.fixture(params=cases(["6", "9"], ["6"]))
def table(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> TableUnderTest:
    # Without this option, both writers would pad the existing file.
    options = {
        "hoodie__write__table__version": request.param,
        "hoodie__parquet__small__file__limit": "0",
    }
    table = TableUnderTest(spark, tmp_path / "t", **options)
    table.write(OLD)
    return table


@pytest.mark.parametrize("partition", ["x", "new"])
def test_an_upsert_retries_and_updates_the_row_if_another_writer_inserted_its_key(
    table: TableUnderTest, partition: str, caplog: pytest.LogCaptureFixture
) -> None:
    with HeldUp(table, [("k", 2, partition, 2.0), ("own", 2, partition, 2.0)], "first") as first:
        table.write([("k", 1, partition, 1.0)])
    rows = first.result.result().rows
    assert (rows.updated, rows.inserted) == (1, 1)
    assert RETRIED in caplog.text
    expected = [*OLD, ("k", 2, partition, 2.0), ("own", 2, partition, 2.0)]
    assert table.rows() == sorted(expected)
    assert table.leftovers() == set()


def test_an_upsert_without_retries_fails_if_another_writer_inserted_its_key(
    table: TableUnderTest,
) -> None:
    with HeldUp(table, [("k", 2, "x", 2.0)], "first", NO_RETRY) as first:
        other = table.write([("k", 1, "x", 1.0), ("l", 1, "x", 1.0)])
    expected = rf"added 1 row in commit {other.instant_time} or in a later commit"
    with pytest.raises(FileGroupConflictError, match=expected):
        first.result.result()
    assert table.rows() == [OLD[0], OLD[1], ("k", 1, "x", 1.0), ("l", 1, "x", 1.0)]
    assert table.leftovers() == set()


def test_two_upserts_that_insert_different_keys_both_commit_without_a_retry(
    table: TableUnderTest, caplog: pytest.LogCaptureFixture
) -> None:
    with HeldUp(table, [("k", 2, "x", 2.0)], "first", NO_RETRY) as first:
        table.write(
            [("l", 1, "x", 1.0), ("k", 1, "y", 1.0)]
        )  # the same key in another partition is not a conflict
    first.result.result()
    assert RETRIED not in caplog.text
    assert table.rows() == [*OLD, ("k", 1, "y", 1.0), ("k", 2, "x", 2.0), ("l", 1, "x", 1.0)]


@pytest.mark.parametrize("index", ["GLOBAL_SIMPLE", "GLOBAL_BLOOM"])
def test_with_a_global_index_the_same_key_in_two_partitions_is_a_conflict(
    table: TableUnderTest, index: str
) -> None:
    options = {"hoodie.index.type": index}
    with HeldUp(table, [("k", 2, "x", 2.0)], "first", options) as first:
        table.write([("k", 1, "y", 1.0)], options=options)
    assert first.result.exception() is None
    assert table.rows() == [*OLD, ("k", 2, "x", 2.0)]


def test_an_upsert_finds_the_row_of_a_concurrent_insert(table: TableUnderTest) -> None:
    with HeldUp(table, [("k", 2, "x", 2.0)], "first") as first:
        table.write([("k", 1, "x", 1.0)], "insert")
    assert first.result.result().rows.updated == 1
    assert table.rows() == [*OLD, ("k", 2, "x", 2.0)]


def test_an_insert_adds_its_row_although_a_concurrent_upsert_inserted_the_same_key(
    table: TableUnderTest,
) -> None:
    with HeldUp(table, [("k", 2, "x", 2.0)], "first", NO_RETRY, operation="insert") as first:
        table.write([("k", 1, "x", 1.0)])
    assert first.result.exception() is None
    assert table.rows() == [*OLD, ("k", 1, "x", 1.0), ("k", 2, "x", 2.0)]


def test_an_insert_that_drops_existing_keys_also_drops_the_key_of_a_concurrent_upsert(
    table: TableUnderTest,
) -> None:
    options = {"hoodie.datasource.insert.dup.policy": "drop"}
    with HeldUp(table, [("k", 2, "x", 2.0), ("l", 2, "x", 2.0)], "first", options, "insert") as first:
        table.write([("k", 1, "x", 1.0)])
    assert first.result.exception() is None
    assert table.rows() == [*OLD, ("k", 1, "x", 1.0), ("l", 2, "x", 2.0)]


@pytest.mark.parametrize("operation", ["insert_overwrite", "insert_overwrite_table"])
def test_an_overwrite_of_an_empty_partition_replaces_the_rows_of_a_concurrent_overwrite(
    table: TableUnderTest, operation: str
) -> None:
    with HeldUp(table, [("k", 2, "new", 2.0)], "first", operation=operation) as first:
        table.write([("l", 1, "new", 1.0)], "insert_overwrite")
    assert first.result.exception() is None
    kept = OLD if operation == "insert_overwrite" else []
    assert table.rows() == [*kept, ("k", 2, "new", 2.0)]


def test_an_overwrite_replaces_the_row_of_a_concurrent_upsert_with_the_same_key(
    table: TableUnderTest,
) -> None:
    with HeldUp(table, [("k", 2, "new", 2.0)], "first", operation="insert_overwrite") as first:
        table.write([("k", 1, "new", 1.0)])
    assert first.result.exception() is None
    assert table.rows() == [*OLD, ("k", 2, "new", 2.0)]


def test_rows_of_an_upsert_stay_if_a_concurrent_overwrite_has_other_keys(table: TableUnderTest) -> None:
    with HeldUp(table, [("k", 2, "new", 2.0)], "first", NO_RETRY, operation="insert_overwrite") as first:
        table.write([("l", 1, "new", 1.0)])
    assert first.result.exception() is None
    assert table.rows() == [*OLD, ("k", 2, "new", 2.0), ("l", 1, "new", 1.0)]


@pytest.mark.parametrize("operation", ["insert_overwrite", "insert_overwrite_table"])
def test_concurrent_overwrites_of_different_empty_partitions_both_commit(
    table: TableUnderTest, operation: str
) -> None:
    """Overwrites of two partitions do not conflict; an overwrite of the table also replaces the partition ``other``."""
    with HeldUp(table, [("k", 2, "new", 2.0)], "first", operation=operation) as first:
        table.write([("l", 1, "other", 1.0)], "insert_overwrite")
    assert first.result.exception() is None
    kept = [*OLD, ("l", 1, "other", 1.0)] if operation == "insert_overwrite" else []
    assert table.rows() == sorted([*kept, ("k", 2, "new", 2.0)])


def test_an_overwrite_does_not_search_other_partitions_for_its_keys(table: TableUnderTest) -> None:
    options = {"hoodie.index.type": "GLOBAL_SIMPLE", **NO_RETRY}
    with HeldUp(table, [("b", 2, "new", 2.0)], "first", options, "insert_overwrite") as first:
        table.write([("l", 1, "y", 1.0)])  # partition y has contained the key b since OLD
    assert first.result.exception() is None
    assert table.rows() == [*OLD, ("b", 2, "new", 2.0), ("l", 1, "y", 1.0)]


def test_an_upsert_finds_a_concurrently_inserted_row_in_an_existing_file(table: TableUnderTest) -> None:
    pads = {"hoodie.parquet.small.file.limit": "104857600"}
    with HeldUp(table, [("k", 2, "x", 2.0)], "first") as first:
        table.write([("k", 1, "x", 1.0)], options=pads)
        assert len(table.live_files()["x"]) == 1
    assert first.result.result().rows.updated == 1
    assert table.rows() == [*OLD, ("k", 2, "x", 2.0)]


def test_an_upsert_finds_a_concurrently_inserted_row_that_a_clustering_moved(table: TableUnderTest) -> None:
    with HeldUp(table, [("k", 2, "x", 2.0)], "first") as first:
        table.write([("k", 1, "x", 1.0)])
        table.schedule()
        assert table.execute().instant_time
        assert len(table.live_files()["x"]) == 1
    assert first.result.result().rows.updated == 1
    assert table.rows() == [*OLD, ("k", 2, "x", 2.0)]


def test_an_insert_that_dropped_a_key_does_not_search_for_the_key_again(table: TableUnderTest) -> None:
    options = {"hoodie.datasource.insert.dup.policy": "drop", **NO_RETRY}
    with HeldUp(table, [("a", 2, "x", 2.0), ("k", 2, "x", 2.0)], "first", options, "insert") as first:
        table.write([("a", 3, "x", 3.0), ("l", 3, "x", 3.0)])
    assert first.result.exception() is None
    assert table.rows() == [("a", 3, "x", 3.0), OLD[1], ("k", 2, "x", 2.0), ("l", 3, "x", 3.0)]


def test_an_upsert_finds_a_concurrently_inserted_row_in_a_table_without_partitions(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = TableUnderTest(spark, tmp_path / "flat", hoodie__parquet__small__file__limit="0")
    table.is_partitioned = False
    table.write(OLD)
    with HeldUp(table, [("k", 2, "x", 2.0), ("own", 2, "x", 2.0)], "first") as first:
        table.write([("k", 1, "x", 1.0)])
    assert first.result.result().rows.updated == 1
    assert table.rows() == [*OLD, ("k", 2, "x", 2.0), ("own", 2, "x", 2.0)]
