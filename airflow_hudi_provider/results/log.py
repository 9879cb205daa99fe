"""What people read in a task's log: the job's own lines, Spark's folded away, and tables of the result."""

import re
from collections.abc import Callable
from typing import Any

from airflow_hudi_provider.results.cleaning import clean_sections, clean_summary
from airflow_hudi_provider.results.clustering_picture import clustering_sections, clustering_summary
from airflow_hudi_provider.results.config_check import config_sections, config_summary
from airflow_hudi_provider.results.health import health_sections, health_summary
from airflow_hudi_provider.results.recovery import recovery_sections, recovery_summary
from airflow_hudi_provider.results.table_picture import bar, human_bytes
from hudi_table_services.contract.result import JobResult, Outcome, PartitionReport

_JOB_LINE = re.compile(
    r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (?P<level>DEBUG|INFO|WARNING|ERROR) (?P<text>.*)$"
)
_SPARK_UI = re.compile(r"Spark UI: (?P<address>https?://\S+)")
_SHOWN_PARTITIONS = 30
_UPKEEP = (
    "create_savepoint",
    "delete_savepoint",
    "rollback",
    "restore",
    "repair_orphan_files",
    "archive",
)
_GROUP, _END = "::group::%s", "::endgroup::"
_SHOWN_OUTPUT_LINES = 3_000


def job_line(line: str) -> tuple[str, str] | None:
    """Level (lower case) and text of a line of the job; None: a line of Spark's."""
    match = _JOB_LINE.match(line)
    return None if match is None else (match["level"].lower(), match["text"])


class SparkLogSorter:
    """Stands in for the logger of Airflow's Spark hook, which logs every line of spark-submit.

    Lines of the job are shown as they come. All others are Spark's and lie in folded groups.

    Args:
        on_spark_ui: called with the address of Spark's UI where the job tells it.
    """

    def __init__(self, log: Any, on_spark_ui: Callable[[str], None] | None = None) -> None:
        self._log = log
        self._on_spark_ui = on_spark_ui
        self._is_folded = False

    def info(self, message: object, *arguments: object) -> None:
        text = str(message) % arguments if arguments else str(message)
        found = job_line(text)
        if found is None:
            self._fold()
            self._log.info("%s", text)
            return
        self.close()
        level, text = found
        getattr(self._log, level)("%s", text)
        told = _SPARK_UI.fullmatch(text.strip())
        if told is not None and self._on_spark_ui is not None:
            self._on_spark_ui(told["address"])

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
    """The output of a run that was followed elsewhere, in a folded group; of a long one its end."""
    log.info(_GROUP, "Output of spark-submit")
    if len(lines) > _SHOWN_OUTPUT_LINES:
        log.info("… %d lines before these", len(lines) - _SHOWN_OUTPUT_LINES)
    for line in lines[-_SHOWN_OUTPUT_LINES:]:
        log.info("%s", line)
    log.info(_END)


def log_result(log: Any, result: JobResult) -> None:
    """Plan, rows and files of a result, in groups that Airflow folds."""
    for title, lines in _sections(result):
        if lines:
            log.info(_GROUP, title)
            for line in lines:
                log.info("%s", line)
            log.info(_END)
    log.info("%s", summary(result))
    for warning in result.warnings:
        log.warning("%s", warning)


def _sections(result: JobResult) -> list[tuple[str, list[str]]]:
    if result.clustering is not None:
        return clustering_sections(result)
    if result.clean is not None:
        return clean_sections(result)
    if result.health is not None:
        return health_sections(result)
    if result.config is not None:
        return config_sections(result)
    if result.operation in _UPKEEP:
        return recovery_sections(result)
    return [("Plan by partition", _plan_lines(result)), ("Files before and after", _file_lines(result))]


def summary(result: JobResult) -> str:
    """The result in one line."""
    if result.clustering is not None:
        return clustering_summary(result)
    if result.clean is not None:
        return clean_summary(result)
    if result.health is not None:
        return health_summary(result)
    if result.config is not None:
        return config_summary(result)
    if result.operation in _UPKEEP and result.outcome is not Outcome.FAILED:
        return recovery_summary(result)
    rows, counts = result.rows, _counts(result)
    match result.outcome:
        case Outcome.COMPLETED if result.reused:
            return f"{result.instant_time}: {result.reason} ({counts} then)."
        case Outcome.COMPLETED:
            before, after = result.files_before, result.files_after
            return (
                f"{result.action} {result.instant_time}: {counts}; {before.file_count} → {after.file_count} files, "
                f"{human_bytes(before.size_bytes)} → {human_bytes(after.size_bytes)}"
            )
        case Outcome.PLANNED:
            return f"Planned, nothing written: {rows.read} rows read."
        case Outcome.NOTHING_TO_DO:
            return f"Nothing to do: {result.reason}"
        case _:
            return f"Failed: {result.error.message if result.error else 'no reason was given'}"


def _counts(result: JobResult) -> str:
    rows = result.rows
    counts = f"{rows.inserted} inserted, {rows.updated} updated, {rows.deleted} deleted"
    lost = f", {rows.older_than_stored} older than what is stored" if rows.older_than_stored else ""
    return counts + lost


def _plan_lines(result: JobResult) -> list[str]:
    if result.reused:
        return []
    lines = [_plan_line(partition) for partition in result.partitions[:_SHOWN_PARTITIONS]]
    return [*lines, *_more(result)]


def _plan_line(partition: PartitionReport) -> str:
    padded = sum(change.insert_count for change in partition.padded)
    opened = sum(change.insert_count for change in partition.opened)
    return (
        f"{partition.partition_path or '(not partitioned)'}: {len(partition.padded)} small files padded with {padded} "
        f"rows, {len(partition.opened)} files opened with {opened} rows, {len(partition.rewritten)} rewritten; "
        f"{partition.record_size_bytes:g} bytes per row, {partition.record_size}"
    )


def _file_lines(result: JobResult) -> list[str]:
    if result.outcome is not Outcome.COMPLETED or result.reused or not result.partitions:
        return []
    width = max(len(p.partition_path) for p in result.partitions)
    largest = max((p.files_after.size_bytes for p in result.partitions), default=0)
    lines = [f"{'partition'.ljust(width)}  files        bytes"]
    for partition in result.partitions[:_SHOWN_PARTITIONS]:
        before, after = partition.files_before, partition.files_after
        lines.append(
            f"{partition.partition_path.ljust(width)}  {before.file_count:>4} → {after.file_count:<4} "
            f"{human_bytes(before.size_bytes):>10} → {human_bytes(after.size_bytes):<10} "
            f"{bar(after.size_bytes, largest)}"
        )
    classes = ", ".join(f"{count} of {name}" for name, count in result.files_after.histogram.items())
    return [*lines, *_more(result), f"Sizes after: {classes}"]


def _more(result: JobResult) -> list[str]:
    more = len(result.partitions) - _SHOWN_PARTITIONS
    return [f"… and {more} more partitions"] if more > 0 else []
