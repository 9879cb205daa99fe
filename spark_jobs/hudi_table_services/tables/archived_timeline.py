"""The archived part of a table's timeline, for all table versions. The archive is read only on demand."""

import logging
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from hudi_table_services.errors import UnsupportedTableError
from hudi_table_services.model.archival import ArchivedOperation, ArchivedWrite, ArchiveTail
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_version import TimelineLayout
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation, request_ids_in
from hudi_table_services.storage.archive.archive_log_store import ArchiveLogStore
from hudi_table_services.storage.archive.examined_history import ExaminedHistory
from hudi_table_services.storage.archive.history_manifest_store import HistoryManifestStore
from hudi_table_services.storage.archive.history_store import HistoryCodec, HistoryStore
from hudi_table_services.storage.clock import SystemClock, instant_moment
from hudi_table_services.storage.concurrent_changes import newer_may_be_archived, pending_may_be_archived
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.table import TableAccess
from hudi_table_services.tables.undo_history import undone_by

_LOG = logging.getLogger(__name__)
_CLOCK_DIFFERENCE_MS = 3_600_000
_UNREADABLE = "The archive cannot be read, so only the active timeline is read: %s"

_completions: dict[str, dict[str, str]] = {}
"""Completion times by table and requested time. The completion time of an archived instant never changes."""
_completions_guard = threading.Lock()


class _Archive(Protocol):
    def find(self, text: str) -> Iterable[ArchivedWrite]: ...

    def writes(self) -> tuple[ArchivedWrite, ...]: ...

    def tail(self, count: int, limit_bytes: int) -> ArchiveTail: ...


