"""Make one load on a local Spark session and measure its phases. ``scale_load.py`` starts a process for each load."""

import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from bench.scenarios import System
from bench.sessions import SessionOptions, open_session
from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.jobs.writing.upsert import upsert
from scale.calibration import Batch, LoadRun

_EMPTY_TASKS = 1_000
_EMPTY_JOBS = 4
_LOADS = 3
_WARM_UP_ROWS = 10_000


def measured_load(
    batch: Batch, *, cores: int, groups: int, table_rows: int, batch_rows: int, folder: Path
) -> LoadRun:
    """Create a table with one base file in each of `groups` partitions, load a batch, and return the measurement.

    Loads of a small table warm the session up. Then several copies of the table get the same batch; the result has the
    medians.
    """
    session = open_session(System.OURS, SessionOptions(cores=cores, local_folder=folder / "spark"))
    try:
        loads = _Loads(session, batch, groups)
        for number in range(2):
            loads.create(folder / f"warm-up-{number}", _WARM_UP_ROWS)
            loads.load(folder / f"warm-up-{number}", _WARM_UP_ROWS, _WARM_UP_ROWS // 2)
        empty_task_s = _empty_task_s(session)
        loads.create(folder / "table", table_rows)
        timings = []
        for number in range(_LOADS):
            copy = shutil.copytree(folder / "table", folder / f"copy-{number}")
            timings.append(loads.load(copy, table_rows, batch_rows))
    finally:
        session.stop()
    return LoadRun(
        batch=batch.value,
        cores=cores,
        groups=groups,
        table_rows=table_rows,
        batch_rows=batch_rows,
        timings_s={phase: median(each.get(phase, 0.0) for each in timings) for phase in timings[0]},
        empty_task_s=empty_task_s,
    )


@dataclass(frozen=True, slots=True)
class _Loads:
    """Creates and loads tables for one kind of batch."""

    spark: SparkSession
    batch: Batch
    groups: int

    def create(self, table: Path, rows: int) -> None:
        self._write("bulk_insert", table, 0, rows)

    def load(self, table: Path, table_rows: int, batch_rows: int) -> dict[str, float]:
        """Load the batch into a table with `table_rows` rows, and return the seconds of the phases."""
        first = 0 if self.batch.changes_rows else table_rows
        return self._write("upsert", table, first, first + batch_rows)

    def _write(self, operation: str, table: Path, first: int, last: int) -> dict[str, float]:
        is_filling = self.batch is Batch.SMALL_FILES
        request = UpsertRequest(
            base_path=str(table),
            table_name="load",
            operation=operation,
            record_key=("id",),
            partition_by=("day",),
            options={
                "hoodie.datasource.write.table.type": "MERGE_ON_READ"
                if self.batch is Batch.LOGS
                else "COPY_ON_WRITE",
                "hoodie.parquet.max.file.size": str(1 << 40),
                "hoodie.parquet.small.file.limit": str(1 << 39) if is_filling else "0",
            },
        )
        return dict(upsert(self.spark, request, source=self._rows(first, last)).timings_s)

    def _rows(self, first: int, last: int) -> DataFrame:
        key = f.format_string("key-%012d", f.col("id"))
        return self.spark.range(first, last).select(
            key.alias("id"),
            f.format_string("day-%03d", f.col("id") % self.groups).alias("day"),
            f.sha2(key, 256).alias("note"),
            (f.col("id") * 0.01).alias("amount"),
        )


def _empty_task_s(spark: SparkSession) -> float:
    """Seconds of the driver for each task of a job whose tasks do nothing, after other jobs have warmed the JVM up."""
    seconds = 0.0
    for _ in range(_EMPTY_JOBS):
        started = time.perf_counter()
        spark.range(0, _EMPTY_TASKS, 1, _EMPTY_TASKS).count()
        seconds = (time.perf_counter() - started) / _EMPTY_TASKS
    return seconds
