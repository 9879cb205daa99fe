"""Distinguish a conflict from a lost file if a file does not exist when a job reads it.

In a conflict, either another writer replaced the file and a clean deleted it, or a rollback undid the file's commit and
deleted the file.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hudi_table_services.errors import (
    CommitConflictError,
    CorruptTableError,
    ExecutionFailedError,
    FileGroupConflictError,
    HudiTableServiceError,
    ObjectNotFoundError,
)
from hudi_table_services.model.concurrent_change import ChangeKind
from hudi_table_services.model.data_file import LogFile, instant_in_file_name
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.storage.concurrent_changes import load_commit_changes
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.request_lookup import refuse_second_write
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)


@contextmanager
def conflict_where_cleaned(
    table: TableAccess, planned_with: Callable[[], TableSnapshot | None], request_id: str = ""
) -> Iterator[None]:
    """Raise a conflict error instead of a read error if other writers removed the file. Other errors do not change.

    Args:
        planned_with: returns the snapshot whose files are read, or None if no snapshot was loaded yet. This function is
            called only after a failure.
        request_id: request id of the write; empty if the write has no request id. If another attempt of the same
            request has committed, that attempt has deleted the staged rows of the write, so the missing file may
            be a staged file.

    Raises:
        FileGroupConflictError: other writers removed the file; the message names the file.
        CommitConflictError: another attempt of the request has committed.
        CorruptTableError: the metadata table lists the file, and the storage does not have it.
    """
    try:
        yield
    except (ExecutionFailedError, ObjectNotFoundError) as failure:
        if (before := planned_with()) is not None:
            error = _second_write(table, before, request_id) or _conflict(table, before, failure.path)
            error = error or lost_file(table.storage, before, failure.path)
            if error is not None:
                raise error from failure
        raise


@contextmanager
def naming_lost_files(storage: Storage, snapshot: TableSnapshot) -> Iterator[None]:
    """Replace an error about a missing file that the metadata table lists. Other errors do not change.

    Args:
        snapshot: the state of the table whose files are read.

    Raises:
        CorruptTableError: the metadata table lists the file, and the storage does not have it.
    """
    try:
        yield
    except (ExecutionFailedError, ObjectNotFoundError) as failure:
        error = lost_file(storage, snapshot, failure.path)
        if error is not None:
            raise error from failure
        raise


def lost_file(storage: Storage, snapshot: TableSnapshot, path: str) -> CorruptTableError | None:
    """Return an error if a base file that the metadata table lists does not exist; otherwise None.

    Args:
        path: a file that could not be read; empty if the failure names no file.
    """
    try:
        is_lost = _lists(snapshot, path) and not storage.exists(path) and _lists(load_snapshot(storage), path)
    except HudiTableServiceError as error:
        # The caller raises the failure of the read, which is more informative than this error.
        _LOG.warning("Cannot find out whether the metadata table lists %s: %s", path, error)
        return None
    if not is_lost:
        return None
    return CorruptTableError(
        f"The metadata table lists {path}, but the storage does not have this file.",
        path=path,
        hint="table_health.py counts such files (metadata_missing_files, missing_files) and names some of them. If the "
        "file was deleted by mistake, copy it back from a backup, or restore the table to a savepoint. If the table is "
        "correct without the file, build the metadata table again with rebuild_metadata_table.py.",
    )


def _lists(snapshot: TableSnapshot, path: str) -> bool:
    return snapshot.is_from_metadata_table and any(path in each.paths for each in snapshot.all_slices)


def _second_write(table: TableAccess, before: TableSnapshot, request_id: str) -> HudiTableServiceError | None:
    if request_id:
        try:
            refuse_second_write(table, before.timeline, table.load_timeline(), request_id)
        except CommitConflictError as conflict:
            return conflict
        except HudiTableServiceError as error:
            _LOG.warning("Cannot find out whether another attempt has committed: %s", error)
    return None


def _conflict(table: TableAccess, before: TableSnapshot, path: str) -> HudiTableServiceError | None:
    """The conflict error if the missing file belongs to the snapshot and other writers removed it, else None."""
    missing = next((s for s in before.all_slices if path and path in s.paths), None)
    if missing is None or not _is_removed_by_others(table, before, missing, path):
        return None
    return FileGroupConflictError(
        f"Another writer replaced or undid {path}, and the file was deleted while this write was reading it.",
        hint="Nothing was committed; run the request again. If this error occurs often, let cleaning retain more "
        "commits.",
    )


def _is_removed_by_others(table: TableAccess, before: TableSnapshot, missing: FileSlice, path: str) -> bool:
    """Whether the file is gone because another write changed its file group, or because its own write was undone.

    A lost file and an undone write both leave the file group with only an older slice or no slice. After a loss,
    however, the timeline shows neither a newer completed write on the file group nor a rollback of the file's write.
    """
    group, written_at = missing.file_group_id, missing.base_instant_time
    try:
        now = load_snapshot(table.storage, {group.partition_path})
        newest = next((s.base_instant_time for s in now.all_slices if s.file_group_id == group), "")
        changes = load_commit_changes(table.timeline_store, before.timeline, now.timeline)
        is_changed = any(c.kind is ChangeKind.COMPLETED and group in c.file_groups for c in changes)
        undone = {c.instant.requested_time for c in changes if c.kind is ChangeKind.UNDONE}
        is_undone = bool(undone) if _hides_its_writer(before, path) else _instant_of(path) in undone
        is_removed_by_others = is_changed or newest > written_at or is_undone
        return is_removed_by_others and not table.storage.exists(path)
    except HudiTableServiceError as error:
        # The caller raises the failure of the read, which is more informative than this error.
        _LOG.warning("Cannot find out whether other writers replaced %s: %s", path, error)
        return False


def _hides_its_writer(snapshot: TableSnapshot, path: str) -> bool:
    """Whether a file is a log file of table version 6.

    Its name contains the base instant of its slice, and not the instant of the write.
    """
    is_log = LogFile.parse_or_none(path.rpartition("/")[2]) is not None
    return is_log and not snapshot.config.table_version.has_own_log_instants


def _instant_of(path: str) -> str | None:
    return instant_in_file_name(path.rpartition("/")[2])