@dataclass(frozen=True, slots=True)
class ArchivedTimeline:
    """Completed writes in the archive, except writes that were undone.

    If no instant was ever archived, each method only lists one folder.

    Attributes:
        examined: the history files that earlier calls of `writes_completed_after` or `has_write` have examined. If
            None, each call examines all files that it needs.
    """

    storage: Storage
    config: TableConfig
    examined: ExaminedHistory | None = None

    @property
    def has_begun(self) -> bool:
        """Whether any instant was ever archived."""
        if self.config.table_version.layout is TimelineLayout.V1:
            return bool(ArchiveLogStore(self.storage, self.config).files())
        return HistoryManifestStore(self.storage, self.config).exists()

    def may_have_newer(self, before: Timeline, after: Timeline) -> bool:
        """Whether the archive may contain writes that were not complete in `before`; see `newer_may_be_archived`."""
        return newer_may_be_archived(self._store, before, after) and self.has_begun

    def may_have_pending(self, before: Timeline, after: Timeline) -> bool:
        """Whether the archive may contain writes that were pending in `before`; see `pending_may_be_archived`."""
        return pending_may_be_archived(self._store, before, after) and self.has_begun

    def writes(self) -> tuple[ArchivedWrite, ...]:
        """All archived writes, oldest first.

        Raises:
            CorruptTableError: the archive cannot be read.
            UnsupportedTableError: see `history_store`.
        """
        archive = self._archive()
        return self._without_undone(archive.writes()) if archive is not None else ()

    def writes_completed_after(self, time: str) -> tuple[ArchivedWrite, ...]:
        """Archived writes that became visible after an instant time, oldest first.

        In tables with completion times, only those history files are read that were written after this time, because a
        write is archived after its completion. The clocks of the storage and of the writers may differ by one hour.

        Raises:
            CorruptTableError, UnsupportedTableError: see `writes`.
        """
        return tuple(write for write in self._completed_since(time) if write.instant.visible_from > time)

    def readable_writes_completed_after(self, time: str) -> tuple[ArchivedWrite, ...]:
        """Archived writes that became visible after an instant time; see `writes_completed_after`.

        If the archive is Parquet and pyarrow is not installed, log a warning and return ``()``. There is no warning if
        no history file was written after this time.

        Raises:
            CorruptTableError: the archive cannot be read.
        """
        if self._has_none_since(time):
            return ()
        try:
            return self.writes_completed_after(time)
        except UnsupportedTableError as error:
            _LOG.warning(_UNREADABLE, error)
            return ()

    def has_write(self, time: str) -> bool:
        """Whether an archived write became visible at an instant time.

        In tables with completion times, the method reads the same history files as `writes_completed_after`.

        Raises:
            CorruptTableError, UnsupportedTableError: see `writes`.
        """
        is_version_6 = self.config.table_version.layout is TimelineLayout.V1
        # In version 6, a write becomes visible at its requested time, which its archive file contains as text.
        writes = self.newest_with(time) if is_version_6 else self._completed_since(time)
        return any(write.instant.visible_from == time for write in writes)

    def newest_with(self, text: str) -> Iterator[ArchivedWrite]:
        """Yield at least the archived writes whose metadata contains a text, newest requested time first.

        Older archive files are read only when the caller requests further writes.

        Raises:
            CorruptTableError, UnsupportedTableError: see `writes`.
        """
        archive = self._archive()
        undone: Collection[str] | None = None
        for write in archive.find(text) if archive is not None else ():
            undone = undone_by(self._table, self._table.load_timeline()) if undone is None else undone
            if _is_kept(write.instant, write.metadata.operation_type, undone):
                yield write

    def _completed_since(self, time: str) -> tuple[ArchivedWrite, ...]:
        """Return at least the archived writes that became visible at an instant time or later, oldest first."""
        since_ms = self._written_since(time)
        if since_ms is None:
            return self.writes()
        examined = self._examined_for(time)
        if not examined.version and not self.has_begun:
            return ()
        store = history_store(self.storage, self.config)
        return self._without_undone(store.writes_completed_since(time, since_ms, examined))

    def _has_none_since(self, time: str) -> bool:
        """Whether all history files were written before an instant time. This takes one request, or none."""
        since_ms = self._written_since(time)
        if since_ms is None or self._examined_for(time).version:
            return False
        written = HistoryManifestStore(self.storage, self.config).written_ms()
        return all(written_ms < since_ms for written_ms in written.values())

    def _examined_for(self, time: str) -> ExaminedHistory:
        return (self.examined or ExaminedHistory()).for_time(time)

    def _written_since(self, time: str) -> int | None:
        """Return the time from which on files with writes that completed after `time` were written; None if unknown.

        The result is in milliseconds since 1970, on the clock of the storage.
        """
        moment = instant_moment(time, self.config)
        if self.config.table_version.layout is TimelineLayout.V1 or moment is None:
            return None
        return int(moment.timestamp() * 1000) - _CLOCK_DIFFERENCE_MS

    def readable_writes(self) -> tuple[ArchivedWrite, ...]:
        """All archived writes. If the archive is Parquet and pyarrow is not installed, log a warning and return ``()``.

        Raises:
            CorruptTableError: the archive cannot be read.
        """
        try:
            return self.writes()
        except UnsupportedTableError as error:
            _LOG.warning(_UNREADABLE, error)
            return ()

    def newest_readable_writes(self) -> Iterator[ArchivedWrite]:
        """Yield the writes of `readable_writes`, newest requested time first.

        In tables with completion times, older history files are read only if the caller goes on. In version 6, all
        archive files are read at the beginning, because a later file may contain earlier writes.

        Raises:
            CorruptTableError: the archive cannot be read.
        """
        if self.config.table_version.layout is TimelineLayout.V1:
            yield from reversed(self.readable_writes())
            return
        try:
            yield from self.newest_with("")
        except UnsupportedTableError as error:
            _LOG.warning(_UNREADABLE, error)

    def newest_readable_operations(self) -> Iterator[ArchivedOperation]:
        """Yield the operations of the writes of `newest_readable_writes`, in the same order and with the same errors.

        In tables with completion times, this is much faster, because only the operation of each commit is decoded.
        """
        if self.config.table_version.layout is TimelineLayout.V1:
            for write in reversed(self.readable_writes()):
                yield ArchivedOperation(instant=write.instant, operation=write.metadata.operation_type)
            return
        if not self.has_begun:
            return
        try:
            found = history_store(self.storage, self.config).newest_operations()
        except UnsupportedTableError as error:
            _LOG.warning(_UNREADABLE, error)
            return
        undone: Collection[str] | None = None
        for each in found:
            undone = undone_by(self._table, self._table.load_timeline()) if undone is None else undone
            if _is_kept(each.instant, each.operation, undone):
                yield each

    def tail(self, *, count: int, limit_bytes: int) -> ArchiveTail:
        """The newest archived writes.

        Args:
            count: number of writes to read; the result may contain more writes than this number.
            limit_bytes: largest total size of the archive files that are read.

        Raises:
            CorruptTableError: the archive cannot be read.
            UnsupportedTableError: see `history_store`.
        """
        archive = self._archive()
        tail = archive.tail(count, limit_bytes) if archive is not None else ArchiveTail()
        return replace(tail, writes=self._without_undone(tail.writes))

    def find_request(self, request_id: str) -> tuple[Instant, CommitMetadata] | None:
        """The completed write of a request; None if the archive does not contain it. Raises the errors of `writes`."""
        archive = self._archive()
        for write in archive.find(request_id) if archive is not None else ():
            is_wanted = request_id in request_ids_in(write.metadata.extra_metadata)
            if is_wanted and self._without_undone((write,)):
                return write.instant, write.metadata
        return None

    def _without_undone(self, writes: tuple[ArchivedWrite, ...]) -> tuple[ArchivedWrite, ...]:
        """Leave out writes that were undone.

        If an archival died, archived instants may also be on the active timeline, where a job can still undo them.
        Clusterings are always kept: one execution of a plan may have been undone, and a later execution of the same
        plan may have completed under the same requested time.
        """
        if not writes:
            return ()
        undone = undone_by(self._table, self._table.load_timeline())
        return tuple(
            write for write in writes if _is_kept(write.instant, write.metadata.operation_type, undone)
        )

    @property
    def _table(self) -> TableAccess:
        return TableAccess(storage=self.storage, clock=SystemClock(), config=self.config)

    @property
    def _store(self) -> TimelineStore:
        return self._table.timeline_store

    def _archive(self) -> _Archive | None:
        if not self.has_begun:
            return None
        if self.config.table_version.layout is TimelineLayout.V1:
            return ArchiveLogStore(self.storage, self.config)
        return history_store(self.storage, self.config)


