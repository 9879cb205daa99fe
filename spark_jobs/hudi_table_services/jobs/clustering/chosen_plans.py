"""Choose the plans to execute, and clean up after earlier attempts. Needs pyarrow only for pending cancellations."""

import logging
from collections.abc import Sequence

from hudi_table_services.commits.finished_writes import remove_traces_of_finished_writes
from hudi_table_services.commits.staging_area import remove_staged_by
from hudi_table_services.errors import StorageError
from hudi_table_services.model.instant import Action
from hudi_table_services.storage.locks.lock import TableLock
from hudi_table_services.tables.clustering_history import Clustering
from hudi_table_services.tables.clustering_lookup import ClusteringLookup
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)


def choose_plans(
    table: TableAccess,
    lock: TableLock,
    instants: Sequence[str],
    request_id: str,
    expires_after_minutes: int,
) -> tuple[list[Clustering], list[str]]:
    """Return the plans to execute, and a sentence about each named plan that is missing.

    Args:
        instants: requested times of the plans; empty means all pending plans, oldest first.
        expires_after_minutes: see `finish_cancellations`, which this function calls first.
    """
    if any(i.action in (Action.ROLLBACK, Action.RESTORE) for i in table.load_timeline().pending):
        from hudi_table_services.jobs.clustering.cancel import finish_cancellations  # needs pyarrow

        finish_cancellations(table, lock, request_id, expires_after_minutes)
    lookup = ClusteringLookup.load(table.timeline_store)
    # A missing plan is not a failure: an earlier attempt of this request may have cancelled the plan.
    missing = {instant: words for instant in instants if (words := lookup.why_missing(instant)) is not None}
    named = [lookup.find(instant) for instant in instants if instant not in missing]
    # Execute each plan once, even if the request names both a plan and the older plan that it replaces.
    once = {each.instant.requested_time: each for each in named}
    chosen = list(once.values()) if instants else list(lookup.history.pending)
    return chosen, list(missing.values())


def remove_leftovers(table: TableAccess, staging_path: str) -> None:
    """Delete the leftovers of attempts that completed their plans and then died."""
    remove_traces_of_finished_writes(table)
    completed = table.load_timeline().completed_writes
    try:
        owners = {staging_owner(instant.requested_time) for instant in completed}
        remove_staged_by(table.storage, staging_path, owners)
    except StorageError as failure:
        _LOG.warning("Staged files of an earlier attempt were not deleted: %s", failure)


def staging_owner(instant_time: str) -> str:
    """Return the name under which the execution of a plan stages files."""
    return f"clustering-{instant_time}"
