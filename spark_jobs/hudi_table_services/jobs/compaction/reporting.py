"""Report compaction jobs: log lines and the result document."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hudi_table_services.commits.stopwatch import Stopwatch
from hudi_table_services.contract.compaction.compaction import (
    CompactionPlanReport,
    CompactionReport,
    UnmergedLogs,
)
from hudi_table_services.contract.compaction.compaction_text import logs_in_words
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import FileStats, JobResult, Outcome
from hudi_table_services.contract.text import NOT_PARTITIONED, counted
from hudi_table_services.jobs.compaction.executed import (
    ExecutedCompaction,
    FailedCompaction,
    executed_plan_report,
    failed_plan_report,
    proposed_plan_report,
    stored_plan_report,
    unmerged_logs,
)
from hudi_table_services.model.compaction.compaction_proposal import CompactionDue, CompactionProposal
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.planning.compaction.unmerged_logs import read_amplification
from hudi_table_services.tables.compaction.compaction_history import Compaction

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger(__name__)
_REPORTED_SKIPS = 200


class CompactionReporter:
    """Builds the results of one compaction job."""

    def __init__(
        self,
        request: JobRequest,
        warnings: Sequence[str],
        watch: Stopwatch,
        spark: "SparkSession | None" = None,
    ) -> None:
        self._request = request
        self._warnings: tuple[str, ...] = ()
        self._watch = watch
        self._spark = spark
        self._trigger = ""
        self._delta_commits: int | None = None
        self.warn_of(warnings)

    def warn_of(self, warnings: Sequence[str]) -> None:
        """Add warnings. Each warning is added once."""
        for warning in warnings:
            if warning not in self._warnings:
                self._warnings = (*self._warnings, warning)
                _LOG.warning("%s", warning)

    def note_trigger(self, due: CompactionDue, *, is_ignored: bool) -> None:
        """Report the delta commits and the time since the last compaction in each later result."""
        ignored = ", ignored by this request" if is_ignored and not due.is_due else ""
        more = f"; {counted(due.not_counted, 'log compaction')} not counted" if due.not_counted else ""
        self._trigger = f"{due.reason}{more}{ignored}"
        self._delta_commits = due.delta_commits

    def nothing_to_do(
        self, snapshot: TableSnapshot, reason: str, proposal: CompactionProposal | None = None
    ) -> JobResult:
        """Result of a schedule job that wrote no plan."""
        _LOG.info("Nothing to schedule: %s", reason)
        report = self._with_trigger(
            before=unmerged_logs(proposal.before if proposal else read_amplification(snapshot)),
            **_skips(proposal),
        )
        return replace(self._result(Outcome.NOTHING_TO_DO, report), reason=reason)

    def previewed(self, proposal: CompactionProposal) -> JobResult:
        """Result of a preview: the plan, and the log files that its execution would leave."""
        report = self._planned(proposal, proposed_plan_report("", "previewed", proposal))
        return replace(self._result(Outcome.PLANNED, report), reason="preview: nothing was written")

    def scheduled(self, proposal: CompactionProposal, instant: Instant) -> JobResult:
        """Result of a schedule job that wrote a plan."""
        plan = proposed_plan_report(instant.requested_time, "requested", proposal)
        return replace(
            self._result(Outcome.COMPLETED, self._planned(proposal, plan)),
            action=instant.action.value,
            instant_time=instant.requested_time,
        )

    def scheduled_before(self, compaction: Compaction) -> JobResult:
        """Result of a request whose earlier attempt scheduled this plan."""
        time = compaction.instant.requested_time
        _LOG.info("An earlier attempt of this request scheduled %s.", time)
        state = "completed" if compaction.instant.is_completed else "requested"
        report = CompactionReport(plans=(stored_plan_report(compaction, state),))
        return replace(
            self._result(Outcome.COMPLETED, report),
            reused=True,
            reason=f"an earlier attempt of this request scheduled {time}; this attempt wrote nothing",
            action=compaction.instant.action.value,
            instant_time=time,
        )

    def nothing_executed(self, missing: Sequence[str]) -> JobResult:
        """Result of an execution that found no plan to carry out.

        Args:
            missing: sentences about plans that the request names but that are no longer on the timeline.
        """
        reason = "; ".join(missing) or "no compaction is pending on the table"
        _LOG.info("Nothing to execute: %s", reason)
        return replace(self._result(Outcome.NOTHING_TO_DO, CompactionReport()), reason=reason)

    def executed(
        self,
        plans: Sequence[ExecutedCompaction],
        missing: Sequence[str],
        before: UnmergedLogs | None,
        after: UnmergedLogs | None,
    ) -> JobResult:
        """Result of an execution with at least one completed plan.

        Args:
            missing: as in `nothing_executed`.
            before, after: log files of the partitions of the plans; None if an earlier attempt completed all plans.
        """
        last = plans[-1]
        report = CompactionReport(plans=_reports(plans), before=before, after=after)
        _log_plans(report)
        if before is not None and after is not None:
            _LOG.info("Log files before: %s; after: %s", logs_in_words(before), logs_in_words(after))
        is_reused = all(plan.is_reused for plan in plans)
        words = ["all plans were already completed; nothing was written"] if is_reused else []
        return replace(
            self._result(Outcome.COMPLETED, report),
            reused=is_reused,
            reason="; ".join([*words, *missing]),
            action=last.instant.action.value,
            instant_time=last.instant.requested_time,
            completion_time=last.instant.completion_time,
            files_before=FileStats.of(
                [size for plan in plans for sizes in plan.base_bytes.values() for size in sizes]
            ),
            files_after=FileStats.of(
                [stat.file_size_bytes for plan in plans for stat in plan.metadata.write_stats]
            ),
        )

    @staticmethod
    def partly_failed(
        failed: Sequence[FailedCompaction], plans: Sequence[ExecutedCompaction]
    ) -> CompactionReport:
        """Report on every plan of an execution in which some plans failed."""
        report = CompactionReport(plans=_reports(plans, failed))
        _log_plans(report)
        return report

    def cancelled(self, compactions: Sequence[Compaction], *, preview: bool) -> JobResult:
        """Result of a cancellation, or of its preview."""
        if not compactions:
            reason = "there is no pending compaction that is old enough and is not being executed"
            return replace(self._result(Outcome.NOTHING_TO_DO, CompactionReport()), reason=reason)
        state = "previewed" if preview else "cancelled"
        report = CompactionReport(plans=tuple(stored_plan_report(each, state) for each in compactions))
        outcome = Outcome.PLANNED if preview else Outcome.COMPLETED
        reason = "preview: nothing was cancelled" if preview else ""
        return replace(self._result(outcome, report), reason=reason)

    def cancelled_before(self, reasons: Sequence[str]) -> JobResult:
        """Result of a request whose plans are all cancelled already, perhaps by an earlier attempt of the request."""
        result = self._result(Outcome.COMPLETED, CompactionReport())
        return replace(result, reused=True, reason="; ".join(reasons))

    def _planned(self, proposal: CompactionProposal, plan: CompactionPlanReport) -> CompactionReport:
        return self._with_trigger(
            plans=(plan,),
            **_skips(proposal),
            before=unmerged_logs(proposal.before),
            after=unmerged_logs(proposal.after),
        )

    def _with_trigger(self, **fields: object) -> CompactionReport:
        return CompactionReport(
            trigger=self._trigger,
            delta_commits=self._delta_commits,
            **fields,  # type: ignore[arg-type]  # fields of the report
        )

    def _result(self, outcome: Outcome, report: CompactionReport) -> JobResult:
        return replace(
            JobResult.of(self._request, outcome),
            report=report,
            timings_s=dict(self._watch.seconds),
            spark_application_id=_application_id(self._spark),
            warnings=self._warnings,
        )


def _reports(
    plans: Sequence[ExecutedCompaction], failed: Sequence[FailedCompaction] = ()
) -> tuple[CompactionPlanReport, ...]:
    reports = [*map(executed_plan_report, plans), *map(failed_plan_report, failed)]
    return tuple(sorted(reports, key=lambda plan: plan.instant_time))


def _log_plans(report: CompactionReport) -> None:
    for plan in report.plans:
        if plan.state == "completed":
            _LOG.info(
                "Compaction %s merged %s into %s of %s",
                plan.instant_time,
                counted(sum(part.log_files for part in plan.partitions), "log file", ","),
                counted(sum(part.slices for part in plan.partitions), "base file", ","),
                counted(sum(part.rows or 0 for part in plan.partitions), "row", ","),
            )


def _skips(proposal: CompactionProposal | None) -> dict[str, Any]:
    """Return the fields of a `CompactionReport` about the file slices that the plan does not contain."""
    skipped = proposal.skipped if proposal is not None else ()
    sentences = [
        f"{each.file_group_id.partition_path or NOT_PARTITIONED}: {each.file_group_id.file_id}, {each.reason}"
        for each in skipped[:_REPORTED_SKIPS]
    ]
    if more := len(skipped) - len(sentences):
        sentences.append(f"and {more} more")
    return {"skipped": tuple(sentences), "skipped_count": len(skipped)}


def _application_id(spark: "SparkSession | None") -> str | None:
    if spark is None:
        return None
    from hudi_table_services.jobs.writing.reporting import application_id

    return application_id(spark)
