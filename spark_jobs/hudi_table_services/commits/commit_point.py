"""The only module that completes instants: checks, metadata table, lock, completed file."""

from collections.abc import Callable

from hudi_table_services.commits import metadata_table
from hudi_table_services.commits.table_now import Conditions
from hudi_table_services.model.instant import Instant
from hudi_table_services.storage.locks.lock import TableLock
from hudi_table_services.tables.table import TableAccess


def complete(
    table: TableAccess,
    pending: Instant,
    content: bytes,
    *,
    lock: TableLock | None,
    conditions: Conditions | None = None,
    before: Callable[[], None] | None = None,
) -> Instant:
    """Make one change visible, or refuse it. Call it under the table lock.

    Args:
        pending: the instant, requested and inflight on the timeline.
        content: content of the completed file.
        lock: the lock to verify right before the completed file is created. None for a rollback: the rollback must be
            recorded even if the lock is lost, because the files of the undone write are already deleted.
        conditions: checks that the change has to pass first.
        before: function that is called after all checks have passed. It deletes files that must not become part of
            the table.

    Returns:
        The completed instant.

    Raises:
        ComparisonNeeded: a check has to read rows without the lock first; nothing was changed.
        HudiTableServiceError: a check refused the change.
        UnsupportedTableError: see `metadata_table.apply`.
        LockNotAcquiredError: the lock expired, was removed, or was taken over by another writer.
        InstantVanishedError, InstantExistsError, CommitStateUnknownError: see `TimelineStore.complete`.
    """
    if conditions is not None:
        conditions.refuse()
    if before is not None:
        before()
    # `before` may take a long time. Do not add a step between this point and the creation of the completed file.
    metadata_table.apply(table, completes=pending.action)
    if lock is not None:
        lock.verify()
    return table.timeline_store.complete(pending, content)


def prepare_deletion(table: TableAccess, *, undoes: str | None = None) -> None:
    """Make sure that no metadata table lists files that are about to be deleted. Call it under the table lock.

    Args:
        undoes: requested time of the write whose files are deleted; None if the files are outdated, or orphans.

    Raises:
        UnsupportedTableError: see `metadata_table.apply`.
    """
    metadata_table.apply(table, undoes=undoes)
