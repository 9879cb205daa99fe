"""Make one load on a local Spark session and measure its phases. ``scale_load.py`` starts a process for each load."""

import shutil
import time
from pathlib import Path

from pyspark.sql import SparkSession

from bench.scenarios import System
from bench.sessions import SessionOptions, open_session
from scale.calibration import Batch, LoadRun
from scale.table_loads import TableLoads

_EMPTY_TASKS = 1_000
_EMPTY_JOBS = 4
_LOADS = 3
_WARM_UP_ROWS = 10_000


def measured_load(
    batch: Batch, *, cores: int, groups: int, table_rows: int, batch_rows: int, folder: Path
) -> LoadRun:
    """Create a table with one base file in each of `groups` partitions, load a batch, and return the measurement.

    Loads of a small table warm the session up. Then several copies of the table get the same batch; the result is the
    load with the median of the seconds.
    """
    session = open_session(System.OURS, SessionOptions(cores=cores, local_folder=folder / "spark"))
    try:
        loads = TableLoads(session, batch, groups)
        for number in range(2):
            loads.create(str(folder / f"warm-up-{number}"), _WARM_UP_ROWS)
            loads.load(str(folder / f"warm-up-{number}"), _WARM_UP_ROWS, _WARM_UP_ROWS // 2)
        empty_task_s = _empty_task_s(session)
        loads.create(str(folder / "table"), table_rows)
        timings = []
        for number in range(_LOADS):
            copy = shutil.copytree(folder / "table", folder / f"copy-{number}")
            timings.append(loads.load(str(copy), table_rows, batch_rows))
    finally:
        session.stop()
    return LoadRun(
        batch=batch.value,
        cores=cores,
        groups=groups,
        table_rows=table_rows,
        batch_rows=batch_rows,
        timings_s=sorted(timings, key=lambda each: sum(each.values()))[_LOADS // 2],
        empty_task_s=empty_task_s,
    )


def _empty_task_s(spark: SparkSession) -> float:
    """Seconds of the driver for each task of a job whose tasks do nothing, after other jobs have warmed the JVM up."""
    seconds = 0.0
    for _ in range(_EMPTY_JOBS):
        started = time.perf_counter()
        spark.range(0, _EMPTY_TASKS, 1, _EMPTY_TASKS).count()
        seconds = (time.perf_counter() - started) / _EMPTY_TASKS
    return seconds
