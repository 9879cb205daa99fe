"""Refuse to build a metadata table while writes are pending."""

from hudi_table_services.errors import PendingPlanError
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage.pending_plans import clustering_plan_of
from hudi_table_services.tables.table import TableAccess

_PLANS = (Action.CLEAN, Action.CLUSTERING, Action.COMPACTION, Action.LOG_COMPACTION)


def refuse_pending_writes(table: TableAccess, timeline: Timeline) -> None:
    """Refuse to build while an instant is pending, because the new metadata table would lack the files of the instant.

    A writer reads at its start which partitions the metadata table has, so it would not update a partition that is
    built during the write. A plan that no job executes yet has written no file, so it does not prevent the build.

    Raises:
        PendingPlanError: such an instant is pending; the message names the instant.
    """
    for instant in timeline.pending:
        if instant.action is Action.SAVEPOINT or _is_plan(table, instant):
            continue
        raise PendingPlanError(
            f"{instant.action.value} {instant.requested_time} is {instant.state.value}. A metadata table cannot be "
            "built while a write or a table service is pending.",
            hint="Wait until its writer is finished. If the writer has died, roll the instant back, then run the "
            "request again.",
        )


def _is_plan(table: TableAccess, instant: Instant) -> bool:
    if instant.state is not InstantState.REQUESTED:
        return False
    return instant.action in _PLANS or clustering_plan_of(table.timeline_store, instant) is not None
