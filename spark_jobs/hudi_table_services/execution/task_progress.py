"""Log the progress of a Spark job while the driver waits for it.

Tasks add their counts to Spark accumulators, which reach the driver whenever a Spark task ends. A task that Spark
repeats may count twice. Therefore the reported progress never exceeds the total, and results of the job never use the
accumulators.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hudi_table_services.contract.progress import PROGRESS_FIELD, JobProgress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger(__name__)

INTERVAL_S = 5.0
"""Seconds between two log lines. A phase that ends sooner logs only its first line."""

_JOIN_TIMEOUT_S = 1.0

Measure = Callable[[Any], tuple[int, int]]
"""Function that returns the rows and the bytes that a task wrote, given the task's result."""


@dataclass(frozen=True)
class TaskCounts:
    """Accumulators of a Spark job; only the driver can read their values.

    Attributes:
        done: number of finished tasks.
        weight: sum of the weights of the finished tasks; see `Phase.weights`.
        rows, written_bytes: rows and bytes that the finished tasks wrote.
    """

    done: Any
    weight: Any
    rows: Any
    written_bytes: Any

    @classmethod
    def of(cls, spark: "SparkSession") -> "TaskCounts | None":
        """Accumulators of a session; None for a Spark Connect session, which has no accumulators."""
        if type(spark).__module__.startswith("pyspark.sql.connect"):
            return None
        context = spark.sparkContext
        return cls(*(context.accumulator(0) for _ in range(4)))

    def add(self, weight: int, written: tuple[int, int]) -> None:
        """Count a finished task; called on executors."""
        self.done.add(1)
        self.weight.add(weight)
        self.rows.add(written[0])
        self.written_bytes.add(written[1])


@dataclass(frozen=True)
class Phase:
    """A Spark job whose progress is logged.

    Attributes:
        weights: cost of each task, usually in bytes. The share of the finished weight determines the remaining time.
    """

    name: str
    weights: Sequence[int]
    counts: TaskCounts | None

    @contextmanager
    def logged(self) -> Iterator[None]:
        """Context manager around the job: log the phase's name at the start, and the progress at intervals."""
        _LOG.info("%s", self.name)
        if self.counts is None:
            yield
            return
        ended, started = threading.Event(), time.monotonic()

        def log_at_intervals() -> None:
            while not ended.wait(INTERVAL_S):
                self._log(time.monotonic() - started)

        logger = threading.Thread(target=log_at_intervals, name="progress", daemon=True)
        logger.start()
        try:
            yield
        finally:
            ended.set()
            logger.join(_JOIN_TIMEOUT_S)  # the thread may be blocked while it writes its line to storage

    def _log(self, elapsed_s: float) -> None:
        progress = self.at(elapsed_s)
        _LOG.info("%s", progress.text, extra={PROGRESS_FIELD: progress})

    def at(self, elapsed_s: float) -> JobProgress:
        """Progress of the job `elapsed_s` seconds after its start."""
        assert self.counts is not None  # noqa: S101 - `logged` checks it
        total, whole = len(self.weights), sum(self.weights) or 1
        done = min(self.counts.done.value, total)
        share = min(1.0, self.counts.weight.value / whole)
        return JobProgress(
            phase=self.name,
            done=done,
            total=total,
            rows=self.counts.rows.value,
            written_bytes=self.counts.written_bytes.value,
            elapsed_s=round(elapsed_s, 1),
            remaining_s=round(elapsed_s * (1 - share) / share, 1) if share > 0 else None,
        )
