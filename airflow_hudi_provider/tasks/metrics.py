"""Emit metrics of the tasks through Airflow's own Stats and its metrics backend."""

import logging
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, Protocol

from airflow.providers.common.compat.sdk import AirflowSkipException, TaskDeferred

from hudi_table_services.contract.result import JobResult

_LOG = logging.getLogger(__name__)
_LOCK_WAIT = "lock_wait"
_NO_TAG = re.compile(r"[^A-Za-z0-9_.-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A metric that every service emits, named ``hudi.<service>.<name>``."""

    name: str
    kind: Literal["counter", "timer"]
    meaning: str


METRICS = (
    Metric(name="duration", kind="timer", meaning="the whole task, including the wait for Spark"),
    Metric(
        name="rows",
        kind="counter",
        meaning="rows written, rewritten by a clustering or compaction, or undone",
    ),
    Metric(name="files_written", kind="counter", meaning="data files that commits added"),
    Metric(name="bytes_written", kind="counter", meaning="bytes of the data files that commits added"),
    Metric(name="files_removed", kind="counter", meaning="data files deleted from storage"),
    Metric(name="failures", kind="counter", meaning="tries that failed, whether or not Airflow retries them"),
    Metric(
        name="lock_wait",
        kind="timer",
        meaning="time spent waiting for the table's lock, in jobs that completed",
    ),
    Metric(
        name="reused",
        kind="counter",
        meaning="tries that found that an earlier try had completed the request",
    ),
)


class MeasuredTask(Protocol):
    """The part of an operator that this module reads."""

    last_result: JobResult | None

    @property
    def script(self) -> str: ...

    def table_label(self) -> str:
        """Return a short name of the table, or an empty string if the task has no table."""


def service_of(script_name: str) -> str:
    """Return the service of a job script, such as ``clean`` for ``clean.py``.

    All write operations have the name ``write``.

    For the script of an operator outside this project, the name of the file is the service.
    """
    from hudi_table_services.services.registry import script

    try:
        return script(script_name).metric_name
    except KeyError:
        return script_name.removesuffix(".py")


@contextmanager
def measured(task: MeasuredTask, *, earlier_s: float = 0.0) -> Iterator[None]:
    """Emit metrics of the work inside the ``with`` block. An error while emitting a metric never fails the task.

    Args:
        earlier_s: seconds for which the task was deferred before this block.
    """
    started, is_failed, is_over = time.monotonic(), False, True
    try:
        yield
    except TaskDeferred:
        is_over = False  # emit the metrics later, when the task resumes
        raise
    except AirflowSkipException:
        raise
    except BaseException:
        is_failed = True
        raise
    finally:
        try:
            if is_over:
                _emit(task, earlier_s + time.monotonic() - started, is_failed)
        except Exception as error:
            _LOG.warning("Metrics were not emitted: %s", error)


def _emit(task: MeasuredTask, seconds: float, is_failed: bool) -> None:
    from airflow.providers.common.compat.sdk import Stats

    service, result = service_of(task.script), task.last_result
    label = _NO_TAG.sub("_", task.table_label())
    tags = {**({"table": label} if label else {}), "service": service}
    counts = {"failures": int(is_failed)}
    if result is not None and not is_failed:
        done = result.figures()
        counts |= {
            "rows": done.rows,
            "files_written": done.files_written,
            "bytes_written": done.bytes_written,
            "files_removed": done.files_removed,
            "reused": int(result.reused),
        }
        if _LOCK_WAIT in result.timings_s and not result.reused:
            wait = timedelta(seconds=result.timings_s[_LOCK_WAIT])
            Stats.timing(f"hudi.{service}.{_LOCK_WAIT}", wait, tags=tags)
    Stats.timing(f"hudi.{service}.duration", timedelta(seconds=seconds), tags=tags)
    for name, count in counts.items():
        if count:
            Stats.incr(f"hudi.{service}.{name}", count, tags=tags)
