"""One attempt to commit: requested, inflight, data, leftovers removed, conflict check, completed.

The table lock is held only to choose the instant, to check and complete the commit, and to undo it. Until the
completed file exists readers see the old table. An attempt that fails is rolled back at once; one that is killed, or
does not get the lock then, is rolled back by the next job.
"""

import logging
from collections.abc import Mapping, Sequence
from itertools import count
from types import TracebackType
from typing import Protocol

from hudi_table_services.commits.metadata_table import switch_off_metadata_table
from hudi_table_services.commits.undo import rollback_instant
from hudi_table_services.errors import (
    CommitStateUnknownError,
    FileGroupConflictError,
    HudiTableServiceError,
    LockNotAcquiredError,
    StorageError,
    UnsupportedTableError,
)
from hudi_table_services.hudi_format.avro_schema import from_avro_json
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.hudi_format.table_service_plans import encode_requested_replace
from hudi_table_services.hudi_format.workload_profile import encode_workload_profile
from hudi_table_services.model.concurrent_change import ConcurrentChange, ConflictStrategy
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.schema import StructType
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import NEW_FILE_GROUP, CommitMetadata, WriteStat
from hudi_table_services.planning.conflict_detection import find_conflict
from hudi_table_services.planning.table.table_changes import refuse_changed_schema
from hudi_table_services.storage.concurrent_changes import (
    load_commit_changes,
    load_completed_changes,
)
from hudi_table_services.storage.locks.heartbeat import Heartbeat
from hudi_table_services.storage.locks.lock import TableLock
from hudi_table_services.storage.markers import MarkerStore
from hudi_table_services.storage.snapshot_loader import load_snapshot
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from hudi_table_services.tables.request_lookup import refuse_second_write
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)

_ROUNDS_WITHOUT_LOCK = 5


class RowComparison(Protocol):
    """Compares the rows that a write adds with those that others added since its snapshot (see `duplicate_check`)."""

    def concerns(self, change: ConcurrentChange) -> bool:
        """Whether there may be something to refuse. Asked under the lock: reads nothing."""
        ...

    def refuse(self, changes: Sequence[ConcurrentChange]) -> None:
        """Raises FileGroupConflictError where both bring rows of the same key."""
        ...


