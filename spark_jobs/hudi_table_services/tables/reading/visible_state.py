"""Load file groups in the state in which readers saw them at a point in time."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from hudi_table_services.contract.text import counted
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.archival import ArchivedWrite
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.options.keys.archival import MIN_COMMITS
from hudi_table_services.options.keys.cleaning import COMMITS_RETAINED
from hudi_table_services.planning.reading.time_travel import deleted_slices
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.file_slices import Visibility, first_write_time, latest_slices
from hudi_table_services.storage.stores.storage import Storage, StoredObject
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.reading.lost_files import incomplete_slices
from hudi_table_services.tables.snapshots.archived_completions import with_archived_completions
from hudi_table_services.tables.snapshots.committed_versions import CommittedVersions
from hudi_table_services.tables.snapshots.log_sizes import refuse_short_logs


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleState:
    """File groups as of a point in time.

    Attributes:
        slices: the slices of the file groups, sorted by partition path and file id.
        visibility: the instants whose log blocks are read; other log blocks are ignored.
    """

    slices: tuple[FileSlice, ...]
    visibility: Visibility


@dataclass(frozen=True, slots=True)
class IncompleteState:
    """Describes a state whose files were deleted. An error about the state contains this object as `evidence`.

    Attributes:
        time: the time at which the state was visible.
    """

    time: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StateLoader:
    """Loads states of some file groups.

    Attributes:
        snapshot: the latest state; its file slices are not needed.
        groups: the file ids to load by partition path; None for all file groups.
        files: the files of the partitions of these file groups.
        writes: all completed writes that became visible after the earliest of the states, archived ones included.
    """

    storage: Storage
    snapshot: TableSnapshot
    groups: Mapping[str, frozenset[str]] | None
    files: Mapping[str, tuple[StoredObject, ...]]
    writes: Collection[ArchivedWrite]

    def load(self, time: str) -> VisibleState:
        """Load the slices that readers saw at a time: a completion time from table version 8 on, else a requested time.

        Raises:
            InvalidRequestError: files of the state were deleted.
            CorruptTableError: a log file is shorter than its commit recorded; or see `with_archived_completions`.
            UnsupportedTableError: see `with_archived_completions`.
        """
        later = [write for write in self.writes if write.instant.visible_from > time]
        unseen = {stat.path for write in later for stat in write.metadata.write_stats}
        visibility = self._visibility(time)
        replaced = self._replaced(time)
        pick = CommittedVersions(self._store.commit_metadata, self.snapshot.timeline).pick
        slices: list[FileSlice] = []
        for path, files in sorted(self.files.items()):
            if visibility.has_own_log_instants:
                # `visibility` shows every archived write, even if the write completed after this time.
                files = tuple(stored for stored in files if stored.path not in unseen)
            found = latest_slices(path, files, visibility, replaced.get(path, ()), pick)
            slices += [each for each in found if self._is_wanted(each.file_group_id)]
        self._refuse_incomplete(time, later, visibility, slices)
        refuse_short_logs(self._store, self.snapshot, slices)
        return VisibleState(slices=tuple(slices), visibility=visibility)

    def _is_wanted(self, group: FileGroupId) -> bool:
        return self.groups is None or group.file_id in self.groups.get(group.partition_path, ())

    @property
    def _store(self) -> TimelineStore:
        return TimelineStore(self.storage, self.snapshot.config, SystemClock())

    def _visibility(self, time: str) -> Visibility:
        timeline, config = self.snapshot.timeline, self.snapshot.config
        has_own = config.table_version.has_own_log_instants
        if not config.table_version.layout.has_completion_time_in_names:
            return Visibility.of(timeline, has_own_log_instants=has_own, as_of=time)
        seen = Timeline(tuple(i for i in timeline if not i.is_completed or i.visible_from <= time))
        visibility = replace(
            Visibility.of(seen, has_own_log_instants=has_own), first_write_time=first_write_time(timeline)
        )
        return with_archived_completions(self.storage, config, visibility, self.files.values())

    def _replaced(self, time: str) -> Mapping[str, set[str]]:
        """Map each partition path to the file groups that replace commits have replaced until a time."""
        found: dict[str, set[str]] = {}
        for instant in self.snapshot.timeline.completed_writes:
            if instant.action is Action.REPLACE_COMMIT and instant.visible_from <= time:
                metadata = self._store.commit_metadata(instant)
                for path, ids in (metadata.partition_to_replace_file_ids or {}).items():
                    found.setdefault(path, set()).update(ids)
        return found

    def _refuse_incomplete(
        self,
        time: str,
        later: Collection[ArchivedWrite],
        visibility: Visibility,
        slices: Collection[FileSlice],
    ) -> None:
        unseen = {write.instant.requested_time for write in later}
        deleted = deleted_slices(
            lambda requested: visibility.sees(requested) and requested not in unseen,
            [write.metadata for write in later],
            slices,
        )
        seen = [i for i in self.snapshot.timeline.completed_writes if i.visible_from <= time]
        has_own = visibility.has_own_log_instants
        partly = incomplete_slices(self._store, seen, slices, has_own_log_instants=has_own)
        wanted = [each for each in sorted({*deleted, *partly}) if self._is_wanted(each)]
        if wanted:
            raise InvalidRequestError(
                f"The state of the table that was visible at {time} is incomplete: files of "
                f"{counted(len(wanted), 'file group')} were deleted, for example of {wanted[0]}.",
                hint="Read the table as a snapshot, and continue from its newest commit. To keep files longer, raise "
                f"{COMMITS_RETAINED} and {MIN_COMMITS}.",
                evidence=IncompleteState(time),
            )
