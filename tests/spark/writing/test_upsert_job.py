"""The write job in a real Spark session; hudi-rs reads the tables."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_table_services.contract.result import Outcome
from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.errors import (
    CorruptTableError,
    InvalidDataError,
    InvalidRequestError,
    TimelineInvariantError,
)
from hudi_table_services.jobs.writing.upsert import upsert
from support.depth import cases
from support.spark.writing import Row, TableUnderTest

VERSIONS = cases(["6", "8", "9"], ["9"])


def some_rows(numbers: range, ts: int = 1, factor: float = 1.0) -> list[Row]:
    return [(f"k{i}", ts, "ab"[i % 2], i * factor) for i in numbers]


@pytest.fixture(params=VERSIONS)
def table(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> TableUnderTest:
    return TableUnderTest(spark, tmp_path / "t", hoodie__write__table__version=request.param)


@pytest.fixture
def v6(spark: SparkSession, tmp_path: Path) -> TableUnderTest:
    return TableUnderTest(spark, tmp_path / "t")


def test_upserts_deletes_and_a_repeated_request_give_the_expected_rows(table: TableUnderTest) -> None:
    table.write(some_rows(range(40)))
    result = table.write(some_rows(range(20, 60), ts=2, factor=2.0))
    assert (result.rows.inserted, result.rows.updated) == (20, 20)
    table.write(some_rows(range(4), ts=3), "delete", request_id="delete-once")
    again = table.write(some_rows(range(4), ts=3), "delete", request_id="delete-once")
    assert again.reused
    assert table.rows() == sorted(some_rows(range(4, 20)) + some_rows(range(20, 60), ts=2, factor=2.0))


def test_a_row_replaces_a_stored_row_with_a_smaller_or_equal_ordering_value(table: TableUnderTest) -> None:
    table.write([("a", 5, "x", 1.0), ("b", 5, "x", 1.0), ("c", 5, "x", 1.0)])
    result = table.write([("a", 4, "x", 2.0), ("b", 5, "x", 2.0), ("c", 6, "x", 2.0)])
    assert result.rows.older_than_stored == 1
    assert table.rows() == [("a", 5, "x", 1.0), ("b", 5, "x", 2.0), ("c", 6, "x", 2.0)]
    assert not any("changed no row" in each for each in result.warnings)


def test_a_batch_of_only_older_rows_gives_a_warning(table: TableUnderTest) -> None:
    table.write([("a", 5, "x", 1.0), ("b", 5, "x", 1.0)])
    result = table.write([("a", 4, "x", 2.0), ("b", 3, "x", 2.0)])
    assert table.rows() == [("a", 5, "x", 1.0), ("b", 5, "x", 1.0)]
    (warning,) = (each for each in result.warnings if "changed no row" in each)
    assert "the value of the ordering field is smaller than in the stored row (2 rows)" in warning
    assert "Text is compared" not in warning


def test_a_batch_of_only_older_rows_gives_a_warning_about_the_order_of_text(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = TableUnderTest(spark, tmp_path / "t")
    text = {"ordering_field": "text", "schema": "k string, p string, text string"}
    table.write([("a", "x", "9")], **text)
    result = table.write([("a", "x", "10")], **text)
    (warning,) = (each for each in result.warnings if "changed no row" in each)
    assert warning.endswith(" (1 row). Text is compared character by character, so '9' is larger than '10'.")


def test_if_a_batch_contains_a_key_twice_the_row_with_the_largest_ordering_value_is_written(
    v6: TableUnderTest,
) -> None:
    result = v6.write([("a", 1, "x", 1.0), ("a", 3, "x", 3.0), ("a", 2, "x", 2.0), ("a", 1, "y", 9.0)])
    assert result.rows.superseded == 2
    assert v6.rows() == [("a", 1, "y", 9.0), ("a", 3, "x", 3.0)]


def test_inserts_pad_small_files_and_keep_duplicates(v6: TableUnderTest) -> None:
    v6.write(some_rows(range(10)), "insert")
    result = v6.write(some_rows(range(10)), "insert")
    assert sum(len(p.padded) for p in result.partitions) == 2
    assert v6.rows() == sorted(some_rows(range(10)) * 2)


def test_bulk_insert_writes_only_new_file_groups(v6: TableUnderTest) -> None:
    v6.write(some_rows(range(10)), "bulk_insert")
    result = v6.write(some_rows(range(10, 20)), "bulk_insert")
    assert all(p.opened and not p.padded for p in result.partitions)
    assert v6.rows() == sorted(some_rows(range(20)))


def test_the_duplicate_policy_of_an_insert_drops_or_refuses_existing_keys(v6: TableUnderTest) -> None:
    policy = "hoodie.datasource.insert.dup.policy"
    v6.write(some_rows(range(4)), "insert")
    dropped = v6.write(some_rows(range(2, 6), ts=2), "insert", options={policy: "drop"})
    assert dropped.rows.dropped_existing == 2
    expected = sorted(some_rows(range(4)) + some_rows(range(4, 6), ts=2))
    assert v6.rows() == expected
    with pytest.raises(InvalidDataError, match="policy=fail"):
        v6.write(some_rows(range(5, 7)), "insert", options={policy: "fail"})
    assert v6.rows() == expected


def test_an_overwrite_replaces_the_partitions_of_its_rows_or_the_whole_table(table: TableUnderTest) -> None:
    table.write(some_rows(range(6)))
    overwritten = table.write([("n", 1, "a", 7.0)], "insert_overwrite")
    assert overwritten.rows.replaced == sum(row[2] == "a" for row in some_rows(range(6)))
    kept = [row for row in some_rows(range(6)) if row[2] == "b"]
    assert table.rows() == sorted([*kept, ("n", 1, "a", 7.0)])
    table.write([("m", 1, "c", 8.0)], "insert_overwrite_table")
    assert table.rows() == [("m", 1, "c", 8.0)]


def test_delete_partition_accepts_patterns(table: TableUnderTest) -> None:
    table.write([("a", 1, "x1", 1.0), ("b", 1, "x2", 1.0), ("c", 1, "y", 1.0)])
    option = {"hoodie.datasource.write.partitions.to.delete": "x*"}
    result = table.write([], "delete_partition", options=option)
    assert (result.outcome, result.replaced_file_groups) == (Outcome.COMPLETED, 2)
    assert table.rows() == [("c", 1, "y", 1.0)]


def test_delete_partition_needs_no_rows(spark: SparkSession, table: TableUnderTest) -> None:
    table.write([("a", 1, "x", 1.0), ("b", 1, "y", 1.0)])
    request = UpsertRequest(
        base_path=str(table.base_path),
        operation="delete_partition",
        options={"hoodie.datasource.write.partitions.to.delete": "x"},
    )
    planned = upsert(spark, replace(request, dry_run=True))
    assert (planned.rows.replaced, planned.replaced_file_groups) == (1, 1)
    unmatched = {"hoodie.datasource.write.partitions.to.delete": "x,yy"}
    done = upsert(spark, replace(request, options=unmatched))
    assert (done.rows.replaced, done.replaced_file_groups) == (1, 1)
    assert any("no partition of this name. Did you mean y?" in each for each in done.warnings)
    assert table.rows() == [("b", 1, "y", 1.0)]


def test_an_overwrite_of_the_table_without_rows_removes_all_rows(table: TableUnderTest) -> None:
    table.write(some_rows(range(6)))
    assert table.write([], "insert_overwrite").outcome is Outcome.NOTHING_TO_DO
    assert len(table.rows()) == 6
    result = table.write([], "insert_overwrite_table")
    assert (result.outcome, result.replaced_file_groups) == (Outcome.COMPLETED, 2)
    assert table.rows() == []
    table.write(some_rows(range(2)))
    assert table.rows() == some_rows(range(2))


def test_an_upsert_with_a_global_index_leaves_one_row_of_a_key_that_two_partitions_contain(
    v6: TableUnderTest,
) -> None:
    v6.write([("a", 1, "x", 1.0), ("a", 1, "y", 1.0)])
    result = v6.write([("a", 2, "y", 2.0)], options={"hoodie.index.type": "GLOBAL_SIMPLE"})
    assert v6.rows() == [("a", 2, "y", 2.0)]
    assert (result.rows.updated, result.rows.deleted, result.rows.inserted) == (1, 1, 0)


def test_a_dry_run_of_a_delete_expects_no_file_to_become_larger(v6: TableUnderTest) -> None:
    v6.write(some_rows(range(200)))
    planned = v6.write(some_rows(range(100), ts=2), "delete", dry_run=True)
    for change in (c for p in planned.partitions for c in p.rewritten):
        assert change.expected_size_bytes <= change.size_before_bytes


@pytest.mark.parametrize("index", ["GLOBAL_SIMPLE", "GLOBAL_BLOOM"])
@pytest.mark.parametrize("moves", ["true", "false"])
def test_a_global_index_moves_a_row_or_updates_it_in_place(
    v6: TableUnderTest, index: str, moves: str
) -> None:
    key = f"hoodie.{index.split('_')[1].lower()}.index.update.partition.path"
    options = {"hoodie.index.type": index, key: moves}
    v6.write([("a", 1, "x", 1.0), ("b", 1, "x", 1.0)], options=options)
    v6.write([("a", 2, "y", 2.0), ("b", 0, "y", 2.0)], options=options)
    places = {r["k"]: r["_hoodie_partition_path"] for r in v6.records()}
    assert places == {"a": "y" if moves == "true" else "x", "b": "x"}


def test_the_bloom_index_finds_all_stored_keys(v6: TableUnderTest) -> None:
    options = {"hoodie.index.type": "BLOOM", "hoodie.parquet.small.file.limit": "0"}
    for start in (0, 20, 40):
        v6.write(some_rows(range(start, start + 20)), options=options)
    result = v6.write(some_rows(range(10, 50), ts=2), options=options)
    assert (result.rows.updated, result.rows.inserted) == (40, 0)


def test_a_batch_that_fills_several_files_loses_no_rows(v6: TableUnderTest) -> None:
    rows = [(f"key-{i:06d}", 1, "x", random.Random(i).random()) for i in range(3000)]
    options = {"hoodie.parquet.max.file.size": "30000", "hoodie.parquet.small.file.limit": "25000"}
    result = v6.write(rows, options=options)
    (partition,) = result.partitions
    assert len(partition.opened) > 1
    assert sum(change.insert_count for change in partition.opened) == 3000
    assert v6.rows() == sorted(rows)


def test_rows_that_a_write_does_not_change_keep_commit_time_and_sequence_number(v6: TableUnderTest) -> None:
    v6.write([("a", 1, "x", 1.0), ("b", 1, "x", 1.0)])
    before = {r["k"]: r for r in v6.records()}
    v6.write([("a", 2, "x", 2.0)])
    after = {r["k"]: r for r in v6.records()}
    for name in ("_hoodie_commit_time", "_hoodie_commit_seqno"):
        assert after["b"][name] == before["b"][name]
        assert after["a"][name] != before["a"][name]
    assert after["b"]["_hoodie_file_name"] == after["a"]["_hoodie_file_name"]


def test_a_dry_run_and_an_empty_source_write_nothing(v6: TableUnderTest) -> None:
    planned = v6.write(some_rows(range(10)), dry_run=True)
    assert (planned.rows.inserted, planned.rows.updated) == (10, 0)
    assert planned.outcome is Outcome.PLANNED
    assert sum(change.insert_count for p in planned.partitions for change in p.opened) == 10
    assert v6.files() == set()
    written = v6.write(some_rows(range(10)))
    expected = [change.expected_size_bytes for p in planned.partitions for change in p.opened]
    actual = [change.size_after_bytes or 0 for p in written.partitions for change in p.opened]
    assert all(a * 0.7 < e < a * 1.3 for e, a in zip(expected, actual, strict=True)), (expected, actual)
    before = v6.files()
    planned = v6.write(some_rows(range(5, 15), ts=2), dry_run=True)
    assert (planned.rows.inserted, planned.rows.updated, planned.rows.deleted) == (5, 5, 0)
    planned = v6.write(some_rows(range(3)), "delete", dry_run=True)
    assert (planned.rows.inserted, planned.rows.updated, planned.rows.deleted) == (0, 0, 3)
    assert v6.write([]).outcome is Outcome.NOTHING_TO_DO
    assert v6.write([("none", 1, "a", 0.0)], "delete").outcome is Outcome.NOTHING_TO_DO
    assert v6.files() == before


def test_a_commit_leaves_no_temporary_files(v6: TableUnderTest) -> None:
    v6.write(some_rows(range(10)))
    leftovers = [
        f for f in v6.files() if ".temp/" in f or "staging/" in f or ".heartbeat/" in f or f.endswith("lock")
    ]
    assert leftovers == []


@pytest.mark.parametrize("key", [None, ""])
def test_a_null_or_empty_key_is_refused_and_no_table_is_created(v6: TableUnderTest, key: str | None) -> None:
    with pytest.raises(InvalidDataError, match="key"):
        v6.write([("a", 1, "x", 1.0), (key, 1, "x", 1.0)])  # type: ignore[list-item]
    assert v6.files() == set()


def test_a_folder_with_other_files_is_refused_and_the_error_names_a_file(v6: TableUnderTest) -> None:
    v6.base_path.mkdir()
    (v6.base_path / "notes.txt").write_text("mine")
    with pytest.raises(InvalidRequestError, match=r"notes\.txt"):
        v6.write(some_rows(range(2)))
    assert v6.files() == {"notes.txt"}


def test_a_table_with_an_empty_completed_instant_is_refused(v6: TableUnderTest) -> None:
    v6.write(some_rows(range(2)))
    (instant,) = (v6.base_path / ".hoodie").glob("*.commit")
    instant.write_bytes(b"")
    with pytest.raises(TimelineInvariantError, match=instant.name):
        v6.write(some_rows(range(2)))


def test_a_missing_metadata_table_is_refused_unless_an_option_switches_it_off(v6: TableUnderTest) -> None:
    v6.write(some_rows(range(4)))
    properties = v6.base_path / ".hoodie" / "hoodie.properties"
    properties.write_text(properties.read_text() + "hoodie.table.metadata.partitions=files\n")
    with pytest.raises(CorruptTableError, match=r"hoodie\.metadata\.enable=false"):
        v6.write(some_rows(range(4), ts=2))
    v6.write(some_rows(range(4), ts=2), options={"hoodie.metadata.enable": "false"})
    assert "hoodie.table.metadata.partitions=files" not in properties.read_text()
    assert v6.rows() == some_rows(range(4), ts=2)


@pytest.mark.parametrize("name", ["with space", "50%", "a%20b", "übung"])
def test_base_paths_may_contain_spaces_percent_signs_and_unicode(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    table = TableUnderTest(spark, tmp_path / name)
    table.write(some_rows(range(4)))
    assert len(table.rows()) == 4
