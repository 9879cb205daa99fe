"""One attempt to execute a clustering plan: take it, write beside the table, complete it under the lock.

The heartbeat says who executes the plan; its file holds the attempt. An attempt that finds the heartbeat of another
one has lost the plan: it completes nothing, and its tasks remove what they wrote. What an attempt that died has left
is removed by the one that takes the plan over. Groups whose files were changed meanwhile are given up one by one.
"""

import logging
import time
import uuid
from collections.abc import Callable, Mapping
from types import TracebackType

from hudi_table_services.commits.metadata_table import switch_off_metadata_table
from hudi_table_services.commits.undo import (
    is_being_rolled_back,
    roll_back_clustering,
    sweep_listed,
    sweep_pending,
)
from hudi_table_services.errors import (
    CommitStateUnknownError,
    FileGroupConflictError,
    HudiTableServiceError,
    InstantHeldError,
    InstantVanishedError,
    StorageError,
    UnsupportedTableError,
)
from hudi_table_services.hudi_format.avro_schema import from_avro_json
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.model.concurrent_change import ChangeKind
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Instant, InstantState
from hudi_table_services.model.table_service_plans import ClusteringPlan
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.write_stat import CommitMetadata
from hudi_table_services.planning.clustering.outdated_plans import partitions_of, unchanged_groups
from hudi_table_services.planning.conflict_detection import groups_to_give_up
from hudi_table_services.planning.table.table_changes import refuse_changed_schema
from hudi_table_services.storage.concurrent_changes import load_commit_changes
from hudi_table_services.storage.locks.heartbeat import Heartbeat, has_heartbeat, read_heartbeat_owner
from hudi_table_services.storage.locks.lock import TableLock
from hudi_table_services.storage.markers import MarkerStore
from hudi_table_services.storage.pending_plans import running_writes
from hudi_table_services.storage.snapshot_loader import load_snapshot
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from hudi_table_services.tables.executions import is_executed_by_others
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)
_POLL_SECONDS = 2.0

MetadataWithout = Callable[[frozenset[FileGroupId]], CommitMetadata]
"""Content of the completed instant, without the groups that hold one of these file groups."""


