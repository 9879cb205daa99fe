"""Read the pending rollbacks on the timeline, and the plans with which their writers requested them."""

from dataclasses import dataclass

from hudi_table_services.hudi_format.table_service_plans import decode_rollback_plan, is_own_rollback_plan
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_service_plans import RollbackPlan
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage.damage import naming
from hudi_table_services.storage.timeline_store import TimelineStore


@dataclass(frozen=True, slots=True)
class PendingRollback:
    """A rollback that was requested and is not completed.

    Attributes:
        plan: None if the writer of the rollback died before it wrote a plan.
        is_own: whether this project wrote the plan.
    """

    instant: Instant
    plan: RollbackPlan | None
    is_own: bool

    def undoes(self, instant: Instant) -> bool:
        """Whether the plan undoes this instant."""
        return self.plan is not None and self.plan.undone_time == instant.requested_time


def pending_rollbacks(store: TimelineStore, timeline: Timeline) -> tuple[PendingRollback, ...]:
    """Pending rollbacks in the order of their requested times.

    Raises:
        MalformedMetadataError: the plan of a rollback cannot be read.
    """
    return tuple(_read(store, instant) for instant in timeline.pending if instant.action is Action.ROLLBACK)


def is_being_rolled_back(store: TimelineStore, timeline: Timeline, instant: Instant) -> bool:
    """Whether the timeline contains a pending rollback of this instant. Nothing is changed.

    A rollback without a plan does not count: it undoes nothing, and `finish_pending_rollbacks` removes it.
    """
    return any(rollback.undoes(instant) for rollback in pending_rollbacks(store, timeline))


def _read(store: TimelineStore, instant: Instant) -> PendingRollback:
    content = store.read_requested(instant)
    if not content:
        return PendingRollback(instant, plan=None, is_own=False)
    with naming(store.requested_path_of(instant)):
        return PendingRollback(instant, decode_rollback_plan(content), is_own_rollback_plan(content))
