"""What earlier attempts left behind: adopt the completed one of this request, roll back the dead."""

import logging

from hudi_table_services.jobs.request_identity import belongs_to
from hudi_table_services.jobs.rollback import finish_pending_rollbacks, rollback_instant
from hudi_table_services.jobs.table_access import TableAccess
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_options import FailedWritesPolicy
from hudi_table_services.storage.heartbeat import is_heartbeat_alive
from hudi_table_services.storage.lock import TableLock
from hudi_table_services.storage.pending_plans import is_dead_write_candidate

_LOG = logging.getLogger(__name__)


def clear_pending_writes(
    table: TableAccess, lock: TableLock, request_id: str, policy: FailedWritesPolicy
) -> tuple[Instant, ...]:
    """Roll back pending writes that nobody finishes any more; returns them.

    An attempt of this very request is always dead, or must not commit beside us: it goes. Of others EAGER
    (Hudi's default for a single writer) takes all without a living heartbeat, LAZY those whose heartbeat expired,
    NEVER none. Pending plans of table services are never touched.
    """
    if not table.load_timeline().pending:
        return ()
    with lock:
        timeline = table.load_timeline()
        finish_pending_rollbacks(table, timeline)
        return _clear(table, timeline, request_id, policy)


def _clear(
    table: TableAccess, timeline: Timeline, request_id: str, policy: FailedWritesPolicy
) -> tuple[Instant, ...]:
    cleared = []
    for instant in timeline.pending:
        if not is_dead_write_candidate(table.timeline_store, instant):
            continue
        if belongs_to(table.timeline_store, table.storage, instant, request_id):
            reason = "an earlier attempt of this request"
        elif policy is not FailedWritesPolicy.NEVER and not is_heartbeat_alive(
            table.storage, instant.requested_time, table.clock
        ):
            reason = "a write without a living heartbeat"
        else:
            _LOG.info(
                "Leaving pending %s %s alone: its writer is alive.",
                instant.action.value,
                instant.requested_time,
            )
            continue
        _LOG.warning("Rolling back %s %s, %s.", instant.action.value, instant.requested_time, reason)
        rollback_instant(table, instant)
        cleared.append(instant)
    return tuple(cleared)
