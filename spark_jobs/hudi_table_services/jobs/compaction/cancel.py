"""Cancel pending compactions: delete the base files that they wrote, delete the plan, and record a rollback."""

import logging
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta

from hudi_table_services.commits.finished_writes import remove_traces_of_finished_writes
from hudi_table_services.commits.plans.kept_plans import keep_plan, why_needed, write_back
from hudi_table_services.commits.plans.slice_records import remove_records
from hudi_table_services.commits.stopwatch import Stopwatch
from hudi_table_services.commits.undo import (
    finish_pending_rollbacks,
    roll_back_plan,
    undo_execution,
)
from hudi_table_services.contract.compaction.compaction import CancelCompactionRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.errors import HudiTableServiceError, InstantHeldError, InvalidRequestError
from hudi_table_services.jobs.compaction.opening import open_table
from hudi_table_services.jobs.compaction.reporting import CompactionReporter
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_service_plans import UndoNote, UndoReason
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.options.compaction.compaction_job_options import (
    CompactionJobOptions,
    resolve_compaction_options,
)
from hudi_table_services.options.keys.compaction import EXPIRATION_MINUTES
from hudi_table_services.storage.clock import Clock, SystemClock, instant_text
from hudi_table_services.storage.locks.heartbeat import read_heartbeat_owner
from hudi_table_services.storage.locks.lock import TableLock, table_lock
from hudi_table_services.storage.pending_rollbacks import is_being_rolled_back
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.compaction.compaction_history import Compaction, CompactionHistory
from hudi_table_services.tables.executions import is_executed
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)


def cancel_compaction(
    request: CancelCompactionRequest, *, storage: Storage | None = None, clock: Clock | None = None
) -> JobResult:
    """Cancel the plans that the request names, or all pending plans that are older than the request's limit.

    If the request names a plan that cannot be cancelled now, the job fails and cancels no plan. If the request names no
    plans, the job skips such plans. Cancelling a plan a second time changes nothing.

    Raises:
        InstantHeldError: a plan that the request names is being executed, or log files depend on it.
        InvalidRequestError: an instant that the request names is not a pending compaction.
    """
    options = resolve_compaction_options(request)
    storage, clock = (
        storage or open_storage(request.base_path, request.storage_options),
        clock or SystemClock(),
    )
    table = open_table(request, options, storage, clock, updates_metadata=False)
    report = CompactionReporter(request, options.warnings, Stopwatch())
    lock = table_lock(storage, options.lock, clock, request.request_id)
    # A preview must not create the lock's file.
    guard: AbstractContextManager[object, None] = nullcontext() if request.preview else lock
    with guard:
        if not request.preview:
            finish_pending_rollbacks(table, table.load_timeline())
        history = CompactionHistory.load(table.timeline_store)
        chosen = (
            _named(history, table, request, options)
            if request.older_than_minutes is None
            else _old_enough(history, table, request.older_than_minutes, options)
        )
        if not request.preview:
            chosen = _drop(table, lock, history.timeline, chosen, request)
    if not request.preview:
        remove_traces_of_finished_writes(table)
    if request.instants and not chosen and not request.preview:
        return report.cancelled_before(
            [history.why_missing(instant) or instant for instant in request.instants]
        )
    return report.cancelled(chosen, preview=request.preview)


def _drop(
    table: TableAccess,
    lock: TableLock,
    timeline: Timeline,
    chosen: tuple[Compaction, ...],
    request: CancelCompactionRequest,
) -> tuple[Compaction, ...]:
    """Cancel the chosen plans. Return the plans that were cancelled.

    Raises:
        InstantHeldError: a plan that the request names had to be kept.
    """
    dropped = []
    for compaction in chosen:
        lock.verify()
        reason = drop_plan(table, timeline, compaction, request.request_id)
        if not reason:
            dropped.append(compaction)
        elif request.instants:
            raise _needed(compaction.instant.requested_time, reason)
    return tuple(dropped)


def finish_cancellations(
    table: TableAccess, lock: TableLock, request_id: str, expires_after_minutes: int
) -> None:
    """Finish cancellations whose jobs died. If log files depend on a plan by now, keep the plan instead.

    A pending rollback of Hudi is not a cancellation: Hudi undoes an execution and keeps the plan. The function finishes
    such a rollback, which returns the plan to the requested state.

    A plan with a pending rollback must not be executed: the job that finishes the rollback would delete the new files.

    Args:
        request_id: request id of the job. An earlier attempt of the same request counts as dead.
        expires_after_minutes: see `is_executed`. Plans that another request executes are skipped.
    """
    if not _is_being_undone(table.load_timeline()):
        return
    with lock:
        finish_pending_rollbacks(table, table.load_timeline())
        history = CompactionHistory.load(table.timeline_store)
        for compaction in history.pending:
            owner = read_heartbeat_owner(table.storage, compaction.instant.requested_time) or ""
            is_ours = owner.startswith(f"{request_id}/")
            if not is_being_rolled_back(table.timeline_store, history.timeline, compaction.instant) or (
                not is_ours and is_executed(table, compaction.instant, expires_after_minutes)
            ):
                continue
            lock.verify()
            if undo_execution(table, history.timeline, compaction.instant):
                _LOG.info("Compaction %s is requested again.", compaction.instant.requested_time)
            elif reason := why_needed(table, history.timeline, compaction):
                time = compaction.instant.requested_time
                _LOG.warning("Compaction %s is not cancelled and stays pending: %s.", time, reason)
                keep_plan(table, history.timeline, compaction.instant)
            else:
                drop_plan(table, history.timeline, compaction, request_id)


