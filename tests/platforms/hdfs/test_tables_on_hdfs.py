"""Jobs on a table on HDFS. After each job, hudi-rs reads a copy of the table, because hudi-rs does not read HDFS."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_table_services.storage.stores.factory import open_storage
from support.spark.every_job import Row, TableElsewhere, rows_by_hudi_rs, run_every_job


@pytest.mark.parametrize("version", ["6", "9"])
def test_hudi_rs_reads_a_table_of_hdfs_after_every_kind_of_job(
    spark: SparkSession, new_table: Callable[[], str], tmp_path: Path, version: str
) -> None:
    uri = new_table()

    def read_rows() -> list[Row]:
        copy = tmp_path / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        storage = open_storage(uri)
        for stored in storage.list_files():
            (copy / stored.path).parent.mkdir(parents=True, exist_ok=True)
            (copy / stored.path).write_bytes(storage.read(stored.path))
        return rows_by_hudi_rs(str(copy), {})

    run_every_job(TableElsewhere(spark, uri, {}, version, read_rows))
