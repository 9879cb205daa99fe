"""Read the latest writes of a table, for charts. Nothing is written."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.write_history import HistoryEnd, TableHistory
from hudi_table_services.model.write_stat import CommitMetadata
from hudi_table_services.planning.file_size_history import table_history
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.parallel import map_in_parallel
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_files import list_table
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.archived_timeline import ArchivedTimeline

_LOG = logging.getLogger(__name__)
ARCHIVE_LIMIT_BYTES = 32 << 20
"""Largest total size of the archive files that are read for a history."""

_Write = tuple[Instant, CommitMetadata]


@dataclass(frozen=True, slots=True)
class LatestWrites:
    """The latest completed writes of a table, newest first, and the reason why there are no older writes."""

    writes: tuple[_Write, ...]
    end: HistoryEnd


def recent_writes(
    storage: Storage,
    store: TimelineStore,
    snapshot: TableSnapshot,
    *,
    latest: int,
    archive_limit_bytes: int = ARCHIVE_LIMIT_BYTES,
) -> TableHistory:
    """The history of the latest writes, including archived writes; see `latest_writes`."""
    found = latest_writes(storage, store, snapshot, latest=latest, archive_limit_bytes=archive_limit_bytes)
    versions = _stored_versions(storage, snapshot)
    return replace(table_history(snapshot, found.writes[::-1], versions), end=found.end)


def latest_writes(
    storage: Storage,
    store: TimelineStore,
    snapshot: TableSnapshot,
    *,
    latest: int,
    archive_limit_bytes: int = ARCHIVE_LIMIT_BYTES,
) -> LatestWrites:
    """The latest completed writes with their metadata, including archived writes.

    If the archive cannot be read or is too large, the history ends early, without an error.

    Args:
        snapshot: properties and timeline of the table; file slices are not needed.
        latest: largest number of writes. Each write of the active timeline requires one read.
        archive_limit_bytes: largest total size of the archive files that are read.

    Raises:
        CorruptTableError: a completed instant of the active timeline cannot be read; the message names the instant.
    """
    active = sorted(snapshot.timeline.completed_writes, key=_order, reverse=True)
    found = map_in_parallel(lambda instant: _metadata(store, instant), active[:latest])
    # Writes without metadata were just archived. The archive is read after the active timeline, so the archive contains
    # these writes.
    known = list(zip(active, found, strict=False))
    writes = [(instant, metadata) for instant, metadata in known if metadata is not None]
    if len(active) > latest and len(writes) == latest:
        return LatestWrites(tuple(writes), HistoryEnd.ENOUGH)
    tail = _tail(ArchivedTimeline(storage, snapshot.config), latest, archive_limit_bytes)
    if tail is None or (tail.is_cut and not tail.since):
        without_gap = takewhile(lambda pair: pair[1] is not None, known)
        end = HistoryEnd.ARCHIVE_UNREADABLE if tail is None else HistoryEnd.ARCHIVE_TOO_LARGE
        newest = ((instant, metadata) for instant, metadata in without_gap if metadata is not None)
        return LatestWrites(tuple(newest), end)
    merged = _merged(writes, tail)
    end = HistoryEnd.ARCHIVE_TOO_LARGE if tail.is_cut else HistoryEnd.NOTHING_OLDER
    is_enough = len(merged) > latest or (tail.is_cut and len(merged) == latest)
    return LatestWrites(tuple(merged[:latest]), HistoryEnd.ENOUGH if is_enough else end)


def _tail(archive: ArchivedTimeline, count: int, limit_bytes: int) -> ArchiveTail | None:
    try:
        return archive.tail(count=count, limit_bytes=limit_bytes)
    except (CorruptTableError, StorageError, UnsupportedTableError) as error:
        _LOG.warning("The archive cannot be read, so the history contains no archived writes: %s", error)
        return None


def _merged(writes: Sequence[_Write], tail: ArchiveTail) -> list[_Write]:
    """Active and archived writes, newest first, each once. If an archival died, a write can be in both lists."""
    found = {each.identity: (each.instant, each.metadata) for each in tail.writes}
    found |= {instant.identity: (instant, metadata) for instant, metadata in writes}
    without_gaps = [pair for pair in found.values() if pair[0].requested_time > tail.since]
    return sorted(without_gaps, key=lambda pair: _order(pair[0]), reverse=True)


def _order(instant: Instant) -> tuple[str, str]:
    return instant.visible_from, instant.requested_time


def _metadata(store: TimelineStore, instant: Instant) -> CommitMetadata | None:
    try:
        return store.commit_metadata(instant)
    except ObjectNotFoundError:
        return None


def _stored_versions(storage: Storage, snapshot: TableSnapshot) -> dict[FileGroupId, dict[str, int]]:
    found: dict[FileGroupId, dict[str, int]] = {}
    listing = list_table(storage, snapshot.config, snapshot.timeline, SystemClock())
    for partition_path, files in listing.files.items():
        for stored in files:
            try:
                base = BaseFile.from_file_name(stored.name, stored.size_bytes)
            except MalformedFileNameError:
                continue
            group = FileGroupId(partition_path, base.file_id)
            found.setdefault(group, {})[base.instant_time] = base.size_bytes
    return found
