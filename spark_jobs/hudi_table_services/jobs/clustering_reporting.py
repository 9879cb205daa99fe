"""Tell what was planned, scheduled, executed and cancelled: log lines and the result document."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hudi_table_services.contract.clustering_report import (
    ClusteringGroupReport,
    ClusteringPlanReport,
    ClusteringReport,
    ColumnSkipping,
)
from hudi_table_services.contract.job_request import JobRequest
from hudi_table_services.contract.job_result import FileStats, JobResult, Outcome, PartitionReport
from hudi_table_services.jobs.clustering_history import Clustering
from hudi_table_services.jobs.stopwatch import Stopwatch
from hudi_table_services.model.clustering import (
    ClusteringOptions,
    ClusteringProposal,
    CommitCount,
    Layout,
    PlannedGroup,
    SettledSlice,
)
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.table_service_plans import ClusteringGroup
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.write_stat import CommitMetadata

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hudi_table_services.execution.clustering import GroupOutcome

_LOG = logging.getLogger(__name__)
_MIB = 1 << 20
_TOLD_SKIPS = 50


@dataclass(frozen=True, slots=True)
class ExecutedPlan:
    """A plan that is completed.

    Attributes:
        groups, outcomes: those carried out, pairwise; empty if an earlier attempt did it.
        lost: file groups given up because others changed them.
    """

    clustering: Clustering
    instant: Instant
    metadata: CommitMetadata
    settings: SettledSlice
    groups: tuple[ClusteringGroup, ...] = ()
    outcomes: "tuple[GroupOutcome, ...]" = ()
    lost: frozenset[FileGroupId] = frozenset()
    reused: bool = False

    @property
    def kept(self) -> "list[tuple[ClusteringGroup, GroupOutcome]]":
        """Groups that were committed."""
        pairs = zip(self.groups, self.outcomes, strict=True)
        return [pair for pair in pairs if self.lost.isdisjoint(_file_groups(pair[0]))]


class ClusteringReporter:
    """Builds the results of one clustering job."""

    def __init__(
        self,
        request: JobRequest,
        warnings: Sequence[str],
        watch: Stopwatch,
        spark: "SparkSession | None" = None,
    ) -> None:
        self._request = request
        self._warnings = tuple(warnings)
        self._watch = watch
        self._spark = spark
        for warning in warnings:
            _LOG.warning("%s", warning)

    def nothing_to_do(
        self,
        snapshot: TableSnapshot,
        reason: str,
        commits: CommitCount,
        proposal: ClusteringProposal | None = None,
    ) -> JobResult:
        """Result of a schedule that made no plan."""
        _LOG.info("Nothing to schedule: %s", reason)
        report = ClusteringReport(
            skipped=_skips(proposal), commits=in_words(commits), commit_count=commits.count
        )
        files = _stats(snapshot.all_slices)
        result = self._result(Outcome.NOTHING_TO_DO, report)
        return replace(result, reason=reason, files_before=files, files_after=files)

    def previewed(
        self,
        snapshot: TableSnapshot,
        proposal: ClusteringProposal,
        options: ClusteringOptions,
        commits: CommitCount,
    ) -> JobResult:
        """Result of a preview: the plan, and how files would look."""
        plan = _planned("", "previewed", proposal.groups, options)
        result = self._planned_result(Outcome.PLANNED, snapshot, proposal, (plan,), commits)
        return replace(result, reason="preview: nothing was written")

    def scheduled(
        self,
        snapshot: TableSnapshot,
        proposal: ClusteringProposal,
        options: ClusteringOptions,
        commits: CommitCount,
        instants: Sequence[Instant],
    ) -> JobResult:
        """Result of a schedule, with one plan per instant."""
        size = options.groups_per_plan or len(proposal.groups)
        plans = tuple(
            _planned(instant.requested_time, "requested", proposal.groups[i * size : (i + 1) * size], options)
            for i, instant in enumerate(instants)
        )
        result = self._planned_result(Outcome.COMPLETED, snapshot, proposal, plans, commits)
        return replace(result, action=instants[0].action.value, instant_time=instants[0].requested_time)

    def scheduled_before(self, clusterings: Sequence[Clustering]) -> JobResult:
        """Result of a request that had scheduled these plans before."""
        times = ", ".join(each.instant.requested_time for each in clusterings)
        _LOG.info("This request scheduled %s before.", times)
        plans = tuple(
            _stored(each, "completed" if each.instant.is_completed else "requested") for each in clusterings
        )
        return replace(
            self._result(Outcome.COMPLETED, ClusteringReport(plans=plans)),
            reused=True,
            reason=f"this request scheduled {times} before; nothing was written now",
            action=clusterings[0].instant.action.value,
            instant_time=clusterings[0].instant.requested_time,
        )

    def nothing_pending(self) -> JobResult:
        """Result of an execution that found no plan."""
        reason = "no clustering is pending on the table"
        _LOG.info("Nothing to execute: %s", reason)
        return replace(self._result(Outcome.NOTHING_TO_DO, ClusteringReport()), reason=reason)

    def executed(self, plans: Sequence[ExecutedPlan]) -> JobResult:
        """Result of an execution whose plans are all completed."""
        reports = tuple(_executed(plan) for plan in plans)
        last = plans[-1]
        result = replace(
            self._result(Outcome.COMPLETED, ClusteringReport(plans=reports)),
            reused=all(plan.reused for plan in plans),
            action=last.instant.action.value,
            instant_time=last.instant.requested_time,
            completion_time=last.instant.completion_time,
            partitions=_partitions(plans),
            replaced_file_groups=sum(_replaced_count(plan) for plan in plans),
            files_before=FileStats.of([s for plan in plans for s in _input_sizes(plan)]),
            files_after=FileStats.of(
                [s.file_size_bytes for plan in plans for s in plan.metadata.write_stats]
            ),
        )
        if result.reused:
            result = replace(
                result, reason="completed before; nothing was written now", files_before=FileStats()
            )
        for report in reports:
            _log_executed(report)
        return result

    def cancelled(self, clusterings: Sequence[Clustering], *, preview: bool) -> JobResult:
        """Result of a cancellation; in a preview of what would be cancelled."""
        state = "previewed" if preview else "cancelled"
        plans = tuple(_stored(each, state) for each in clusterings)
        if not clusterings:
            reason = "no pending clustering is old enough, and held by nobody"
            return replace(self._result(Outcome.NOTHING_TO_DO, ClusteringReport()), reason=reason)
        outcome = Outcome.PLANNED if preview else Outcome.COMPLETED
        reason = "preview: nothing was cancelled" if preview else ""
        return replace(self._result(outcome, ClusteringReport(plans=plans)), reason=reason)

    def _planned_result(
        self,
        outcome: Outcome,
        snapshot: TableSnapshot,
        proposal: ClusteringProposal,
        plans: tuple[ClusteringPlanReport, ...],
        commits: CommitCount,
    ) -> JobResult:
        for group in proposal.groups[:_TOLD_SKIPS]:
            _LOG.info(
                "Partition %r: %s, %.1f MiB", group.partition_path, group.reason, group.input_bytes / _MIB
            )
        report = ClusteringReport(
            plans=plans, skipped=_skips(proposal), commits=in_words(commits), commit_count=commits.count
        )
        return replace(
            self._result(outcome, report),
            files_before=_stats(snapshot.all_slices),
            files_after=_expected(snapshot, proposal.groups),
        )

    def _result(self, outcome: Outcome, report: ClusteringReport) -> JobResult:
        return JobResult(
            request_id=self._request.request_id,
            outcome=outcome,
            operation=self._request.work,
            table_name=self._request.table_name,
            base_path=self._request.base_path,
            clustering=report,
            timings_s=dict(self._watch.seconds),
            spark_application_id=_application_id(self._spark),
            warnings=self._warnings,
        )


def in_words(commits: CommitCount) -> str:
    """The count with what it counts from."""
    since = commits.since
    if since is None:
        return f"{commits.count} commits on the active timeline, which has no clustering"
    return f"{commits.count} commits since clustering {since.requested_time} ({since.state.value})"


def _application_id(spark: "SparkSession | None") -> str | None:
    if spark is None:
        return None
    from hudi_table_services.jobs.reporting import application_id

    return application_id(spark)


def _skips(proposal: ClusteringProposal | None) -> tuple[str, ...]:
    skipped = proposal.skipped if proposal is not None else ()
    told = [
        f"{s.partition_path or '(not partitioned)'}: {s.slices} files, {s.reason}"
        for s in skipped[:_TOLD_SKIPS]
    ]
    more = len(skipped) - len(told)
    return (*told, f"and {more} more") if more > 0 else tuple(told)


def _stats(slices: Iterable[FileSlice]) -> FileStats:
    return FileStats.of([s.base_file.size_bytes for s in slices if s.base_file is not None])


def _expected(snapshot: TableSnapshot, groups: Iterable[PlannedGroup]) -> FileStats:
    """Files as they would be if the new ones have the bytes of the old ones."""
    planned = {s.file_group_id for group in groups for s in group.slices}
    sizes = [
        s.base_file.size_bytes
        for s in snapshot.all_slices
        if s.base_file is not None and s.file_group_id not in planned
    ]
    for group in groups:
        sizes.extend([group.input_bytes // group.output_files] * group.output_files)
    return FileStats.of(sizes)


def _planned(
    instant_time: str, state: str, groups: Iterable[PlannedGroup], options: ClusteringOptions
) -> ClusteringPlanReport:
    return ClusteringPlanReport(
        instant_time=instant_time,
        state=state,
        layout=_layout(options.layout),
        target_file_max_bytes=options.target_file_max_bytes,
        groups=tuple(
            ClusteringGroupReport(
                partition_path=group.partition_path,
                input_files=len(group.slices),
                input_bytes=group.input_bytes,
                expected_files=group.output_files,
                reason=group.reason,
            )
            for group in groups
        ),
    )


def _layout(layout: Layout) -> str:
    return str(layout) if layout.is_sorted else ""


def _stored(clustering: Clustering, state: str) -> ClusteringPlanReport:
    """A plan told by what is stored of it; sizes are whole mebibytes there."""
    return ClusteringPlanReport(
        instant_time=clustering.instant.requested_time,
        state=state,
        completion_time=clustering.instant.completion_time,
        groups=tuple(
            ClusteringGroupReport(
                partition_path=group.slices[0].partition_path if group.slices else "",
                input_files=len(group.slices),
                input_bytes=int(group.metrics.get("TOTAL_IO_READ_MB", 0)) * _MIB,
                expected_files=group.output_file_groups,
            )
            for group in clustering.plan.groups
        ),
    )


def _executed(plan: ExecutedPlan) -> ClusteringPlanReport:
    if plan.reused:
        return replace(
            _stored(plan.clustering, "reused"),
            layout=_layout(plan.settings.layout),
            target_file_max_bytes=plan.settings.target_file_max_bytes or 0,
        )
    kept = plan.kept
    return ClusteringPlanReport(
        instant_time=plan.instant.requested_time,
        state="completed",
        layout=_layout(plan.settings.layout),
        target_file_max_bytes=plan.settings.target_file_max_bytes or 0,
        completion_time=plan.instant.completion_time,
        groups=tuple(_group(group, outcome) for group, outcome in kept),
        groups_given_up=len(plan.clustering.plan.groups) - len(kept),
        rows_checked=sum(outcome.read.rows for _, outcome in kept),
        skipping=_skipping(plan),
    )


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
    """Per sort column, over the partitions: readers leave out the others anyway, so each counts by itself."""
    from hudi_table_services.execution.column_ranges import mean_read_share

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


def _file_groups(group: ClusteringGroup) -> frozenset[FileGroupId]:
    return frozenset(FileGroupId(s.partition_path, s.file_id) for s in group.slices)


def _replaced_count(plan: ExecutedPlan) -> int:
    return sum(len(ids) for ids in (plan.metadata.partition_to_replace_file_ids or {}).values())


def _input_sizes(plan: ExecutedPlan) -> list[int]:
    return [size for _, outcome in plan.kept for size in outcome.input_sizes]


def _partitions(plans: Sequence[ExecutedPlan]) -> tuple[PartitionReport, ...]:
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


def _log_executed(report: ClusteringPlanReport) -> None:
    files_in = sum(group.input_files for group in report.groups)
    files_out = sum(group.output_files or 0 for group in report.groups)
    bytes_in = sum(group.input_bytes for group in report.groups)
    bytes_out = sum(group.output_bytes or 0 for group in report.groups)
    if report.state == "reused":
        return
    _LOG.info(
        "%s: %d files (%.1f MiB) became %d (%.1f MiB); %d rows checked, %d groups given up",
        report.instant_time,
        files_in,
        bytes_in / _MIB,
        files_out,
        bytes_out / _MIB,
        report.rows_checked,
        report.groups_given_up,
    )
    for column in report.skipping:
        _LOG.info(
            "A reader looking for one value of %s reads %.1f %% of these rows, before %.1f %%",
            column.column,
            column.after * 100,
            column.before * 100,
        )