def _is_kept(instant: Instant, operation: WriteOperation, undone: Collection[str]) -> bool:
    """See `ArchivedTimeline._without_undone`."""
    return instant.requested_time not in undone or operation is WriteOperation.CLUSTER


def archived_completions(
    storage: Storage, config: TableConfig, instants: Collection[str]
) -> Mapping[str, str]:
    """Map requested times of archived delta commits to their completion times.

    Instants that the history does not contain are missing in the result.

    Raises:
        CorruptTableError: the history cannot be read.
        UnsupportedTableError: see `history_store`.
    """
    with _completions_guard:
        known = dict(_completions.get(storage.uri, {}))
    missing = set(instants) - known.keys()
    if missing and HistoryManifestStore(storage, config).exists():
        for entry in history_store(storage, config).entries(since=min(missing)):
            if entry.action == Action.DELTA_COMMIT.value and entry.completion_time:
                known[entry.requested_time] = entry.completion_time
        with _completions_guard:
            found = {time: known[time] for time in missing if time in known}
            _completions.setdefault(storage.uri, {}).update(found)
    return {time: known[time] for time in instants if time in known}


def history_store(storage: Storage, config: TableConfig) -> HistoryStore:
    """The history of a table of version 8 or 9.

    Raises:
        UnsupportedTableError: pyarrow is not installed.
    """
    try:
        # Imported here because only these tables need pyarrow, which an Airflow worker may not have.
        from hudi_table_services.execution.history_files import (
            decode_history,
            decode_history_since,
            encode_history,
        )
    except ImportError as error:
        raise UnsupportedTableError(
            f"The timeline history of table version {int(config.table_version)} is Parquet, and pyarrow is not "
            f"installed in this Python ({error}).",
            hint="Install pyarrow, or run the job where pyarrow is installed.",
        ) from error
    codec = HistoryCodec(encode=encode_history, decode=decode_history, decode_since=decode_history_since)
    return HistoryStore(storage, config, codec)
