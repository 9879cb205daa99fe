"""Describe each pending instant of a table by its age, heartbeat and plan."""

from hudi_table_services.contract.health import PendingInstant
from hudi_table_services.errors import MalformedMetadataError, ObjectNotFoundError
from hudi_table_services.model.instant import Instant, InstantState
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import WriteOperation
from hudi_table_services.planning.health import PendingFacts, describe_pending
from hudi_table_services.storage.locks.heartbeat import (
    DEFAULT_INTERVAL_MS,
    DEFAULT_TOLERABLE_MISSES,
    heartbeat_age_ms,
)
from hudi_table_services.storage.pending_plans import clustering_plan_of, planned_file_groups
from hudi_table_services.tables.table import TableAccess


def load_pending(table: TableAccess, timeline: Timeline) -> tuple[PendingInstant, ...]:
    """The pending instants, oldest first, each with its effects and the recommended action.

    Raises:
        MalformedMetadataError: the plan of a pending service cannot be read.
    """
    return tuple(describe_pending(facts) for i in timeline.pending if (facts := _facts(table, i)) is not None)


def _facts(table: TableAccess, instant: Instant) -> PendingFacts | None:
    """Facts about a pending instant; None if the instant is no longer pending."""
    store = table.timeline_store
    try:
        plan = clustering_plan_of(store, instant)
        groups = planned_file_groups(store, instant)
        content = store.read_requested(instant) if not instant.action.writes_data or plan else b"?"
    except ObjectNotFoundError:
        # A savepoint has no requested state.
        if instant.action.writes_data:
            return None
        plan, groups, content = None, frozenset(), b"?"
    return PendingFacts(
        instant=instant,
        age_s=store.age_s(instant),
        heartbeat=_heartbeat(table, instant),
        is_clustering=plan is not None,
        has_content=bool(content),
        file_groups=len(groups),
        operation=_operation(table, instant, is_clustering=plan is not None),
    )


def _heartbeat(table: TableAccess, instant: Instant) -> str:
    time = instant.requested_time
    age_ms = heartbeat_age_ms(table.storage, time, table.clock)
    if age_ms is None:
        return "none"
    expires_after_ms = DEFAULT_INTERVAL_MS * DEFAULT_TOLERABLE_MISSES
    if age_ms < -expires_after_ms:
        return "ahead"
    return "alive" if age_ms <= expires_after_ms else "expired"


def _operation(table: TableAccess, instant: Instant, *, is_clustering: bool) -> str:
    if is_clustering:
        return WriteOperation.CLUSTER.value
    if not instant.action.writes_data or instant.state is not InstantState.INFLIGHT:
        return ""
    try:
        operation = table.timeline_store.commit_metadata(instant).operation_type
    except (ObjectNotFoundError, MalformedMetadataError):  # Hudi's inflight files may be empty
        return ""
    return operation.value if operation is not None else ""
