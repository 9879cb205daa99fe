"""Jobs on a table on an S3 server. After each job, hudi-rs reads the table."""

import pytest
from pyspark.sql import SparkSession

from s3_server import S3
from support.depth import cases
from support.spark.every_job import TableElsewhere, rows_by_hudi_rs, run_every_job


@pytest.mark.parametrize("version", cases(["6", "9"], ["9"]))
def test_hudi_rs_reads_a_table_on_s3_after_every_kind_of_job(
    spark: SparkSession, s3: S3, version: str
) -> None:
    uri = s3.new_table()
    run_every_job(TableElsewhere(spark, uri, s3.options, version, lambda: rows_by_hudi_rs(uri, s3.options)))
