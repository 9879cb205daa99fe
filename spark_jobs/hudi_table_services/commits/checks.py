"""Checks that a change has to pass under the lock before it becomes visible. Each check is a dataclass."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from hudi_table_services.commits.shared_times import refuse_shared_time
from hudi_table_services.commits.table_now import TableNow
from hudi_table_services.contract.text import counted
from hudi_table_services.errors import FileGroupConflictError, InstantVanishedError, ObjectNotFoundError
from hudi_table_services.hudi_format.avro_schema import from_optional_avro_json
from hudi_table_services.hudi_format.bucket_ids import bucket_number
from hudi_table_services.model.concurrent_change import ChangeKind, ConcurrentChange, ConflictStrategy
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import CommitMetadata
from hudi_table_services.planning.conflict_detection import find_conflict
from hudi_table_services.planning.table.table_changes import refuse_changed_schema
from hudi_table_services.storage.locks.heartbeat import read_heartbeat_owner
from hudi_table_services.storage.parallel import map_in_parallel
from hudi_table_services.storage.pending_rollbacks import is_being_rolled_back
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from hudi_table_services.tables.request_lookup import refuse_second_write
from hudi_table_services.tables.table import TableAccess

_RUN_AGAIN = "Nothing was committed; run the request again."


@dataclass(frozen=True, slots=True)
class SameSchema:
    """The table still has the schema on which the job's plan is based."""

    def refuse(self, now: TableNow) -> None:
        """Raises CommitConflictError."""
        require_same_schema(now.planned_with.schema_json, now.snapshot.schema_json)


@dataclass(frozen=True, slots=True)
class NoSharedTime:
    """No write or table service of another action has the requested time of this change."""

    instant: Instant

    def refuse(self, now: TableNow) -> None:
        """Raises SharedInstantTimeError."""
        refuse_shared_time(now.timeline, self.instant)


@dataclass(frozen=True, slots=True)
class NoSecondWrite:
    """No other attempt of the same request has committed since the job planned."""

    request_id: str

    def refuse(self, now: TableNow) -> None:
        """Raises CommitConflictError."""
        refuse_second_write(now.table, now.planned_with.timeline, now.timeline, self.request_id)


@dataclass(frozen=True, slots=True)
class NothingArchivedSince:
    """No write that was pending in the timeline `since` can have been archived by now.

    The check is necessary because the changes of archived writes cannot be checked for conflicts.
    """

    since: Timeline

    def refuse(self, now: TableNow) -> None:
        """Raises FileGroupConflictError."""
        archived = ArchivedTimeline(now.table.storage, now.table.config)
        if archived.may_have_pending(self.since, now.timeline):
            raise archived_during_the_write()


@dataclass(frozen=True, slots=True)
class NothingUndone:
    """No commit on which the job's plan is based was rolled back."""

    def refuse(self, now: TableNow) -> None:
        """Raises FileGroupConflictError."""
        undone = next((c.instant for c in now.changes if c.kind is ChangeKind.UNDONE), None)
        if undone is not None:
            raise FileGroupConflictError(
                f"Another writer rolled back the completed {undone.action.value} {undone.requested_time} during this "
                "job.",
                hint=_RUN_AGAIN,
            )


@dataclass(frozen=True, slots=True)
class NoConflict:
    """No other writer has changed, or is about to replace, a file group of this commit.

    Attributes:
        logged: the file groups to which this commit only adds a log file.
        reinserted: the file groups in `logged` to which this commit adds rows that earlier log files deleted.
    """

    file_groups: frozenset[FileGroupId]
    strategy: ConflictStrategy
    logged: frozenset[FileGroupId] = frozenset()
    reinserted: frozenset[FileGroupId] = frozenset()

    def refuse(self, now: TableNow) -> None:
        """Raises FileGroupConflictError."""
        conflict = find_conflict(now.changes, self.file_groups, self.strategy, self.logged, self.reinserted)
        if conflict is not None:
            raise FileGroupConflictError(conflict.message, hint=_RUN_AGAIN)