class ClusteringAttempt:
    """Use as a context manager: leaving it by an error removes what was written, and the plan waits again.

    Args:
        instant: the pending clustering.
        request_id: who asks; an attempt of the same request is dead, or must not commit beside us, and loses the plan.
        wait_seconds: how long to wait while another attempt holds the plan; 0: not at all.
        expires_after_minutes: age at which an execution without a heartbeat, as Hudi's are, counts as dead.
    """

    def __init__(
        self,
        table: TableAccess,
        instant: Instant,
        lock: TableLock,
        *,
        request_id: str,
        wait_seconds: int = 0,
        expires_after_minutes: int = 60,
    ) -> None:
        self._table = table
        self._store = table.timeline_store
        self._instant = instant
        self._lock = lock
        self._wait_seconds = wait_seconds
        self._heartbeat: Heartbeat | None = None
        self._is_over = False
        self._is_dropping = False
        self._request_id = request_id
        self._expires_after_minutes = expires_after_minutes
        self.attempt = f"{request_id}/{uuid.uuid4().hex}"
        """What the tasks of this attempt find in the heartbeat."""

    @property
    def instant_time(self) -> str:
        return self._instant.requested_time

    def __enter__(self) -> "ClusteringAttempt":
        deadline = time.monotonic() + self._wait_seconds
        while not self._take():
            if time.monotonic() >= deadline:
                raise self._held()
            time.sleep(_POLL_SECONDS)
        return self

    def _take(self) -> bool:
        """Make the plan ours unless a living attempt holds it.

        Raises:
            InstantVanishedError: it was cancelled, or completed, meanwhile.
        """
        with self._lock:
            pending = [i for i in self._store.load().pending if i.identity == self._instant.identity]
            if not pending:
                raise InstantVanishedError(
                    f"Clustering {self.instant_time} is not pending any more.",
                    hint="Another job completed or cancelled it.",
                )
            if self._is_held(pending[0]):
                return False
            self._require_not_cancelled()
            self._heartbeat = Heartbeat(self._table.storage, self.instant_time, owner=self.attempt)
            try:
                self._heartbeat.start()
                self._begin(pending[0])
            except BaseException:
                self._abandon_heartbeat()
                raise
        return True

    def _is_held(self, pending: Instant) -> bool:
        """Whether another request executes the plan."""
        return is_executed_by_others(
            self._table, pending, self._request_id, expires_after_minutes=self._expires_after_minutes
        )

    def _held(self) -> InstantHeldError:
        if has_heartbeat(self._table.storage, self.instant_time):
            return InstantHeldError(
                f"Another attempt executes clustering {self.instant_time}; its heartbeat is alive.",
                hint="Wait until it has ended, or let the job wait (when_held=wait).",
            )
        return InstantHeldError(
            f"Clustering {self.instant_time} was begun within the last {self._expires_after_minutes} minutes and has "
            "no heartbeat, as executions by Hudi have none.",
            hint="Wait until it has ended. If it is dead, run this again with "
            "hoodie.clustering.expiration.threshold.mins=0.",
        )

    def _begin(self, pending: Instant) -> None:
        if pending.state is InstantState.REQUESTED:
            self._instant = self._store.start(pending)
            return
        _LOG.warning("Taking over clustering %s from an attempt that died.", self.instant_time)
        self._instant = pending
        sweep_pending(self._table, pending)

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._is_over:
            self._stop_heartbeat()
        elif self._is_dropping or isinstance(error, CommitStateUnknownError) or not self._give_back():
            # Without a heartbeat an inflight plan looks like one that Hudi executes, and would be left alone for long.
            self._abandon_heartbeat()
        else:
            self._stop_heartbeat()

    def complete(
        self, snapshot: TableSnapshot, metadata_without: MetadataWithout
    ) -> tuple[Instant, frozenset[FileGroupId]]:
        """Make the new files visible and the old ones not.

        Args:
            snapshot: the table as the execution saw it; what was committed since is checked.
            metadata_without: gives the commit's metadata once the groups to be given up are known.

        Returns:
            The completed instant, and the file groups that others changed meanwhile.

        Raises:
            FileGroupConflictError: nothing is left that nobody changed.
            InstantVanishedError: the plan was cancelled or taken over.
        """
        with self._lock:
            self._require_ours()
            self._require_same_table(snapshot)
            self._require_not_cancelled()
            lost = self._lost(snapshot)
            metadata = metadata_without(lost)
            if not metadata.partition_to_replace_file_ids:
                raise FileGroupConflictError(
                    f"Other writers changed, or are changing, every file group of clustering {self.instant_time}.",
                    hint="Nothing was committed; run the job again.",
                )
            self._require_files(metadata)
            content = encode_commit_metadata(metadata, self._table.config.table_version)
            self._lock.verify()
            # Files that do not count must go first: with a completed instant they would be part of the table.
            keep = {stat.path for stat in metadata.write_stats}
            self._markers.sweep(keep=keep)
            # An earlier execution of the same instant may have left some that no marker tells of any more.
            sweep_listed(self._table, self.instant_time, snapshot.file_slices, keep)
            # That may have taken long, and nothing else may lie between these looks and the commit.
            switch_off_metadata_table(self._table)
            self._lock.verify()
            completed = self._store.complete(self._instant, content)
            self._is_over = True
            self._stop_heartbeat()  # under the lock: another attempt's heartbeat may be there afterwards
        _LOG.info("Completed clustering %s", self.instant_time)
        self._tidy(keep)
        return completed, lost

    def drop_if_outdated(self, plan: ClusteringPlan) -> bool:
        """Take the plan off the timeline if completed writes changed all of its groups: it can never succeed then.

        Groups that a pending write is only about to change may be free again. Returns whether the plan is gone.

        Raises:
            InstantVanishedError: the plan was cancelled or taken over.
            StorageError: it could not be removed; the next execution or cancellation finishes that.
        """
        with self._lock:
            self._require_ours()
            if unchanged_groups(plan, load_snapshot(self._table.storage, partitions_of(plan))):
                return False
            self._lock.verify()
            # The heartbeat stays until the plan is gone: without one it would look like a plan that Hudi executes.
            self._is_dropping = True
            self._abandon_heartbeat()
            roll_back_clustering(self._table, self._instant)
        self._is_over = True
        return True

    def _require_ours(self) -> None:
        if read_heartbeat_owner(self._table.storage, self.instant_time) != self.attempt:
            self._is_over = True  # what is there now belongs to somebody else
            raise InstantVanishedError(
                f"Another attempt took clustering {self.instant_time} over, or cancelled it.",
                hint="Nothing was committed by this one.",
            )

    def _require_not_cancelled(self) -> None:
        """Whoever finishes a rollback that was begun would undo the new files, or the completed clustering."""
        if is_being_rolled_back(self._table, self._store.load(), self._instant):
            raise InstantVanishedError(
                f"A cancellation of clustering {self.instant_time} was begun and has not been finished.",
                hint="Nothing was committed; the next execution or cancellation finishes it.",
            )

    def _require_same_table(self, snapshot: TableSnapshot) -> None:
        config = read_table_config(self._table.storage)
        if config.table_version is not self._table.config.table_version:
            raise UnsupportedTableError(
                "Another writer changed the table's version during the clustering.", hint="Run the job again."
            )
        now = load_snapshot(self._table.storage, ())
        schemas = [from_avro_json(s.schema_json) if s.schema_json else None for s in (snapshot, now)]
        refuse_changed_schema(*schemas)

    def _lost(self, snapshot: TableSnapshot) -> frozenset[FileGroupId]:
        """File groups that others wrote or replaced since, or are about to: their work goes before ours."""
        timeline = self._store.load()
        ours = {self.instant_time}
        changes = (
            *load_commit_changes(self._store, snapshot.timeline, timeline, ignore=ours),
            *running_writes(self._store, timeline),
        )
        if ArchivedTimeline(self._table.storage, self._table.config).may_have_pending(
            snapshot.timeline, timeline
        ):
            raise FileGroupConflictError(
                "A write that was at work when the clustering began may be archived already.",
                hint="Nothing was committed; run the job again.",
            )
        if any(change.kind is ChangeKind.UNDONE for change in changes):
            raise FileGroupConflictError(
                "Another writer rolled a completed commit back during the clustering.",
                hint="Nothing was committed; run the job again.",
            )
        return groups_to_give_up(changes)

    def _require_files(self, metadata: CommitMetadata) -> None:
        """Nobody else may have removed them: committing without them would lose rows.

        Whoever did executes the plan, too, as Hudi does, which looks at no heartbeat: so all but our own files stays.
        """
        gone = [stat.path for stat in metadata.write_stats if not self._table.storage.exists(stat.path)]
        if not gone:
            return
        self._is_over = True
        for stat in metadata.write_stats:
            self._table.storage.delete(stat.path)
        raise InstantVanishedError(
            f"{gone[0]}, which clustering {self.instant_time} wrote, is gone: another job removed it.",
            hint="Nothing was committed; run the job again when nobody else executes the plan.",
        )

    @property
    def _markers(self) -> MarkerStore:
        return MarkerStore(self._table.storage, self.instant_time)

    def _tidy(self, keep: set[str]) -> None:
        try:
            self._markers.sweep(keep=keep)
            self._markers.delete()
        except StorageError as failure:
            _LOG.warning("The markers of %s stay behind: %s", self.instant_time, failure)

    def _give_back(self) -> bool:
        """Remove what was written; the plan waits for its next execution. Returns whether that is done."""
        try:
            with self._lock:
                if read_heartbeat_owner(self._table.storage, self.instant_time) != self.attempt:
                    return True
                if not any(i.identity == self._instant.identity for i in self._store.load().pending):
                    return True  # completed: what was written is the table now
                self._abandon_heartbeat()
                sweep_pending(self._table, self._instant)
                self._store.return_to_requested(self._instant)
                self._stop_heartbeat()
        except HudiTableServiceError as failure:
            _LOG.warning(
                "Could not clear clustering %s (%s); its next execution does it.", self.instant_time, failure
            )
            return False
        return True

    def _abandon_heartbeat(self) -> None:
        """Tell tasks, and a retry of the same request, that this attempt is over."""
        if self._heartbeat is None:
            return
        try:
            self._heartbeat.abandon()
        except StorageError as failure:
            _LOG.warning("The heartbeat of %s expires by itself: %s", self.instant_time, failure)

    def _stop_heartbeat(self) -> None:
        if self._heartbeat is None:
            return
        try:
            self._heartbeat.stop()
        except StorageError as failure:
            _LOG.warning("A heartbeat stays behind: %s", failure)


def replaced_without(
    replaced: Mapping[str, tuple[str, ...]], lost: frozenset[FileGroupId]
) -> dict[str, tuple[str, ...]]:
    """Replaced file ids by partition, without the lost ones; partitions without any are left out."""
    kept = {
        path: tuple(file_id for file_id in ids if FileGroupId(path, file_id) not in lost)
        for path, ids in replaced.items()
    }
    return {path: ids for path, ids in kept.items() if ids}
