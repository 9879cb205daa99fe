"""Find the pending plans of clusterings and compactions that an attempt is executing."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from airflow_hudi_provider.hooks.hudi import HudiHook
    from hudi_table_services.model.instant import Instant
    from hudi_table_services.tables.plans.plan_history import PlanHistory

PlannedService = Literal["clustering", "compaction"]
"""A table service whose plans are on the timeline until an attempt has executed them."""


def held_plans(
    hook: "HudiHook",
    service: PlannedService,
    names: Sequence[str] = (),
    *,
    partitions: Sequence[str] = (),
    request_id: str = "",
    expires_after_minutes: int = 60,
) -> "tuple[Instant, ...]":
    """Implement `HudiHook.held_plans`."""
    from hudi_table_services.contract.request import refuse_text_for_lists
    from hudi_table_services.storage.clock import SystemClock
    from hudi_table_services.tables.executions import is_executed_by_others
    from hudi_table_services.tables.table import TableAccess

    refuse_text_for_lists(names=names, partitions=partitions)
    lookup = plan_history(hook, service)
    if lookup is None:
        return ()
    table = TableAccess(storage=hook.storage, clock=SystemClock(), config=hook.table_config())
    named = {found.instant for name in names if (found := lookup.current(name)) is not None}
    return tuple(
        each.instant
        for each in lookup.pending
        if (not names or each.instant in named)
        and (not partitions or any(group.partition_path in partitions for group in each.file_groups))
        and is_executed_by_others(
            table, each.instant, request_id, expires_after_minutes=expires_after_minutes
        )
    )


def plan_history(hook: "HudiHook", service: PlannedService) -> "PlanHistory[Any] | None":
    """Read the plans of a service on the active timeline; return None if there is no table."""
    return hook.compactions() if service == "compaction" else hook.look_up_clusterings()
