"""Keep a plan whose cancellation was begun: remove the rollback that would remove the plan."""

from hudi_table_services.hudi_format.table_service_plans import decode_rollback_plan
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage.damage import naming
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
