"""Writes with new and wider columns, null ordering values, soft deletes, and batches that are not combined."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from judges.hudi_rs import read_snapshot
from support.spark.writing import TableUnderTest

FILL = {"hoodie.write.set.null.for.missing.columns": "true"}
RECONCILE = "hoodie.datasource.write.reconcile.schema"


@pytest.fixture(params=["6", "9"])
def table(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> TableUnderTest:
    return TableUnderTest(spark, tmp_path / "t", hoodie__write__table__version=request.param)


def columns(table: TableUnderTest, *names: str) -> list[tuple[object, ...]]:
    """Values of these columns in all rows, sorted by key; hudi-rs reads the table."""
    rows = read_snapshot(table.base_path).to_pylist()
    return sorted((tuple(row.get(name) for name in names) for row in rows), key=lambda row: str(row[0]))


def test_a_new_column_is_null_in_rows_written_before(table: TableUnderTest) -> None:
    table.write([("a", 1, "x", 1.0), ("b", 1, "x", 1.0)])
    wider = "k string, ts bigint, p string, v double, note string, n struct<i:int,l:array<string>>"
    table.write([("b", 2, "x", 2.0, "new", (7, ["u"])), ("c", 2, "x", 2.0, None, None)], schema=wider)
    assert columns(table, "k", "v", "note", "n") == [
        ("a", 1.0, None, None),
        ("b", 2.0, "new", {"i": 7, "l": ["u"]}),
        ("c", 2.0, None, None),
    ]


def test_a_column_gets_its_wider_type_also_in_rows_that_the_write_does_not_change(
    table: TableUnderTest,
) -> None:
    table.write([("a", 1, "x", 1), ("b", 1, "x", 2)], schema="k string, ts int, p string, v int")
    big = 1 << 40
    table.write([("b", big, "x", float(big))], schema="k string, ts bigint, p string, v double")
    assert columns(table, "k", "ts", "v") == [("a", 1, 1.0), ("b", big, float(big))]


def test_a_narrower_batch_is_widened_to_the_tables_type(table: TableUnderTest) -> None:
    table.write([("a", 1 << 40, "x", 1.0)])
    table.write([("b", 1, "x", 2.0)], schema="k string, ts int, p string, v float")
    assert columns(table, "k", "ts", "v") == [("a", 1 << 40, 1.0), ("b", 1, 2.0)]


def test_a_missing_column_is_null_if_an_option_allows_missing_columns(table: TableUnderTest) -> None:
    table.write([("a", 1, "x", 1.0), ("b", 1, "x", 1.0)])
    table.write([("b", 2, "x"), ("c", 2, "x")], schema="k string, ts bigint, p string", options=FILL)
    assert columns(table, "k", "v") == [("a", 1.0), ("b", None), ("c", None)]


def test_stored_values_that_a_write_replaces_by_null_are_named_in_a_warning(table: TableUnderTest) -> None:
    table.write([("a", 1, "x", 1.0), ("b", 1, "x", 1.0)])
    narrow = "k string, ts bigint, p string"
    inserted = table.write([("c", 2, "x")], schema=narrow, options=FILL)
    planned = table.write([("b", 2, "x")], schema=narrow, options=FILL, dry_run=True)
    updated = table.write([("b", 2, "x"), ("d", 2, "x")], schema=narrow, options=FILL)
    reconciled = table.write([("a", 2, "x")], schema=narrow, options={RECONCILE: "true"})
    named = "The rows lack 1 column of the table: 'v' (double). In 1 updated row, the write "
    assert [each for each in inserted.warnings if "lack" in each] == []
    assert [each for each in planned.warnings if each.startswith(f"{named}would replace the stored")] != []
    assert [each for each in updated.warnings if each.startswith(f"{named}replaced the stored values")] != []
    assert [each for each in updated.warnings if f"by null ({next(iter(FILL))}=true)" in each] != []
    assert [each for each in reconciled.warnings if f"by null ({RECONCILE}=true)" in each] != []


def test_a_null_ordering_value_is_smaller_than_every_other_value(table: TableUnderTest) -> None:
    table.write([("a", 1, "x", 1.0), ("b", None, "x", 1.0), ("c", None, "x", 1.0)])
    result = table.write([("a", None, "x", 2.0), ("b", 1, "x", 2.0), ("c", None, "x", 2.0)])
    assert result.rows.older_than_stored == 1
    assert columns(table, "k", "ts", "v") == [("a", 1, 1.0), ("b", 1, 2.0), ("c", None, 2.0)]


def test_within_a_batch_a_row_with_an_ordering_value_replaces_a_row_with_null(table: TableUnderTest) -> None:
    table.write([("a", None, "x", 1.0), ("a", 1, "x", 2.0), ("a", None, "x", 3.0)])
    assert columns(table, "k", "ts", "v") == [("a", 1, 2.0)]


def test_a_batch_that_is_not_combined_inserts_every_row(table: TableUnderTest) -> None:
    off = {"hoodie.combine.before.upsert": "false"}
    table.write([("a", 1, "x", 1.0), ("a", 2, "x", 2.0)], options=off)
    assert columns(table, "k", "ts") == [("a", 1), ("a", 2)]


def test_a_soft_delete_deletes_only_rows_with_a_smaller_ordering_value(table: TableUnderTest) -> None:
    flagged = "k string, ts bigint, p string, v double, _hoodie_is_deleted boolean"
    table.write([("a", 5, "x", 1.0, False), ("b", 5, "x", 1.0, None)], schema=flagged)
    result = table.write([("a", 4, "x", 2.0, True), ("b", 6, "x", 2.0, True)], schema=flagged)
    assert (result.rows.deleted, result.rows.older_than_stored) == (1, 1)
    assert columns(table, "k", "ts") == [("a", 5)]


def test_with_commit_time_ordering_the_later_commit_replaces_the_row(table: TableUnderTest) -> None:
    mode = {"hoodie.record.merge.mode": "COMMIT_TIME_ORDERING"}
    table.write([("a", 5, "x", 1.0)], options=mode)
    table.write([("a", 4, "x", 2.0)], options=mode)
    assert columns(table, "k", "ts", "v") == [("a", 4, 2.0)]
