"""Undo a write: plan the rollback, delete the completed file, data files, other instant files, complete the rollback.

Without its completed file, the write is pending again, so that no reader sees only a part of its files. The data files
are deleted before the other instant files: a data file without an instant would count as committed as soon as its time
is earlier than the first write of the active timeline. If a job dies during a rollback, the plan of the rollback stays
on the timeline, and the next job carries the plan out. Every step can be repeated without harm.
"""

import logging
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from hudi_table_services.commits.commit_point import complete, prepare_deletion, require_undoable
from hudi_table_services.commits.instants import remove_without_plan
from hudi_table_services.commits.shared_times import (
    delete_own_files,
    must_be_withdrawn,
    others_at,
    shares_time,
    undone_instants,
    withdraw,
)
from hudi_table_services.commits.table_change import NoFiles
from hudi_table_services.commits.undo_logs import adds_rollback_blocks, check_logs, undo_log_blocks
from hudi_table_services.commits.undo_plan import plan_of, require_undone_logs
from hudi_table_services.contract.text import counted
from hudi_table_services.errors import (
    CommitConflictError,
    InstantExistsError,
    MalformedFileNameError,
    UnsupportedTableError,
)
from hudi_table_services.hudi_format.table_service_plans import (
    encode_rollback_metadata,
    encode_rollback_plan,
)
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.table_service_plans import (
    NO_UNDO_NOTE,
    RollbackMetadata,
    RollbackPlan,
    UndoNote,
)
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import WriteOperation
from hudi_table_services.planning.recovery.rollback_plan import (
    UndoneBlocks,
    appended_logs_to_delete,
    files_to_delete,
    log_blocks_to_undo,
    rollback_metadata,
)
from hudi_table_services.planning.recovery.undo_rules import refuse_unfinished_restore
from hudi_table_services.storage.locks.heartbeat import delete_heartbeat
from hudi_table_services.storage.markers import MarkerStore
from hudi_table_services.storage.pending_plans import clustering_plan_of, is_pending_row_write
from hudi_table_services.storage.pending_rollbacks import pending_rollbacks
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)
_UNDONE_ACTIONS = ("commit", "deltacommit", "replacecommit", "clustering", "compaction")


def rollback_instant(table: TableAccess, instant: Instant, note: UndoNote = NO_UNDO_NOTE) -> Instant | None:
    """Roll a pending write back, or finish a pending rollback of the write. Call this function under the table lock.

    Args:
        note: stored with the plan of a new rollback. A pending rollback keeps its own note.

    Returns:
        The completed rollback. None if the instant is not a pending write: it was completed or removed, or it is the
        plan of a table service (this function never changes plans of table services).

    Raises:
        UnsupportedTableError: the instant appended to log files, or a metadata table that must not be switched off
            contains the instant.
        StorageError: a file could not be deleted; the rollback stays pending and the next run finishes it.
    """
    store = table.timeline_store
    timeline = store.load()
    pending = next((i for i in timeline.pending if i.identity == instant.identity), None)
    if pending is None or not is_pending_row_write(store, pending):
        return None
    return _roll_back(table, timeline, pending, note)


def roll_back_plan(table: TableAccess, instant: Instant, note: UndoNote = NO_UNDO_NOTE) -> Instant | None:
    """Delete the base files that a pending clustering or compaction wrote, and remove its plan.

    Call this function under the table lock.

    Returns:
        The completed rollback; None if the plan is no longer pending.

    Raises:
        UnsupportedTableError: a metadata table that must not be switched off contains the plan.
        StorageError: a file could not be deleted; cancelling the plan again finishes the rollback.
    """
    timeline = table.load_timeline()
    pending = next((i for i in timeline.pending if i.identity == instant.identity), None)
    if pending is None or not (
        pending.action is Action.COMPACTION or clustering_plan_of(table.timeline_store, pending)
    ):
        return None
    return _roll_back(table, timeline, pending, note)


