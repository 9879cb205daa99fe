"""Request, start and remove instants. Jobs change a timeline only through the package `commits`."""

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
    """Request an instant with its plan. Call this function under the table lock, which is verified first.

    Raises:
        LockNotAcquiredError: another writer took the lock over; nothing was requested.
        InstantExistsError: another writer used this time for the same action.
    """
    lock.verify()
    return table.timeline_store.request(action, content, requested_time)


def withdraw_request(table: TableAccess, plan: Instant) -> None:
    """Remove a plan that this job has just requested and that no job has started. Call it under the table lock."""
    table.timeline_store.remove(plan)


def begin_clean(table: TableAccess, clean: Instant) -> Instant:
    """Make a requested clean inflight, unless another job that carries out the same clean has done so.

    Raises:
        InstantVanishedError: another job removed the clean.
    """
    store = table.timeline_store
    # In layout 1 Hudi also writes the plan into the inflight file.
    has_plan = not table.config.table_version.layout.has_completion_time_in_names
    with suppress(InstantExistsError):
        return store.start(clean, store.read_requested(clean) if has_plan else b"")
    return clean


def begin_restore(table: TableAccess, restore: Instant) -> Instant:
    """Make a requested restore inflight. From then on, a job must carry out the whole plan of the restore.

    Raises:
        InstantVanishedError, InstantExistsError: see `TimelineStore.start`.
    """
    return table.timeline_store.start(restore)


def begin_savepoint(table: TableAccess, requested_time: str, *, lock: TableLock) -> None:
    """Make a savepoint inflight, unless a dead attempt has already done so. Call this function under the table lock.

    Raises:
        LockNotAcquiredError: another writer took the lock over; nothing was written.
    """
    lock.verify()
    with suppress(InstantExistsError):
        table.timeline_store.begin_savepoint(requested_time)


def remove_savepoints(table: TableAccess, savepoints: Sequence[Instant], *, lock: TableLock) -> None:
    """Delete savepoints. For each savepoint, the completed file is deleted before the inflight file.

    Call this function under the table lock.

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
    """Remove a pending instant whose writer died before it wrote a plan. No work was done for the instant."""
    _LOG.warning("Removing %s %s, which has no plan.", instant.action.value, instant.requested_time)
    table.timeline_store.remove(instant)


def remove_archived(table: TableAccess, instants: Sequence[Instant], *, lock: TableLock) -> None:
    """Delete the instant files of completed instants that the archive contains.

    Call this function under the table lock.

    Raises:
        LockNotAcquiredError: another writer took the lock over; nothing was removed.
        StorageError: see `TimelineStore.remove_archived`.
    """
    lock.verify()
    table.timeline_store.remove_archived(instants)
