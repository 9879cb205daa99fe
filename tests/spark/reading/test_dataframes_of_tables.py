"""`read_table` returns DataFrames with the same rows as a read in this process, and with Spark's types."""

from pathlib import Path

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.reading.read_changes import read_changes
from hudi_table_services.reading.read_table import explain_read, read_table
from judges.rows import ALL_TYPES, KEY, LOCAL_TIME, PARTITION, as_table, assert_rows_equal, merged, some_rows
from support.reading.read_here import AS_OF, READ_OPTIMIZED, read, window
from support.spark.arrow_rows import arrow_of
from support.spark.log_tables import LogTable, new_log_table

SAMPLED = [(6, "COPY_ON_WRITE"), (9, "MERGE_ON_READ")]
KINDS = pytest.mark.parametrize(
    ("version", "table_type"),
    [
        pytest.param(version, kind, marks=() if (version, kind) in SAMPLED else pytest.mark.thorough)
        for version in (6, 8, 9)
        for kind in ("COPY_ON_WRITE", "MERGE_ON_READ")
    ],
)
NAMES = ("k", "ts", "p", "v")
NO_FLOOR = {"hoodie.airflow.clean.floor.hours": "0"}


def new_table(base_path: Path, version: int, table_type: str) -> LogTable:
    table = new_log_table(base_path, version, hoodie__table__type=table_type)
    table.write([(f"k{i}", 1, f"p{i % 2}", f"v{i}") for i in range(8)])
    table.write([(f"k{i}", 2, f"p{i % 2}", f"w{i}") for i in range(4)])
    table.write([("k5", 2, "p1", "")], "delete")
    return table


def rows_of(frame: DataFrame) -> list[tuple[object, ...]]:
    return sorted(tuple(row[name] for name in NAMES) for row in frame.collect())


def starts_no_python(frame: DataFrame) -> bool:
    plan = frame._jdf.queryExecution().optimizedPlan().toString()
    return not any(word in plan for word in ("MapInArrow", "ExternalRDD", "LogicalRDD"))


def expected(
    table: LogTable, options: dict[str, str] | None = None, *filters: object
) -> list[tuple[object, ...]]:
    found = read(table.storage, options, *filters)
    return sorted(tuple(row[name] for name in NAMES) for row in found)


@KINDS
def test_each_kind_of_read_returns_the_rows_of_a_read_in_this_process(
    spark: SparkSession, tmp_path: Path, version: int, table_type: str
) -> None:
    table = new_table(tmp_path / "t", version, table_type)
    first = table.timeline_store.load().completed_writes[0]
    path = str(table.base_path)
    for options in ({}, READ_OPTIMIZED, {AS_OF: first.requested_time}, window(first.visible_from)):
        frame = read_table(spark, path, options)
        assert rows_of(frame) == expected(table, options), options
        assert frame.columns[:5] == [
            "_hoodie_commit_time",
            "_hoodie_commit_seqno",
            "_hoodie_record_key",
            "_hoodie_partition_path",
            "_hoodie_file_name",
        ]
    assert len(rows_of(read_table(spark, path))) == 7


