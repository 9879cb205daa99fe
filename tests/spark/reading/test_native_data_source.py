"""The data source ``hudi_native``: options, schemas, SQL views and filters."""

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from hudi_table_services.reading.read_table import register_data_source
from support.reading.read_here import AS_OF, QUERY
from support.spark.log_tables import LogTable, new_log_table

pytest.importorskip("pyspark.sql.datasource", reason="Spark 3.5 has no Python data sources")

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


def test_options_of_hudi_are_accepted_and_unknown_options_are_refused(
    spark: SparkSession, table: LogTable
) -> None:
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


def test_a_sql_view_shows_later_writes_when_it_is_created_again(spark: SparkSession, table: LogTable) -> None:
    view = f"CREATE OR REPLACE TEMPORARY VIEW rows USING {FORMAT} OPTIONS (path '{table.base_path}')"
    count = "SELECT count(*) FROM rows WHERE p = 'p0'"
    spark.sql(view)
    assert spark.sql(count).collect()[0][0] == 3
    table.write([("new", 1, "p0", "v")])
    spark.sql(view)
    assert spark.sql(count).collect()[0][0] == 4


def test_the_option_filters_selects_rows(spark: SparkSession, table: LogTable) -> None:
    frame = spark.read.format(FORMAT).option("filters", '[["p", "=", "p0"], ["ts", "<", 2]]')
    assert sorted(row["k"] for row in frame.load(str(table.base_path)).collect()) == ["k2", "k4"]
    with pytest.raises(PySparkException, match="is not a list of filters in JSON"):
        spark.read.format(FORMAT).option("filters", "p = 'p0'").load(str(table.base_path)).collect()


def test_the_filters_of_a_query_do_not_change_later_queries_of_the_same_frame(
    spark: SparkSession, table: LogTable
) -> None:
    spark.conf.set(PUSHDOWN, "true")
    try:
        frame = spark.read.format(FORMAT).load(str(table.base_path))
        assert frame.where("p = 'p0'").count() == 3
        assert frame.count() == 6
        assert frame.where("p = 'p1' AND v <> 'v1'").count() == 2
    finally:
        spark.conf.unset(PUSHDOWN)
