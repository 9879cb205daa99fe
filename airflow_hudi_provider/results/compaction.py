"""Return value and asset event of a compaction task, and results that are known without running its job."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_hudi_provider.results.clustering import draw_clustering as draw
from hudi_table_services.contract.compaction.compaction import (
    CompactedPartition,
    CompactionPlanReport,
    CompactionReport,
    UnmergedLogs,
)
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import JobResult, Outcome

if TYPE_CHECKING:
    from hudi_table_services.tables.compaction.compaction_history import Compaction

SHOWN_PLANS = 50
SHOWN_PARTITIONS = 50
SHOWN_REASONS = 20

_MEASURED = ("output_bytes", "rows", "updated_rows", "inserted_rows", "deleted_rows", "reused_files")


def compaction_answer(result: JobResult) -> dict[str, Any]:
    """Build the return value of the task.

    A task that executes the plans gets ``instant`` or ``instants`` of this value as an argument. Figures of the
    execution are None until the plans are executed. Only a preview contains a ``picture``.
    """
    report = result.report_as(CompactionReport) or CompactionReport()
    parts = [part for plan in report.plans for part in plan.partitions]
    names = sorted({part.partition_path for part in parts})
    answer = {
        "outcome": result.outcome.value,
        "operation": result.operation,
        "base_path": result.base_path,
        "table_name": result.table_name,
        "reused": result.reused,
        "reason": result.reason,
        "instant": next(iter(report.instants), None),
        "instants": list(report.instants),
        **_figures(parts),
        "plans": [_plan(plan) for plan in report.plans[:SHOWN_PLANS]],
        "partitions": names[:SHOWN_PARTITIONS],
        "partition_count": len(names),
        "skipped": list(report.skipped[:SHOWN_REASONS]),
        "skipped_count": len(report.skipped),
        "trigger": report.trigger,
        "delta_commits": report.delta_commits,
        "logs_before": _logs(report.before),
        "logs_after": _logs(report.after),
        "warnings": list(result.warnings),
    }
    return {**answer, "picture": draw(result)} if result.is_preview else answer


def compaction_event(result: JobResult) -> dict[str, Any]:
    """Return the ``extra`` field of an asset event. A compaction changes no rows, so readers may skip the event."""
    answer = compaction_answer(result)
    names = (
        "outcome",
        "reused",
        "operation",
        "instants",
        "partitions",
        "partition_count",
        "slices",
        "log_files",
    )
    return {
        **{name: answer[name] for name in names},
        "instant_time": answer["instant"],
        "completion_time": result.completion_time,
    }


def result_of_executed(request: JobRequest, completed: "Sequence[Compaction]") -> JobResult:
    """Return the result of plans that an earlier attempt executed. The sizes of the files are unknown."""
    instants = [compaction.instant for compaction in completed]
    return JobResult(
        request_id=request.request_id,
        outcome=Outcome.COMPLETED,
        service=request.service,
        operation=request.work,
        table_name=request.table_name,
        base_path=request.base_path,
        reused=True,
        reason="an earlier attempt executed the plans; this task wrote nothing",
        action=instants[0].action.value,
        instant_time=instants[0].requested_time,
        completion_time=instants[0].completion_time,
        report=CompactionReport(plans=tuple(_stored(each) for each in completed)),
    )


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
