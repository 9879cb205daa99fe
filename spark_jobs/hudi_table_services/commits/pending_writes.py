"""Clean up after earlier attempts: roll back dead writes, and delete markers and heartbeats of finished writes."""

import logging
from collections.abc import Iterator

from hudi_table_services.commits.commit_point import require_usable_metadata_table
from hudi_table_services.commits.undo import finish_pending_rollbacks, rollback_instant
from hudi_table_services.hudi_format.markers import TEMP_FOLDER
from hudi_table_services.hudi_format.table_service_plans import decode_rollback_metadata
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.options.writing_values import FailedWritesPolicy
from hudi_table_services.storage.damage import naming
from hudi_table_services.storage.locks.heartbeat import HEARTBEATS, delete_heartbeat, is_heartbeat_alive
from hudi_table_services.storage.locks.lock import TableLock
from hudi_table_services.storage.markers import MarkerStore
from hudi_table_services.storage.pending_plans import is_pending_row_write
from hudi_table_services.storage.request_identity import belongs_to
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)


def clear_pending_writes(
    table: TableAccess, lock: TableLock, request_id: str, policy: FailedWritesPolicy
) -> tuple[Instant, ...]:
    """Roll back pending writes whose writers are dead. Returns the writes that were rolled back.

    An earlier attempt of the same request is always rolled back: either the attempt is dead, or it must not commit
    in addition to this job. For other writes, the policy decides. EAGER (Hudi's default for a single writer) rolls
    back every write without a fresh heartbeat. LAZY rolls back writes whose heartbeat has expired. NEVER rolls back no
    write. Pending plans of table services are never changed.
    """
    cleared: tuple[Instant, ...] = ()
    if table.load_timeline().pending:
        with lock:
            timeline = table.load_timeline()
            finish_pending_rollbacks(table, timeline)
            cleared = _clear(table, timeline, request_id, policy)
    remove_traces_of_finished_writes(table)
    return cleared


def _clear(
    table: TableAccess, timeline: Timeline, request_id: str, policy: FailedWritesPolicy
) -> tuple[Instant, ...]:
    dead = list(_dead_writes(table, timeline, request_id, policy))
    if dead:
        # A job that will be refused must not roll anything back: the refusal asks for a repair of the metadata table.
        require_usable_metadata_table(table)
    for instant, reason in dead:
        _LOG.warning("Rolling back %s %s, %s.", instant.action.value, instant.requested_time, reason)
        rollback_instant(table, instant)
    return tuple(instant for instant, _ in dead)


def _dead_writes(
    table: TableAccess, timeline: Timeline, request_id: str, policy: FailedWritesPolicy
) -> Iterator[tuple[Instant, str]]:
    """Pending writes to roll back, each with the reason."""
    for instant in timeline.pending:
        if not is_pending_row_write(table.timeline_store, instant):
            continue
        if belongs_to(table.timeline_store, table.storage, instant, request_id):
            yield instant, "an earlier attempt of this request"
        elif policy is not FailedWritesPolicy.NEVER and not is_heartbeat_alive(
            table.storage, instant.requested_time, table.clock
        ):
            yield instant, "a write without a fresh heartbeat"
        else:
            _LOG.info(
                "Not rolling back pending %s %s, because its writer is alive.",
                instant.action.value,
                instant.requested_time,
            )


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
    rolled back are deleted. Files and markers of any other write are kept, because that write may be archived.
    """
    markers = MarkerStore(table.storage, instant_time)
    completed = [i for i in timeline.find(instant_time) if i.is_completed and i.action.writes_data]
    if completed:
        keep = {stat.path for stat in table.timeline_store.commit_metadata(completed[0]).write_stats}
    elif _was_rolled_back(table, timeline, instant_time):
        keep = set()
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
