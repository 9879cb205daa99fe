"""Delete markers and heartbeats of finished writes. This module needs no pyarrow."""

import logging

from hudi_table_services.commits.undo_plan import kept_paths
from hudi_table_services.hudi_format.markers import TEMP_FOLDER
from hudi_table_services.hudi_format.table_service_plans import decode_rollback_metadata
from hudi_table_services.model.instant import Action
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage.damage import naming
from hudi_table_services.storage.locks.heartbeat import HEARTBEATS, delete_heartbeat, is_heartbeat_alive
from hudi_table_services.storage.markers import MarkerStore
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)


def remove_traces_of_finished_writes(table: TableAccess) -> None:
    """Delete markers and heartbeats of writes whose jobs died right after the write was completed or rolled back.

    The function lists the folders before it loads the timeline. A write that starts between these two steps is
    pending on the loaded timeline, so its markers and its heartbeat are kept.
    """
    marked = table.storage.list_folder(TEMP_FOLDER).folders
    beating = table.storage.list_folder(HEARTBEATS).files
    if not marked and not beating:
        return
    timeline = table.load_timeline()
    pending = {instant.requested_time for instant in timeline.pending}
    for instant_time in marked:
        if instant_time.isdigit() and instant_time not in pending:
            _remove_markers(table, timeline, instant_time)
    for stored in beating:
        # A writer starts its heartbeat shortly before it requests its instant, so keep fresh heartbeats.
        is_over = stored.name not in pending and not is_heartbeat_alive(
            table.storage, stored.name, table.clock
        )
        if stored.name.isdigit() and is_over:
            delete_heartbeat(table.storage, stored.name)


def _remove_markers(table: TableAccess, timeline: Timeline, instant_time: str) -> None:
    """Delete the markers of a finished write, and the marked files that are not part of the table.

    A completed write names its files in its metadata; its other marked files are deleted. All files of a write that was
    rolled back are deleted, except log files that `kept_paths` returns. Files and markers of any other write are kept,
    because that write may be archived.
    """
    markers = MarkerStore(table.storage, instant_time)
    completed = [i for i in timeline.find(instant_time) if i.is_completed and i.action.writes_data]
    if completed:
        keep = {stat.path for stat in table.timeline_store.commit_metadata(completed[0]).write_stats}
    elif _was_rolled_back(table, timeline, instant_time):
        keep = set(kept_paths(table))
    else:
        return
    _LOG.info("Removing markers of %s, which is no longer pending.", instant_time)
    delete_heartbeat(table.storage, instant_time)
    for path in markers.sweep(keep):
        _LOG.info("Deleted %s", path)
    markers.delete()


def _was_rolled_back(table: TableAccess, timeline: Timeline, instant_time: str) -> bool:
    for rollback in timeline.completed:
        if rollback.action is Action.ROLLBACK and rollback.requested_time > instant_time:
            with naming(table.timeline_store.path_of(rollback)):
                undone = decode_rollback_metadata(table.timeline_store.read(rollback)).commits_rolled_back
            if instant_time in undone:
                return True
    return False
