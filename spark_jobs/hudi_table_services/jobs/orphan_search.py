"""Look for what belongs to no instant: base files, markers, heartbeats, staged rows. Nothing is changed here.

Storage is listed before the timeline is read: whatever is written meanwhile is on the timeline by then.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hudi_table_services.hudi_format.markers import TEMP_FOLDER
from hudi_table_services.jobs.archived_timeline import ArchivedTimeline
from hudi_table_services.jobs.clean_history import savepointed_names
from hudi_table_services.jobs.table_access import TableAccess
from hudi_table_services.jobs.undo_history import undone_by, undone_for_good
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.planning.orphans import NO_INSTANT, KnownInstants, orphan_reason
from hudi_table_services.planning.undo_rules import refuse_unfinished_restore
from hudi_table_services.storage.file_listing import list_folders
from hudi_table_services.storage.file_slices import first_write_time
from hudi_table_services.storage.heartbeat import HEARTBEATS, is_heartbeat_alive
from hudi_table_services.storage.pending_plans import planned_file_names
from hudi_table_services.storage.storage import Storage, StoredObject

_LOG = logging.getLogger(__name__)
STAGING = ".hoodie/.aux/staging"
_HOUR_MS = 3_600_000
_STAGED_HOURS = 24
"""Nothing but their age tells whether the job that staged rows is alive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphans:
    """What was found.

    Attributes:
        files: old enough → reason.
        too_young: how many others there are.
        folders: markers and staged rows of jobs that are over.
        heartbeats: requested times.
        folders_listed: folders that were looked at.
    """

    files: Mapping[StoredObject, str]
    too_young: int
    folders: tuple[str, ...]
    heartbeats: tuple[str, ...]
    folders_listed: int


class OrphanSearch:
    """Reads each completed commit once, however often it looks."""

    def __init__(self, table: TableAccess, *, older_than_hours: int) -> None:
        self._table = table
        self._hours = older_than_hours
        self._names: dict[str, frozenset[str]] = {}
        self._reads_archive = False

    def find(self) -> Orphans:
        """Everything there is."""
        listed = list_folders(self._table.storage)
        marked = self._old_folders(TEMP_FOLDER, self._hours)
        beating = self._table.storage.list_folder(HEARTBEATS).files
        staged = self._old_folders(STAGING, max(self._hours, _STAGED_HOURS))
        known = self.look()
        files = [stored for _, each in sorted(listed.items()) for stored in each]
        found = _orphans(files, known)
        if NO_INSTANT in found.values():
            # Only these can be archived ones; the archive is not read for nothing.
            self._reads_archive = True
            known = self.look()
            found = _orphans(list(found), known)
        old = {stored: reason for stored, reason in found.items() if self._is_old(stored, self._hours)}
        return Orphans(
            files=old,
            too_young=len(found) - len(old),
            folders=tuple(f for f in marked if self._is_over(_name(f), known)) + staged,
            heartbeats=tuple(
                s.name for s in beating if self._is_over(s.name, known) and self._is_old(s, self._hours)
            ),
            folders_listed=len(listed),
        )

    def look(self) -> KnownInstants:
        """What the timeline says now. Raises MalformedMetadataError where a commit cannot be read."""
        table, timeline = self._table, self._table.load_timeline()
        refuse_unfinished_restore(timeline)
        store = table.timeline_store
        planned = (name for i in timeline.pending for name in planned_file_names(store, i))
        saved = (name for names in savepointed_names(table, timeline).values() for name in names)
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
            undone_for_good=undone_for_good(table, timeline),
            needed=frozenset([*planned, *saved]),
            archived=self._archived(),
        )

    def _archived(self) -> frozenset[str]:
        if not self._reads_archive:
            return frozenset()
        archived = ArchivedTimeline(self._table.storage, self._table.config).writes()
        return frozenset(each.instant.requested_time for each in archived)

    def _named(self, timeline: Timeline) -> dict[str, frozenset[str]]:
        for instant in timeline.completed_writes:
            if instant.requested_time not in self._names:
                stats = self._table.timeline_store.commit_metadata(instant).write_stats
                self._names[instant.requested_time] = frozenset(_name(s.path) for s in stats)
        return {i.requested_time: self._names[i.requested_time] for i in timeline.completed_writes}

    @staticmethod
    def _is_over(name: str, known: KnownInstants) -> bool:
        return name.isdigit() and name not in known.running

    def _old_folders(self, parent: str, hours: int) -> tuple[str, ...]:
        storage: Storage = self._table.storage
        folders = (f"{parent}/{name}" for name in storage.list_folder(parent).folders)
        return tuple(f for f in folders if all(self._is_old(s, hours) for s in storage.list_files(f)))

    def _is_old(self, stored: StoredObject, hours: int) -> bool:
        now_ms = int(self._table.clock.now().timestamp() * 1000)
        return now_ms - stored.modified_ms >= hours * _HOUR_MS


def _orphans(files: Sequence[StoredObject], known: KnownInstants) -> dict[StoredObject, str]:
    return {stored: reason for stored in files if (reason := orphan_reason(stored.name, known))}


def _name(path: str) -> str:
    return path.rpartition("/")[2]
