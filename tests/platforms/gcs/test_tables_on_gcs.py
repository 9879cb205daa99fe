"""Jobs on a table on a server of the XML API of Google Cloud Storage. hudi-rs reads the table after each change."""

import pytest
from google_account import Gcs
from pyspark.sql import SparkSession

from support.spark.every_job import run_every_job
from support.spark.table_elsewhere import TableElsewhere, rows_by_hudi_rs


@pytest.mark.parametrize("version", ["6", "9"])
def test_hudi_rs_reads_a_table_on_gcs_after_every_job(spark: SparkSession, gcs: Gcs, version: str) -> None:
    uri = gcs.new_table()
    run_every_job(
        TableElsewhere(spark, uri, gcs.options, version, lambda uri: rows_by_hudi_rs(uri, gcs.options))
    )
