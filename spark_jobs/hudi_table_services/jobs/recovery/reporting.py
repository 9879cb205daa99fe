"""Report a rollback or a restore: log lines and the result document."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace

from hudi_table_services.commits.undo_checks import undone_files
from hudi_table_services.contract.recovery import RecoveryReport, UndoneInstant
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.contract.text import counted
from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.model.instant import Instant
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)
_MOST_NAMES = 100


def describe(table: TableAccess, instant: Instant, *, preview: bool) -> UndoneInstant:
    """Describe the files that are deleted when the instant is undone. Call this function before undoing the instant."""
    files = undone_files(table, instant)
    described = UndoneInstant(
        instant_time=instant.requested_time,
        action=instant.action.value,
        state=instant.state.value,
        file_count=len(files),
        size_bytes=sum(files.values()),
        file_names=tuple(sorted(files)[:_MOST_NAMES]) if preview else (),
    )
    if not instant.is_completed:
        return described
    try:
        metadata = table.timeline_store.commit_metadata(instant)
    except MalformedMetadataError:
        return described
    rows = sum(s.num_inserts + s.num_update_writes + s.num_deletes for s in metadata.write_stats)
    return replace(described, operation=metadata.operation_type.value.lower(), row_count=rows)


class RecoveryReporter:
    """Builds the result of one job, step by step."""

    def __init__(self, request: JobRequest, warnings: Sequence[str], *, savepoint: str = "") -> None:
        self._request = request
        self._warnings = tuple(warnings)
        self._report = RecoveryReport(savepoint=savepoint)
        for warning in self._warnings:
            _LOG.warning("%s", warning)

    def warn(self, sentence: str) -> None:
        """Add a warning to the result."""
        _LOG.warning("%s", sentence)
        self._warnings = (*self._warnings, sentence)

    def finished(self, instants: Iterable[Instant]) -> None:
        """Add rollbacks and restores that an earlier job had left pending."""
        times = tuple(i.requested_time for i in instants)
        self._report = replace(self._report, finished=(*self._report.finished, *times))

    def left_alone(self, sentences: Iterable[str]) -> None:
        """Add sentences about failed writes and unfinished restores on which the job does not act."""
        self._report = replace(self._report, left_alone=tuple(sentences))

    def chosen(self, undone: Sequence[UndoneInstant]) -> None:
        """Add the instants that the job undoes or, in a preview, would undo."""
        self._report = replace(self._report, undone=tuple(undone))
        for each in undone:
            _LOG.info(
                "Chosen to be undone: %s %s (%s), with %s and %s",
                each.action,
                each.instant_time,
                each.state,
                counted(each.file_count, "file"),
                counted(each.row_count, "row"),
            )

    def previewed(self) -> JobResult:
        """Result of a preview."""
        return replace(self._result(Outcome.PLANNED), reason="preview: nothing was undone")

    def nothing_to_do(self, reason: str) -> JobResult:
        """Result of a job that undid no instant. The job may have finished a rollback or restore of an earlier job."""
        outcome = Outcome.COMPLETED if self._report.finished else Outcome.NOTHING_TO_DO
        return replace(self._result(outcome), reason=reason)

    def done(self, instant: Instant | None, *, reason: str = "", reused: bool = False) -> JobResult:
        """Result with the instant of the last rollback, or of the restore."""
        result = replace(self._result(Outcome.COMPLETED), reason=reason, reused=reused)
        if instant is None:
            return result
        return replace(
            result,
            action=instant.action.value,
            instant_time=instant.requested_time,
            completion_time=instant.completion_time,
        )

    def _result(self, outcome: Outcome) -> JobResult:
        return replace(
            JobResult.of(self._request, outcome),
            report=self._report,
            warnings=self._warnings,
        )