def _is_being_undone(timeline: Timeline) -> bool:
    return any(i.action in (Action.ROLLBACK, Action.RESTORE) for i in timeline.pending)


def drop_plan(table: TableAccess, timeline: Timeline, compaction: Compaction, request_id: str) -> str:
    """Delete the base files of a plan and remove the plan.

    Call this function under the table lock, after checking the heartbeat and `why_needed`. In table version 6, a writer
    of Hudi without a lock may have read the plan before this function removed the plan. The names of the log files of
    this writer then contain the time of the plan. The writer creates its requested file before it reads the plan. So if
    the timeline contains a new delta commit after the removal, the function writes the plan back.

    Args:
        timeline: the timeline with which `why_needed` was checked.
        request_id: request that cancels the plan.

    Returns:
        Why the plan was written back; empty if the plan was removed.
    """
    time = compaction.instant.requested_time
    content = table.timeline_store.read_requested(compaction.instant)
    note = UndoNote(reason=UndoReason.CANCELLED_PLAN, request_id=request_id)
    is_removed = roll_back_plan(table, compaction.instant, note) is not None
    remove_records(table.storage, time)
    try:
        reason = _why_needed_again(table, timeline, compaction) if is_removed else ""
    except HudiTableServiceError:
        write_back(table, compaction.instant, content)  # it is not known whether log files need the plan
        raise
    if reason:
        _LOG.warning("Compaction %s is not cancelled: %s.", time, reason)
        write_back(table, compaction.instant, content)
        return reason
    _LOG.info("Cancelled compaction %s", time)
    return ""


def _why_needed_again(table: TableAccess, before: Timeline, compaction: Compaction) -> str:
    """Return why the table still needs a plan that was just removed.

    The result is empty if the table does not need the plan. From table version 8 on, this is always the case.
    """
    if table.config.table_version.has_own_log_instants:
        return ""
    timeline, known = table.load_timeline(), {instant.identity for instant in before}
    for instant in timeline:
        if instant.action is Action.DELTA_COMMIT and instant.identity not in known:
            return f"the delta commit {instant.requested_time} began during the cancellation"
    return why_needed(table, timeline, compaction)


def _named(
    history: CompactionHistory,
    table: TableAccess,
    request: CancelCompactionRequest,
    options: CompactionJobOptions,
) -> tuple[Compaction, ...]:
    found = tuple(history.find(i) for i in request.instants if history.why_missing(i) is None)
    for compaction in found:
        time = compaction.instant.requested_time
        if compaction.instant.is_completed:
            raise InvalidRequestError(
                f"Compaction {time} is completed, so it cannot be cancelled.",
                hint="A completed compaction only merged log files into base files, so there is nothing to undo.",
            )
        if is_executed(table, compaction.instant, options.expires_after_minutes):
            raise InstantHeldError(
                f"Compaction {time} is being executed.",
                hint="End the executing job first, or wait until it has ended. An execution by Hudi has no heartbeat: "
                f"if Hudi's job is dead, set {EXPIRATION_MINUTES}=0.",
            )
        if reason := why_needed(table, history.timeline, compaction):
            raise _needed(time, reason)
    return found


def _needed(time: str, reason: str) -> InstantHeldError:
    return InstantHeldError(
        f"Compaction {time} cannot be cancelled: {reason}.",
        hint="Execute the compaction instead, with execute_compaction.py.",
    )


def _old_enough(
    history: CompactionHistory, table: TableAccess, minutes: int, options: CompactionJobOptions
) -> tuple[Compaction, ...]:
    newest = instant_text(table.clock.now() - timedelta(minutes=minutes), table.config)
    chosen = []
    for each in history.pending:
        if each.instant.requested_time > newest or is_executed(
            table, each.instant, options.expires_after_minutes
        ):
            continue
        if reason := why_needed(table, history.timeline, each):
            _LOG.warning("Compaction %s is not cancelled: %s.", each.instant.requested_time, reason)
            continue
        chosen.append(each)
    return tuple(chosen)
