"""Find out whether a pending plan is being executed."""

from hudi_table_services.errors import ObjectNotFoundError
from hudi_table_services.model.instant import Instant, InstantState
from hudi_table_services.storage.locks.heartbeat import (
    has_heartbeat,
    is_heartbeat_alive,
    read_heartbeat_owner,
)
from hudi_table_services.tables.table import TableAccess


def is_executed(table: TableAccess, pending: Instant, expires_after_minutes: int) -> bool:
    """Whether a pending plan is being executed. For executions by Hudi, which have no heartbeat, the age is checked.

    Args:
        expires_after_minutes: age after which an execution without a heartbeat counts as dead.
    """
    if has_heartbeat(table.storage, pending.requested_time):
        return is_heartbeat_alive(table.storage, pending.requested_time, table.clock)
    if pending.state is not InstantState.INFLIGHT:
        return False
    try:
        begun_ms = table.storage.modified_ms(table.timeline_store.path_of(pending))
    except ObjectNotFoundError:
        return False  # the plan was just completed or cancelled, or is back in the requested state
    age_ms = int(table.clock.now().timestamp() * 1000) - begun_ms
    return age_ms < expires_after_minutes * 60_000


def is_executed_by_others(
    table: TableAccess, pending: Instant, request_id: str, *, expires_after_minutes: int
) -> bool:
    """Whether another request executes a pending plan.

    Attempts of this request are ignored, because this job takes them over.
    """
    owner = read_heartbeat_owner(table.storage, pending.requested_time)
    if owner is not None and owner.startswith(f"{request_id}/"):
        return False
    return is_executed(table, pending, expires_after_minutes)
