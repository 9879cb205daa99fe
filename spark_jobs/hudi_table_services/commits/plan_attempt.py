"""One attempt to execute a clustering plan: start the plan, write new files, complete the instant under the lock.

The heartbeat names the attempt that executes the plan. An attempt that finds the heartbeat of another attempt has lost
the plan: it completes nothing, and its tasks remove the files that they wrote. An attempt that takes a plan over
removes the files of the dead attempt. An attempt drops each group whose files another writer changed.
"""

import logging
import time
import uuid
from collections.abc import Callable, Collection, Mapping
from types import TracebackType

from hudi_table_services.commits.attempt_traces import AttemptTraces
from hudi_table_services.commits.checks import (
    FilesExist,
    NotCancelled,
    NothingArchivedSince,
    NothingUndone,
    SameSchema,
    SomeGroupsUnchanged,
    refuse_cancelled,
    refuse_taken_over,
)
from hudi_table_services.commits.commit_point import (
    complete,
    create_metadata_table_after_write,
    require_usable_metadata_table,
)
from hudi_table_services.commits.table_change import new_files
from hudi_table_services.commits.table_now import Check, Conditions, TableNow, read_table_now
from hudi_table_services.commits.undo import roll_back_clustering, sweep_listed, sweep_pending
from hudi_table_services.contract.text import counted
from hudi_table_services.errors import (
    CommitStateUnknownError,
    HudiTableServiceError,
    InstantHeldError,
    InstantVanishedError,
)
from hudi_table_services.execution.metadata_table.collected_facts import CollectedFacts
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Instant, InstantState
from hudi_table_services.model.table_service_plans import ClusteringPlan
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.write_stat import CommitMetadata
from hudi_table_services.options.keys.clustering import EXPIRATION_MINUTES
from hudi_table_services.planning.clustering.outdated_plans import partitions_of, unchanged_groups
from hudi_table_services.planning.conflict_detection import groups_to_drop
from hudi_table_services.storage.locks.heartbeat import has_heartbeat, read_heartbeat_owner
from hudi_table_services.storage.locks.lock import TableLock
from hudi_table_services.storage.pending_plans import running_writes
from hudi_table_services.storage.snapshot_loader import load_snapshot
from hudi_table_services.tables.executions import is_executed_by_others
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)
_POLL_SECONDS = 2.0
_NO_FACTS = CollectedFacts()

MetadataWithout = Callable[[frozenset[FileGroupId]], CommitMetadata]
"""Function that builds the commit metadata. It leaves out groups that contain one of the given file groups."""


