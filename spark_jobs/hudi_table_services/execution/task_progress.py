"""Log the progress of a Spark job while the driver waits for the job.

Tasks add their counts to Spark accumulators, which reach the driver whenever a Spark task ends. A task that Spark
repeats can count twice. Therefore this module limits the reported progress to the total, and results of the job never
use the accumulators. Spark Connect has no accumulators; its server reports how many Spark tasks have ended.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hudi_table_services.contract.progress import PROGRESS_FIELD, JobProgress
from hudi_table_services.execution.sessions.connect import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger(__name__)

INTERVAL_S = 5.0
"""Seconds between two log lines. A phase that ends sooner logs only its first line."""

MIN_SHOWN_TASKS = 2
"""Smallest number of Spark tasks whose progress `StageCounts` reports. A single task is either running or finished."""

_JOIN_TIMEOUT_S = 1.0

Measure = Callable[[Any], tuple[int, int]]
"""A function that returns, for the result of a task, the rows and the bytes that the task wrote."""


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
        """Create accumulators in a session; return None for a Spark Connect session, which has no accumulators."""
        if is_connect(spark):
            return None
        context = spark.sparkContext
        return cls(*(context.accumulator(0) for _ in range(4)))

    @property
    def finished(self) -> "FinishedTasks":
        """Return the counts so far."""
        return FinishedTasks(self.done.value, self.weight.value, self.rows.value, self.written_bytes.value)

    def watched(self) -> AbstractContextManager[None]:
        """Return a context manager for the Spark job. It does nothing, because accumulators need no setup."""
        return nullcontext()

    def add(self, weight: int, written: tuple[int, int]) -> None:
        """Count a finished task; called on executors."""
        self.done.add(1)
        self.weight.add(weight)
        self.rows.add(written[0])
        self.written_bytes.add(written[1])


class ServerCounts:
    """Counts of a Spark job on a Spark Connect server.

    The server reports the number of finished Spark tasks. Each Spark task runs one or several tasks of the job.

    Args:
        weights: cost of each task. All Spark tasks are treated as equally expensive.
    """

    def __init__(self, spark: "SparkSession", weights: Sequence[int]) -> None:
        self._spark = spark
        self._weights = weights
        self._share = 0.0

    @classmethod
    def of(cls, spark: "SparkSession", weights: Sequence[int]) -> "ServerCounts | None":
        """Create the counts of a session; return None if the server or the client is older than Spark 4.0.

        Older releases do not report finished tasks.
        """
        if not is_connect(spark) or not hasattr(spark, "registerProgressHandler"):
            return None
        return cls(spark, weights)

    @property
    def finished(self) -> "FinishedTasks":
        """Return the counts so far. The server does not report rows and bytes."""
        done = int(self._share * len(self._weights))
        return FinishedTasks(done, int(self._share * sum(self._weights)), 0, 0)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Return a context manager for the Spark job. Inside it, the counts receive the reports of the server."""
        self._spark.registerProgressHandler(self._update)  # type: ignore[arg-type]  # any callable
        try:
            yield
        finally:
            self._spark.removeProgressHandler(self._update)  # type: ignore[arg-type]

    def _update(self, stages: Iterable[Any] | None, **_: object) -> None:
        counts = [(stage.num_completed_tasks, stage.num_tasks) for stage in stages or ()]
        if total := sum(number for _, number in counts):
            self._share = sum(number for number, _ in counts) / total


class StageCounts:
    """Counts of the Spark tasks of a job whose number of tasks only Spark knows, such as the read of a source."""

    def __init__(self, spark: "SparkSession") -> None:
        self._spark = spark
        self._stages: tuple[int, ...] = ()
        self._began_s = time.monotonic()

    def progress(self, phase: str, elapsed_s: float) -> JobProgress | None:
        """Return the progress of the running stages; None if they have only one Spark task, or if Spark reports none.

        The remaining time is that of the running stages.
        """
        tracker = self._spark.sparkContext.statusTracker()
        stages = tuple(sorted(tracker.getActiveStageIds()))
        if stages != self._stages:
            self._stages, self._began_s = stages, time.monotonic()
        infos = [info for info in map(tracker.getStageInfo, stages) if info is not None]
        done, total = sum(i.numCompletedTasks for i in infos), sum(i.numTasks for i in infos)
        if total < MIN_SHOWN_TASKS:
            return None
        stage_s = time.monotonic() - self._began_s
        return JobProgress(
            phase=phase,
            done=done,
            total=total,
            elapsed_s=round(elapsed_s, 1),
            remaining_s=round(stage_s * (total - done) / done, 1) if done and stage_s > INTERVAL_S else None,
        )


@contextmanager
def stages_logged(spark: "SparkSession", name: str) -> Iterator[None]:
    """Log the name of a phase. Then log at intervals how many Spark tasks of its running stages have ended.

    With Spark Connect, log only the name.
    """
    _LOG.info("%s", name)
    if is_connect(spark):
        yield
        return
    counts = StageCounts(spark)

    def log(elapsed_s: float) -> None:
        with suppress(Exception):  # the JVM may have ended; then the job itself fails with a better error
            if (progress := counts.progress(name, elapsed_s)) is not None:
                _LOG.info("%s", progress.text, extra={PROGRESS_FIELD: progress})

    with _repeated(log):
        yield


@contextmanager
def _repeated(log: Callable[[float], None]) -> Iterator[None]:
    """Call a function in another thread at intervals, with the seconds since the start."""
    ended, started = threading.Event(), time.monotonic()

    def log_at_intervals() -> None:
        while not ended.wait(INTERVAL_S):
            log(time.monotonic() - started)

    logger = threading.Thread(target=log_at_intervals, name="progress", daemon=True)
    logger.start()
    try:
        yield
    finally:
        ended.set()
        logger.join(_JOIN_TIMEOUT_S)  # the thread may be blocked while it writes its line to storage


@dataclass(frozen=True)
class FinishedTasks:
    """Finished tasks of a Spark job; see `TaskCounts`."""

    done: int
    weight: int
    rows: int
    written_bytes: int


@dataclass(frozen=True)
class Phase:
    """A Spark job whose progress is logged.

    Attributes:
        weights: cost of each task, usually in bytes. The share of the finished weight determines the remaining time.
    """

    name: str
    weights: Sequence[int]
    counts: TaskCounts | ServerCounts | None

    @contextmanager
    def logged(self) -> Iterator[None]:
        """Return a context manager for the job. Log the phase's name at the start, and the progress at intervals."""
        _LOG.info("%s", self.name)
        if self.counts is None:
            yield
            return
        with _repeated(self._log), self.counts.watched():
            yield

    def _log(self, elapsed_s: float) -> None:
        progress = self.at(elapsed_s)
        _LOG.info("%s", progress.text, extra={PROGRESS_FIELD: progress})

    def at(self, elapsed_s: float) -> JobProgress:
        """Return the progress of the job `elapsed_s` seconds after its start."""
        assert self.counts is not None  # noqa: S101 - `logged` checks it
        finished, total = self.counts.finished, len(self.weights)
        share = min(1.0, finished.weight / (sum(self.weights) or 1))
        return JobProgress(
            phase=self.name,
            done=min(finished.done, total),
            total=total,
            rows=finished.rows,
            written_bytes=finished.written_bytes,
            elapsed_s=round(elapsed_s, 1),
            remaining_s=round(elapsed_s * (1 - share) / share, 1) if share > 0 else None,
        )
