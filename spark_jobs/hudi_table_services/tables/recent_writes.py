"""Read what the latest writes of a table did, for pictures of it. Nothing is written."""

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import takewhile

from hudi_table_services.errors import (
    CorruptTableError,
    MalformedFileNameError,
    ObjectNotFoundError,
    StorageError,
    UnsupportedTableError,
)
from hudi_table_services.model.archival import ArchiveTail
from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.table_history import HistoryEnd, TableHistory
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.write_stat import CommitMetadata
from hudi_table_services.planning.file_size_history import table_history
from hudi_table_services.storage.file_listing import list_partitions
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.archived_timeline import ArchivedTimeline

_LOG = logging.getLogger(__name__)
_READ_THREADS = 8
ARCHIVE_LIMIT_BYTES = 32 << 20
"""Of archive files that are read for a history."""

_Write = tuple[Instant, CommitMetadata]


def recent_writes(
    storage: Storage,
    store: TimelineStore,
    snapshot: TableSnapshot,
    *,
    latest: int,
    archive_limit_bytes: int = ARCHIVE_LIMIT_BYTES,
) -> TableHistory:
    """What the latest writes did, archived ones included.

    An archive that cannot be read, or only at a price, ends the history; it does not fail it.

    Args:
        latest: how many writes at most; each one of the active timeline costs one read.
        archive_limit_bytes: of archive files that may be read.

    Raises:
        CorruptTableError: a completed instant of the active timeline cannot be read; it is named.
    """
    active = sorted(snapshot.timeline.completed_writes, key=_order, reverse=True)
    with ThreadPoolExecutor(_READ_THREADS) as pool:
        found = list(pool.map(lambda instant: _metadata(store, instant), active[:latest]))
    # Without metadata: archived this moment. The archive is read afterwards, so it has them.
    known = list(zip(active, found, strict=False))
    writes = [(instant, metadata) for instant, metadata in known if metadata is not None]
    if len(active) > latest and len(writes) == latest:
        return _history(storage, snapshot, writes, HistoryEnd.ENOUGH)
    tail = _tail(ArchivedTimeline(storage, snapshot.config), latest, archive_limit_bytes)
    if tail is None or (tail.is_cut and not tail.since):
        without_gap = takewhile(lambda pair: pair[1] is not None, known)
        end = HistoryEnd.ARCHIVE_UNREADABLE if tail is None else HistoryEnd.ARCHIVE_TOO_LARGE
        writes = [(instant, metadata) for instant, metadata in without_gap if metadata is not None]
        return _history(storage, snapshot, writes, end)
    every = _united(writes, tail)
    end = HistoryEnd.ARCHIVE_TOO_LARGE if tail.is_cut else HistoryEnd.NOTHING_OLDER
    is_enough = len(every) > latest or (tail.is_cut and len(every) == latest)
    return _history(storage, snapshot, every[:latest], HistoryEnd.ENOUGH if is_enough else end)


def _history(
    storage: Storage, snapshot: TableSnapshot, writes: Sequence[_Write], end: HistoryEnd
) -> TableHistory:
    return replace(table_history(snapshot, writes[::-1], _stored_versions(storage)), end=end)


def _tail(archive: ArchivedTimeline, count: int, limit_bytes: int) -> ArchiveTail | None:
    try:
        return archive.tail(count=count, limit_bytes=limit_bytes)
    except (CorruptTableError, StorageError, UnsupportedTableError) as error:
        _LOG.warning("The history ends at the archive: %s", error)
        return None


def _united(writes: Sequence[_Write], tail: ArchiveTail) -> list[_Write]:
    """Newest first. An archival that died may have left on the active timeline what it has archived."""
    found = {each.identity: (each.instant, each.metadata) for each in tail.writes}
    found |= {instant.identity: (instant, metadata) for instant, metadata in writes}
    whole = [pair for pair in found.values() if pair[0].requested_time > tail.since]
    return sorted(whole, key=lambda pair: _order(pair[0]), reverse=True)


def _order(instant: Instant) -> tuple[str, str]:
    return instant.visible_from, instant.requested_time


def _metadata(store: TimelineStore, instant: Instant) -> CommitMetadata | None:
    try:
        return store.commit_metadata(instant)
    except ObjectNotFoundError:
        return None


def _stored_versions(storage: Storage) -> dict[FileGroupId, dict[str, int]]:
    found: dict[FileGroupId, dict[str, int]] = {}
    for partition_path, files in list_partitions(storage).items():
        for stored in files:
            try:
                base = BaseFile.from_file_name(stored.name, stored.size_bytes)
            except MalformedFileNameError:
                continue
            group = FileGroupId(partition_path, base.file_id)
            found.setdefault(group, {})[base.instant_time] = base.size_bytes
    return found
