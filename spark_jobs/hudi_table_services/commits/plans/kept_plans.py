"""Keep a plan whose cancellation was begun, or write a removed plan back, because log files need the plan."""

import logging

from hudi_table_services.hudi_format.table_service_plans import decode_rollback_plan
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage.damage import naming
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)


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


def write_back(table: TableAccess, plan: Instant, content: bytes) -> Instant:
    """Request a plan again that was removed a moment ago. Call this function under the table lock.

    Args:
        content: content of the requested file before it was removed.

    Returns:
        The requested plan.

    Raises:
        InstantExistsError: another writer wrote the plan back.
    """
    _LOG.warning("Writing %s %s back to the timeline.", plan.action.value, plan.requested_time)
    return table.timeline_store.request(plan.action, content, plan.requested_time)
