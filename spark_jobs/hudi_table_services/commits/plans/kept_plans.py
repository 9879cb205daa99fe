"""Find out whether the table needs the plan of a compaction, and keep a plan whose cancellation was begun."""

from hudi_table_services.errors import MalformedFileNameError
from hudi_table_services.hudi_format.table_service_plans import decode_rollback_plan
from hudi_table_services.model.data_file import LogFile
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage.damage import naming
from hudi_table_services.storage.file_listing import list_partitions
from hudi_table_services.tables.compaction.compaction_history import Compaction
from hudi_table_services.tables.table import TableAccess


def keep_plan(table: TableAccess, timeline: Timeline, plan: Instant) -> None:
    """Remove the pending rollbacks of a plan. Call this function under the table lock."""
    store = table.timeline_store
    for rollback in timeline.pending:
        content = store.read_requested(rollback) if rollback.action is Action.ROLLBACK else b""
        if not content:
            continue
        with naming(store.requested_path_of(rollback)):
            undone = decode_rollback_plan(content).instant_to_rollback
        if undone is not None and undone.requested_time == plan.requested_time:
            store.remove(rollback)


def why_needed(table: TableAccess, timeline: Timeline, compaction: Compaction) -> str:
    """Say why the table needs a plan; empty if the plan can be removed.

    In table version 6, log files that are written after the plan contain its requested time in their names. Without the
    plan, readers would not find the base file to which they belong, and rows would disappear. A pending delta commit
    may write such a file at any time. From version 8 on, no file depends on a plan.
    """
    if table.config.table_version.layout.has_completion_time_in_names:
        return ""
    time = compaction.instant.requested_time
    for files in list_partitions(table.storage, compaction.partitions).values():
        for stored in files:
            if _log_instant(stored.name) == time:
                return f"the log file {stored.path} belongs to the file slice that compaction {time} creates"
    for instant in timeline.pending:
        if instant.action is Action.DELTA_COMMIT:
            return (
                f"the pending delta commit {instant.requested_time} may write log files for the file slices that "
                f"compaction {time} creates"
            )
    return ""


def _log_instant(name: str) -> str:
    if ".log." not in name:
        return ""
    try:
        return LogFile.from_file_name(name).instant_time
    except MalformedFileNameError:
        return ""  # for example the checksum file that Hadoop writes next to a log file
