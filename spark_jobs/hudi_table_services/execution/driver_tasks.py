"""Run small tasks in the driver's process instead of in workers of a Spark Connect server.

Each session of a server starts Python workers of its own, which costs two to three seconds of processor time. A driver
of Spark Connect is a Python process with the same packages, so the driver itself can run tasks that would take Spark
only a few seconds. Drivers of spark-submit leave all tasks to Spark, which reuses its workers in later steps.
"""

import io
import logging
import re
import uuid
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.execution.sessions.connect import first_line, is_connect
from hudi_table_services.execution.task_groups import BYTES_OF_A_SPARK_TASK

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LOG = logging.getLogger(__name__)

TaskT = TypeVar("TaskT")
ResultT = TypeVar("ResultT")

MAX_ROWS = 50_000
"""Largest number of rows of a frame that the driver collects."""

FIRST_ROWS = 1000
"""Number of rows that the driver collects first, to measure the bytes per row of a larger frame."""

MAX_COLLECTED_BYTES = 64 << 20
"""Largest memory for collected rows, as estimated from the first rows."""

MAX_SOURCE_BYTES = 4 << 20
"""Largest size, as estimated by Spark, of a frame that the driver collects. Spark's estimate is the size of the
compressed files; the collected rows are larger."""

MAX_STEP_BYTES = 2 * BYTES_OF_A_SPARK_TASK
"""Largest cost of the tasks that the driver runs: about as much processor time as the start of a session's workers."""

MAX_TASKS = 128
"""Largest number of tasks that the driver runs, because it waits for the storage in each of them."""

_ESTIMATE = re.compile(r"Statistics\(sizeInBytes=(?P<number>[0-9.]+(?:E[+-]?\d+)?) (?P<unit>[KMGTPE]i)?B")
_UNITS = (None, "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def fits_driver(spark: "SparkSession", weights: Sequence[int] | None = ()) -> bool:
    """Return whether the driver may run tasks of a session in its own process.

    Args:
        weights: estimated cost of each task in bytes; see `task_groups`. None if the cost is unknown.
    """
    if weights is None or len(weights) > MAX_TASKS:
        return False
    return is_connect(spark) and sum(weights) <= MAX_STEP_BYTES


def run_in_driver(tasks: Sequence[TaskT], work: Callable[[TaskT], ResultT]) -> list[ResultT] | None:
    """Run the tasks one after another in this process.

    Returns:
        The results, or None if an error occurred that a retry can fix. In that case Spark must run the tasks, because
        Spark repeats tasks that fail in a worker.

    Raises:
        HudiTableServiceError: `work` raised an error that a retry cannot fix.
    """
    try:
        return [work(task) for task in tasks]
    except Exception as error:
        if isinstance(error, HudiTableServiceError) and not error.retryable:
            raise
        _LOG.info("Spark repeats the tasks after an error: %s", first_line(error))
        return None


def collect_small(frame: "DataFrame") -> list[pa.RecordBatch] | None:
    """Return all rows of a frame, or None if the frame is too large or Spark is older than 4.0."""
    if not hasattr(frame, "toArrow"):
        return None
    estimate = _estimated_bytes(frame)
    if estimate is None or estimate > MAX_SOURCE_BYTES:
        return None
    first = _ordered_rows(frame, FIRST_ROWS + 1)
    if first.num_rows <= FIRST_ROWS:
        return list(first.to_batches())
    most = min(MAX_ROWS, MAX_COLLECTED_BYTES * first.num_rows // max(first.nbytes, 1))
    rows = _ordered_rows(frame, most + 1) if most > FIRST_ROWS else None
    return list(rows.to_batches()) if rows is not None and rows.num_rows <= most else None


def _ordered_rows(frame: "DataFrame", count: int) -> pa.Table:
    """Return at most `count` rows, ordered by Spark partition and then by row as in `map_batches`.

    Spark's limit may shuffle the partitions and change their order.
    """
    name = f"row_{uuid.uuid4().hex}"
    rows = frame.selectExpr("*", f"monotonically_increasing_id() AS {name}").limit(count).toArrow()
    return rows.sort_by(name).drop_columns([name])


def _estimated_bytes(frame: "DataFrame") -> float | None:
    """Return Spark's estimate of the frame's size from the optimized plan; None if the plan contains no estimate."""
    with redirect_stdout(io.StringIO()) as plan:
        frame.explain(mode="cost")
    found = _ESTIMATE.search(plan.getvalue())
    return float(found["number"]) * 1024.0 ** _UNITS.index(found["unit"]) if found else None
