"""One attempt to execute a compaction plan: start the plan, write new base files, complete the instant under the lock.

A plan is completed as a whole. If an attempt fails after some slices are finished, their files stay with their markers,
the plan stays inflight, and the next attempt uses these files. An execution by Hudi deletes these files, because
Hudi rolls an inflight compaction back before it executes the plan again.
"""

import logging
from collections.abc import Collection
from typing import ClassVar

from hudi_table_services.commits.checks import (
    FilesExist,
    NoSharedTime,
    NotCancelled,
    NothingUndone,
    SameSchema,
)
from hudi_table_services.commits.commit_point import complete
from hudi_table_services.commits.plans.left_logs import NoLogLeftBehind, refuse_older_writes
from hudi_table_services.commits.plans.plan_execution import PlanExecution
from hudi_table_services.commits.plans.slice_records import remove_records
from hudi_table_services.commits.plans.swept_files import sweep_listed
from hudi_table_services.commits.table_change import new_files
from hudi_table_services.commits.table_now import Check, Conditions, read_table_now
from hudi_table_services.errors import StorageError
from hudi_table_services.execution.metadata_table.collected_facts import CollectedFacts
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.write_stat import CommitMetadata
from hudi_table_services.options.keys.compaction import EXPIRATION_MINUTES
from hudi_table_services.tables.compaction.compaction_history import records_folder

_LOG = logging.getLogger(__name__)


class CompactionAttempt(PlanExecution):
    """Context manager for one execution of a compaction plan; see `PlanExecution`.

    After an error, the plan is requested again only if no slice was finished.
    """

    service: ClassVar[str] = "compaction"
    expiration_key: ClassVar[str] = EXPIRATION_MINUTES.key

    @property
    def records_folder(self) -> str:
        """Return the folder with the records of finished slices of all attempts."""
        return records_folder(self.instant_time)

    def _clear_dead_execution(self, pending: Instant) -> None:
        """Keep all files: tasks reuse finished slices, and `complete` deletes files that the commit does not name."""

    def _return_plan_to_requested(self) -> bool:
        try:
            if self._table.storage.list_folder(self.records_folder).files:
                return False
        except StorageError as failure:
            _LOG.warning("The records of compaction %s cannot be listed: %s", self.instant_time, failure)
            return False
        return super()._return_plan_to_requested()

    def complete(
        self,
        snapshot: TableSnapshot,
        metadata: CommitMetadata,
        facts: CollectedFacts,
        file_groups: frozenset[FileGroupId],
    ) -> Instant:
        """Complete the compaction: readers then see the new base files instead of the slices of the plan.

        Args:
            snapshot: the table when the execution began.
            facts: facts about the new files for the metadata table.
            file_groups: all file groups of the plan.

        Returns:
            The completed instant.

        Raises:
            FileGroupConflictError: another writer rolled back a commit whose log files this execution may have merged,
                or added a log file to a slice of the plan, or can still add one.
            CommitConflictError: another writer changed the schema of the table.
            InstantVanishedError: the plan was cancelled or taken over.
        """
        kept = {stat.path for stat in metadata.write_stats}
        partitions = sorted({group.partition_path for group in file_groups})
        with self._lock:
            self._refuse_taken_over()  # check this first, because reading the table may fail for a different reason
            now = read_table_now(self._table, snapshot, own_times={self.instant_time})
            completed = complete(
                self._table,
                self._instant,
                new_files(metadata, self._table.config.table_version, facts),
                lock=self._lock,
                conditions=Conditions(now, self._checks(tuple(sorted(kept)), file_groups)),
                before=lambda: self._delete_unlisted(partitions, kept),
            )
            self._is_over = True
            self._traces.stop_heartbeat()  # under the lock, before another attempt writes its heartbeat
        _LOG.info("Completed compaction %s", self.instant_time)
        self._traces.remove_after_completion(keep=kept)
        remove_records(self._table.storage, self.instant_time)
        return completed

    def refuse_older_writes(self, snapshot: TableSnapshot, file_groups: frozenset[FileGroupId]) -> None:
        """Refuse the execution before the first slice is merged; see `left_logs.refuse_older_writes`."""
        refuse_older_writes(self._table, snapshot.timeline, self._instant, file_groups)

    def _checks(self, paths: tuple[str, ...], file_groups: frozenset[FileGroupId]) -> tuple[Check, ...]:
        return (
            self._still_inflight(paths),
            NoSharedTime(self._instant),
            SameSchema(),
            NotCancelled(self._instant),
            NothingUndone(),
            NoLogLeftBehind(self._instant, file_groups),
            FilesExist(
                self.instant_time,
                paths,
                when_missing=lambda: self._leave_to_others(paths),
                service=self.service,
            ),
        )

    def _delete_unlisted(self, partitions: Collection[str], kept: Collection[str]) -> None:
        """Delete base files that the commit does not name: after completion they would be part of the table."""
        self._lock.verify()
        self._traces.delete_unlisted(keep=kept)
        # An earlier execution of the same instant may have left files without markers.
        sweep_listed(self._table, self.instant_time, partitions, kept)
