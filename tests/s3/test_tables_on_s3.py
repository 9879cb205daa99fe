"""Jobs on a table on an S3 server. After each change, hudi-rs reads the table."""

import pytest
from pyspark.sql import SparkSession

from s3_server import S3
from support.depth import by_depth, cases
from support.spark.every_job import SAMPLED, STEPS, run_every_job
from support.spark.table_elsewhere import TableElsewhere, rows_by_hudi_rs


@pytest.mark.parametrize("version", cases(["6", "9"], ["9"]))
def test_hudi_rs_reads_a_table_on_s3_after_every_job(spark: SparkSession, s3: S3, version: str) -> None:
    uri = s3.new_table()
    table = TableElsewhere(spark, uri, s3.options, version, lambda uri: rows_by_hudi_rs(uri, s3.options))
    run_every_job(table, by_depth(SAMPLED, STEPS))