@dataclass(frozen=True, slots=True)
class NoSharedIndexBucket:
    """No other writer has added a file group to an index bucket to which this commit also adds a file group.

    Two file groups of one bucket make every later write of Hudi fail
    (BucketIndexConcurrentFileWritesConflictResolutionStrategy, Hudi 1.2).

    Attributes:
        new: file groups that this commit adds. The check ignores file groups that belong to no index bucket.
    """

    new: frozenset[FileGroupId]

    def refuse(self, now: TableNow) -> None:
        """Raises FileGroupConflictError."""
        own = {_index_bucket(group) for group in self.new} - {None}
        for change in now.changes if own else ():
            for group in sorted(change.file_groups if change.kind is ChangeKind.COMPLETED else ()):
                if _index_bucket(group) in own:
                    raise FileGroupConflictError(
                        f"Another writer's {change.instant.action.value} {change.instant.requested_time} wrote the "
                        f"file group {group}, and this write adds a file group for the same bucket.",
                        hint=_RUN_AGAIN,
                    )


def _index_bucket(group: FileGroupId) -> tuple[str, int] | None:
    number = bucket_number(group.file_id)
    return None if number is None else (group.partition_path, number)


class RowComparison(Protocol):
    """Compare the rows that a write adds with rows that other writers added during the write; see `duplicate_check`."""

    def concerns(self, change: ConcurrentChange) -> bool:
        """Whether the rows of the change must be compared. This method runs under the lock, so it must read no file."""
        ...

    def refuse(self, changes: Sequence[ConcurrentChange]) -> None:
        """Raises FileGroupConflictError if the write and a change add rows with the same key."""
        ...


class ComparisonNeeded(Exception):  # noqa: N818 - a request to the caller, not a failure
    """A check has to read rows. The caller compares `changes` without the lock, then tries to commit again."""

    def __init__(self, changes: Sequence[ConcurrentChange]) -> None:
        super().__init__(
            f"The rows of the write must be compared with {counted(len(changes), 'change')} of other writers."
        )
        self.changes = tuple(changes)


@dataclass(frozen=True, slots=True)
class NoDuplicateNewKey:
    """No other writer has added a row with a key that this commit adds.

    Attributes:
        compared: instants whose rows were compared in earlier rounds.
        compares_under_lock: whether to read rows now, under the lock, instead of raising `ComparisonNeeded`.
    """

    comparison: RowComparison
    compared: frozenset[Instant] = frozenset()
    compares_under_lock: bool = False

    def refuse(self, now: TableNow) -> None:
        """Raises ComparisonNeeded if rows must be compared, FileGroupConflictError if both commits add the same key."""
        changes = [c for c in now.changes if c.instant not in self.compared and self.comparison.concerns(c)]
        if changes and not self.compares_under_lock:
            raise ComparisonNeeded(changes)
        if changes:
            self.comparison.refuse(changes)


@dataclass(frozen=True, slots=True)
class StillInflight:
    """The plan is inflight, and its inflight file is the one with which the execution began.

    Hudi ignores heartbeats. If a writer of Hudi compacts inline, it rolls an inflight plan back, starts the plan again
    and completes the plan (HoodieCompactor, Hudi 1.2). Then the files of the instant belong to Hudi. So this check
    precedes the deletion of files that the commit does not name.

    Attributes:
        begun_ms: modification time of the inflight file when the execution began; None if it is not known.
        when_lost: function that the check calls before it refuses the commit.
    """

    instant: Instant
    begun_ms: int | None
    when_lost: Callable[[], None]
    service: str = "clustering"

    def refuse(self, now: TableNow) -> None:
        """Raises InstantVanishedError."""
        if is_still_inflight(now.table.timeline_store, now.timeline, self.instant, self.begun_ms):
            return
        self.when_lost()
        raise InstantVanishedError(
            f"Another job completed, cancelled or restarted {self.service} {self.instant.requested_time} during this "
            "execution.",
            hint="This attempt committed nothing. Run the job again when no other job is executing the plan.",
        )


