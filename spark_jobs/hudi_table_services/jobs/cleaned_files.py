"""Files that went while a write was reading them: another writer replaced them, and a clean removed them."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hudi_table_services.errors import (
    ExecutionFailedError,
    FileGroupConflictError,
    HudiTableServiceError,
    ObjectNotFoundError,
)
from hudi_table_services.jobs.table_access import TableAccess
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.storage.concurrent_changes import load_commit_changes
from hudi_table_services.storage.snapshot_loader import load_snapshot

_LOG = logging.getLogger(__name__)


@contextmanager
def conflict_where_cleaned(
    table: TableAccess, planned_with: Callable[[], TableSnapshot | None]
) -> Iterator[None]:
    """Turn the failure to read such a file into the conflict that it is; others are raised as they are.

    Args:
        planned_with: the snapshot whose files are read, None before there is one; asked after a failure only.

    Raises:
        FileGroupConflictError: names one of the files.
    """
    try:
        yield
    except (ExecutionFailedError, ObjectNotFoundError) as failure:
        before = planned_with()
        cleaned = _first_cleaned(table, before) if before is not None else None
        if cleaned is None:
            raise
        raise FileGroupConflictError(
            f"Another writer replaced {cleaned}, and a clean removed it, while this write was reading it.",
            hint="Nothing was committed; run the request again. If it happens often, let cleaning retain more.",
        ) from failure


def _first_cleaned(table: TableAccess, before: TableSnapshot) -> str | None:
    """A file that is gone although nothing is lost: its file group has another slice now, or was replaced."""
    try:
        now = load_snapshot(table.storage, before.partitions)
        current = {s.file_group_id: s.base_file_path for s in now.all_slices}
        changes = load_commit_changes(table.timeline_store, before.timeline, now.timeline)
        changed = {group for change in changes for group in change.file_groups}
        for file_slice in before.all_slices:
            group, path = file_slice.file_group_id, file_slice.base_file_path
            is_superseded = group in changed or current.get(group, path) != path
            if path is not None and is_superseded and not table.storage.exists(path):
                return path
    except HudiTableServiceError as failure:
        _LOG.warning(
            "Whether others replaced files cannot be told: %s", failure
        )  # what failed first tells more
    return None
