"""Release file groups from pending clusterings, so that a write can change them without losing the clustering.

If no job is executing the plan, a new plan without these file groups replaces the old plan. If a job is executing the
plan, the write waits until the execution ends, and then assigns its rows to the files that the clustering wrote. Plans
are never changed in place, because another job may have read the old plan, and Hudi executes the plan that it has read.
"""

import logging
import time
from collections.abc import Collection
from dataclasses import replace
from itertools import chain

from hudi_table_services.commits.instants import request_instant
from hudi_table_services.contract.text import counted
from hudi_table_services.errors import PendingPlanError
from hudi_table_services.hudi_format.table_service_plans import encode_requested_replace
from hudi_table_services.jobs.clustering.cancel import drop_plan
from hudi_table_services.model.clustering import UpdatesStrategy
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_service_plans import ClusteringGroup, UndoNote, UndoReason
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.options.keys.clustering import UPDATES_STRATEGY, WAIT_SECONDS
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


def release_file_groups(
    table: TableAccess,
    file_groups: Collection[FileGroupId],
    options: PendingClusteringOptions,
    lock: TableLock,
) -> tuple[str, ...]:
    """Release file groups from pending clusterings, according to the options.

    Args:
        file_groups: file groups that the write changes or replaces.

    Returns:
        Requested times of the plans that this write replaced or cancelled. Other plans may have completed during this
        call. If a plan reserved one of the file groups before the call, the caller has to load the table and place the
        rows again.

    Raises:
        PendingPlanError: the write could not release the file groups, or a plan's execution did not end in time.
    """
    replaced_plans: list[str] = []
    deadline = time.monotonic() + options.wait_seconds
    while True:
        with lock:
            plans = _plans_of(table, file_groups)
            running = [p for p in plans if is_executed(table, p.instant, options.expires_after_minutes)]
            if plans and (options.strategy is UpdatesStrategy.REJECT or _allow_rejects(options)):
                raise _rejected(table, plans[0], options)
            for plan in plans:
                if options.strategy is UpdatesStrategy.ALLOW:
                    _LOG.warning("Rolling back clustering %s, whose files this write changes.", _time(plan))
                    lock.verify()
                    drop_plan(table, plan, UndoNote(reason=UndoReason.OUTDATED_PLAN))
                elif plan not in running:
                    _replace_plan(table, lock, plan, file_groups)
                else:
                    continue
                replaced_plans.append(_time(plan))
        if options.strategy is UpdatesStrategy.ALLOW or not running:
            return tuple(replaced_plans)
        if time.monotonic() >= deadline:
            raise PendingPlanError(
                f"Clustering {_time(running[0])}, which rewrites file groups of this write, did not end within "
                f"{options.wait_seconds} s ({WAIT_SECONDS}).",
                hint="Nothing was committed; run the request again when the clustering has ended.",
            )
        _LOG.info("Waiting for clustering %s, which rewrites file groups of this write.", _time(running[0]))
        _wait_for(table, running[0], options, deadline)


def preview_release(
    table: TableAccess,
    snapshot: TableSnapshot,
    file_groups: Collection[FileGroupId],
    options: PendingClusteringOptions,
) -> tuple[TableSnapshot, tuple[str, ...]]:
    """Predict the effects of `release_file_groups` for a dry run. The function changes nothing and does not wait.

    Returns:
        The table without the reservations that would be released, and a sentence about each affected plan.

    Raises:
        PendingPlanError: the write would be rejected.
    """
    if snapshot.reserved_file_groups.keys().isdisjoint(file_groups):
        return snapshot, ()
    plans = _plans_of(table, file_groups)
    if plans and (options.strategy is UpdatesStrategy.REJECT or _allow_rejects(options)):
        raise _rejected(table, plans[0], options)
    rolls_back = options.strategy is UpdatesStrategy.ALLOW
    released: set[FileGroupId] = set()
    messages = []
    for plan in plans:
        to_release, kept = _split_groups(plan, file_groups)
        released.update(
            plan.file_groups if rolls_back else chain.from_iterable(map(file_groups_of, to_release))
        )
        is_running = not rolls_back and is_executed(table, plan.instant, options.expires_after_minutes)
        if rolls_back:
            effect = "would be rolled back"
        elif is_running:
            effect = (
                f"is being executed: this write would wait up to {options.wait_seconds} s for the clustering to end, "
                "and then assign its rows to the new files"
            )
        else:
            groups = counted(len(to_release) + len(kept), "group")
            effect = f"would release {len(to_release)} of its {groups} to this write"
        messages.append(f"The pending clustering {_time(plan)} {effect}.")
    left = {group: plan for group, plan in snapshot.reserved_file_groups.items() if group not in released}
    return replace(snapshot, reserved_file_groups=left), tuple(messages)