def is_still_inflight(
    store: TimelineStore, timeline: Timeline, instant: Instant, begun_ms: int | None
) -> bool:
    """Whether a plan is still inflight, and its inflight file has this modification time; None matches any time."""
    if not any(i.identity == instant.identity and i.state is InstantState.INFLIGHT for i in timeline.pending):
        return False
    try:
        return (
            begun_ms is None or store.modified_ms(replace(instant, state=InstantState.INFLIGHT)) == begun_ms
        )
    except ObjectNotFoundError:
        return False


@dataclass(frozen=True, slots=True)
class NotCancelled:
    """No rollback of the plan is pending. The job that finishes such a rollback would delete the new files."""

    instant: Instant

    def refuse(self, now: TableNow) -> None:
        """Raises InstantVanishedError."""
        refuse_cancelled(now.table, now.timeline, self.instant)


@dataclass(frozen=True, slots=True)
class SomeGroupsUnchanged:
    """At least one group of the plan was not changed by other writers."""

    instant_time: str
    metadata: CommitMetadata

    def refuse(self, now: TableNow) -> None:
        """Raises FileGroupConflictError."""
        if not self.metadata.partition_to_replace_file_ids:
            raise FileGroupConflictError(
                f"Other writers changed, or are changing, every file group of clustering {self.instant_time}.",
                hint="Nothing was committed; run the job again.",
            )


@dataclass(frozen=True, slots=True)
class FilesExist:
    """All files that the commit names exist. If a file were missing, the commit would lose rows.

    Attributes:
        when_missing: function that the check calls if a file is missing, before it refuses the commit.
    """

    instant_time: str
    paths: tuple[str, ...]
    when_missing: Callable[[], None]
    service: str = "clustering"

    def refuse(self, now: TableNow) -> None:
        """Raises InstantVanishedError."""
        exist = map_in_parallel(now.table.storage.exists, self.paths)
        missing = [path for path, exists in zip(self.paths, exist, strict=True) if not exists]
        if missing:
            self.when_missing()
            raise InstantVanishedError(
                f"Another job removed {missing[0]}, which {self.service} {self.instant_time} wrote.",
                hint="Nothing was committed; run the job again when no other job is executing the plan.",
            )


def refuse_taken_over(
    table: TableAccess, instant_time: str, attempt: str, *, service: str = "clustering"
) -> None:
    """Raises InstantVanishedError if the heartbeat of the plan is missing or names another attempt."""
    if read_heartbeat_owner(table.storage, instant_time) != attempt:
        raise InstantVanishedError(
            f"Another attempt took {service} {instant_time} over, or cancelled it.",
            hint="This attempt committed nothing.",
        )


def refuse_cancelled(table: TableAccess, timeline: Timeline, instant: Instant) -> None:
    """Raises InstantVanishedError if a rollback of the plan is pending. Call this function under the table lock."""
    if is_being_rolled_back(table.timeline_store, timeline, instant):
        raise InstantVanishedError(
            f"A cancellation of {_plan_name(instant)} {instant.requested_time} was begun and has not been finished.",
            hint=f"Nothing was committed; the next job that executes or cancels {_plan_name(instant)}s finishes the "
            "cancellation.",
        )


def _plan_name(instant: Instant) -> str:
    return "compaction" if instant.action is Action.COMPACTION else "clustering"


def archived_during_the_write() -> FileGroupConflictError:
    """Error of a job that cannot determine the changes of other writers."""
    return FileGroupConflictError(
        "Commits that other writers completed during this job may be archived already, so this job cannot check "
        "whether they conflict with its own changes.",
        hint=f"{_RUN_AGAIN} If this error occurs often, let archival keep more commits.",
    )


def require_same_schema(before: str | None, now: str | None) -> None:
    """Refuse a table whose Avro schema has changed in a way that matters; see `refuse_changed_schema`."""
    refuse_changed_schema(from_optional_avro_json(before), from_optional_avro_json(now))