class CommitAttempt:
    """Use as a context manager: leaving it by an error rolls the attempt back.

    Args:
        snapshot: the table as the plan saw it; commits completed since are checked for conflicts.
        action: COMMIT, or REPLACE_COMMIT for operations that replace file groups.
        request_id: owner noted in the heartbeat.
        strategy: whether a pending plan of a table service stands in the way of the commit.
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
        self._heartbeat: Heartbeat | None = None
        self._pending: Instant | None = None
        self._completed = False
        self._requested_among = Timeline()
        self._changes_before: tuple[ConcurrentChange, ...] = ()

    @property
    def instant_time(self) -> str:
        assert self._pending is not None  # noqa: S101 - set on entry
        return self._pending.requested_time

    def __enter__(self) -> "CommitAttempt":
        content = encode_requested_replace(None) if self._action is Action.REPLACE_COMMIT else b""
        try:
            with self._lock:
                self._note_changes()
                requested_time = self._store.new_instant_time()
                self._heartbeat = Heartbeat(self._table.storage, requested_time, owner=self._request_id)
                self._heartbeat.start()
                self._pending = self._store.request(self._action, content, requested_time)
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
            # Nobody waits for the same lock a second time: the next job undoes an attempt that did not get it.
            if not self._completed and not isinstance(error, CommitStateUnknownError | LockNotAcquiredError):
                self._roll_back()
        finally:
            self._stop_heartbeat()

    def start(self, profile: CommitMetadata) -> None:
        """Write the inflight file with the workload profile; data may be written afterwards.

        Args:
            profile: with the file groups that are going to be replaced, so that no clustering is planned for them.
        """
        assert self._pending is not None  # noqa: S101 - set on entry
        content = encode_workload_profile(profile, self._table.config.table_version)
        self._pending = self._store.start(self._pending, content)

    def _note_changes(self) -> None:
        """What completed since the snapshot may be archived before we commit. What is requested from now on is not.

        Raises:
            FileGroupConflictError: some of it may be archived already.
        """
        now, planned_with = self._store.load(), self._snapshot.timeline
        if self._archived.may_have_newer(planned_with, now):
            raise _archived_meanwhile()
        refuse_second_write(self._table, planned_with, now, self._request_id)
        self._requested_among = now
        self._changes_before = load_completed_changes(self._store, planned_with, now)

    def complete(self, metadata: CommitMetadata, comparison: RowComparison | None = None) -> Instant:
        """Make the write visible.

        Args:
            comparison: asked about commits that added rows meanwhile; None: the write may add a key once more.

        Raises:
            FileGroupConflictError: a commit completed meanwhile changed a file group of ours, or added a row that
                ours adds too.
            InstantVanishedError: another writer rolled this attempt back.
            UnsupportedTableError: somebody switched a metadata table on meanwhile.
        """
        assert self._pending is not None  # noqa: S101 - set on entry
        self._remove_leftovers(metadata.write_stats)
        completed = self._complete(metadata, comparison)
        self._completed = True
        _LOG.info("Completed %s %s", self._action.value, completed.requested_time)
        self._stop_heartbeat()
        try:
            self._remove_leftovers(metadata.write_stats)
            self._markers.delete()
        except StorageError as failure:
            # The rows are in the table; the next job removes the rest.
            _LOG.warning("The markers of %s stay behind: %s", self.instant_time, failure)
        return completed

    def _complete(self, metadata: CommitMetadata, comparison: RowComparison | None) -> Instant:
        """Rows are compared without the lock, and again where a commit came between; at last under the lock."""
        assert self._pending is not None  # noqa: S101 - set on entry
        content = encode_commit_metadata(metadata, self._table.config.table_version)
        compared: set[Instant] = set()
        for rounds in count():
            with self._lock:
                changes = [c for c in self._check_conflicts(metadata) if c.instant not in compared]
                concerning = [c for c in changes if comparison is not None and comparison.concerns(c)]
                if comparison is not None and concerning and rounds == _ROUNDS_WITHOUT_LOCK:
                    comparison.refuse(concerning)
                    concerning = []
                if not concerning:
                    switch_off_metadata_table(self._table)
                    self._lock.verify()
                    return self._store.complete(self._pending, content)
            if comparison is not None:
                comparison.refuse(concerning)
            compared.update(change.instant for change in concerning)
        raise AssertionError("unreachable")

    @property
    def _archived(self) -> ArchivedTimeline:
        return ArchivedTimeline(self._table.storage, self._table.config)

    @property
    def _markers(self) -> MarkerStore:
        return MarkerStore(self._table.storage, self.instant_time)

    def _stop_heartbeat(self) -> None:
        if self._heartbeat is None:
            return
        try:
            self._heartbeat.stop()
        except StorageError as failure:
            # It expires; nobody asks for the heartbeat of a write that is over.
            _LOG.warning("A heartbeat stays behind: %s", failure)

    def _remove_leftovers(self, stats: Sequence[WriteStat]) -> None:
        """Files of retried and speculative tasks: marked, but not among the stats of the attempts that count."""
        for path in self._markers.sweep(keep={stat.path for stat in stats}):
            _LOG.info("Removed leftover of a retried task: %s", path)

    def _check_conflicts(self, metadata: CommitMetadata) -> tuple[ConcurrentChange, ...]:
        """What others did since the snapshot, if none of it stands in the way."""
        config = read_table_config(self._table.storage)
        if config.table_version is not self._table.config.table_version:
            raise UnsupportedTableError(
                f"Another writer changed the table from version {int(self._table.config.table_version)} to "
                f"{int(config.table_version)} during this write.",
                hint="Run the request again; set hoodie.write.auto.upgrade=false in Hudi 1.x writers to keep it.",
            )
        timeline = self._store.load()
        refuse_second_write(self._table, self._snapshot.timeline, timeline, self._request_id)
        refuse_changed_schema(*map(_schema_of, (self._snapshot, load_snapshot(self._table.storage, ()))))
        if self._archived.may_have_pending(self._requested_among, timeline):
            raise _archived_meanwhile()
        ours = {self._pending.requested_time} if self._pending else set()
        changes = load_commit_changes(self._store, self._snapshot.timeline, timeline, ignore=ours)
        told = {change.instant.identity for change in changes}
        changes += tuple(c for c in self._changes_before if c.instant.identity not in told)
        conflict = find_conflict(changes, changed_file_groups(metadata), self._strategy)
        if conflict is not None:
            raise FileGroupConflictError(
                conflict.message, hint="Nothing was committed; run the request again."
            )
        return changes

    def _roll_back(self) -> None:
        if self._pending is None:
            return
        try:
            # Another attempt of the request takes this one for dead, and rolls it back under the lock as well.
            with self._lock:
                rollback_instant(self._table, self._pending)
            if not any(i.is_completed for i in self._store.load().find(self.instant_time)):
                # Another writer may have rolled this attempt back while its tasks went on writing.
                self._stop_heartbeat()
                self._markers.sweep()
                self._markers.delete()
        except HudiTableServiceError as failure:
            _LOG.warning(
                "Could not roll back %s (%s); the next job on this table does it.", self.instant_time, failure
            )


def changed_file_groups(metadata: CommitMetadata) -> frozenset[FileGroupId]:
    """File groups a commit rewrites or replaces; new ones conflict with nobody."""
    rewritten = {
        FileGroupId(stat.partition_path, stat.file_id)
        for stat in metadata.write_stats
        if stat.prev_commit != NEW_FILE_GROUP
    }
    replaced: Mapping[str, tuple[str, ...]] = metadata.partition_to_replace_file_ids or {}
    return frozenset(rewritten | {FileGroupId(p, f) for p, ids in replaced.items() for f in ids})


def _archived_meanwhile() -> FileGroupConflictError:
    return FileGroupConflictError(
        "Commits that other writers completed during this write may be archived already, so that nobody can tell "
        "what they changed.",
        hint="Nothing was committed; run the request again. If it happens often, let archival keep more commits.",
    )


def _schema_of(snapshot: TableSnapshot) -> StructType | None:
    return from_avro_json(snapshot.schema_json) if snapshot.schema_json else None
