"""One attempt to execute a clustering plan: start the plan, write new files, complete the instant under the lock.

The heartbeat names the attempt that executes the plan. An attempt that finds the heartbeat of another attempt has lost
the plan: it completes nothing, and its tasks remove the files that they wrote. An attempt that takes a plan over
removes the files of the dead attempt. An attempt drops each group whose files another writer changed.
"""

import logging
from collections.abc import Callable, Collection, Mapping

from hudi_table_services.commits.checks import (
    FilesExist,
    NoSharedTime,
    NotCancelled,
    NothingArchivedSince,
    NothingUndone,
    SameSchema,
    SomeGroupsUnchanged,
)
from hudi_table_services.commits.commit_point import complete, create_metadata_table_after_write
from hudi_table_services.commits.log_checks import NoUnknownWrite
from hudi_table_services.commits.plans.plan_execution import PlanExecution
from hudi_table_services.commits.plans.swept_files import sweep_listed
from hudi_table_services.commits.table_change import new_files
from hudi_table_services.commits.table_now import Check, Conditions, TableNow, read_table_now
from hudi_table_services.commits.undo import roll_back_plan
from hudi_table_services.execution.metadata_table.collected_facts import CollectedFacts
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_service_plans import ClusteringPlan, UndoNote, UndoReason
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import CommitMetadata
from hudi_table_services.planning.clustering.outdated_plans import partitions_of, unchanged_groups
from hudi_table_services.planning.conflict_detection import groups_to_drop
from hudi_table_services.storage.pending_plans import running_writes
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot

_LOG = logging.getLogger(__name__)
_NO_FACTS = CollectedFacts()

MetadataWithout = Callable[[frozenset[FileGroupId]], CommitMetadata]
"""Function that builds the commit metadata. It leaves out groups that contain one of the given file groups."""


class ClusteringAttempt(PlanExecution):
    """Context manager for one execution of a clustering plan; see `PlanExecution`."""

    _warnings: tuple[str, ...] = ()
    """Set by `complete`."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences for the result of the job: why the metadata table, or an index of it, was not created."""
        return self._warnings

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
            self._still_inflight(paths),
            NoSharedTime(self._instant),
            SameSchema(),
            NotCancelled(self._instant),
            NothingArchivedSince(since=snapshot.timeline),
            NothingUndone(),
            NoUnknownWrite(self._instant),
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
            snapshot = load_snapshot(self._table.storage, partitions_of(plan))
            # In table version 6, the name of a log file does not show that its delta commit is still pending.
            may_fail = self._table.config.table_version is TableVersion.V6 and any(
                i.action is Action.DELTA_COMMIT for i in snapshot.timeline.pending
            )
            if may_fail or unchanged_groups(plan, snapshot):
                return False
            self._lock.verify()
            # Keep the heartbeat file until the plan is removed. Without the file, other jobs would assume that Hudi is
            # executing the plan.
            self._is_dropping = True
            self._traces.abandon_heartbeat()
            roll_back_plan(self._table, self._instant, UndoNote(reason=UndoReason.OUTDATED_PLAN))
        self._is_over = True
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