def test_a_read_returns_the_selected_columns_of_the_filtered_rows(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = new_table(tmp_path / "t", 9, "MERGE_ON_READ")
    frame = read_table(
        spark, str(table.base_path), columns=["v", "k"], filters=[("ts", "=", 2), ("p", "=", "p1")]
    )
    assert frame.columns == ["v", "k"]
    assert sorted(map(tuple, frame.collect())) == [("w1", "k1"), ("w3", "k3")]
    assert frame.where("k = 'k3'").count() == 1
    plan = explain_read(str(table.base_path), filters=[("p", ">", "p0")])
    assert "the partition path excludes p > 'p0'" in plan


def test_a_read_without_slices_is_an_empty_frame_with_all_columns(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = new_table(tmp_path / "t", 9, "COPY_ON_WRITE")
    frame = read_table(spark, str(table.base_path), filters=[("p", "=", "none")])
    assert frame.columns[5:] == list(NAMES)
    assert frame.count() == 0


def test_a_frame_keeps_its_state_while_the_table_changes(spark: SparkSession, tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", 9, "MERGE_ON_READ")
    frame = read_table(spark, str(table.base_path))
    before = rows_of(frame)
    table.write([("k0", 9, "p0", "later")])
    table.write([("new", 9, "p0", "later")], "insert_overwrite")
    assert rows_of(frame) == before
    assert rows_of(read_table(spark, str(table.base_path))) != before


def test_an_action_on_cleaned_files_names_the_file_and_the_setting(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = new_table(tmp_path / "t", 9, "COPY_ON_WRITE")
    frame = read_table(spark, str(table.base_path))
    for number in range(3, 6):
        table.write([(f"k{i}", number, f"p{i % 2}", "x") for i in range(8)])
    clean(
        CleanRequest(base_path=str(table.base_path), commits_retained=1, options=NO_FLOOR),
        storage=table.storage,
    )
    with pytest.raises((PySparkException, Py4JJavaError)) as caught:
        frame.collect()
    assert "does not exist any more" in str(caught.value)
    assert "hoodie.clean.commits.retained" in str(caught.value)


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_changes_contain_deleted_rows_with_their_last_values(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    table = new_table(tmp_path / "t", 9, table_type)
    path = str(table.base_path)
    first, _, third = table.timeline_store.load().completed_writes
    changes = read_changes(spark, path, first.visible_from, columns=["v", "k"])
    table.write([("k0", 9, "p0", "later")])
    assert changes.until == third.visible_from
    assert changes.changed.columns == changes.deleted.columns == ["v", "k"]
    assert sorted(map(tuple, changes.changed.collect())) == [(f"w{i}", f"k{i}") for i in range(4)]
    assert sorted(map(tuple, changes.deleted.collect())) == [("v5", "k5")]
    everything = read_changes(spark, path, "earliest")
    assert everything.changed.count() == 7
    assert everything.deleted.count() == 0
    assert everything.deleted.columns == everything.changed.columns
    rest = read_changes(spark, path, changes.until)
    assert rows_of(rest.changed) == [("k0", 9, "p0", "later")]
    assert rest.deleted.count() == 0


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_a_frame_has_the_values_and_types_of_all_columns(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    from judges.engine import Engine

    schema = ALL_TYPES.append(LOCAL_TIME)
    old, new = some_rows(range(12), 1, schema), some_rows(range(6, 18), 2, schema)
    options = {"hoodie.table.type": table_type}
    engine = Engine(spark, tmp_path)
    for rows in (old, new):
        engine.write(tmp_path / "t", as_table(rows, schema), version=9, options=options)
    frame = read_table(spark, str(tmp_path / "t"))
    found = arrow_of(frame).drop_columns(frame.columns[:5])
    assert_rows_equal(found, merged(merged({}, old), new), "read_table")
    types = {field.name: field.dataType.simpleString() for field in frame.schema}
    assert types["instant"] == "timestamp"
    assert types["local_time"] == "timestamp_ntz"
    assert types["wide_decimal"] == "decimal(38,10)"
    assert types["visits"] == "array<struct<when:date,cost:decimal(12,3)>>"


def test_a_frame_of_few_keys_has_the_values_and_types_of_all_columns(
    spark: SparkSession, tmp_path: Path
) -> None:
    from judges.engine import Engine

    flat = [field for field in ALL_TYPES if not pa.types.is_nested(field.type)]
    schema = pa.schema([*flat, LOCAL_TIME])
    table, rows = tmp_path / "t", some_rows(range(20), 1, schema)
    Engine(spark, tmp_path).write(table, as_table(rows, schema), version=9)
    wanted = [row for row in rows if row[PARTITION] == "a"][:6]
    assert any(row["instant"] is None for row in wanted)
    filters = [(KEY, "in", [row[KEY] for row in wanted]), (PARTITION, "=", "a")]
    frame = read_table(spark, str(table), filters=filters)
    whole = read_table(spark, str(table))
    by_tasks = whole.where(whole[KEY].isin([row[KEY] for row in wanted]))
    assert frame.schema == whole.schema
    assert starts_no_python(frame)
    assert starts_no_python(read_table(spark, str(table), filters=[(KEY, "=", "none"), filters[1]]))
    assert not starts_no_python(whole)
    assert frame.rdd.getNumPartitions() == 1
    assert sorted(frame.collect()) == sorted(by_tasks.collect())
    for file in table.glob("a/*.parquet"):
        file.unlink()
    # The driver has read the rows.
    assert_rows_equal(arrow_of(frame).drop_columns(frame.columns[:5]), merged({}, wanted), "read_table")
