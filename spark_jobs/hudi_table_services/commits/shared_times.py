"""Two instants of different actions that have the same requested time.

Hudi before 1.0 chooses the time of a write without the table lock, and creates the instant on the timeline only later
(HoodieActiveTimeline.createNewInstantTime, Hudi 0.15). So a write of Hudi and an instant of this project can have the
same time. The timeline keeps both, but the files and markers of both contain only the time. If one of the two is
completed, all readers count the files of both as committed. So the instant of this project gives way: it never
completes beside the other instant, and its removal keeps the files of the other instant.
"""

import logging
from collections.abc import Sequence

from hudi_table_services.commits.commit_point import prepare_orphan_deletion
from hudi_table_services.commits.undo_plan import appends_to_slices, files_named_after, is_base_file, plan_of
from hudi_table_services.contract.text import counted
from hudi_table_services.errors import SharedInstantTimeError, UnsupportedTableError
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.table_service_plans import RollbackPlan
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.planning.recovery.rollback_plan import appended_logs_to_delete, log_blocks_to_undo
from hudi_table_services.storage.locks.heartbeat import delete_heartbeat, is_heartbeat_alive
from hudi_table_services.storage.markers import MarkerStore
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)


def others_at(timeline: Timeline, instant: Instant) -> tuple[Instant, ...]:
    """Return the writes and table services of other actions that have the requested time of an instant."""
    return tuple(
        other
        for other in timeline.find(instant.requested_time)
        if other.action.writes_data and other.identity != instant.identity
    )


def refuse_shared_time(timeline: Timeline, instant: Instant) -> None:
    """Raise SharedInstantTimeError if another write or table service has the requested time of this instant."""
    for other in others_at(timeline, instant):
        raise SharedInstantTimeError(
            f"Another writer's {other.action.value} has the same time as this {instant.action.value}: "
            f"{instant.requested_time}.",
            hint="Nothing was committed. Run the request again: it gets another time.",
        )


def must_be_withdrawn(table: TableAccess, undone: Instant, others: Sequence[Instant]) -> bool:
    """Whether an instant must be undone with `withdraw`, because a rollback could delete files of the other instants.

    Args:
        others: the result of `others_at`.
    """
    if not others:
        return False
    if all(other.state is InstantState.REQUESTED for other in others):
        # Requested instants have no files. But only a rollback can undo log blocks of table version 6.
        return not _may_have_log_blocks(table, undone)
    # All instants of one time share one heartbeat. Without a fresh heartbeat, all of them are dead.
    are_dead = not is_heartbeat_alive(table.storage, undone.requested_time, table.clock)
    is_pending = not any(each.is_completed for each in (undone, *others))
    return undone.state is InstantState.REQUESTED or not (is_pending and are_dead)


def withdraw(table: TableAccess, undone: Instant, others: Sequence[Instant]) -> None:
    """Remove a pending instant, and keep the files of the other instants that have its time.

    Call this function under the table lock. There is no rollback on the timeline, because a rollback names only the
    time, and would undo the other instants, too. Every step can be repeated without harm.

    Args:
        others: the result of `others_at`, with at least one instant.

    Raises:
        SharedInstantTimeError: `undone` is completed, or one of the others is inflight, so its files are not known yet.
        UnsupportedTableError: the instant appended to log files of table version 6.
        StorageError: a file could not be deleted; the instant is still pending.
    """
    if undone.state is not InstantState.REQUESTED:
        delete_own_files(table, undone, others)
        if all(other.is_completed for other in others):
            MarkerStore(table.storage, undone.requested_time).delete()
            delete_heartbeat(table.storage, undone.requested_time)
    table.timeline_store.remove(undone)
    _LOG.warning(
        "Removed the pending %s %s: another writer's %s has the same time.",
        undone.action.value,
        undone.requested_time,
        others[0].action.value,
    )


def delete_own_files(table: TableAccess, undone: Instant, others: Sequence[Instant]) -> None:
    """Delete the files that a pending instant wrote, but not the files of the other instants that have its time.

    See `withdraw` for the arguments and the errors.
    """
    _refuse_unknown_files(undone, others)
    if _may_have_log_blocks(table, undone):
        _refuse_log_blocks(table, undone)
    metadata = [table.timeline_store.commit_metadata(other) for other in others if other.is_completed]
    named = {stat.path for each in metadata for stat in each.write_stats}
    files = files_named_after(table.storage, undone)
    # In table version 6, log files contain the time of a compaction, but other writes wrote them.
    written = filter(is_base_file, files) if appends_to_slices(table) else files
    own = sorted(path for path in written if path not in named)
    prepare_orphan_deletion(table, own)
    for error in table.storage.delete_files(own).values():
        raise error
    _LOG.info("Deleted %s of the pending instant %s", counted(len(own), "file"), undone.requested_time)


def undone_instants(table: TableAccess, plan: RollbackPlan) -> tuple[Instant, ...]:
    """Return the instant that a rollback undoes, if it still exists, but no other instant that has its time."""
    own = _undone_action(plan)
    found = tuple(i for i in table.load_timeline().find(plan.undone_time) if i.action.writes_data)
    return found if own is None or len(found) == 1 else tuple(i for i in found if i.action.comparable is own)


def shares_time(table: TableAccess, plan: RollbackPlan) -> bool:
    """Whether the timeline has another write or service with the time of the instant that a rollback undoes."""
    own = _undone_action(plan)
    found = table.load_timeline().find(plan.undone_time) if own is not None else ()
    return any(i.action.writes_data and i.action.comparable is not own for i in found)


def _undone_action(plan: RollbackPlan) -> Action | None:
    """The action that a rollback undoes; None if the plan does not name an action that this project knows."""
    undone = plan.instant_to_rollback
    known = {action.value: action.comparable for action in Action}
    return None if undone is None else known.get(undone.action)


def _may_have_log_blocks(table: TableAccess, undone: Instant) -> bool:
    """Whether an instant may have added blocks to log files whose names do not contain its time."""
    return undone.action is Action.DELTA_COMMIT and appends_to_slices(table)


def _refuse_unknown_files(undone: Instant, others: Sequence[Instant]) -> None:
    other = next((each for each in others if each.state is InstantState.INFLIGHT), others[0])
    if undone.is_completed:
        raise SharedInstantTimeError(
            f"{undone.action.value} {undone.requested_time} cannot be undone, because {other.action.value} "
            f"{other.requested_time} of another writer has the same time.",
            hint="Nothing was changed. To undo both, restore the table to a savepoint before this time.",
        )
    if other.state is InstantState.INFLIGHT:
        raise SharedInstantTimeError(
            f"{undone.action.value} {undone.requested_time} cannot be removed yet, because the pending "
            f"{other.action.value} of another writer has the same time.",
            hint="Nothing was changed. Run the job again after that writer has completed its write. If both writers "
            "are dead, a later job removes both instants as soon as their heartbeat has expired.",
        )


def _refuse_log_blocks(table: TableAccess, undone: Instant) -> None:
    plan = plan_of(table, undone)
    if log_blocks_to_undo(plan) or appended_logs_to_delete(plan):
        raise UnsupportedTableError(
            f"deltacommit {undone.requested_time} added rows to log files and cannot be removed, because another "
            "writer's instant has the same time.",
            hint="Nothing was changed. Restore the table to a savepoint before this time.",
        )
