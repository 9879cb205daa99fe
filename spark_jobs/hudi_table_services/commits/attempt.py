"""One attempt to commit a write: request and start an instant, write data, delete unneeded files, complete the instant.

The attempt holds the table lock only to choose the instant, to check and complete the commit, and to undo a failed
attempt. Until the completed file exists, readers see the old table. A failed attempt is rolled back immediately. If an
attempt is killed, or fails because it did not get the lock, the next job rolls the attempt back.
"""

import logging
from collections.abc import Mapping
from itertools import count
from types import TracebackType

from hudi_table_services.commits.attempt_traces import AttemptTraces
from hudi_table_services.commits.checks import (
    ComparisonNeeded,
    NoConflict,
    NoDuplicateNewKey,
    NoSecondWrite,
    NoSharedIndexBucket,
    NoSharedTime,
    NothingArchivedSince,
    RowComparison,
    SameSchema,
    archived_during_the_write,
)
from hudi_table_services.commits.commit_point import (
    complete,
    create_metadata_table_after_write,
    create_metadata_table_before_first_write,
    require_usable_metadata_table,
)
from hudi_table_services.commits.log_checks import (
    LogNamesStillValid,
    NoPendingCompaction,
    logged_file_groups,
    named_logs,
    refuse_open_writes,
)
from hudi_table_services.commits.shared_times import refuse_shared_time
from hudi_table_services.commits.table_change import TableChange, new_files
from hudi_table_services.commits.table_now import Check, Conditions, read_table_now
from hudi_table_services.commits.undo import rollback_instant
from hudi_table_services.errors import (
    CommitStateUnknownError,
    HudiTableServiceError,
    LockNotAcquiredError,
    SharedInstantTimeError,
)
from hudi_table_services.execution.metadata_table.collected_facts import CollectedFacts
from hudi_table_services.hudi_format.table_service_plans import encode_requested_replace
from hudi_table_services.hudi_format.workload_profile import encode_workload_profile
from hudi_table_services.model.concurrent_change import ConcurrentChange, ConflictStrategy
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_service_plans import UndoNote, UndoReason
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import NEW_FILE_GROUP, CommitMetadata
from hudi_table_services.storage.concurrent_changes import load_completed_changes
from hudi_table_services.storage.locks.lock import TableLock
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from hudi_table_services.tables.request_lookup import refuse_second_write
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)

_ROUNDS_WITHOUT_LOCK = 5
_NO_FACTS = CollectedFacts()


