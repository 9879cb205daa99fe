"""Complete the instants of a table: run checks, update the metadata table, verify the lock, create the completed file.

No other module completes an instant of a table. Writes, clusterings, compactions, cleans, recoveries and repairs change
the metadata table only through this module. The packages `commits.metadata_table*` complete the instants of the
metadata table.
"""

import logging
from collections.abc import Callable, Collection
from functools import partial

from hudi_table_services.commits.measured_lock import MeasuredLock
from hudi_table_services.commits.metadata_table import maintenance
from hudi_table_services.commits.metadata_table.listed_files import refuse_listed
from hudi_table_services.commits.metadata_table_building import creation, restored
from hudi_table_services.commits.table_change import TableChange
from hudi_table_services.commits.table_now import Conditions
from hudi_table_services.execution.metadata_table.collected_facts import FactsToCollect
from hudi_table_services.model.instant import Instant
from hudi_table_services.storage.locks.lock import TableLock
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)


def complete(
    table: TableAccess,
    pending: Instant,
    change: TableChange,
    *,
    lock: TableLock | None,
    conditions: Conditions | None = None,
    before: Callable[[], None] | None = None,
) -> Instant:
    """Make one change visible, or refuse it. Call this function under the table lock.

    After the caller has released the lock, the lock is taken again for the services of the metadata table that are due,
    so that other writers can commit before these services. A lock that is not a `MeasuredLock` is not taken again: the
    services then run before this function returns.

    Args:
        pending: the instant, requested and inflight on the timeline.
        change: content of the completed file, and the files that the change adds or has deleted.
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
        UnsupportedTableError, CorruptTableError: the metadata table cannot be updated (`maintenance.write_change`).
        LockNotAcquiredError: the lock expired, was removed, or was taken over by another writer.
        InstantVanishedError, InstantExistsError, CommitStateUnknownError: see `TimelineStore.complete`.
    """
    if conditions is not None:
        conditions.refuse()
    if before is not None:
        before()
    if lock is not None:
        lock.verify()
    timeline = None if conditions is None else conditions.now.timeline
    written = maintenance.write_change(table, pending, change, lock, timeline)
    # The update of the metadata table takes time, so verify the lock again. Do not add a step between this point and
    # the creation of the completed file.
    if lock is not None:
        lock.verify()
    completed = table.timeline_store.complete(pending, change.content)
    if written is not None:
        _run_services(table, lock, written, completed)
    return completed


def _run_services(
    table: TableAccess, lock: TableLock | None, written: maintenance.WrittenChange, completed: Instant
) -> None:
    settings = maintenance.services_due_after(table, written, completed)
    if settings is None:
        return
    if written.is_overtaken:
        # Readers could skip files of this commit until the compaction has run, so do not let other writers run first.
        _LOG.info(
            "Compacting the metadata table: statistics of a concurrent commit hide those of this commit"
        )
        maintenance.run_due_services(table, lock, settings)
    elif isinstance(lock, MeasuredLock):
        lock.after_release(
            partial(maintenance.run_due_services, table, lock.short_wait, settings, takes_lock=True)
        )
    else:
        maintenance.run_due_services(table, lock, settings)


def create_metadata_table_before_first_write(table: TableAccess, lock: TableLock) -> tuple[str, ...]:
    """Create the metadata table of a table without commits; see `creation.create_before_first_write`.

    Call this function under the table lock, before the first write is requested.

    Returns:
        Why the metadata table was not created, as a sentence for the result of the job.

    Raises:
        HudiTableServiceError: see `creation.create_before_first_write`.
    """
    return creation.create_before_first_write(table, lock)


def create_metadata_table_after_write(table: TableAccess, lock: TableLock) -> tuple[str, ...]:
    """Create the metadata table that a completed write requests explicitly; see `creation.create_after_write`.

    Call this function under the table lock, after `complete`.

    Returns:
        Sentences for the result of the job: what was not created, and why.
    """
    return creation.create_after_write(table, lock)


def require_usable_metadata_table(table: TableAccess) -> None:
    """Refuse a change that could not be written into the metadata table, before the job writes a data file.

    Raises:
        UnsupportedTableError, CorruptTableError: see `maintenance.require_usable`.
    """
    maintenance.require_usable(table)


def facts_to_collect(table: TableAccess, schema_json: str, staging_folder: str) -> FactsToCollect:
    """Facts that the tasks of a write must collect for the metadata table (`maintenance.facts_to_collect`)."""
    return maintenance.facts_to_collect(table, schema_json, staging_folder)


def prepare_deletion(table: TableAccess, *, undoes: str | None = None, adds_files: bool = False) -> None:
    """Make sure that the metadata table, if there is one, does not list files that are about to be deleted.

    Call this function under the table lock.

    Args:
        undoes: requested time of the write whose files are deleted; None if the files are outdated.
        adds_files: whether the rollback of the write creates log files, which the metadata table would have to list.

    Raises:
        UnsupportedTableError, CorruptTableError: see `maintenance.prepare_deletion`.
    """
    maintenance.prepare_deletion(table, undoes=undoes, adds_files=adds_files)


def prepare_orphan_deletion(table: TableAccess, paths: Collection[str]) -> None:
    """Refuse to delete orphans that the metadata table lists. Call this under the table lock.

    Args:
        paths: the orphans, relative to the base path.

    Raises:
        UnsupportedTableError, CorruptTableError: see `maintenance.prepare_deletion` and `refuse_listed`.
    """
    maintenance.prepare_deletion(table, undoes=None)
    refuse_listed(table, paths)


def require_undoable(table: TableAccess, undone: Collection[Instant]) -> None:
    """Refuse to undo writes that cannot be removed from the metadata table. Nothing is changed.

    Raises:
        UnsupportedTableError, CorruptTableError: see `maintenance.require_undoable`.
    """
    maintenance.require_undoable(table, undone)


def is_in_base_files(table: TableAccess, undone: Collection[Instant]) -> bool:
    """Whether base files of the metadata table contain one of the writes; see `maintenance.contains_in_base_files`."""
    return maintenance.contains_in_base_files(table, undone)


def drop_metadata_table_before_restore(table: TableAccess, lock: TableLock) -> None:
    """Drop the metadata table before a restore undoes writes for which `is_in_base_files` returned True.

    Call this function under the table lock.

    Raises:
        LockNotAcquiredError: the lock expired, was removed, or was taken over by another writer.
    """
    restored.drop_before_restore(table, lock)


def build_metadata_table_after_restore(
    table: TableAccess, wanted: Collection[str], lock: TableLock
) -> tuple[str, ...]:
    """Build the partitions of the metadata table that a restore dropped; see `restored.build_after_restore`.

    Returns:
        Sentences for the result of the job: what was not built, and how to build it.
    """
    return restored.build_after_restore(table, wanted, lock)