def roll_back_completed(
    table: TableAccess, instant: Instant, note: UndoNote = NO_UNDO_NOTE
) -> Instant | None:
    """Undo a completed write. Call this function under the table lock, after checking that no other write builds on it.

    Returns:
        The completed rollback; None if the write is no longer on the timeline as a completed write.

    Raises:
        CommitConflictError: a writer that does not use the lock completed another write during the rollback.
        UnsupportedTableError: the write appended to log files, or a metadata table that must not be switched off
            contains the write.
        StorageError: a file could not be deleted; the rollback stays pending and the next run finishes it.
    """
    timeline = table.load_timeline()
    completed = next((i for i in timeline.completed_writes if i.identity == instant.identity), None)
    return None if completed is None else _roll_back(table, timeline, completed, note)


def undo_in_place(table: TableAccess, instant: Instant) -> RollbackMetadata:
    """Undo a pending or completed write or table service as part of a restore, without a rollback on the timeline.

    Call this function under the table lock, after `require_undone_logs` for all instants that the restore undoes. If
    the instant no longer exists, only files whose names contain its time are deleted.
    """
    started = table.clock.now()
    plan = plan_of(table, instant, whole_slice=True)
    start_time = table.timeline_store.new_instant_time()
    blocks = _undo(table, plan, start_time)
    return rollback_metadata(plan, start_time, _elapsed_ms(table, started), blocks)


def _roll_back(table: TableAccess, timeline: Timeline, undone: Instant, note: UndoNote) -> Instant | None:
    require_undone_logs(table, [undone])  # a stored plan may be older than the log files of its slices
    others = others_at(timeline, undone)
    if must_be_withdrawn(table, undone, others):
        withdraw(table, undone, others)
        return None
    for rollback in pending_rollbacks(table.timeline_store, timeline):
        if rollback.plan is None:
            remove_without_plan(table, rollback.instant)
        elif rollback.undoes(undone):
            return _carry_out(table, rollback.instant, rollback.plan)
    plan = plan_of(table, undone)
    check_logs(table, plan)
    require_undoable(table, [undone])
    requested = table.timeline_store.request(Action.ROLLBACK, encode_rollback_plan(plan, note))
    _LOG.info("Requested rollback %s of %s", requested.requested_time, undone.requested_time)
    return _carry_out(table, requested, plan)


def sweep_pending(table: TableAccess, instant: Instant) -> None:
    """Delete the files that an execution of a pending plan wrote.

    These are the marked files or, without markers, the files whose names contain the time of the instant. Only the
    attempt that has taken the plan over may call this function: after the takeover, tasks of the dead execution remove
    the files that they write.
    """
    if others := others_at(table.load_timeline(), instant):
        delete_own_files(table, instant, others)
        return
    plan = plan_of(table, instant)
    for paths in files_to_delete(plan).values():
        for path in paths:
            if table.storage.delete(path):
                _LOG.info("Deleted %s", path)
    _sweep(table.storage, instant.requested_time)


def finish_pending_rollbacks(table: TableAccess, timeline: Timeline) -> tuple[Instant, ...]:
    """Carry out rollbacks that were requested and never completed. Returns the rollbacks that are now completed.

    Rollbacks without a plan are removed. Rollbacks of clusterings and compactions are skipped: the service that began
    such a rollback finishes it.

    Raises:
        UnsupportedTableError: a restore is pending, and the pending rollbacks may belong to that restore.
    """
    refuse_unfinished_restore(timeline)
    finished = []
    for pending in pending_rollbacks(table.timeline_store, timeline):
        rollback, plan = pending.instant, pending.plan
        if plan is None:
            remove_without_plan(table, rollback)
        elif rollback.state is InstantState.REQUESTED and _is_built_upon(timeline, plan):
            _LOG.warning(
                "Removing rollback %s: it was never started, and other writes completed after the write it undoes.",
                rollback.requested_time,
            )
            table.timeline_store.remove(rollback)
        elif _undoes_write(table, timeline, plan):
            if reason := _why_needed_by_logs(table, timeline, plan):
                _LOG.warning("Giving up rollback %s: %s", rollback.requested_time, reason)
                table.timeline_store.remove(rollback)
                continue
            finished.append(_carry_out(table, rollback, plan))
    return tuple(finished)


