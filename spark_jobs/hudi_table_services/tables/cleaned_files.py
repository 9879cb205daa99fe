"""Files that went while a write was reading them: another writer replaced them, and a clean removed them, say."""

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
    """Turn the failure to read such a file into the conflict that it is; others are raised as they are.

    Args:
        planned_with: the snapshot whose files are read, None before there is one; asked after a failure only.
        request_id: of the write, whose staged rows another attempt clears away once it has committed; empty: none.

    Raises:
        FileGroupConflictError: names one of the files.
        CommitConflictError: another attempt of the request has committed.
    """
    try:
        yield
    except (ExecutionFailedError, ObjectNotFoundError) as failure:
        if (before := planned_with()) is not None:
            conflict = _second_write(table, before, request_id) or _conflict(table, before, str(failure))
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
            _LOG.warning("Whether another attempt has committed cannot be told: %s", error)
    return None


def _conflict(table: TableAccess, before: TableSnapshot, failure: str) -> HudiTableServiceError | None:
    gone = _gone_by_right(table, before, failure)
    if gone is None:
        return None
    return FileGroupConflictError(
        f"Another writer replaced or undid {gone}, and it was removed while this write was reading it.",
        hint="Nothing was committed; run the request again. If it happens often, let cleaning retain more.",
    )


def _gone_by_right(table: TableAccess, before: TableSnapshot, failure: str) -> str | None:
    """The file that the failure names, if another write completed on its file group since, or its own was undone.

    A file that is lost also leaves an older slice behind, or none; then nobody has written to its file group.
    """
    named = {s: path for s in before.all_slices if (path := s.base_file_path) is not None and path in failure}
    if not named:
        return None
    try:
        now = load_snapshot(table.storage, {s.file_group_id.partition_path for s in named})
        newest = {s.file_group_id: s.base_instant_time for s in now.all_slices}
        changes = load_commit_changes(table.timeline_store, before.timeline, now.timeline)
        completed = [change for change in changes if change.kind is ChangeKind.COMPLETED]
        changed = {group for change in completed for group in change.file_groups}
        undone = {change.instant.requested_time for change in changes if change.kind is ChangeKind.UNDONE}
        for file_slice, path in named.items():
            group, written_at = file_slice.file_group_id, file_slice.base_instant_time
            by_right = group in changed or newest.get(group, "") > written_at or written_at in undone
            if by_right and not table.storage.exists(path):
                return path
    except HudiTableServiceError as error:
        _LOG.warning(
            "Whether others replaced files cannot be told: %s", error
        )  # what failed first tells more
    return None
