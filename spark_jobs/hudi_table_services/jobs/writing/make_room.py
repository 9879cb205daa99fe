"""Let a write into file groups that wait for their clustering, so that neither of the two is lost.

A plan that nobody executes gives those file groups up: it is replaced by a plan of the others. A plan under execution
is waited for; the rows are placed anew afterwards, in the files that the clustering wrote. Plans are never changed in
place, since another job may hold the old one, and real Hudi carries out what it reads.
"""

import logging
import time
from collections.abc import Collection
from dataclasses import replace
from itertools import chain

from hudi_table_services.commits.instants import request_instant
from hudi_table_services.errors import PendingPlanError
from hudi_table_services.hudi_format.table_service_plans import encode_requested_replace
from hudi_table_services.jobs.clustering.cancel import drop_plan
from hudi_table_services.model.clustering import UpdatesStrategy
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_service_plans import ClusteringGroup
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.options.writing_values import PendingClusteringOptions
from hudi_table_services.planning.clustering.outdated_plans import file_groups_of
from hudi_table_services.storage.clock import age_text
from hudi_table_services.storage.locks.lock import TableLock
from hudi_table_services.tables.clustering_history import (
    PREDECESSOR_KEY,
    Clustering,
    ClusteringHistory,
)
from hudi_table_services.tables.executions import is_executed
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)
_POLL_SECONDS = 1.0


def make_room(
    table: TableAccess,
    file_groups: Collection[FileGroupId],
    options: PendingClusteringOptions,
    lock: TableLock,
) -> tuple[str, ...]:
    """Free file groups from pending clusterings, as the options say.

    Args:
        file_groups: those that the write changes or replaces.

    Returns:
        Requested times of the plans that gave way. Others may have been completed meanwhile: where a plan held one
        of the file groups before, the table has to be loaded and the rows placed anew.

    Raises:
        PendingPlanError: a plan does not give way, or its execution did not end in time.
    """
    gone: list[str] = []
    deadline = time.monotonic() + options.wait_seconds
    while True:
        with lock:
            hit = _hit(table, file_groups)
            running = [p for p in hit if is_executed(table, p.instant, options.expires_after_minutes)]
            if hit and (options.strategy is UpdatesStrategy.REJECT or _is_rejected(options)):
                raise _rejected(table, hit[0], options)
            for plan in hit:
                if options.strategy is UpdatesStrategy.ALLOW:
                    _LOG.warning("Rolling clustering %s back, whose files this write changes.", _time(plan))
                    lock.verify()
                    drop_plan(table, plan)
                elif plan not in running:
                    _give_way(table, lock, plan, file_groups)
                else:
                    continue
                gone.append(_time(plan))
        if options.strategy is UpdatesStrategy.ALLOW or not running:
            return tuple(gone)
        if time.monotonic() >= deadline:
            raise PendingPlanError(
                f"Clustering {_time(running[0])}, which rewrites file groups of this write, did not end within "
                f"{options.wait_seconds} s (hoodie.airflow.clustering.wait.seconds).",
                hint="Nothing was committed; run the request again when it has ended.",
            )
        _LOG.info("Waiting for clustering %s, which rewrites file groups of this write.", _time(running[0]))
        _wait_for(table, running[0], options, deadline)