class ClusteringAttempt:
    """Context manager for one execution of a plan.

    After an error, the new files are deleted and the plan returns to the requested state.

    Args:
        instant: the pending clustering.
        request_id: request id of the job. This attempt takes the plan over from an earlier attempt of the same request,
            whether that attempt is dead or alive, because at most one of the two may commit.
        wait_seconds: maximum number of seconds to wait while another attempt is executing the plan; 0 means no wait.
        expires_after_minutes: age at which an execution without a heartbeat counts as dead. Executions by Hudi have no
            heartbeat.
    """

    def __init__(
        self,
        table: TableAccess,
        instant: Instant,
        lock: TableLock,
        *,
        request_id: str,
        wait_seconds: int = 0,
        expires_after_minutes: int = EXPIRATION_MINUTES.default_value,
    ) -> None:
        self._table = table
        self._store = table.timeline_store
        self._instant = instant
        self._lock = lock
        self._wait_seconds = wait_seconds
        self._request_id = request_id
        self._expires_after_minutes = expires_after_minutes
        self._is_over = False
        self._is_dropping = False
        self._warnings: tuple[str, ...] = ()
        self.attempt = f"{request_id}/{uuid.uuid4().hex}"
        """Id of this attempt, which its tasks compare with the content of the heartbeat."""
        self._traces = AttemptTraces(table.storage, instant.requested_time, self.attempt)

    @property
    def instant_time(self) -> str:
        return self._instant.requested_time

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences for the result of the job: why the metadata table, or an index of it, was not created."""
        return self._warnings

    def __enter__(self) -> "ClusteringAttempt":
        deadline = time.monotonic() + self._wait_seconds
        while not self._take():
            if time.monotonic() >= deadline:
                raise self._held()
            time.sleep(_POLL_SECONDS)
        return self

    def _take(self) -> bool:
        """Start the plan, or take it over from a dead attempt. Returns False if a live attempt is executing the plan.

        Raises:
            InstantVanishedError: another job has cancelled or completed the plan.
        """
        with self._lock:
            timeline = self._store.load()
            pending = [i for i in timeline.pending if i.identity == self._instant.identity]
            if not pending:
                raise InstantVanishedError(
                    f"Clustering {self.instant_time} is no longer pending.",
                    hint="Another job completed or cancelled the clustering.",
                )
            if self._is_held(pending[0]):
                return False
            require_usable_metadata_table(self._table)
            refuse_cancelled(self._table, timeline, pending[0])
            try:
                self._traces.start_heartbeat()
                self._begin(pending[0])
            except BaseException:
                self._traces.abandon_heartbeat()
                raise
        return True

    def _is_held(self, pending: Instant) -> bool:
        """Whether another request is executing the plan."""
        return is_executed_by_others(
            self._table, pending, self._request_id, expires_after_minutes=self._expires_after_minutes
        )

    def _held(self) -> InstantHeldError:
        if has_heartbeat(self._table.storage, self.instant_time):
            return InstantHeldError(
                f"Another attempt is executing clustering {self.instant_time}, and its heartbeat is fresh.",
                hint="Wait until that attempt has ended, or let the job wait (when_held=wait).",
            )
        return InstantHeldError(
            f"An execution of clustering {self.instant_time} was started within the last "
            f"{counted(self._expires_after_minutes, 'minute')} and has no heartbeat, like every execution by Hudi.",
            hint="Wait until the execution has ended. If it is dead, run the request again with "
            f"{EXPIRATION_MINUTES}=0.",
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
            self._traces.stop_heartbeat()
        elif (
            self._is_dropping
            or isinstance(error, CommitStateUnknownError)
            or not self._return_plan_to_requested()
        ):
            # Keep the heartbeat file: other jobs treat an inflight plan without a heartbeat as a plan that Hudi is
            # executing, and would not execute the plan until the plan expires.
            self._traces.abandon_heartbeat()
        else:
            self._traces.stop_heartbeat()

    def complete(
        self,
        snapshot: TableSnapshot,
        metadata_without: MetadataWithout,
        facts: CollectedFacts = _NO_FACTS,
    ) -> tuple[Instant, frozenset[FileGroupId]]:
        """Complete the clustering: readers then see the new files instead of the old files.

        Args:
            snapshot: the table when the execution began; later commits are checked for conflicts.
            metadata_without: builds the commit's metadata once the groups to drop are known.
            facts: facts that the metadata table stores about the new files, including the files of dropped groups.

        Returns:
            The completed instant, and the file groups that other writers changed during the execution.

        Raises:
            FileGroupConflictError: other writers changed every group of the plan.
            InstantVanishedError: the plan was cancelled or taken over.
        """
        with self._lock:
            self._refuse_taken_over()  # call this first, because the next line may raise another error
            now = read_table_now(self._table, snapshot, own_times={self.instant_time})
            dropped_groups = self._groups_to_drop(now)
            metadata = metadata_without(dropped_groups)
            kept = {stat.path for stat in metadata.write_stats}
            completed = complete(
                self._table,
                self._instant,
                new_files(metadata, self._table.config.table_version, _kept_facts(facts, metadata)),
                lock=self._lock,
                conditions=Conditions(now, self._checks(snapshot, metadata)),
                before=lambda: self._delete_unlisted(snapshot, kept),
            )
            self._is_over = True
            self._warnings = create_metadata_table_after_write(self._table, self._lock)
            self._traces.stop_heartbeat()  # under the lock, before another attempt writes its heartbeat
        _LOG.info("Completed clustering %s", self.instant_time)
        self._traces.remove_after_completion(keep=kept)
        return completed, dropped_groups

    def _checks(self, snapshot: TableSnapshot, metadata: CommitMetadata) -> tuple[Check, ...]:
        paths = tuple(stat.path for stat in metadata.write_stats)
        return (
            SameSchema(),
            NotCancelled(self._instant),
            NothingArchivedSince(since=snapshot.timeline),
            NothingUndone(),
            SomeGroupsUnchanged(self.instant_time, metadata),
            FilesExist(self.instant_time, paths, when_missing=lambda: self._leave_to_others(paths)),
        )

    def _groups_to_drop(self, now: TableNow) -> frozenset[FileGroupId]:
        """File groups that other writers have changed since the execution began, or are changing now."""
        return groups_to_drop((*now.changes, *running_writes(self._store, now.timeline)))

    def _delete_unlisted(self, snapshot: TableSnapshot, kept: Collection[str]) -> None:
        """Delete files that the commit does not name: after completion Hudi would treat them as part of the table."""
        self._lock.verify()
        self._traces.delete_unlisted(keep=kept)
        # An earlier execution of the same instant may have left files without markers.
        sweep_listed(self._table, self.instant_time, snapshot.file_slices, kept)

    def _leave_to_others(self, paths: Collection[str]) -> None:
        """Delete the files of this attempt, and keep every other file of the instant.

        The method is called if a file of this attempt is missing. Only another executor of the plan can have deleted
        that file: for example Hudi, because Hudi ignores heartbeats.
        """
        self._is_over = True
        for path in paths:
            self._table.storage.delete(path)

    def drop_if_outdated(self, plan: ClusteringPlan) -> bool:
        """Remove the plan from the timeline if it can never succeed: completed writes changed all of its groups.

        Changes of pending writes do not count: if a pending write fails, its file groups stay unchanged. Returns
        whether the plan was removed.

        Raises:
            InstantVanishedError: the plan was cancelled or taken over.
            StorageError: the plan could not be removed; the next execution or cancellation removes it.
        """
        with self._lock:
            self._refuse_taken_over()
            if unchanged_groups(plan, load_snapshot(self._table.storage, partitions_of(plan))):
                return False
            self._lock.verify()
            # Keep the heartbeat file until the plan is removed. Without the file, other jobs would assume that Hudi is
            # executing the plan.
            self._is_dropping = True
            self._traces.abandon_heartbeat()
            roll_back_clustering(self._table, self._instant)
        self._is_over = True
        return True

    def _refuse_taken_over(self) -> None:
        """Raises InstantVanishedError if another attempt took the plan over."""
        try:
            refuse_taken_over(self._table, self.instant_time, self.attempt)
        except InstantVanishedError:
            self._is_over = True
            raise

    def _return_plan_to_requested(self) -> bool:
        """Remove the written files and return the plan to its requested state. Returns whether this succeeded."""
        try:
            with self._lock:
                if read_heartbeat_owner(self._table.storage, self.instant_time) != self.attempt:
                    return True
                if not any(i.identity == self._instant.identity for i in self._store.load().pending):
                    return True  # The plan was completed, so the written files are part of the table.
                self._traces.abandon_heartbeat()
                sweep_pending(self._table, self._instant)
                self._store.return_to_requested(self._instant)
                self._traces.stop_heartbeat()
        except HudiTableServiceError as failure:
            _LOG.warning(
                "Could not undo the execution of clustering %s (%s); the next execution of the plan undoes it.",
                self.instant_time,
                failure,
            )
            return False
        return True


def _kept_facts(facts: CollectedFacts, metadata: CommitMetadata) -> CollectedFacts:
    return facts.only({FileGroupId(stat.partition_path, stat.file_id) for stat in metadata.write_stats})


def replaced_without(
    replaced: Mapping[str, tuple[str, ...]], dropped_groups: frozenset[FileGroupId]
) -> dict[str, tuple[str, ...]]:
    """Map each partition path to its replaced file ids, without dropped groups and without empty partitions."""
    kept = {
        path: tuple(file_id for file_id in ids if FileGroupId(path, file_id) not in dropped_groups)
        for path, ids in replaced.items()
    }
    return {path: ids for path, ids in kept.items() if ids}
