"""Run small work in the driver's process instead of in workers of a Spark Connect server.

Each session of a server starts Python workers of its own, which costs about three seconds of processor time. A driver
of Spark Connect is a Python process with the same packages, so the driver itself can do what one Spark task would do
in a second or two. Drivers of spark-submit leave all tasks to Spark, whose workers outlive a single step.
"""

import io
import logging
import re
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.execution.sessions.connect import is_connect
from hudi_table_services.execution.task_groups import BYTES_OF_A_SPARK_TASK

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LOG = logging.getLogger(__name__)

TaskT = TypeVar("TaskT")
ResultT = TypeVar("ResultT")

MAX_ROWS = 50_000
"""Largest number of rows of a frame that the driver collects."""

MAX_SOURCE_BYTES = 4 << 20
"""Largest estimate of Spark for the bytes of a frame that the driver collects. Files are compressed, rows are not."""

_ESTIMATE = re.compile(r"Statistics\(sizeInBytes=(?P<number>[0-9.]+(?:E[+-]?\d+)?) (?P<unit>[KMGTPE]i)?B")
_UNITS = (None, "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def fits_driver(spark: "SparkSession", weights: Sequence[int] | None = ()) -> bool:
    """Return whether the driver may run tasks of a session itself.

    Args:
        weights: estimated cost of each task in bytes; see `task_groups`. None if the cost is unknown.
    """
    return is_connect(spark) and weights is not None and sum(weights) <= BYTES_OF_A_SPARK_TASK


def run_in_driver(tasks: Sequence[TaskT], work: Callable[[TaskT], ResultT]) -> list[ResultT] | None:
    """Run the tasks one after another in this process.

    Returns:
        The results, or None if an error occurred that a retry may fix. Spark must then run the tasks.

    Raises:
        HudiTableServiceError: `work` raised an error that a retry cannot fix.
    """
    try:
        return [work(task) for task in tasks]
    except HudiTableServiceError as error:
        if not error.retryable:
            raise
        _LOG.info("Spark repeats the tasks after an error: %s", error.message)
        return None


def collect_small(frame: "DataFrame") -> list[pa.RecordBatch] | None:
    """Return all rows of a frame, or None if the frame is too large or Spark is older than 4.0."""
    if not hasattr(frame, "toArrow"):
        return None
    estimate = _estimated_bytes(frame)
    if estimate is None or estimate > MAX_SOURCE_BYTES:
        return None
    rows = frame.limit(MAX_ROWS + 1).toArrow()
    return rows.to_batches() if rows.num_rows <= MAX_ROWS else None


def _estimated_bytes(frame: "DataFrame") -> float | None:
    """Spark's estimate of the size of the frame, from its optimized plan; None if the plan contains no estimate."""
    with redirect_stdout(io.StringIO()) as plan:
        frame.explain(mode="cost")
    found = _ESTIMATE.search(plan.getvalue())
    return float(found["number"]) * 1024.0 ** _UNITS.index(found["unit"]) if found else None
