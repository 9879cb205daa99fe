"""Return value and asset event of a clustering task, and results that are known without running its job."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hudi_table_services.contract.clustering import (
    ClusteringGroupReport,
    ClusteringPlanReport,
    ClusteringReport,
)
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import FileStats, JobResult, Outcome
from hudi_table_services.model.table_service_plans import ClusteringGroup

if TYPE_CHECKING:
    from hudi_table_services.tables.clustering_history import Clustering

SHOWN_PLANS = 50
SHOWN_PARTITIONS = 50
SHOWN_REASONS = 20


def clustering_answer(result: JobResult) -> dict[str, Any]:
    """Build the return value of the task.

    A task that executes the plans gets ``instant`` or ``instants`` of this value as an argument. Figures of the
    execution are None until the plans are executed. Only a preview contains a ``picture``.
    """
    report = result.report_as(ClusteringReport) or ClusteringReport()
    groups = [group for plan in report.plans for group in plan.groups]
    partitions = sorted({group.partition_path for group in groups})
    answer = {
        "outcome": result.outcome.value,
        "operation": result.operation,
        "base_path": result.base_path,
        "table_name": result.table_name,
        "reused": result.reused,
        "reason": result.reason,
        "instant": next(iter(report.instants), None),
        "instants": list(report.instants),
        **_figures(groups),
        "rows_checked": sum(plan.rows_checked for plan in report.plans),
        "groups_given_up": sum(plan.groups_given_up for plan in report.plans),
        "plans": [_plan(plan) for plan in report.plans[:SHOWN_PLANS]],
        "partitions": partitions[:SHOWN_PARTITIONS],
        "partition_count": len(partitions),
        "skipped": list(report.skipped[:SHOWN_REASONS]),
        "skipped_count": len(report.skipped),
        "commits": report.commits,
        "commit_count": report.commit_count,
        "files_before": _stats(result.files_before),
        "files_after": _stats(result.files_after),
        "warnings": list(result.warnings),
    }
    return {**answer, "picture": draw_clustering(result)} if result.is_preview else answer


def draw_clustering(result: JobResult) -> str:
    """Return the sections and the summary of a result as one string, which is short enough for an XCom."""
    lines = []
    for title, of_section in result.sections():
        lines.extend([title, *(f"  {line}" for line in of_section)])
    return "\n".join([*lines, result.summary()])


def clustering_event(result: JobResult) -> dict[str, Any]:
    """Return the ``extra`` field of an asset event. A clustering changes no rows, so readers may skip the event."""
    answer = clustering_answer(result)
    names = ("outcome", "reused", "operation", "instants", "partitions", "partition_count", "groups")
    return {
        **{name: answer[name] for name in names},
        "instant_time": answer["instant"],
        "completion_time": result.completion_time,
    }


def _plan(plan: ClusteringPlanReport) -> dict[str, Any]:
    return {
        "instant": plan.instant_time,
        "state": plan.state,
        "layout": plan.layout,
        "target_file_max_bytes": plan.target_file_max_bytes,
        "completion_time": plan.completion_time,
        **_figures(plan.groups),
        "rows_checked": plan.rows_checked,
        "groups_given_up": plan.groups_given_up,
        "skipping": [{"column": c.column, "before": c.before, "after": c.after} for c in plan.skipping],
        "error": plan.error,
        "reason": plan.reason,
    }


def _figures(groups: Sequence[ClusteringGroupReport]) -> dict[str, Any]:
    written = [group for group in groups if group.output_files is not None]
    return {
        "groups": len(groups),
        "files_in": sum(group.input_files for group in groups),
        "bytes_in": sum(group.input_bytes for group in groups),
        "expected_files": sum(group.expected_files for group in groups),
        "files_out": sum(group.output_files or 0 for group in written) if written else None,
        "bytes_out": sum(group.output_bytes or 0 for group in written) if written else None,
        "rows": sum(group.rows or 0 for group in written) if written else None,
    }


def _stats(stats: FileStats) -> dict[str, Any]:
    return {"files": stats.file_count, "bytes": stats.size_bytes, "histogram": dict(stats.histogram)}


def result_of_executed(request: JobRequest, completed: "Sequence[Clustering]") -> JobResult:
    """Return the result of plans that an earlier attempt executed. The sizes of the files are unknown."""
    instants = [clustering.instant for clustering in completed]
    plans = [
        ClusteringPlanReport(
            instant_time=clustering.instant.requested_time,
            state="reused",
            completion_time=clustering.instant.completion_time,
            groups=tuple(_stored(group) for group in clustering.plan.groups),
        )
        for clustering in completed
    ]
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
        report=ClusteringReport(plans=tuple(plans)),
    )


def _stored(group: ClusteringGroup) -> ClusteringGroupReport:
    return ClusteringGroupReport(
        partition_path=group.slices[0].partition_path if group.slices else "",
        input_files=len(group.slices),
        input_bytes=0,
        expected_files=group.output_file_groups,
    )


def result_of_nothing(request: JobRequest, reason: str) -> JobResult:
    """Return the result of a request that needs no work."""
    return JobResult(
        request_id=request.request_id,
        outcome=Outcome.NOTHING_TO_DO,
        service=request.service,
        operation=request.work,
        table_name=request.table_name,
        base_path=request.base_path,
        reason=reason,
    )