class CommitAttempt:
    """Context manager for one attempt. An error rolls the attempt back.

    Args:
        snapshot: the state of the table for which the write was planned; later commits are checked for conflicts.
        action: COMMIT or, in a merge-on-read table, DELTA_COMMIT; REPLACE_COMMIT for operations that replace file
            groups.
        request_id: the heartbeat names this request as its owner.
        strategy: whether a pending plan of a table service prevents the commit.
    """

    def __init__(
        self,
        table: TableAccess,
        snapshot: TableSnapshot,
        action: Action,
        lock: TableLock,
        request_id: str,
        strategy: ConflictStrategy = ConflictStrategy.SIMPLE,
    ) -> None:
        self._table = table
        self._store = table.timeline_store
        self._snapshot = snapshot
        self._action = action
        self._lock = lock
        self._request_id = request_id
        self._strategy = strategy
        self._traces: AttemptTraces | None = None
        self._requested: Instant | None = None
        self._is_completed = False
        self._shares_heartbeat = False
        self._requested_among = Timeline()
        self._changes_before: tuple[ConcurrentChange, ...] = ()
        self._warnings: tuple[str, ...] = ()

    @property
    def instant_time(self) -> str:
        return self._pending.requested_time

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences for the result of the job: why the metadata table, or an index of it, was not created."""
        return self._warnings

    @property
    def _names_slices(self) -> bool:
        """Whether the write is a delta commit of table version 6: its log files are named after the times of slices."""
        return (
            self._action is Action.DELTA_COMMIT and not self._table.config.table_version.has_own_log_instants
        )

    @property
    def _pending(self) -> Instant:
        assert self._requested is not None  # noqa: S101 - set on entry
        return self._requested

    def __enter__(self) -> "CommitAttempt":
        content = encode_requested_replace(None) if self._action is Action.REPLACE_COMMIT else b""
        try:
            with self._lock:
                if not self._snapshot.timeline.completed_writes:
                    self._warnings = create_metadata_table_before_first_write(self._table, self._lock)
                require_usable_metadata_table(self._table)
                self._note_changes()
                requested_time = self._store.new_instant_time()
                self._traces = AttemptTraces(self._table.storage, requested_time, self._request_id)
                self._traces.start_heartbeat()
                self._requested = self._store.request(self._action, content, requested_time)
        except BaseException:
            self._stop_heartbeat()
            raise
        _LOG.info("Requested %s %s", self._action.value, requested_time)
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            # After LockNotAcquiredError, do not wait for the lock a second time: the next job rolls the attempt back.
            if not self._is_completed and not isinstance(
                error, CommitStateUnknownError | LockNotAcquiredError
            ):
                is_interrupted = isinstance(error, KeyboardInterrupt)
                is_rolled_back = self._roll_back(
                    UndoReason.INTERRUPTED_JOB if is_interrupted else UndoReason.FAILED_JOB
                )
                if is_rolled_back and is_interrupted:
                    _LOG.warning("The job was interrupted. Its write is rolled back: %s", self._state())
            elif self._is_completed and isinstance(error, KeyboardInterrupt):
                _LOG.warning(
                    "The job was interrupted after its write %s was completed: the table contains the rows.",
                    self.instant_time,
                )
        finally:
            self._stop_heartbeat()

    def _state(self) -> str:
        """State of the table after the rollback of an interrupted attempt, as the end of a sentence."""
        if self._snapshot.timeline.completed_writes:
            return "the table is unchanged."
        return (
            "the table has no rows. The table and the folders of its partitions stay, because other writers may use "
            "them already."
        )

    def start(self, profile: CommitMetadata) -> None:
        """Write the inflight file with the workload profile. Call this before the first data file is written.

        Args:
            profile: the workload profile. It must contain the file groups that the write is going to replace, so that
                no clustering is planned for these file groups.

        Raises:
            FileGroupConflictError: see `refuse_open_writes`.
        """
        content = encode_workload_profile(profile, self._table.config.table_version)
        if not self._names_slices:
            self._requested = self._store.start(self._pending, content)
            return
        with self._lock:
            refuse_open_writes(self._table, self.instant_time, changed_file_groups(profile))
            self._requested = self._store.start(self._pending, content)

    def _note_changes(self) -> None:
        """Load the changes of commits that completed after the snapshot.

        The changes are loaded now, because these commits may be archived before this attempt completes. Commits that
        are requested from now on cannot be archived before this attempt completes: a pending instant blocks archival.

        Raises:
            FileGroupConflictError: some of these commits may be archived already.
        """
        now, planned_with = self._store.load(), self._snapshot.timeline
        if ArchivedTimeline(self._table.storage, self._table.config).may_have_newer(planned_with, now):
            raise archived_during_the_write()
        refuse_second_write(self._table, planned_with, now, self._request_id)
        self._requested_among = now
        self._changes_before = load_completed_changes(self._store, planned_with, now)

    def complete(
        self,
        metadata: CommitMetadata,
        comparison: RowComparison | None = None,
        facts: CollectedFacts = _NO_FACTS,
        reinserted: frozenset[FileGroupId] = frozenset(),
    ) -> Instant:
        """Make the write visible.

        Args:
            facts: facts that the metadata table stores about the new files.
            comparison: compares the rows of this write with rows that other commits added after the snapshot. None if
                this write is allowed to add a key that another commit adds too.
            reinserted: file groups to which the write adds log files with rows that earlier log files deleted.

        Raises:
            FileGroupConflictError: a commit that completed after the snapshot changed a file group of this write, or
                added a row with a key that this write adds too.
            InstantVanishedError: another writer rolled this attempt back.
            UnsupportedTableError, CorruptTableError: the metadata table cannot be updated.
        """
        assert self._traces is not None  # noqa: S101 - set on entry
        counted = {stat.path for stat in metadata.write_stats}
        if not self._table.config.table_version.layout.has_completion_time_in_names:
            # The deletion would delete the files of that write, too. From Hudi 1.0 on, writers choose times under the
            # table lock.
            refuse_shared_time(self._store.load(), self._pending)
        self._traces.delete_unlisted(keep=counted)
        completed = self._complete(
            new_files(metadata, self._table.config.table_version, facts),
            self._checks(metadata, reinserted, facts.depend_on_compactions),
            comparison,
        )
        _LOG.info("Completed %s %s", self._action.value, completed.requested_time)
        self._traces.stop_heartbeat()
        self._traces.remove_after_completion(keep=counted)
        return completed

    def _complete(
        self, change: TableChange, checks: tuple[Check, ...], comparison: RowComparison | None
    ) -> Instant:
        """Complete the commit after comparing its rows with rows that other commits added.

        Rows are compared without the lock. If other commits complete during the comparison, the next round compares
        their rows. The last round compares under the lock.
        """
        if comparison is None:
            with self._lock:
                return self._complete_if_allowed(change, checks)
        compared: frozenset[Instant] = frozenset()
        for rounds in count():
            rows = NoDuplicateNewKey(comparison, compared, rounds == _ROUNDS_WITHOUT_LOCK)
            try:
                with self._lock:
                    return self._complete_if_allowed(change, (*checks, rows))
            except ComparisonNeeded as needed:
                changes = needed.changes
            comparison.refuse(changes)
            compared |= {change.instant for change in changes}
        raise AssertionError("unreachable")

    def _checks(
        self,
        metadata: CommitMetadata,
        reinserted: frozenset[FileGroupId],
        depend_on_compactions: frozenset[FileGroupId],
    ) -> tuple[Check, ...]:
        logged = logged_file_groups(metadata)
        return (
            NoSharedTime(self._pending),
            NoSecondWrite(self._request_id),
            SameSchema(),
            NothingArchivedSince(since=self._requested_among),
            NoConflict(changed_file_groups(metadata), self._strategy, logged, reinserted),
            NoPendingCompaction(depend_on_compactions),
            NoSharedIndexBucket(_new_file_groups(metadata)),
            *((LogNamesStillValid(named_logs(metadata)),) if self._names_slices else ()),
        )

    def _complete_if_allowed(self, change: TableChange, checks: tuple[Check, ...]) -> Instant:
        now = read_table_now(
            self._table, self._snapshot, own_times={self.instant_time}, noted=self._changes_before
        )
        completed = complete(
            self._table, self._pending, change, lock=self._lock, conditions=Conditions(now, checks)
        )
        self._is_completed = True
        self._warnings = (*self._warnings, *create_metadata_table_after_write(self._table, self._lock))
        return completed

    def _stop_heartbeat(self) -> None:
        if self._traces is None:
            return
        if self._shares_heartbeat:
            self._traces.let_heartbeat_expire()
        else:
            self._traces.stop_heartbeat()

    def _roll_back(self, reason: UndoReason) -> bool:
        """Undo the write of this attempt, if there is one. Return whether nothing of the write remains."""
        if self._requested is None or self._traces is None:
            return True
        try:
            # Use the lock, because another attempt of the same request may be rolling this attempt back.
            with self._lock:
                rollback_instant(
                    self._table, self._requested, UndoNote(reason=reason, request_id=self._request_id)
                )
            if any(i.is_completed for i in self._store.load().find(self.instant_time)):
                return False
            # Another writer may have rolled this attempt back while tasks of this attempt were writing files.
            self._traces.stop_heartbeat()
            self._traces.remove()
        except HudiTableServiceError as failure:
            # The other writer with this time uses the same heartbeat file. Without the file, it would count as dead.
            self._shares_heartbeat = isinstance(failure, SharedInstantTimeError)
            _LOG.warning(
                "Could not roll back %s (%s); the next job on this table rolls the write back.",
                self.instant_time,
                failure,
            )
            return False
        return True


def changed_file_groups(metadata: CommitMetadata) -> frozenset[FileGroupId]:
    """File groups that a commit rewrites or replaces, without its new file groups; see `NoSharedIndexBucket`."""
    rewritten = {
        FileGroupId(stat.partition_path, stat.file_id)
        for stat in metadata.write_stats
        if stat.prev_commit != NEW_FILE_GROUP
    }
    replaced: Mapping[str, tuple[str, ...]] = metadata.partition_to_replace_file_ids or {}
    return frozenset(rewritten | {FileGroupId(p, f) for p, ids in replaced.items() for f in ids})


def _new_file_groups(metadata: CommitMetadata) -> frozenset[FileGroupId]:
    added = (stat for stat in metadata.write_stats if stat.prev_commit == NEW_FILE_GROUP)
    return frozenset(FileGroupId(stat.partition_path, stat.file_id) for stat in added)
