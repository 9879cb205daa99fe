"""Find out whether the table needs the plan of a compaction, and keep such a plan or write it back."""

import logging

from hudi_table_services.model.data_file import LogFile
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage.file_listing import list_partitions
from hudi_table_services.storage.pending_rollbacks import pending_rollbacks
from hudi_table_services.tables.compaction.compaction_history import Compaction
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)


def keep_plan(table: TableAccess, timeline: Timeline, plan: Instant) -> None:
    """Keep a plan: remove the pending rollbacks that would undo the plan. Call this function under the table lock."""
    for rollback in pending_rollbacks(table.timeline_store, timeline):
        if rollback.undoes(plan):
            table.timeline_store.remove(rollback.instant)


def why_needed(table: TableAccess, timeline: Timeline, compaction: Compaction) -> str:
    """Return the reason why the table needs a plan; empty if the plan can be removed.

    In table version 6, the names of log files that are written after the plan contain the requested time of the plan.
    Without the plan, readers would not find the base file to which these log files belong, and rows would disappear. A
    pending delta commit may write such a log file at any time. From version 8 on, no file depends on a plan.
    """
    if table.config.table_version.has_own_log_instants:
        return ""
    time = compaction.instant.requested_time
    for files in list_partitions(table.storage, compaction.partitions).values():
        for stored in files:
            log = LogFile.parse_or_none(stored.name)
            if log is not None and log.instant_time == time:
                return f"the log file {stored.path} belongs to the file slice that compaction {time} creates"
    for instant in timeline.pending:
        if instant.action is Action.DELTA_COMMIT:
            return (
                f"the pending delta commit {instant.requested_time} may write log files for the file slices that "
                f"compaction {time} creates"
            )
    return ""


def write_back(table: TableAccess, plan: Instant, content: bytes) -> Instant:
    """Request a plan again after it was removed from the timeline. Call this function under the table lock.

    Args:
        content: content of the requested file before it was removed.

    Returns:
        The requested plan.

    Raises:
        InstantExistsError: another writer wrote the plan back.
    """
    _LOG.warning("Writing %s %s back to the timeline.", plan.action.value, plan.requested_time)
    return table.timeline_store.request(plan.action, content, plan.requested_time)
