"""Find files that belong to no instant: data files, markers, heartbeats, staged rows. This module changes nothing.

The storage is listed before the timeline is read, so the timeline contains the instant of each listed file of a running
write.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hudi_table_services.hudi_format.markers import TEMP_FOLDER
from hudi_table_services.model.data_file import LogFile
from hudi_table_services.model.table_version import TableType
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.planning.recovery.orphans import (
    DISPLACED,
    NO_INSTANT,
    KnownInstants,
    doubled_times,
    is_copy,
    named_elsewhere,
    named_paths,
    orphan_reason,
)
from hudi_table_services.planning.recovery.undo_rules import refuse_unfinished_restore
from hudi_table_services.storage.file_listing import foreign_files, list_folders
from hudi_table_services.storage.file_slices import first_write_time
from hudi_table_services.storage.locks.heartbeat import HEARTBEATS, is_heartbeat_alive
from hudi_table_services.storage.log_files.written_instants import writers_of_open_logs
from hudi_table_services.storage.pending_plans import planned_file_paths
from hudi_table_services.storage.stores.storage import Storage, StoredObject
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from hudi_table_services.tables.clean_history import savepointed_paths
from hudi_table_services.tables.table import TableAccess
from hudi_table_services.tables.undo_history import permanently_undone, undone_by

_LOG = logging.getLogger(__name__)
STAGING = ".hoodie/.aux/staging"
_HOUR_MS = 3_600_000
_STAGED_HOURS = 24
"""Staged rows count as abandoned after this time, because only their age shows whether their job is alive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphans:
    """Result of a search.

    Attributes:
        files: orphan files that are old enough for deletion, each with the reason why it is an orphan.
        too_young: number of orphan files that are not old enough for deletion.
        folders: folders of markers and staged rows whose jobs have ended.
        heartbeats: requested times of heartbeats whose writes have ended.
        folders_listed: number of folders that were listed.
        foreign_files: number of files that `file_listing.foreign_files` finds. Hudi did not write these files, and
            readers do not ignore them.
    """

    files: Mapping[StoredObject, str]
    too_young: int
    folders: tuple[str, ...]
    heartbeats: tuple[str, ...]
    folders_listed: int
    foreign_files: int


