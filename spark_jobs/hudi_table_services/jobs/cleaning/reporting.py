"""Report a clean: log lines and the result document."""

import logging
from collections.abc import Sequence
from dataclasses import replace

from hudi_table_services.commits.stopwatch import Stopwatch
from hudi_table_services.contract.cleaning import CleanedPartition, CleanReport, CleanRequest
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.contract.text import counted, human_bytes
from hudi_table_services.jobs.cleaning.deletion import CompletedClean
from hudi_table_services.model.cleaning import FilesToDelete, Retention
from hudi_table_services.model.instant import Instant
from hudi_table_services.options.cleaning_job_options import CleanJobOptions
from hudi_table_services.tables.clean_history import PastClean

_LOG = logging.getLogger(__name__)


class CleanReporter:
    """Builds the result of one clean job, step by step."""

    def __init__(self, request: CleanRequest, options: CleanJobOptions, watch: Stopwatch) -> None:
        self._request = request
        self._warnings = options.warnings
        self._watch = watch
        self._report = CleanReport(policy=options.clean.policy.value)
        self._outdated: tuple[FilesToDelete, ...] = ()
        for warning in options.warnings:
            _LOG.warning("%s", warning)

    def rolled_back(self, instants: Sequence[Instant]) -> None:
        """Add the dead writes that were rolled back before the clean."""
        self._report = replace(self._report, rolled_back=tuple(i.requested_time for i in instants))

    def finished(self, instant: Instant, completed: CompletedClean) -> None:
        """Add a clean that an earlier job had left pending."""
        deleted = sum(map(len, completed.deletions.deleted.values()))
        _LOG.info("Finished pending clean %s: deleted %s", instant.requested_time, counted(deleted, "file"))
        self._report = replace(self._report, finished=(*self._report.finished, instant.requested_time))

    def planned(
        self, retention: Retention, outdated: Sequence[FilesToDelete], partitions_listed: int
    ) -> None:
        """Add the outdated files, and the retention with the reason for it."""
        self._outdated = tuple(outdated)
        self._retain(retention)
        self._report = replace(
            self._report,
            waiting=tuple(sorted(each.partition_path for each in outdated if each.waits)),
            partitions_listed=partitions_listed,
        )
        self._log_outdated(partitions_listed)
        if not retention.blocker:
            _LOG.info("Retention: %s", retention.reason)

    def _log_outdated(self, partitions_listed: int) -> None:
        if not partitions_listed:
            _LOG.info("No partition had to be checked, so the number of outdated files is unknown.")
            return
        files = sum(len(each.sizes) for each in self._outdated)
        kept = sum(each.kept.count for each in self._outdated)
        size = sum(sum(each.sizes.values()) for each in self._outdated)
        _LOG.info(
            "Found %s to delete (%s) in %d of %s, and %s to keep",
            counted(files, "outdated file"),
            human_bytes(size),
            sum(1 for each in self._outdated if each.sizes),
            counted(partitions_listed, "partition"),
            counted(kept, "outdated file"),
        )

    def _retain(self, retention: Retention) -> None:
        self._report = replace(
            self._report,
            earliest_commit_to_retain=retention.earliest.requested_time if retention.earliest else "",
            retention=retention.reason,
            blocker=retention.blocker.requested_time if retention.blocker else "",
        )
        if retention.blocker:
            _LOG.warning("Retention: %s", retention.reason)

    def previewed(self, why_not: str) -> JobResult:
        """Result of a preview: the files that would be deleted, or the reason why there are none."""
        partitions = tuple(
            CleanedPartition(
                partition_path=each.partition_path,
                file_count=len(each.sizes),
                size_bytes=sum(each.sizes.values()),
                file_names=tuple(sorted(each.sizes)),
                is_removed=each.is_emptied,
            )
            for each in self._outdated
            if each.sizes
        )
        self._report = replace(self._report, partitions=partitions)
        reason = f"nothing to delete: {why_not}" if why_not else "preview: nothing was deleted"
        return replace(self._result(Outcome.PLANNED), reason=reason)

    def nothing_to_do(self, reason: str, retention: Retention) -> JobResult:
        """Result of a job that requested no new clean. The job may have finished a pending clean."""
        self._retain(retention)
        _LOG.info("Nothing to clean: %s", reason)
        did_something = bool(self._report.finished or self._report.rolled_back)
        outcome = Outcome.COMPLETED if did_something else Outcome.NOTHING_TO_DO
        return replace(self._result(outcome), reason=reason)

    def done_before(self, past: PastClean, retention: Retention) -> JobResult:
        """Result of a clean by an earlier attempt of the request. The sizes of the deleted files are unknown."""
        _LOG.info("An earlier attempt of this request completed clean %s.", past.instant.requested_time)
        self._retain(retention)
        partitions = tuple(
            CleanedPartition(
                partition_path=path,
                file_count=len(each.deleted_files),
                size_bytes=0,
                failed_files=each.failed_files,
                is_removed=each.is_partition_deleted,
            )
            for path, each in sorted(past.metadata.partitions.items())
        )
        self._report = replace(self._report, partitions=partitions)
        result = replace(
            self._result(Outcome.COMPLETED),
            reused=True,
            reason="an earlier attempt of this request completed the clean",
        )
        return _of_instant(result, past.instant)

    def cleaned(self, completed: CompletedClean, why_not: str) -> JobResult:
        """Result of a clean that this job completed, or that another job completed at the same time.

        Args:
            why_not: reason why the clean deleted no file; empty if the plan contained files.
        """
        deletions = completed.deletions
        sizes = {each.partition_path: each.sizes for each in self._outdated}
        paths = sorted({*deletions.deleted, *deletions.failed, *deletions.emptied})
        partitions = tuple(
            CleanedPartition(
                partition_path=path,
                file_count=len(deletions.deleted.get(path, ())),
                size_bytes=sum(sizes.get(path, {}).get(name, 0) for name in deletions.deleted.get(path, ())),
                failed_files=deletions.failed.get(path, ()),
                is_removed=path in deletions.emptied,
            )
            for path in paths
        )
        self._report = replace(self._report, partitions=partitions)
        result = replace(self._result(Outcome.COMPLETED), reason=why_not)
        instant = completed.instant
        if instant is None:
            return replace(result, reason="another job completed the same clean")
        return _of_instant(result, instant)

    def _result(self, outcome: Outcome) -> JobResult:
        return replace(
            JobResult.of(self._request, outcome),
            report=self._report,
            timings_s=self._watch.seconds,
            warnings=self._warnings,
        )


def _of_instant(result: JobResult, instant: Instant) -> JobResult:
    return replace(
        result,
        action=instant.action.value,
        instant_time=instant.requested_time,
        completion_time=instant.completion_time,
    )
