"""Make one load on a local Spark session and measure its phases. ``scale_load.py`` starts a process for each load."""

import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from bench.scenarios import System
from bench.sessions import SessionOptions, open_session
from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.jobs.writing.upsert import upsert
from scale.calibration import Batch, LoadRun

GROUPS = 8
_EMPTY_TASKS = 400
_WARM_UP_ROWS = 10_000


def measured_load(batch: Batch, cores: int, table_rows: int, batch_rows: int, folder: Path) -> LoadRun:
    """Create a table with one base file in each of `GROUPS` partitions, load a batch, and return the measurement.

    Loads of a small table warm the session up.
    """
    session = open_session(System.OURS, SessionOptions(cores=cores, local_folder=folder / "spark"))
    try:
        for number in range(2):
            _load(session, batch, folder / f"warm-up-{number}", _WARM_UP_ROWS, _WARM_UP_ROWS // 2)
        empty_task_s = _empty_task_s(session)
        timings = _load(session, batch, folder / "table", table_rows, batch_rows)
    finally:
        session.stop()
    return LoadRun(
        batch=batch.value,
        cores=cores,
        groups=GROUPS,
        table_rows=table_rows,
        batch_rows=batch_rows,
        timings_s=timings,
        empty_task_s=empty_task_s,
    )


def _load(
    spark: SparkSession, batch: Batch, table: Path, table_rows: int, batch_rows: int
) -> dict[str, float]:
    """Create the table, load the batch, and return the seconds of the phases of this load."""
    options = {
        "hoodie.datasource.write.table.type": "MERGE_ON_READ" if batch is Batch.LOGS else "COPY_ON_WRITE",
        "hoodie.parquet.max.file.size": str(1 << 40),
        "hoodie.parquet.small.file.limit": "0",
    }
    first, last = (table_rows, table_rows + batch_rows) if batch is Batch.INSERTS else (0, batch_rows)
    for operation, rows in (
        ("bulk_insert", _rows(spark, 0, table_rows)),
        ("upsert", _rows(spark, first, last)),
    ):
        request = UpsertRequest(
            base_path=str(table),
            table_name="load",
            operation=operation,
            record_key=("id",),
            partition_by=("day",),
            options=options,
        )
        result = upsert(spark, request, source=rows)
    return dict(result.timings_s)


def _rows(spark: SparkSession, first: int, last: int) -> DataFrame:
    key = f.format_string("key-%012d", f.col("id"))
    return spark.range(first, last).select(
        key.alias("id"),
        f.format_string("day-%02d", f.col("id") % GROUPS).alias("day"),
        f.sha2(key, 256).alias("note"),
        (f.col("id") * 0.01).alias("amount"),
    )


def _empty_task_s(spark: SparkSession) -> float:
    """Seconds of the driver for each task of a job whose tasks do nothing."""
    spark.range(0, _EMPTY_TASKS, 1, _EMPTY_TASKS).count()
    started = time.perf_counter()
    spark.range(0, _EMPTY_TASKS, 1, _EMPTY_TASKS).count()
    return (time.perf_counter() - started) / _EMPTY_TASKS
