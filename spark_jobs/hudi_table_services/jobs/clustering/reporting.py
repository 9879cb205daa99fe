"""Report clustering jobs: log lines and the result document."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hudi_table_services.commits.stopwatch import Stopwatch
from hudi_table_services.contract.clustering import (
    ClusteringGroupReport,
    ClusteringPlanReport,
    ClusteringReport,
)
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import FileStats, JobResult, Outcome
from hudi_table_services.contract.text import counted
from hudi_table_services.jobs.clustering.executed import (
    DroppedPlan,
    ExecutedPlan,
    FailedPlan,
    dropped_plan_report,
    executed_plan_report,
    failed_plan_report,
    input_sizes,
    layout_in_words,
    log_executed,
    partition_reports,
    replaced_count,
    stored_plan_report,
)
from hudi_table_services.model.clustering import (
    ClusteringOptions,
    ClusteringProposal,
    CommitCount,
    PlannedGroup,
)
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.planning.commit_count import commits_in_words
from hudi_table_services.tables.clustering_history import Clustering

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_LOG = logging.getLogger(__name__)
_MIB = 1 << 20
_REPORTED_SKIPS = 50


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

    def warn_of(self, warnings: Sequence[str]) -> None:
        """Log the warnings and add them to the result. Each warning is added once."""
        for warning in warnings:
            if warning not in self._warnings:
                self._warnings = (*self._warnings, warning)
                _LOG.warning("%s", warning)

    def nothing_to_do(
        self,
        snapshot: TableSnapshot,
        reason: str,
        commits: CommitCount,
        proposal: ClusteringProposal | None = None,
    ) -> JobResult:
        """Result of a schedule job that wrote no plan."""
        _LOG.info("Nothing to schedule: %s", reason)
        report = ClusteringReport(
            **_skips(proposal), commits=commits_in_words(commits), commit_count=commits.count
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
        """Result of a preview: the plan, and the expected file sizes."""
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
        """Result of a schedule job, with one plan per instant."""
        size = options.groups_per_plan or len(proposal.groups)
        plans = tuple(
            _planned(instant.requested_time, "requested", proposal.groups[i * size : (i + 1) * size], options)
            for i, instant in enumerate(instants)
        )
        result = self._planned_result(Outcome.COMPLETED, snapshot, proposal, plans, commits)
        return replace(result, action=instants[0].action.value, instant_time=instants[0].requested_time)

    def scheduled_before(self, clusterings: Sequence[Clustering]) -> JobResult:
        """Result of a request whose earlier attempt scheduled these plans."""
        times = ", ".join(each.instant.requested_time for each in clusterings)
        _LOG.info("The timeline already contains the plan of this request: %s.", times)
        plans = tuple(
            stored_plan_report(each, "completed" if each.instant.is_completed else "requested")
            for each in clusterings
        )
        return replace(
            self._result(Outcome.COMPLETED, ClusteringReport(plans=plans)),
            reused=True,
            reason=f"an earlier attempt of this request scheduled {times}; this attempt wrote nothing",
            action=clusterings[0].instant.action.value,
            instant_time=clusterings[0].instant.requested_time,
        )

    def nothing_executed(self, missing: Sequence[str], dropped: Sequence[DroppedPlan]) -> JobResult:
        """Result of an execution that found no plan to carry out. The arguments are those of `executed`."""
        reason = _in_one(missing, dropped) or "no clustering is pending on the table"
        _LOG.info("Nothing to execute: %s", reason)
        report = ClusteringReport(plans=tuple(dropped_plan_report(plan) for plan in dropped))
        return replace(self._result(Outcome.NOTHING_TO_DO, report), reason=reason)

    def executed(
        self, plans: Sequence[ExecutedPlan], missing: Sequence[str] = (), dropped: Sequence[DroppedPlan] = ()
    ) -> JobResult:
        """Result of an execution.

        Args:
            plans: completed plans, at least one.
            missing: sentences about plans that the request names but that are no longer on the timeline.
            dropped: plans that this execution cancelled.
        """
        reports = tuple(executed_plan_report(plan) for plan in plans)
        last = plans[-1]
        result = replace(
            self._result(Outcome.COMPLETED, _oldest_first(*reports, *map(dropped_plan_report, dropped))),
            reused=all(plan.reused for plan in plans) and not dropped,
            reason=_in_one(missing, dropped),
            action=last.instant.action.value,
            instant_time=last.instant.requested_time,
            completion_time=last.instant.completion_time,
            partitions=partition_reports(plans),
            replaced_file_groups=sum(replaced_count(plan) for plan in plans),
            files_before=FileStats.of([s for plan in plans for s in input_sizes(plan)]),
            files_after=FileStats.of(
                [s.file_size_bytes for plan in plans for s in plan.metadata.write_stats]
            ),
        )
        if result.reused:
            reason = "; ".join(
                filter(None, ("all plans were already completed; nothing was written", result.reason))
            )
            result = replace(result, reason=reason, files_before=FileStats())
        for report in reports:
            log_executed(report)
        return result

    @staticmethod
    def partly_failed(
        failed: Sequence[FailedPlan], plans: Sequence[ExecutedPlan], dropped: Sequence[DroppedPlan]
    ) -> ClusteringReport:
        """Report on every plan of an execution in which some plans failed. See `executed` for the other arguments."""
        reports = tuple(executed_plan_report(plan) for plan in plans)
        for report in reports:
            log_executed(report)
        return _oldest_first(*reports, *map(dropped_plan_report, dropped), *map(failed_plan_report, failed))

    def cancelled(self, clusterings: Sequence[Clustering], *, preview: bool) -> JobResult:
        """Result of a cancellation, or of its preview."""
        state = "previewed" if preview else "cancelled"
        plans = tuple(stored_plan_report(each, state) for each in clusterings)
        if not clusterings:
            reason = "there is no pending clustering that is old enough and is not being executed"
            return replace(self._result(Outcome.NOTHING_TO_DO, ClusteringReport()), reason=reason)
        outcome = Outcome.PLANNED if preview else Outcome.COMPLETED
        reason = "preview: nothing was cancelled" if preview else ""
        return replace(self._result(outcome, ClusteringReport(plans=plans)), reason=reason)

    def cancelled_before(self, reasons: Sequence[str]) -> JobResult:
        """Result of a request whose plans are all cancelled already, perhaps by an earlier attempt of the request."""
        result = self._result(Outcome.COMPLETED, ClusteringReport())
        return replace(result, reused=True, reason="; ".join(reasons))

    def _planned_result(
        self,
        outcome: Outcome,
        snapshot: TableSnapshot,
        proposal: ClusteringProposal,
        plans: tuple[ClusteringPlanReport, ...],
        commits: CommitCount,
    ) -> JobResult:
        for group in proposal.groups[:_REPORTED_SKIPS]:
            _LOG.info(
                "Planned a group in partition %r: %s, %.1f MiB",
                group.partition_path,
                group.reason,
                group.input_bytes / _MIB,
            )
        report = ClusteringReport(
            plans=plans, **_skips(proposal), commits=commits_in_words(commits), commit_count=commits.count
        )
        return replace(
            self._result(outcome, report),
            files_before=_stats(snapshot.all_slices),
            files_after=_expected(snapshot, proposal.groups),
        )

    def _result(self, outcome: Outcome, report: ClusteringReport) -> JobResult:
        return replace(
            JobResult.of(self._request, outcome),
            report=report,
            timings_s=dict(self._watch.seconds),
            spark_application_id=_application_id(self._spark),
            warnings=self._warnings,
        )


def _oldest_first(*plans: ClusteringPlanReport) -> ClusteringReport:
    return ClusteringReport(plans=tuple(sorted(plans, key=lambda plan: plan.instant_time)))


def _in_one(missing: Sequence[str], dropped: Sequence[DroppedPlan]) -> str:
    return "; ".join([*missing, *(plan.reason for plan in dropped)])


def _application_id(spark: "SparkSession | None") -> str | None:
    if spark is None:
        return None
    from hudi_table_services.jobs.writing.reporting import application_id

    return application_id(spark)


def _skips(proposal: ClusteringProposal | None) -> dict[str, Any]:
    """Return the fields of a `ClusteringReport` about the file slices that the plan does not contain."""
    skipped = proposal.skipped if proposal is not None else ()
    sentences = [
        f"{s.partition_path or '(not partitioned)'}: {counted(s.slices, 'file')}, {s.reason}"
        for s in skipped[:_REPORTED_SKIPS]
    ]
    if more := len(skipped) - len(sentences):
        sentences.append(f"and {more} more")
    slices = sum(s.slices for s in skipped)
    return {"skipped": tuple(sentences), "skipped_count": len(skipped), "skipped_slices": slices}


def _stats(slices: Iterable[FileSlice]) -> FileStats:
    return FileStats.of([s.base_file.size_bytes for s in slices if s.base_file is not None])


def _expected(snapshot: TableSnapshot, groups: Iterable[PlannedGroup]) -> FileStats:
    """Estimate the file sizes after the execution, as if the new files together had as many bytes as the old files."""
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
        layout=layout_in_words(options.layout),
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
