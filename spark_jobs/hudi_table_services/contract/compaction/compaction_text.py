"""Compaction reports as text, for logs and approvals: the log files before and after a compaction."""

from collections.abc import Iterable, Sequence

from hudi_table_services.contract.compaction.compaction import (
    CompactedPartition,
    CompactionPlanReport,
    CompactionReport,
    UnmergedLogs,
)
from hudi_table_services.contract.report import Section
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.contract.text import NOT_PARTITIONED, counted, human_bytes, human_time

SHOWN_PARTITIONS = 30
SHOWN_SKIPPED = 20


def compaction_sections(report: CompactionReport, result: JobResult) -> list[Section]:
    """Return titles with their lines: each plan, the log files of the table, and the file slices that were left out."""
    sections = [(plan_title(plan), plan_lines(plan)) for plan in report.plans]
    if lines := list(_log_lines(report)):
        sections.append(("Log files", lines))
    if report.trigger:
        sections.append(("Trigger", [f"{report.trigger[0].upper()}{report.trigger[1:]}"]))
    if report.skipped:
        more = report.skipped_count - SHOWN_SKIPPED
        rest = [f"… and {counted(more, 'more line')}"] if more > 0 else []
        sections.append(("Left out", [*report.skipped[:SHOWN_SKIPPED], *rest]))
    return sections


def compaction_summary(report: CompactionReport, result: JobResult) -> str:
    """Return the result in one line."""
    parts = [partition for plan in report.plans for partition in plan.partitions]
    what = _what(parts)
    match result.outcome:
        case Outcome.COMPLETED if result.reused:
            return f"{', '.join(report.instants) or 'done'}: {result.reason}"
        case Outcome.PLANNED:
            return f"Planned, nothing written: {what}"
        case Outcome.NOTHING_TO_DO:
            return f"Nothing to do: {result.reason}"
        case Outcome.FAILED:
            return result.failure
    states = sorted({plan.state for plan in report.plans})
    written = sum(part.output_bytes or 0 for part in parts)
    became = f" became base files of {human_bytes(written)}" if written else ""
    return f"{' and '.join(states) or 'done'}: {', '.join(report.instants)}: {what}{became}"


def plan_title(plan: CompactionPlanReport) -> str:
    """Return the instant and the state of a plan."""
    return f"Compaction {plan.instant_time or 'plan'} ({plan.state})"


def plan_lines(plan: CompactionPlanReport) -> list[str]:
    """Return a table of the partitions and the result of the execution."""
    return [*_partition_lines(plan.partitions), *_remarks(plan)]


def logs_in_words(logs: UnmergedLogs) -> str:
    """Return the number and size of log files, and the ratio of their size to that of the base files."""
    ratio = logs.log_ratio
    share = (
        f", {_percent(ratio)} of the size of the base files" if ratio is not None and logs.log_files else ""
    )
    return (
        f"{counted(logs.log_files, 'log file', ',')} of {human_bytes(logs.log_bytes)} in {logs.slices:,} of "
        f"{counted(logs.slices_total, 'file slice', ',')}{share}"
    )


def _percent(ratio: float) -> str:
    percent = 100 * ratio
    return f"{percent:,.0f} %" if percent >= 1 else f"{percent:.1g} %"


def _what(parts: Sequence[CompactedPartition]) -> str:
    files, size = sum(p.log_files for p in parts), sum(p.log_bytes for p in parts)
    slices = counted(sum(p.slices for p in parts), "file slice", ",")
    return f"{counted(files, 'log file', ',')} of {human_bytes(size)} in {slices}"


def _partition_lines(parts: Sequence[CompactedPartition]) -> Iterable[str]:
    if not parts:
        return
    shown = parts[:SHOWN_PARTITIONS]
    width = max(len("partition"), *(len(p.partition_path or NOT_PARTITIONED) for p in shown))
    is_executed = any(part.output_bytes is not None for part in parts)
    after = "   new base        rows" if is_executed else "       base"
    yield f"{'partition'.ljust(width)}  slices  log files        logs  {after}"
    for part in shown:
        name = (part.partition_path or NOT_PARTITIONED).ljust(width)
        if is_executed:
            end = f"{human_bytes(part.output_bytes or 0):>11}  {part.rows or 0:>10,}"
        else:
            end = f"{'-' if part.base_bytes is None else human_bytes(part.base_bytes):>11}"
        yield f"{name}  {part.slices:>6}  {part.log_files:>9}  {human_bytes(part.log_bytes):>10}  {end}"
    if len(parts) > SHOWN_PARTITIONS:
        yield f"… and {counted(len(parts) - SHOWN_PARTITIONS, 'more partition')}"


def _remarks(plan: CompactionPlanReport) -> Iterable[str]:
    if plan.expected_task_seconds is not None:
        yield f"All tasks together are expected to take {human_time(plan.expected_task_seconds)}"
    if any(part.rows is not None for part in plan.partitions):
        updated, inserted, deleted = (
            sum(getattr(part, name) or 0 for part in plan.partitions)
            for name in ("updated_rows", "inserted_rows", "deleted_rows")
        )
        yield (
            f"The log files updated {counted(updated, 'row', ',')}, added {inserted:,} and deleted {deleted:,}"
        )
    if reused := sum(part.reused_files or 0 for part in plan.partitions):
        yield f"An earlier attempt had written {counted(reused, 'new base file')} already"
    if plan.replaced_groups:
        yield f"{counted(plan.replaced_groups, 'file group')} left out, because a completed write replaced them"
    if plan.error:
        yield f"Failed: {plan.error}"


def _log_lines(report: CompactionReport) -> Iterable[str]:
    if report.before is not None:
        yield f"{'before' if report.after is not None else 'now'}: {logs_in_words(report.before)}"
    if report.after is not None:
        yield f"after: {logs_in_words(report.after)}"
