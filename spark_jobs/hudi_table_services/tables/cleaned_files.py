"""Distinguish a conflict from a lost file if a file disappears while a write reads it.

In a conflict, either another writer replaced the file and a clean deleted it, or a rollback undid the file's commit and
deleted the file.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hudi_table_services.errors import (
    CommitConflictError,
    ExecutionFailedError,
    FileGroupConflictError,
    HudiTableServiceError,
    ObjectNotFoundError,
)
from hudi_table_services.model.concurrent_change import ChangeKind
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.storage.concurrent_changes import load_commit_changes
from hudi_table_services.storage.snapshot_loader import load_snapshot
from hudi_table_services.tables.request_lookup import refuse_second_write
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)


@contextmanager
def conflict_where_cleaned(
    table: TableAccess, planned_with: Callable[[], TableSnapshot | None], request_id: str = ""
) -> Iterator[None]:
    """Raise a conflict error instead of a read error if other writers removed the file. Do not change other errors.

    Args:
        planned_with: returns the snapshot whose files are read, or None if no snapshot was loaded yet. Called only
            after a failure.
        request_id: request id of the write; empty if the write has no request id. If another attempt of the same
            request has committed, that attempt has deleted the staged rows of the write.

    Raises:
        FileGroupConflictError: other writers removed the file; the message names the file.
        CommitConflictError: another attempt of the request has committed.
    """
    try:
        yield
    except (ExecutionFailedError, ObjectNotFoundError) as failure:
        if (before := planned_with()) is not None:
            conflict = _second_write(table, before, request_id) or _conflict(table, before, failure.path)
            if conflict is not None:
                raise conflict from failure
        raise


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
    missing = next((s for s in before.all_slices if path and s.base_file_path == path), None)
    if missing is None or not _is_removed_by_others(table, before, missing, path):
        return None
    return FileGroupConflictError(
        f"Another writer replaced or undid {path}, and the file was deleted while this write was reading it.",
        hint="Nothing was committed; run the request again. If this error occurs often, let cleaning retain more "
        "commits.",
    )


def _is_removed_by_others(table: TableAccess, before: TableSnapshot, missing: FileSlice, path: str) -> bool:
    """Whether another write on the file group has completed after `before`, or the write of the file was undone.

    A lost file and an undone write both leave the file group with only an older slice or no slice. After a loss,
    however, the timeline shows neither a newer completed write on the file group nor a rollback of the file's write.
    """
    group, written_at = missing.file_group_id, missing.base_instant_time
    try:
        now = load_snapshot(table.storage, {group.partition_path})
        newest = next((s.base_instant_time for s in now.all_slices if s.file_group_id == group), "")
        changes = load_commit_changes(table.timeline_store, before.timeline, now.timeline)
        is_changed = any(c.kind is ChangeKind.COMPLETED and group in c.file_groups for c in changes)
        is_undone = any(
            c.kind is ChangeKind.UNDONE and c.instant.requested_time == written_at for c in changes
        )
        is_removed_by_others = is_changed or newest > written_at or is_undone
        return is_removed_by_others and not table.storage.exists(path)
    except HudiTableServiceError as error:
        # The caller raises the first failure, which is more informative.
        _LOG.warning("Cannot find out whether other writers replaced %s: %s", path, error)
        return False