def undo_execution(table: TableAccess, timeline: Timeline, plan: Instant) -> bool:
    """Finish a rollback with which Hudi undoes an execution of a compaction plan. Call this under the table lock.

    Before Hudi executes an inflight compaction again, Hudi rolls the execution back and keeps the plan
    (HoodieTable.rollbackInflightCompaction, Hudi 0.15 and 1.2). Rollbacks of this project remove the plan.

    Returns:
        Whether there was such a rollback. If so, the plan is in the requested state now.
    """
    for rollback in pending_rollbacks(table.timeline_store, timeline):
        if rollback.plan is not None and rollback.undoes(plan) and not rollback.is_own:
            _carry_out(table, rollback.instant, rollback.plan, kept=plan)
            return True
    return False


def _undoes_write(table: TableAccess, timeline: Timeline, plan: RollbackPlan) -> bool:
    """Whether the plan undoes a write of rows, a completed compaction, or an instant that no longer exists.

    A rollback first makes a completed instant pending, so the timeline does not show whether a pending compaction was
    completed before. The action in the rollback plan shows this: `commit` if the compaction was completed, `compaction`
    if it was pending.
    """
    undone = plan.instant_to_rollback
    if undone is None or undone.action not in _UNDONE_ACTIONS:
        return False
    present = [i for i in timeline.find(undone.requested_time) if i.action.writes_data]
    if undone.action == Action.COMPACTION.value:
        return not present  # the job that cancels a pending compaction also finishes the rollback
    return all(
        _may_be_undone(table, i) or (i.action is Action.COMPACTION and undone.action == Action.COMMIT.value)
        for i in present
    )


def _why_needed_by_logs(table: TableAccess, timeline: Timeline, plan: RollbackPlan) -> str:
    """Why a compaction of table version 6 must stay although its rollback was begun; empty if it can be undone.

    Once the rollback has deleted the completed file of the compaction, the compaction is pending. From then until the
    rollback is finished, writers may add log files with the time of the compaction in their names.
    """
    present = [i for i in timeline.find(plan.undone_time) if i.action.writes_data]
    try:
        require_undone_logs(table, present)
    except UnsupportedTableError as refusal:
        return refusal.message
    return ""


def _is_built_upon(timeline: Timeline, plan: RollbackPlan) -> bool:
    """Whether the write that the plan undoes is completed, and another write has completed after it."""
    undone = [i for i in timeline.completed_writes if i.requested_time == plan.undone_time]
    return any(later.visible_from > i.visible_from for i in undone for later in timeline.completed_writes)


def _may_be_undone(table: TableAccess, instant: Instant) -> bool:
    """Whether `finish_pending_rollbacks` may carry out a rollback of this write. Clusterings are excluded.

    Only the job that cancels a pending clustering undoes the clustering. A completed clustering was completed after its
    rollback was planned, so the rollback no longer applies.
    """
    if instant.is_completed:
        return table.timeline_store.commit_metadata(instant).operation_type is not WriteOperation.CLUSTER
    return is_pending_row_write(table.timeline_store, instant)


def _carry_out(
    table: TableAccess, rollback: Instant, plan: RollbackPlan, *, kept: Instant | None = None
) -> Instant:
    """Carry out a rollback.

    Args:
        kept: the undone instant if its plan stays on the timeline.
    """
    store, started = table.timeline_store, table.clock.now()
    if rollback.state is InstantState.REQUESTED:
        _refuse_if_built_upon(table, rollback, plan)
    # Raises an error before the first deletion if the plan names a file that must not be deleted.
    files_to_delete(plan)
    check_logs(table, plan)
    prepare_deletion(table, undoes=plan.undone_time, adds_files=adds_rollback_blocks(table, plan))
    # Delete the completed file before the rollback becomes inflight. If this job dies before the deletion, other
    # writes may complete, and the rollback is no longer allowed. Other jobs then remove a requested rollback, which has
    # deleted nothing, but they would carry out an inflight rollback.
    _hide_completed(table, plan)
    if rollback.state is InstantState.REQUESTED:
        # Another job that has lost its lock may be carrying out the same rollback.
        with suppress(InstantExistsError):
            rollback = store.start(rollback)
    blocks = _delete_undone(table, plan, rollback.requested_time, kept=kept)
    metadata = rollback_metadata(plan, rollback.requested_time, _elapsed_ms(table, started), blocks)
    try:
        completed = complete(table, rollback, NoFiles(content=encode_rollback_metadata(metadata)), lock=None)
    except InstantExistsError:
        completed = next(i for i in table.load_timeline().completed if i.identity == rollback.identity)
    undone = ", ".join(metadata.commits_rolled_back)
    _LOG.info("Completed rollback %s of %s", completed.requested_time, undone)
    _remove_traces(table, plan)
    return completed