def foresee_room(
    table: TableAccess,
    snapshot: TableSnapshot,
    file_groups: Collection[FileGroupId],
    options: PendingClusteringOptions,
) -> tuple[TableSnapshot, tuple[str, ...]]:
    """What `make_room` would do, for a dry run; nothing is changed and nothing waited for.

    Returns:
        The table without the reservations that would be gone, and in words what would become of each plan.

    Raises:
        PendingPlanError: the write would be rejected.
    """
    if snapshot.reserved_file_groups.keys().isdisjoint(file_groups):
        return snapshot, ()
    hit = _hit(table, file_groups)
    if hit and (options.strategy is UpdatesStrategy.REJECT or _is_rejected(options)):
        raise _rejected(table, hit[0], options)
    is_whole = options.strategy is UpdatesStrategy.ALLOW
    freed: set[FileGroupId] = set()
    told = []
    for plan in hit:
        given_up, kept = _divided(plan, file_groups)
        freed.update(plan.file_groups if is_whole else chain.from_iterable(map(file_groups_of, given_up)))
        is_running = not is_whole and is_executed(table, plan.instant, options.expires_after_minutes)
        if is_whole:
            fate = "would be rolled back"
        elif is_running:
            fate = (
                f"is being executed: this write would wait for it, up to {options.wait_seconds} s, and place its rows "
                "in the files that it writes"
            )
        else:
            fate = f"would give {len(given_up)} of its {len(given_up) + len(kept)} groups up to this write"
        told.append(f"The pending clustering {_time(plan)} {fate}.")
    left = {group: plan for group, plan in snapshot.reserved_file_groups.items() if group not in freed}
    return replace(snapshot, reserved_file_groups=left), tuple(told)


def _hit(table: TableAccess, file_groups: Collection[FileGroupId]) -> list[Clustering]:
    timeline = table.load_timeline()
    if not timeline.pending:
        return []
    wanted = frozenset(file_groups)
    pending = ClusteringHistory.load(table.timeline_store, timeline).pending
    return [plan for plan in pending if not plan.file_groups.isdisjoint(wanted)]


def _time(plan: Clustering) -> str:
    return plan.instant.requested_time


def _is_rejected(options: PendingClusteringOptions) -> bool:
    """Hudi's conflict check lets the plan win unless it is told to roll plans back."""
    return options.strategy is UpdatesStrategy.ALLOW and not options.rolls_back


def _rejected(table: TableAccess, plan: Clustering, options: PendingClusteringOptions) -> PendingPlanError:
    age = age_text(table.timeline_store.age_s(plan.instant))
    return PendingPlanError(
        f"This write changes file groups under the pending clustering {_time(plan)}, {age} old, and "
        f"hoodie.clustering.updates.strategy={options.strategy.value} rejects it.",
        hint="Execute or cancel that clustering first, or leave the option out.",
    )


def _give_way(
    table: TableAccess, lock: TableLock, plan: Clustering, file_groups: Collection[FileGroupId]
) -> None:
    """Replace the plan by one without the groups that hold one of the file groups.

    The old plan goes first: were there two for a moment, and a crash then, real Hudi would carry both out.
    """
    _, kept = _divided(plan, file_groups)
    lock.verify()
    drop_plan(table, plan)
    if not kept:
        _LOG.warning("Clustering %s gave way to this write.", _time(plan))
        return
    extra = {**plan.extra_metadata, PREDECESSOR_KEY: _time(plan)}
    content = encode_requested_replace(replace(plan.plan, groups=kept), extra)
    action = plan.instant.action
    instant = request_instant(table, action, content, lock=lock)
    _LOG.warning(
        "Clustering %s gave way to this write; %s takes its place with %d of its %d groups.",
        _time(plan),
        instant.requested_time,
        len(kept),
        len(plan.plan.groups),
    )


def _divided(
    plan: Clustering, file_groups: Collection[FileGroupId]
) -> tuple[tuple[ClusteringGroup, ...], tuple[ClusteringGroup, ...]]:
    """Groups of the plan that hold one of the file groups, and the others."""
    wanted = frozenset(file_groups)
    hit = tuple(group for group in plan.plan.groups if not wanted.isdisjoint(file_groups_of(group)))
    return hit, tuple(group for group in plan.plan.groups if group not in hit)


def _wait_for(
    table: TableAccess, plan: Clustering, options: PendingClusteringOptions, deadline: float
) -> None:
    """Until nobody executes the plan any more, or the time is over."""
    while time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
        pending = [i for i in table.load_timeline().pending if i.identity == plan.instant.identity]
        if not pending or not is_executed(table, pending[0], options.expires_after_minutes):
            return
