"""Build return value and asset event of a compaction task, and the report on plans that an earlier attempt executed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_hudi_provider.results.plans import SHOWN_PLANS, draw, event_from, identity_of, shortened
from hudi_table_services.contract.compaction.compaction import (
    CompactedPartition,
    CompactionPlanReport,
    CompactionReport,
    UnmergedLogs,
)
from hudi_table_services.contract.result import JobResult

if TYPE_CHECKING:
    from hudi_table_services.tables.compaction.compaction_history import Compaction

_MEASURED = ("output_bytes", "rows", "updated_rows", "inserted_rows", "deleted_rows", "reused_files")


def compaction_answer(result: JobResult) -> dict[str, Any]:
    """Build the return value of the task.

    Pass ``instant`` or ``instants`` of this value to the task that executes the plans. Figures of the execution are
    None until the plans are executed. Only a preview contains a ``picture``.
    """
    report = result.report_as(CompactionReport) or CompactionReport()
    parts = [part for plan in report.plans for part in plan.partitions]
    names = sorted({part.partition_path for part in parts})
    answer = {
        **identity_of(result, report.instants),
        **_figures(parts),
        "plans": [_plan(plan) for plan in report.plans[:SHOWN_PLANS]],
        **shortened(names, report.skipped, report.skipped_count),
        "trigger": report.trigger,
        "delta_commits": report.delta_commits,
        "logs_before": _logs(report.before),
        "logs_after": _logs(report.after),
        "warnings": list(result.warnings),
    }
    return {**answer, "picture": draw(result)} if result.is_preview else answer


def compaction_event(result: JobResult) -> dict[str, Any]:
    """Return the ``extra`` field of an asset event. A compaction changes no rows, so readers may skip the event."""
    return event_from(result, compaction_answer(result), "slices", "log_files")


def compactions_in(result: JobResult) -> "Sequence[CompactionPlanReport] | None":
    """Return the reports on the plans in a result; None if the result has no report on compactions."""
    report = result.report_as(CompactionReport)
    return report.plans if report is not None else None


def report_of_compactions(compactions: "Sequence[Compaction]") -> CompactionReport:
    """Build a report on compactions that an earlier attempt executed. The sizes of the files are unknown."""
    return CompactionReport(plans=tuple(_stored(each) for each in compactions))


def _stored(compaction: "Compaction") -> CompactionPlanReport:
    files: dict[str, list[int]] = {}
    for operation in compaction.plan.operations:
        files.setdefault(operation.partition_path, []).append(len(operation.delta_file_paths))
    return CompactionPlanReport(
        instant_time=compaction.instant.requested_time,
        state="reused",
        completion_time=compaction.instant.completion_time,
        partitions=tuple(
            CompactedPartition(partition_path=path, slices=len(counts), log_files=sum(counts), log_bytes=0)
            for path, counts in sorted(files.items())
        ),
    )


def _plan(plan: CompactionPlanReport) -> dict[str, Any]:
    return {
        "instant": plan.instant_time,
        "state": plan.state,
        "completion_time": plan.completion_time,
        **_figures(plan.partitions),
        "replaced_groups": plan.replaced_groups,
        "error": plan.error,
    }


def _figures(parts: Sequence[CompactedPartition]) -> dict[str, Any]:
    done = [part for part in parts if part.output_bytes is not None]
    return {
        "slices": sum(part.slices for part in parts),
        "log_files": sum(part.log_files for part in parts),
        "log_bytes": sum(part.log_bytes for part in parts),
        **{name: sum(getattr(part, name) or 0 for part in done) if done else None for name in _MEASURED},
    }


def _logs(logs: UnmergedLogs | None) -> dict[str, Any] | None:
    """Return the log files of the table; None if the job did not measure them."""
    if logs is None:
        return None
    return {
        "slices": logs.slices,
        "slices_total": logs.slices_total,
        "log_files": logs.log_files,
        "log_bytes": logs.log_bytes,
        "base_bytes": logs.base_bytes,
        "oldest_log": logs.oldest_log,
    }
