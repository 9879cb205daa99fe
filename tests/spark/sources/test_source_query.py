"""The SQL of a request must be one query. The query can read the source, but cannot change anything."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_table_services.contract.writing import SourceSpec
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.execution.sources.source import read_source


@pytest.fixture
def source(spark: SparkSession, tmp_path: Path) -> Iterator[str]:
    path = tmp_path / "landing.csv"
    path.write_text("k,v\nb,2\na,1\n")
    spark.createDataFrame([("kept",)], "x string").createOrReplaceTempView("victim")
    yield str(path)
    spark.catalog.dropTempView("victim")


def query(spark: SparkSession, source: str, sql: str) -> list[tuple[str, ...]]:
    spec = SourceSpec(path=source, format="csv", options={"header": "true"}, sql=sql)
    return [tuple(row) for row in read_source(spark, spec, {}).collect()]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT k, v FROM source ORDER BY k",
        "  SELECT k, v FROM source ORDER BY k ; ",
        "-- newest first\nSELECT k, v FROM source ORDER BY k -- by key",
        "WITH s AS (SELECT * FROM source) SELECT k, v FROM s ORDER BY k",
        "(SELECT k, v FROM source WHERE k = 'a') UNION ALL (SELECT k, v FROM source WHERE k = 'b')",
        "FROM source SELECT k, v ORDER BY k",
    ],
)
def test_every_form_of_query_reads_the_source(spark: SparkSession, source: str, sql: str) -> None:
    assert query(spark, source, sql) == [("a", "1"), ("b", "2")]


@pytest.mark.parametrize(
    "sql",
    [
        "DROP VIEW victim",
        "CREATE OR REPLACE TEMP VIEW victim AS SELECT 1 AS x",
        "INSERT OVERWRITE DIRECTORY '{folder}/out' USING csv SELECT * FROM source",
        "SET spark.sql.shuffle.partitions=7",
        "SELECT k, v FROM source; DROP VIEW victim",
        "SELECT k, v FROM source) ; DROP VIEW victim ; (SELECT 1",
        "SELECT k FROM source -- )\n); DROP VIEW victim",
        "",
    ],
)
def test_statements_other_than_one_query_are_refused_and_change_nothing(
    spark: SparkSession, source: str, tmp_path: Path, sql: str
) -> None:
    before = spark.conf.get("spark.sql.shuffle.partitions")
    with pytest.raises(InvalidRequestError, match="single query"):
        query(spark, source, sql.format(folder=tmp_path))
    assert [row.x for row in spark.table("victim").collect()] == ["kept"]
    assert not (tmp_path / "out").exists()
    assert spark.conf.get("spark.sql.shuffle.partitions") == before


@pytest.mark.parametrize("scheme", ["s3", "s3a"])
def test_a_source_on_s3_without_the_file_system_of_hadoop_is_refused_with_the_package(
    spark: SparkSession, scheme: str
) -> None:
    spec = SourceSpec(path=f"{scheme}://bucket/in.parquet")
    with pytest.raises(
        InvalidRequestError, match=f"Spark has no file system for the source '{scheme}://"
    ) as refused:
        read_source(spark, spec, {})
    begins = "Give the source as s3a://bucket/in.parquet" if scheme == "s3" else "Add the package hadoop-aws"
    assert refused.value.hint.startswith(begins)
    version = spark.sparkContext._jvm.org.apache.hadoop.util.VersionInfo.getVersion()  # type: ignore[union-attr]
    assert refused.value.hint.endswith(f"org.apache.hadoop:hadoop-aws:{version}")
