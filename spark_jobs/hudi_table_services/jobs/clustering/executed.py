"""Outcomes of executed plans, and their reports for the result document."""

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hudi_table_services.contract.clustering import (
    ClusteringGroupReport,
    ClusteringPlanReport,
    ColumnSkipping,
)
from hudi_table_services.contract.result import FileStats, PartitionReport
from hudi_table_services.contract.text import counted, human_bytes
from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.model.clustering import Layout, SettledSlice
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.table_service_plans import ClusteringGroup
from hudi_table_services.model.write_stat import CommitMetadata
from hudi_table_services.planning.clustering.outdated_plans import file_groups_of
from hudi_table_services.tables.clustering_history import Clustering

if TYPE_CHECKING:
    from hudi_table_services.execution.clustering.rewrite import GroupOutcome
    from hudi_table_services.execution.metadata_table.collected_facts import CollectedFacts, FactsToCollect

_LOG = logging.getLogger(__name__)
_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class ExecutedPlan:
    """A completed plan.

    Attributes:
        groups, outcomes: executed groups, and their outcomes in the same order. Both are empty if an earlier attempt
            completed the plan.
        dropped_groups: file groups that other writers changed. A group of the plan that contains one of these file
            groups is dropped.
    """

    clustering: Clustering
    instant: Instant
    metadata: CommitMetadata
    settings: SettledSlice
    groups: tuple[ClusteringGroup, ...] = ()
    outcomes: "tuple[GroupOutcome, ...]" = ()
    dropped_groups: frozenset[FileGroupId] = frozenset()
    reused: bool = False

    @property
    def kept(self) -> "list[tuple[ClusteringGroup, GroupOutcome]]":
        """Groups that were committed."""
        pairs = zip(self.groups, self.outcomes, strict=True)
        return [pair for pair in pairs if self.dropped_groups.isdisjoint(file_groups_of(pair[0]))]


@dataclass(frozen=True, slots=True)
class DroppedPlan:
    """A plan that its execution removed from the timeline, with the reason as a sentence."""

    clustering: Clustering
    reason: str


@dataclass(frozen=True, slots=True)
class FailedPlan:
    """A plan that is pending again because its execution failed, with the error of the execution."""

    clustering: Clustering
    error: HudiTableServiceError


def facts_of(outcomes: "Sequence[GroupOutcome]", wanted: "FactsToCollect") -> "CollectedFacts":
    """From all groups, collect the facts that the metadata table needs about the new files.

    Args:
        wanted: the facts that the tasks had to collect.
    """
    from hudi_table_services.execution.metadata_table.collected_facts import CollectedFacts

    written = [file for outcome in outcomes for file in outcome.written]
    return CollectedFacts.of(wanted, [file.statistics for file in written], [file.keys for file in written])


def layout_in_words(layout: Layout) -> str:
    """Describe the order of the rows in words; empty if the rows are not sorted."""
    return str(layout) if layout.is_sorted else ""


def stored_plan_report(clustering: Clustering, state: str) -> ClusteringPlanReport:
    """Report on a plan that this job did not execute. The sizes come from the plan, which stores whole mebibytes."""
    return ClusteringPlanReport(
        instant_time=clustering.instant.requested_time,
        state=state,
        completion_time=clustering.instant.completion_time,
        groups=tuple(
            ClusteringGroupReport(
                partition_path=group.slices[0].partition_path if group.slices else "",
                input_files=len(group.slices),
                input_bytes=_whole(group.metrics.get("TOTAL_IO_READ_MB", 0)) * _MIB,
                expected_files=group.output_file_groups,
            )
            for group in clustering.plan.groups
        ),
    )


def _whole(number: float) -> int:
    return int(number) if math.isfinite(number) else 0


def executed_plan_report(plan: ExecutedPlan) -> ClusteringPlanReport:
    """Report on a completed plan, with measured sizes, rows and data skipping."""
    if plan.reused:
        return replace(
            stored_plan_report(plan.clustering, "reused"),
            layout=layout_in_words(plan.settings.layout),
            target_file_max_bytes=plan.settings.target_file_max_bytes or 0,
        )
    kept = plan.kept
    return ClusteringPlanReport(
        instant_time=plan.instant.requested_time,
        state="completed",
        layout=layout_in_words(plan.settings.layout),
        target_file_max_bytes=plan.settings.target_file_max_bytes or 0,
        completion_time=plan.instant.completion_time,
        groups=tuple(_group(group, outcome) for group, outcome in kept),
        groups_given_up=len(plan.clustering.plan.groups) - len(kept),
        rows_checked=sum(outcome.read.rows for _, outcome in kept),
        skipping=_skipping(plan),
    )