def _refuse_if_built_upon(table: TableAccess, rollback: Instant, plan: RollbackPlan) -> None:
    """Raises CommitConflictError if another write has completed since the rollback was planned.

    This can happen although the job took the lock: the job may have lost the lock while it listed files, or another
    writer may use no lock.
    """
    timeline = table.load_timeline()
    if _is_built_upon(timeline, plan):
        table.timeline_store.remove(rollback)
        newest = max(timeline.completed_writes, key=lambda i: i.visible_from)
        raise CommitConflictError(
            f"{newest.action.value} {newest.requested_time} completed before {plan.undone_time} could be undone.",
            hint="Nothing was undone; check the timeline, then run the request again.",
        )


def _undo(table: TableAccess, plan: RollbackPlan, rollback_time: str) -> UndoneBlocks:
    files_to_delete(plan)
    check_logs(table, plan)
    prepare_deletion(table, undoes=plan.undone_time, adds_files=adds_rollback_blocks(table, plan))
    _hide_completed(table, plan)
    blocks = _delete_undone(table, plan, rollback_time)
    _remove_traces(table, plan)
    return blocks


def _hide_completed(table: TableAccess, plan: RollbackPlan) -> None:
    """Delete the completed instant file of the write. The write is then pending, so readers ignore its files."""
    for instant in undone_instants(table, plan):
        if instant.is_completed:
            table.timeline_store.remove_completed(instant)


def _delete_undone(
    table: TableAccess, plan: RollbackPlan, rollback_time: str, *, kept: Instant | None = None
) -> UndoneBlocks:
    paths = [path for each in files_to_delete(plan).values() for path in each]
    paths += appended_logs_to_delete(plan)
    for error in table.storage.delete_files(paths).values():
        raise error
    _LOG.info("Deleted up to %s of the undone instant %s", counted(len(paths), "file"), plan.undone_time)
    blocks = undo_log_blocks(table, plan, rollback_time)
    if kept is not None:
        table.timeline_store.return_to_requested(kept)
    else:
        _remove_undone_instants(table, plan)
    return blocks


def _remove_traces(table: TableAccess, plan: RollbackPlan) -> None:
    if undone_time := plan.undone_time:
        if shares_time(table, plan):
            return  # the heartbeat and the markers may belong to the other instant
        delete_heartbeat(table.storage, undone_time)
        kept = {join_path(b.partition_path, name) for b in log_blocks_to_undo(plan) for name in b.names}
        _sweep(table.storage, undone_time, kept)


def _elapsed_ms(table: TableAccess, started: datetime) -> int:
    return max(0, int((table.clock.now() - started).total_seconds() * 1000))


def _sweep(storage: Storage, instant_time: str, kept: Collection[str] = ()) -> None:
    """Delete marked files again: tasks of a dead job may have written files until its heartbeat was deleted.

    Args:
        kept: log files whose blocks were undone. If such a file had to be deleted, `undo_log_blocks` has deleted it.
    """
    markers = MarkerStore(storage, instant_time)
    with suppress(MalformedFileNameError):  # if a marker is damaged, the files were found by listing
        for path in markers.sweep(kept):
            _LOG.info("Deleted %s", path)
    markers.delete()


def _remove_undone_instants(table: TableAccess, plan: RollbackPlan) -> None:
    """Delete the completed file, then the inflight file, then the requested file.

    In this order, the state of the instant never advances.
    """
    store = table.timeline_store
    for instant in undone_instants(table, plan) if plan.instant_to_rollback is not None else ():
        if instant.is_completed:
            store.remove_completed(instant)
            for action in instant.action.pending_names:
                store.remove(replace(instant, action=action))
        else:
            store.remove(instant)
