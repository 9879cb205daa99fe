"""Clean up after earlier attempts: roll back dead writes."""

import logging
from collections.abc import Iterator

from hudi_table_services.commits.commit_point import require_usable_metadata_table
from hudi_table_services.commits.finished_writes import remove_traces_of_finished_writes
from hudi_table_services.commits.undo import finish_pending_rollbacks, rollback_instant
from hudi_table_services.errors import CorruptTableError, UnsupportedTableError
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.table_service_plans import UndoNote, UndoReason
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.options.writing_values import FailedWritesPolicy
from hudi_table_services.storage.locks.heartbeat import is_heartbeat_alive
from hudi_table_services.storage.locks.lock import TableLock
from hudi_table_services.storage.pending_plans import is_pending_row_write
from hudi_table_services.storage.request_identity import belongs_to
from hudi_table_services.tables.request_lookup import refuse_running_load
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)
_ROLL_BACK_FIRST = (
    "First run rollback.py --all-failed: a metadata table cannot be built while a dead write is pending."
)
_WORDS = {
    UndoReason.EARLIER_ATTEMPT: "an earlier attempt of this request",
    UndoReason.DEAD_WRITER: "a write without a fresh heartbeat",
}


def clear_pending_writes(
    table: TableAccess, lock: TableLock, request_id: str, policy: FailedWritesPolicy, load_id: str = ""
) -> tuple[Instant, ...]:
    """Roll back pending writes whose writers are dead. Returns the writes that were rolled back.

    An earlier attempt of the same request is always rolled back: either the attempt is dead, or it must not commit
    in addition to this job. For other writes, the policy decides. Under EAGER and LAZY, a job rolls back every
    write without a fresh heartbeat. Under NEVER, it rolls back no other write. Pending plans of table services are
    never changed.

    Args:
        load_id: if this job is a load of changes, the id that its caller chose (see `LOAD_REQUEST_KEY`). Several loads
            have the same `request_id`, so a write of another caller is rolled back only if its writer is dead.

    Raises:
        CommitConflictError: a load of another caller, whose writer is alive, has the same request id.
    """
    cleared: tuple[Instant, ...] = ()
    if table.load_timeline().pending:
        with lock:
            timeline = table.load_timeline()
            finish_pending_rollbacks(table, timeline)
            refuse_running_load(table, timeline, request_id, load_id)
            cleared = _clear(table, timeline, request_id, policy)
    remove_traces_of_finished_writes(table)
    return cleared


def _clear(
    table: TableAccess, timeline: Timeline, request_id: str, policy: FailedWritesPolicy
) -> tuple[Instant, ...]:
    dead = list(_dead_writes(table, timeline, request_id, policy))
    if dead:
        _require_usable_metadata_table(table)
    for instant, reason in dead:
        _LOG.warning("Rolling back %s %s, %s.", instant.action.value, instant.requested_time, _WORDS[reason])
        rollback_instant(table, instant, UndoNote(reason=reason, request_id=request_id))
    return tuple(instant for instant, _ in dead)


def _require_usable_metadata_table(table: TableAccess) -> None:
    """Raise the error of the metadata table now: a job that will be refused must not roll anything back."""
    try:
        require_usable_metadata_table(table)
    except (CorruptTableError, UnsupportedTableError) as error:
        raise type(error)(error.message, hint=f"{_ROLL_BACK_FIRST} {error.hint}", path=error.path) from error


def _dead_writes(
    table: TableAccess, timeline: Timeline, request_id: str, policy: FailedWritesPolicy
) -> Iterator[tuple[Instant, UndoReason]]:
    """Pending writes to roll back, each with the reason."""
    for instant in timeline.pending:
        if not is_pending_row_write(table.timeline_store, instant):
            continue
        if belongs_to(table.timeline_store, table.storage, instant, request_id):
            yield instant, UndoReason.EARLIER_ATTEMPT
        elif policy is not FailedWritesPolicy.NEVER and not is_heartbeat_alive(
            table.storage, instant.requested_time, table.clock
        ):
            yield instant, UndoReason.DEAD_WRITER
        else:
            _LOG.info(
                "Not rolling back pending %s %s, because its writer is alive.",
                instant.action.value,
                instant.requested_time,
            )
