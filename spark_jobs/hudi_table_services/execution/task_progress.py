"""Tell how far a Spark job is while the driver waits for it.

Tasks count in Spark's accumulators, which reach the driver whenever a Spark task ends. A task that Spark repeats may
count twice, so what is told is bounded by what there is, and results are never taken from here.
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
"""Seconds between two lines; a phase that is shorter has none but its first one."""

_PATIENCE_S = 1.0

Measure = Callable[[Any], tuple[int, int]]
"""Rows and bytes written, by a task's result."""


@dataclass(frozen=True)
class TaskCounts:
    """Accumulators; their values are known to the driver only.

    Attributes:
        weight: the share of the work, in whatever unit the weights are.
    """

    done: Any
    weight: Any
    rows: Any
    written_bytes: Any

    @classmethod
    def of(cls, spark: "SparkSession") -> "TaskCounts | None":
        """None: the session has none, such as one of Spark Connect."""
        if type(spark).__module__.startswith("pyspark.sql.connect"):
            return None
        context = spark.sparkContext
        return cls(*(context.accumulator(0) for _ in range(4)))

    def add(self, weight: int, written: tuple[int, int]) -> None:
        """A task ended; called on executors."""
        self.done.add(1)
        self.weight.add(weight)
        self.rows.add(written[0])
        self.written_bytes.add(written[1])


@dataclass(frozen=True)
class Phase:
    """A Spark job that is told of.

    Attributes:
        weights: of all tasks.
    """

    name: str
    weights: Sequence[int]
    counts: TaskCounts | None

    @contextmanager
    def told(self) -> Iterator[None]:
        """Around the job: say that it begins, and now and then how far it is."""
        _LOG.info("%s", self.name)
        if self.counts is None:
            yield
            return
        over, began = threading.Event(), time.monotonic()

        def tell() -> None:
            while not over.wait(INTERVAL_S):
                self._tell(time.monotonic() - began)

        teller = threading.Thread(target=tell, name="progress", daemon=True)
        teller.start()
        try:
            yield
        finally:
            over.set()
            teller.join(_PATIENCE_S)  # what is told may be on its way to a store that hangs

    def _tell(self, elapsed_s: float) -> None:
        progress = self.at(elapsed_s)
        _LOG.info("%s", progress.text, extra={PROGRESS_FIELD: progress})

    def at(self, elapsed_s: float) -> JobProgress:
        """How far it is."""
        assert self.counts is not None  # noqa: S101 - `told` looks
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
