"""Build return value and asset event of a clustering task, and the report on plans that an earlier attempt executed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_hudi_provider.results.plans import (
    SHOWN_PLANS,
    event_from,
    identity_of,
    shortened,
)
from airflow_hudi_provider.results.plans import draw as draw_clustering
from hudi_table_services.contract.clustering import (
    ClusteringGroupReport,
    ClusteringPlanReport,
    ClusteringReport,
)
from hudi_table_services.contract.result import FileStats, JobResult
from hudi_table_services.model.table_service_plans import ClusteringGroup

if TYPE_CHECKING:
    from hudi_table_services.tables.clustering_history import Clustering


def clustering_answer(result: JobResult) -> dict[str, Any]:
    """Build the return value of the task.

    Pass ``instant`` or ``instants`` of this value to the task that executes the plans. Figures of the execution are
    None until the plans are executed. Only a preview contains a ``picture``.
    """
    report = result.report_as(ClusteringReport) or ClusteringReport()
    groups = [group for plan in report.plans for group in plan.groups]
    partitions = sorted({group.partition_path for group in groups})
    answer = {
        **identity_of(result, report.instants),
        **_figures(groups),
        "rows_checked": sum(plan.rows_checked for plan in report.plans),
        "groups_given_up": sum(plan.groups_given_up for plan in report.plans),
        "plans": [_plan(plan) for plan in report.plans[:SHOWN_PLANS]],
        **shortened(partitions, report.skipped, report.skipped_count),
        "commits": report.commits,
        "commit_count": report.commit_count,
        "files_before": _stats(result.files_before),
        "files_after": _stats(result.files_after),
        "warnings": list(result.warnings),
    }
    return {**answer, "picture": draw_clustering(result)} if result.is_preview else answer


def clustering_event(result: JobResult) -> dict[str, Any]:
    """Return the ``extra`` field of an asset event. A clustering changes no rows, so readers may skip the event."""
    return event_from(result, clustering_answer(result), "groups")


def clusterings_in(result: JobResult) -> "Sequence[ClusteringPlanReport] | None":
    """Return the reports on the plans in a result; None if the result has no report on clusterings."""
    report = result.report_as(ClusteringReport)
    return report.plans if report is not None else None


def report_of_clusterings(clusterings: "Sequence[Clustering]") -> ClusteringReport:
    """Build a report on clusterings that an earlier attempt executed. The sizes of the files are unknown."""
    return ClusteringReport(
        plans=tuple(
            ClusteringPlanReport(
                instant_time=clustering.instant.requested_time,
                state="reused",
                completion_time=clustering.instant.completion_time,
                groups=tuple(_stored(group) for group in clustering.plan.groups),
            )
            for clustering in clusterings
        )
    )


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


def _stored(group: ClusteringGroup) -> ClusteringGroupReport:
    return ClusteringGroupReport(
        partition_path=group.slices[0].partition_path if group.slices else "",
        input_files=len(group.slices),
        input_bytes=0,
        expected_files=group.output_file_groups,
    )
