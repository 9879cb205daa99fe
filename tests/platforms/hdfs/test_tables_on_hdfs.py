"""Jobs on a table on HDFS. After each job, hudi-rs reads a copy of the table, because hudi-rs does not read HDFS."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_table_services.storage.stores.factory import open_storage
from support.spark.every_job import run_every_job
from support.spark.table_elsewhere import TableElsewhere, rows_of_copy


@pytest.mark.parametrize("version", ["6", "9"])
def test_hudi_rs_reads_a_table_of_hdfs_after_every_job(
    spark: SparkSession, new_table: Callable[[], str], tmp_path: Path, version: str
) -> None:
    uri = new_table()

    table = TableElsewhere(
        spark, uri, {}, version, lambda uri: rows_of_copy(open_storage(uri), tmp_path / "copy")
    )
    run_every_job(table)
