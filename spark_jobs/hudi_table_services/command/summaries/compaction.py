"""Summary of a compaction: the partitions with the most bytes of log files first."""

from collections.abc import Sequence

from hudi_table_services.command.summaries.details import Details, change, change_of_size, shown_path
from hudi_table_services.command.summary import Grid
from hudi_table_services.contract.compaction.compaction import (
    CompactedPartition,
    CompactionReport,
    UnmergedLogs,
)
from hudi_table_services.contract.compaction.compaction_text import logs_in_words
from hudi_table_services.contract.result import JobResult
from hudi_table_services.contract.text import counted, human_bytes, human_time


def details(report: CompactionReport, result: JobResult) -> Details:
    """Return the details of a preview, a plan, an execution or a cancellation."""
    parts = sorted(
        (partition for plan in report.plans for partition in plan.partitions),
        key=lambda each: (-each.log_bytes, each.partition_path),
    )
    return Details(facts=_facts(report, result), grids=(_grid(parts),))


def _facts(report: CompactionReport, result: JobResult) -> Sequence[tuple[str, str]]:
    plans = [
        f"{each.instant_time} {each.state}{f': {each.error}' if each.error else ''}"
        for each in report.plans
        if each.instant_time
    ]
    seconds = [each.expected_task_seconds for each in report.plans if each.expected_task_seconds is not None]
    return (
        ("Plans" if len(plans) > 1 else "Plan", "; ".join(plans)),
        ("Log files", _logs(report.before, report.after)),
        ("Expected", f"{human_time(sum(seconds))} of tasks" if seconds else ""),
        # If the trigger prevents the compaction, the reason of the result begins with the same text.
        ("Trigger", "" if result.reason.startswith(report.trigger) else report.trigger),
        ("Left out", counted(report.skipped_count, "file slice", ",") if report.skipped else ""),
    )


def _logs(before: UnmergedLogs | None, after: UnmergedLogs | None) -> str:
    if before is None:
        return ""
    if after is None:
        return logs_in_words(before)
    files = change(f"{before.log_files:,}", f"{after.log_files:,}")
    return f"{files}, {change_of_size(before.log_bytes, after.log_bytes)}"


def _grid(parts: Sequence[CompactedPartition]) -> Grid:
    is_executed = any(each.output_bytes is not None for each in parts)
    return Grid(
        columns=(
            "partition",
            ">slices",
            ">log files",
            ">log size",
            *((">new base files", ">rows") if is_executed else (">base files",)),
        ),
        rows=[_row(each, is_executed=is_executed) for each in parts],
        noun="partition",
    )


def _row(part: CompactedPartition, *, is_executed: bool) -> Sequence[str]:
    before = (
        shown_path(part.partition_path),
        f"{part.slices:,}",
        f"{part.log_files:,}",
        human_bytes(part.log_bytes),
    )
    if not is_executed:
        return (*before, "" if part.base_bytes is None else human_bytes(part.base_bytes))
    return (*before, human_bytes(part.output_bytes or 0), f"{part.rows or 0:,}")