class OrphanSearch:
    """Search a table for orphans. Each completed commit is read once, even if `find` is called several times."""

    def __init__(self, table: TableAccess, *, older_than_hours: int) -> None:
        self._table = table
        self._hours = older_than_hours
        self._names: dict[str, frozenset[str]] = {}
        self._archived_of: frozenset[str] | None = None
        self._log_writers: dict[str, frozenset[str]] = {}

    def find(self) -> Orphans:
        """All orphans of the table. Raises the errors of `known_instants`."""
        listed = list_folders(self._table.storage)
        marked = self._old_folders(TEMP_FOLDER, self._hours)
        heartbeats = self._table.storage.list_folder(HEARTBEATS).files
        staged = self._old_folders(STAGING, max(self._hours, _STAGED_HOURS))
        self._log_writers = self._find_log_writers(listed)
        known = self.known_instants()
        files = [stored for _, each in sorted(listed.items()) for stored in each]
        sizes = {stored.path: stored.size_bytes for stored in files}
        found = _orphans(files, known, sizes)
        doubled = doubled_times(sizes) - known.named.keys()
        if doubled or NO_INSTANT in found.values():
            # Only these files can belong to archived instants. If there are none, the archive is not read.
            self._archived_of = doubled
            known = self.known_instants()
            found = _orphans(files, known, sizes)
        old = {stored: reason for stored, reason in found.items() if self._is_old(stored, self._hours)}
        return Orphans(
            files=old,
            too_young=len(found) - len(old),
            folders=tuple(f for f in marked if self._has_ended(_name(f), known)) + staged,
            heartbeats=tuple(
                s.name for s in heartbeats if self._has_ended(s.name, known) and self._is_old(s, self._hours)
            ),
            folders_listed=len(listed),
            foreign_files=len(foreign_files(listed)),
        )

    def known_instants(self) -> KnownInstants:
        """Load the timeline and the instants to which files can belong.

        Raises:
            MalformedMetadataError: a commit cannot be read.
            UnsupportedTableError: a restore is unfinished.
        """
        table, timeline = self._table, self._table.load_timeline()
        refuse_unfinished_restore(timeline)
        store = table.timeline_store
        planned = (path for i in timeline.pending for path in planned_file_paths(store, i))
        needed = frozenset([*planned, *savepointed_paths(table, timeline)])
        archived = self._archived()
        alive = {
            stored.name
            for stored in table.storage.list_folder(HEARTBEATS).files
            if is_heartbeat_alive(table.storage, stored.name, table.clock)
        }
        return KnownInstants(
            first_write_time=first_write_time(timeline),
            running=frozenset({i.requested_time for i in timeline.pending} | alive),
            named=self._named(timeline),
            undone=frozenset(undone_by(table, timeline)),
            permanently_undone=permanently_undone(table, timeline),
            needed=frozenset(_name(path) for path in needed),
            needed_paths=needed,
            archived=frozenset(archived),
            archived_named=archived,
            log_writers=self._log_writers,
        )

    def _find_log_writers(self, listed: Mapping[str, Sequence[StoredObject]]) -> dict[str, frozenset[str]]:
        """Map each log file that no completed write of the active timeline names to the instants of its blocks."""
        config = self._table.config
        if config.table_type is not TableType.MERGE_ON_READ:
            return {}
        named = frozenset().union(*self._named(self._table.load_timeline()).values())
        suspects = {
            stored.path: log
            for files in listed.values()
            for stored in files
            if stored.path not in named and (log := _log(stored)) is not None
        }
        if config.table_version.has_own_log_instants:
            return {path: frozenset([log.instant_time]) for path, log in suspects.items()}
        return writers_of_open_logs(self._table.storage, listed, suspects)

    def _archived(self) -> dict[str, frozenset[str]]:
        """Map the requested time of each archived write to the paths that the write names.

        If each file name of a write occurs in only one folder, the write is mapped to an empty set.
        """
        if self._archived_of is None:
            return {}
        archived = ArchivedTimeline(self._table.storage, self._table.config).writes()
        times = ((each.instant.requested_time, each) for each in archived)
        return {
            time: named_paths(each.metadata.write_stats) if time in self._archived_of else frozenset()
            for time, each in times
        }

    def _named(self, timeline: Timeline) -> dict[str, frozenset[str]]:
        for instant in timeline.completed_writes:
            if instant.requested_time not in self._names:
                stats = self._table.timeline_store.commit_metadata(instant).write_stats
                self._names[instant.requested_time] = named_paths(stats)
        return {i.requested_time: self._names[i.requested_time] for i in timeline.completed_writes}

    @staticmethod
    def _has_ended(name: str, known: KnownInstants) -> bool:
        return name.isdigit() and name not in known.running

    def _old_folders(self, parent: str, hours: int) -> tuple[str, ...]:
        storage: Storage = self._table.storage
        folders = (f"{parent}/{name}" for name in storage.list_folder(parent).folders)
        return tuple(f for f in folders if all(self._is_old(s, hours) for s in storage.list_files(f)))

    def _is_old(self, stored: StoredObject, hours: int) -> bool:
        now_ms = int(self._table.clock.now().timestamp() * 1000)
        return now_ms - stored.modified_ms >= hours * _HOUR_MS


def _log(stored: StoredObject) -> LogFile | None:
    log = LogFile.parse_or_none(stored.name, stored.size_bytes)
    return None if log is None or log.is_cdc else log


def _orphans(
    files: Sequence[StoredObject], known: KnownInstants, sizes: Mapping[str, int]
) -> dict[StoredObject, str]:
    found = {stored: reason for stored in files if (reason := orphan_reason(stored.path, known))}
    return {
        stored: reason
        for stored, reason in found.items()
        if reason != DISPLACED
        or is_copy(
            stored.size_bytes, named_elsewhere(stored.path, known.named, known.archived_named), sizes.get
        )
    }


def _name(path: str) -> str:
    return path.rpartition("/")[2]
