"""The data source ``hudi_native``: options, schemas, SQL views and pushed filters."""

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from hudi_table_services.model.reading.predicate import Comparison, Predicate
from hudi_table_services.reading.data_source import predicate_of
from hudi_table_services.reading.read_table import register_data_source
from support.reading.read_here import AS_OF, QUERY
from support.spark.log_tables import LogTable, new_log_table

FORMAT = "hudi_native"
PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> LogTable:
    register_data_source(spark)
    found = new_log_table(tmp_path / "t", 9)
    found.write([(f"k{i}", 1, f"p{i % 2}", f"v{i}") for i in range(6)])
    found.write([("k0", 2, "p0", "w0")])
    return found


def test_load_reads_the_latest_state(spark: SparkSession, table: LogTable) -> None:
    frame = spark.read.format(FORMAT).load(str(table.base_path))
    assert frame.columns[5:] == ["k", "ts", "p", "v"]
    assert sorted(row["v"] for row in frame.collect()) == ["v1", "v2", "v3", "v4", "v5", "w0"]


def test_options_have_the_names_of_hudi(spark: SparkSession, table: LogTable) -> None:
    first, _second = table.timeline_store.load().completed_writes
    reader = spark.read.format(FORMAT)
    assert (
        reader.option(AS_OF, first.requested_time).load(str(table.base_path)).where("v = 'v0'").count() == 1
    )
    changes = (
        spark.read.format(FORMAT)
        .option(QUERY, "incremental")
        .option("hoodie.datasource.read.begin.instanttime", first.visible_from)
        .load(str(table.base_path))
    )
    assert [row["k"] for row in changes.collect()] == ["k0"]
    with pytest.raises(PySparkException, match="Unknown option"):
        spark.read.format(FORMAT).option("hoodie.nonsense", "1").load(str(table.base_path)).collect()


def test_a_schema_selects_columns(spark: SparkSession, table: LogTable) -> None:
    frame = spark.read.format(FORMAT).schema("v string, k string").load(str(table.base_path))
    assert frame.columns == ["v", "k"]
    assert sorted(map(tuple, frame.collect()))[-1] == ("w0", "k0")
    with pytest.raises(PySparkException, match="has the type bigint"):
        spark.read.format(FORMAT).schema("ts string").load(str(table.base_path)).collect()


def test_a_sql_view_shows_later_writes(spark: SparkSession, table: LogTable) -> None:
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW rows USING {FORMAT} OPTIONS (path '{table.base_path}')")
    assert spark.sql("SELECT count(*) FROM rows WHERE p = 'p0'").collect()[0][0] == 3
    table.write([("new", 1, "p0", "v")])
    assert spark.sql("SELECT count(*) FROM rows WHERE p = 'p0'").collect()[0][0] == 4


@pytest.mark.parametrize(
    "condition",
    [
        "ts = 2",
        "ts > 1",
        "p = 'p1' AND v <> 'v1'",
        "v IN ('v1', 'w0')",
        "v IS NULL",
        "NOT (v IN ('v1', 'w0'))",
    ],
)
def test_pushed_filters_do_not_change_the_result(
    spark: SparkSession, table: LogTable, condition: str
) -> None:
    frame = spark.read.format(FORMAT).load(str(table.base_path)).where(condition)
    expected = sorted(row["k"] for row in frame.collect())
    spark.conf.set(PUSHDOWN, "true")
    try:
        reader = spark.read.format(FORMAT).option("push.filters", "true")
        pushed = reader.load(str(table.base_path)).where(condition)
        assert sorted(row["k"] for row in pushed.collect()) == expected
    finally:
        spark.conf.unset(PUSHDOWN)


def test_filters_of_spark_become_conditions() -> None:
    from pyspark.sql.datasource import EqualTo, GreaterThan, In, IsNull, Not, StringContains

    assert predicate_of(EqualTo(("a",), 1)) == Predicate("a", Comparison.EQUAL, (1,))
    assert predicate_of(Not(EqualTo(("a",), 1))) == Predicate("a", Comparison.NOT_EQUAL, (1,))
    assert predicate_of(Not(In(("a",), (1, 2)))) == Predicate("a", Comparison.NOT_IN, (1, 2))
    assert predicate_of(IsNull(("a",))) == Predicate("a", Comparison.IS_NULL)
    assert predicate_of(GreaterThan(("a", "b"), 1)) is None
    assert predicate_of(StringContains(("a",), "x")) is None
    assert predicate_of(Not(GreaterThan(("a",), 1))) is None
    assert predicate_of(EqualTo(("a",), None)) is None