def _plans_of(table: TableAccess, file_groups: Collection[FileGroupId]) -> list[Clustering]:
    """Return the pending clusterings that reserve one of the file groups."""
    timeline = table.load_timeline()
    if not timeline.pending:
        return []
    wanted = frozenset(file_groups)
    pending = ClusteringHistory.load(table.timeline_store, timeline).pending
    return [plan for plan in pending if not plan.file_groups.isdisjoint(wanted)]


def _time(plan: Clustering) -> str:
    return plan.instant.requested_time


def _allow_rejects(options: PendingClusteringOptions) -> bool:
    """Whether the strategy is ALLOW and, as in Hudi, rejects the write because no option rolls back pending plans."""
    return options.strategy is UpdatesStrategy.ALLOW and not options.rolls_back


def _rejected(table: TableAccess, plan: Clustering, options: PendingClusteringOptions) -> PendingPlanError:
    age = age_text(table.timeline_store.age_s(plan.instant))
    return PendingPlanError(
        f"This write changes file groups of the pending clustering {_time(plan)}, {age} old, and "
        f"{UPDATES_STRATEGY}={options.strategy.value} rejects the write.",
        hint="Execute or cancel that clustering first, or remove the option.",
    )


def _replace_plan(
    table: TableAccess, lock: TableLock, plan: Clustering, file_groups: Collection[FileGroupId]
) -> None:
    """Replace the plan by a plan without the groups that contain one of the file groups.

    The old plan is deleted first. If this job crashed while both plans existed, Hudi would execute both plans.
    """
    _, kept = _split_groups(plan, file_groups)
    lock.verify()
    drop_plan(table, plan, UndoNote(reason=UndoReason.OUTDATED_PLAN))
    if not kept:
        _LOG.warning(
            "This write cancelled clustering %s, because it released all file groups of the plan.",
            _time(plan),
        )
        return
    extra = {**plan.extra_metadata, PREDECESSOR_KEY: _time(plan)}
    content = encode_requested_replace(replace(plan.plan, groups=kept), extra)
    action = plan.instant.action
    instant = request_instant(table, action, content, lock=lock)
    _LOG.warning(
        "This write released file groups of clustering %s. Clustering %s replaces that plan, with %d of its %s.",
        _time(plan),
        instant.requested_time,
        len(kept),
        counted(len(plan.plan.groups), "group"),
    )


def _split_groups(
    plan: Clustering, file_groups: Collection[FileGroupId]
) -> tuple[tuple[ClusteringGroup, ...], tuple[ClusteringGroup, ...]]:
    """Split the groups of the plan into groups that contain one of the file groups, and the other groups."""
    wanted = frozenset(file_groups)
    to_release = tuple(group for group in plan.plan.groups if not wanted.isdisjoint(file_groups_of(group)))
    return to_release, tuple(group for group in plan.plan.groups if group not in to_release)


def _wait_for(
    table: TableAccess, plan: Clustering, options: PendingClusteringOptions, deadline: float
) -> None:
    """Wait until no job executes the plan, or until the deadline has passed."""
    while time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
        pending = [i for i in table.load_timeline().pending if i.identity == plan.instant.identity]
        if not pending or not is_executed(table, pending[0], options.expires_after_minutes):
            return
