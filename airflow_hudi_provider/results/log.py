"""Write the task log: the lines of the job, the lines of Spark in folded groups, and the result as tables."""

import logging
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

from airflow_hudi_provider.results.argument_names import with_arguments
from hudi_table_services.contract.result import JobResult

_JOB_LINE = re.compile(
    r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (?P<level>DEBUG|INFO|WARNING|ERROR) (?P<text>.*)$"
)
_SPARK_UI = re.compile(r"Spark UI: (?P<address>https?://\S+)")
_GROUP, _END = "::group::%s", "::endgroup::"
_SHOWN_OUTPUT_LINES = 3_000
_ENGINE = "hudi_table_services"
_CHECKS = f"{_ENGINE}.services."
"""Loggers of the checks before Spark starts. The job makes the same checks, and logs the same notes."""


def job_line(line: str) -> tuple[str, str] | None:
    """Return the level (lower case) and the message of a line that the job logged. Return None for a line of Spark."""
    match = _JOB_LINE.match(line)
    return None if match is None else (match["level"].lower(), match["text"])


@contextmanager
def messages_of_engine(operator: type) -> Iterator[set[str]]:
    """Collect the warnings of the engine, and the notes of the checks before Spark starts, that this process logs.

    Airflow adds these messages to the task log, with the names of the operator's arguments in place of flags.
    """
    handler = _MessageCollector(operator)
    engine = logging.getLogger(_ENGINE)
    engine.addHandler(handler)
    try:
        yield handler.texts
    finally:
        engine.removeHandler(handler)


class _MessageCollector(logging.Handler):
    def __init__(self, operator: type) -> None:
        super().__init__(logging.INFO)
        self._operator = operator
        self.texts: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.WARNING or record.name.startswith(_CHECKS):
            text = record.getMessage()
            self.texts.add(text)
            # Handlers of the parent loggers, which write the task log, run later and log the changed text.
            record.msg, record.args = with_arguments(text, self._operator), None


class SparkLogSorter:
    """Replaces the logger of Airflow's Spark hook, which logs every line of spark-submit.

    The sorter logs the lines of the job at their level, except warnings and notes that the log contains already. All
    other lines are from Spark; the sorter logs them in folded groups.

    Args:
        on_spark_ui: a function that is called with the address of Spark's UI when the job logs this address.
        shown: texts of the warnings and notes that the log already contains. The sorter adds each warning that it logs
            to this set, as the job logged it.
        operator: operator class of the task. The sorter replaces flags in warnings by names of its arguments.
    """

    def __init__(
        self,
        log: Any,
        on_spark_ui: Callable[[str], None] | None = None,
        shown: set[str] | None = None,
        operator: type = object,
    ) -> None:
        self._log = log
        self._operator = operator
        self._on_spark_ui = on_spark_ui
        self._shown = set() if shown is None else shown
        self._shown_before = frozenset(self._shown)
        self._is_folded = False

    def info(self, message: object, *arguments: object) -> None:
        text = str(message) % arguments if arguments else str(message)
        found = job_line(text)
        if found is None:
            self._fold()
            self._log.info("%s", text)
            return
        level, text = found
        if level in ("info", "warning") and text in self._shown_before:
            return
        if level == "warning":
            self._shown.add(text)
            text = with_arguments(text, self._operator)
        self.close()
        getattr(self._log, level)("%s", text)
        spark_ui = _SPARK_UI.fullmatch(text.strip())
        if spark_ui is not None and self._on_spark_ui is not None:
            self._on_spark_ui(spark_ui["address"])

    def close(self) -> None:
        """End the folded group, if one is open."""
        if self._is_folded:
            self._log.info(_END)
            self._is_folded = False

    def _fold(self) -> None:
        if not self._is_folded:
            self._log.info(_GROUP, "Spark")
            self._is_folded = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)


def log_output(log: Any, lines: list[str]) -> None:
    """Log, in a folded group, the output of a run that another process monitored.

    If the output is long, log only its end.
    """
    log.info(_GROUP, "Output of the job")
    if len(lines) > _SHOWN_OUTPUT_LINES:
        log.info("… %d earlier lines are not shown", len(lines) - _SHOWN_OUTPUT_LINES)
    for line in lines[-_SHOWN_OUTPUT_LINES:]:
        log.info("%s", line)
    log.info(_END)


def log_result(log: Any, result: JobResult, shown: Collection[str] = (), operator: type = object) -> None:
    """Log plan, rows and files of a result, in groups that Airflow folds.

    Args:
        shown: texts of the warnings that the log already contains.
        operator: operator class of the task. Names of its arguments replace flags in the warnings.
    """
    for title, lines in result.sections():
        if lines:
            log.info(_GROUP, title)
            for line in lines:
                log.info("%s", line)
            log.info(_END)
    log.info("%s", result.summary())
    if durations := result.durations():
        log.info("%s", durations)
    for warning in result.warnings:
        if warning not in shown:
            log.warning("%s", with_arguments(warning, operator))
