"""Write instants into the archive, in the format of the table version."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from typing import Protocol

from hudi_table_services.errors import ObjectNotFoundError
from hudi_table_services.hudi_format.archive_log import ArchivedState
from hudi_table_services.model.archival import ArchivalOptions, HistoryEntry
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_version import TimelineLayout
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage.archive.archive_log_store import ArchiveLogStore
from hudi_table_services.storage.clock import instant_text
from hudi_table_services.storage.parallel import READ_THREADS
from hudi_table_services.tables.archived_timeline import history_store
from hudi_table_services.tables.table import TableAccess


class ArchiveWriter(Protocol):
    """Writer of one of the two archive formats. Callers of `write` and `maintain` hold the table lock."""

    def already_archived(self, timeline: Timeline) -> frozenset[tuple[str, Action]]:
        """Identities of instants that are in the archive.

        Old instants may be missing from the result. But the result contains every instant that a dead job archived and
        left on the active timeline.
        """

    def write(self, instants: Sequence[Instant]) -> tuple[str, ...]:
        """Archive completed instants; return the names of the new files."""

    def maintain(self) -> tuple[str, ...]:
        """Merge small archive files and delete unused archive files; return the names of the new files."""


def archive_writer(table: TableAccess, options: ArchivalOptions) -> ArchiveWriter:
    """Return the archive writer for the version of the table.

    Raises:
        UnsupportedTableError: see `history_store`.
    """
    if table.config.table_version.layout is TimelineLayout.V1:
        return _LogWriter(table, options)
    return _HistoryWriter(table, options)


class _LogWriter:
    def __init__(self, table: TableAccess, options: ArchivalOptions) -> None:
        self._table = table
        self._options = options
        self._log = ArchiveLogStore(table.storage, table.config)

    def already_archived(self, timeline: Timeline) -> frozenset[tuple[str, Action]]:
        return self._log.newest_identities() if timeline.completed_writes else frozenset()

    def write(self, instants: Sequence[Instant]) -> tuple[str, ...]:
        return (self._log.write(self._states(instants), self._options.batch_size),)

    def maintain(self) -> tuple[str, ...]:
        return ()

    def _states(self, instants: Sequence[Instant]) -> Iterable[ArchivedState]:
        """All state files of the instants, oldest instant first. For each instant, the requested file comes first."""
        wanted = {i.identity for i in instants}
        found = {
            state: stored
            for state, stored in self._table.timeline_store.state_files().items()
            if state.identity in wanted
        }
        ordered = sorted(found, key=lambda i: (i.requested_time, i.action.comparable.value, i.state.rank))
        with ThreadPoolExecutor(READ_THREADS) as pool:
            contents = pool.map(self._table.timeline_store.read, ordered)
            for state, content in zip(ordered, contents, strict=True):
                changed = datetime.fromtimestamp(found[state].modified_ms / 1000, timezone.utc)
                yield ArchivedState(
                    instant=state, content=content, changed_at=instant_text(changed, self._table.config)
                )


class _HistoryWriter:
    def __init__(self, table: TableAccess, options: ArchivalOptions) -> None:
        self._table = table
        self._options = options
        self._history = history_store(table.storage, table.config)

    def already_archived(self, timeline: Timeline) -> frozenset[tuple[str, Action]]:
        writes = timeline.completed_writes
        return self._history.identities(writes[0].requested_time) if writes else frozenset()

    def write(self, instants: Sequence[Instant]) -> tuple[str, ...]:
        return self._history.add(list(self._entries(instants)), self._options.batch_size)

    def maintain(self) -> tuple[str, ...]:
        merged = self._history.merge(self._options.merged_files)
        self._history.delete_unreferenced(self._options.manifests_retained)
        return merged

    def _entries(self, instants: Sequence[Instant]) -> Iterator[HistoryEntry]:
        store = self._table.timeline_store
        with ThreadPoolExecutor(READ_THREADS) as pool:
            contents = zip(pool.map(store.read, instants), pool.map(self._plan, instants), strict=True)
            for instant, (metadata, plan) in zip(instants, contents, strict=True):
                yield HistoryEntry(
                    requested_time=instant.requested_time,
                    completion_time=instant.visible_from,
                    action=instant.action.value,
                    metadata=metadata,
                    plan=plan,
                )

    def _plan(self, instant: Instant) -> bytes | None:
        try:
            return self._table.timeline_store.read_requested(instant) or None
        except ObjectNotFoundError:
            return None  # a job that died has deleted the plan