def dropped_plan_report(plan: DroppedPlan) -> ClusteringPlanReport:
    """Report on a plan that was cancelled instead of executed."""
    stored = stored_plan_report(plan.clustering, "cancelled")
    return replace(stored, groups=(), groups_given_up=len(stored.groups), reason=plan.reason)


def failed_plan_report(plan: FailedPlan) -> ClusteringPlanReport:
    """Report on a plan whose execution failed."""
    return replace(stored_plan_report(plan.clustering, "failed"), error=plan.error.message)


def _group(group: ClusteringGroup, outcome: "GroupOutcome") -> ClusteringGroupReport:
    return ClusteringGroupReport(
        partition_path=group.slices[0].partition_path,
        input_files=len(group.slices),
        input_bytes=outcome.input_bytes,
        expected_files=group.output_file_groups,
        output_files=len(outcome.written),
        output_bytes=sum(file.stat.file_size_bytes for file in outcome.written),
        rows=outcome.read.rows,
    )


def _skipping(plan: ExecutedPlan) -> tuple[ColumnSkipping, ...]:
    """Return, for each sort column, the share of rows that a query for one value reads, averaged over partitions."""
    from hudi_table_services.execution.clustering.column_ranges import mean_read_share

    pairs = [outcome for _, outcome in plan.kept]
    before = [(o.partition_path, o.ranges) for o in pairs]
    after = [(o.partition_path, tuple(r for f in o.written for r in f.ranges)) for o in pairs]
    return tuple(
        ColumnSkipping(
            column=name,
            before=round(mean_read_share(before, place), 4),
            after=round(mean_read_share(after, place), 4),
        )
        for place, name in enumerate(plan.settings.layout.columns)
    )


def replaced_count(plan: ExecutedPlan) -> int:
    """Number of file groups that the plan replaced."""
    return sum(len(ids) for ids in (plan.metadata.partition_to_replace_file_ids or {}).values())


def input_sizes(plan: ExecutedPlan) -> list[int]:
    """Size of each file that was rewritten, in bytes."""
    return [size for _, outcome in plan.kept for size in outcome.input_sizes]


def partition_reports(plans: Sequence[ExecutedPlan]) -> tuple[PartitionReport, ...]:
    """Report the files of each partition before and after the clustering."""
    paths = sorted({path for plan in plans for path in (plan.metadata.partition_to_replace_file_ids or {})})
    return tuple(
        PartitionReport(
            partition_path=path,
            files_before=FileStats.of(
                [s for plan in plans for _, o in plan.kept if o.partition_path == path for s in o.input_sizes]
            ),
            files_after=FileStats.of(
                [
                    stat.file_size_bytes
                    for plan in plans
                    for stat in plan.metadata.partition_to_write_stats.get(path, ())
                ]
            ),
        )
        for path in paths
    )


def log_executed(report: ClusteringPlanReport) -> None:
    """Log the files before and after the clustering and, for each sort column, the share of rows that queries read."""
    files_in = sum(group.input_files for group in report.groups)
    files_out = sum(group.output_files or 0 for group in report.groups)
    bytes_in = sum(group.input_bytes for group in report.groups)
    bytes_out = sum(group.output_bytes or 0 for group in report.groups)
    if report.state == "reused":
        return
    _LOG.info(
        "Clustering %s rewrote %s (%s) into %d (%s). The job checked %s and dropped %s",
        report.instant_time,
        counted(files_in, "file"),
        human_bytes(bytes_in),
        files_out,
        human_bytes(bytes_out),
        counted(report.rows_checked, "row"),
        counted(report.groups_given_up, "group"),
    )
    for column in report.skipping:
        _LOG.info(
            "A query for one value of %s reads %.1f %% of the rewritten rows; before the clustering, it read %.1f %%",
            column.column,
            column.after * 100,
            column.before * 100,
        )
