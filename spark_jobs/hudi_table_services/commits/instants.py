"""Announce, begin and remove instants. Jobs change a timeline through these functions and `door.complete` only."""

import logging
from collections.abc import Sequence
from contextlib import suppress

from hudi_table_services.errors import InstantExistsError
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.storage.locks.lock import TableLock
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)


def request_instant(
    table: TableAccess, action: Action, content: bytes, *, lock: TableLock, requested_time: str | None = None
) -> Instant:
    """Announce an action with its plan. Call it under the table lock, which is verified first.

    Raises:
        LockNotAcquiredError: another writer took the lock over; nothing was announced.
        InstantExistsError: another writer took this time for the same action.
    """
    lock.verify()
    return table.timeline_store.request(action, content, requested_time)


def begin_clean(table: TableAccess, clean: Instant) -> Instant:
    """Make a requested clean inflight. Another job may carry out the same clean: then it is inflight already.

    Raises:
        InstantVanishedError: another job removed it.
    """
    store = table.timeline_store
    # Hudi keeps the plan in the inflight file of layout 1, too.
    has_plan = not table.config.table_version.layout.has_completion_time_in_names
    with suppress(InstantExistsError):
        return store.start(clean, store.read_requested(clean) if has_plan else b"")
    return clean


def begin_restore(table: TableAccess, restore: Instant) -> Instant:
    """Make a requested restore inflight: from here on its plan has to be carried out to the end.

    Raises:
        InstantVanishedError, InstantExistsError: see `TimelineStore.start`.
    """
    return table.timeline_store.start(restore)


def begin_savepoint(table: TableAccess, requested_time: str, *, lock: TableLock) -> None:
    """Announce a savepoint of a commit; an attempt that died may have done so. Call it under the table lock.

    Raises:
        LockNotAcquiredError: another writer took the lock over; nothing was announced.
    """
    lock.verify()
    with suppress(InstantExistsError):
        table.timeline_store.begin_savepoint(requested_time)


def remove_savepoints(table: TableAccess, savepoints: Sequence[Instant], *, lock: TableLock) -> None:
    """Delete savepoints from the timeline, the completed file of each first. Call it under the table lock.

    Raises:
        LockNotAcquiredError: another writer took the lock over; nothing was removed.
    """
    lock.verify()
    for savepoint in savepoints:
        if savepoint.is_completed:
            table.timeline_store.remove_completed(savepoint)
        table.timeline_store.remove(savepoint)
        _LOG.info("Deleted savepoint %s", savepoint.requested_time)


def remove_without_plan(table: TableAccess, instant: Instant) -> None:
    """Remove a pending instant whose writer died before it wrote a plan: nothing was done for it."""
    _LOG.warning("Removing %s %s, which has no plan.", instant.action.value, instant.requested_time)
    table.timeline_store.remove(instant)


def remove_archived(table: TableAccess, instants: Sequence[Instant], *, lock: TableLock) -> None:
    """Delete the files of completed instants that an archive contains. Call it under the table lock.

    Raises:
        LockNotAcquiredError: another writer took the lock over; nothing was removed.
        StorageError: see `TimelineStore.remove_archived`.
    """
    lock.verify()
    table.timeline_store.remove_archived(instants)
