"""Jobs on a table on Azurite. After each job, hudi-rs reads the table."""

import pytest
from azurite import Azurite
from pyspark.sql import SparkSession

from support.spark.every_job import run_every_job
from support.spark.table_elsewhere import TableElsewhere, rows_by_hudi_rs


@pytest.mark.parametrize("version", ["6", "9"])
def test_hudi_rs_reads_a_table_on_azure_after_every_job(
    spark: SparkSession, azure: Azurite, version: str
) -> None:
    uri = azure.new_table()
    run_every_job(
        TableElsewhere(spark, uri, azure.options, version, lambda uri: rows_by_hudi_rs(uri, azure.options))
    )
