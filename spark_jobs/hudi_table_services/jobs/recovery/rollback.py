"""Roll back the instants that a request names: failed writes, or the newest completed writes.

The job first finishes pending rollbacks of dead jobs. Then it makes all checks before it undoes the first instant of
the request. The job holds the table lock, except in a preview. It needs no Spark.
"""

import logging
from collections.abc import Sequence

from hudi_table_services.commits.commit_point import require_undoable
from hudi_table_services.commits.finished_writes import remove_traces_of_finished_writes
from hudi_table_services.commits.plans.kept_plans import why_needed
from hudi_table_services.commits.undo import (
    finish_pending_rollbacks,
    roll_back_completed,
    roll_back_plan,
    rollback_instant,
)
from hudi_table_services.commits.undo_checks import (
    require_dead,
    require_predecessors,
    require_unplanned,
    why_alive,
)
from hudi_table_services.commits.undo_logs import require_undoable_logs
from hudi_table_services.commits.undo_plan import require_undone_logs
from hudi_table_services.contract.recovery import RollbackRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.errors import InstantHeldError, InstantVanishedError, InvalidRequestError
from hudi_table_services.jobs.recovery.reporting import RecoveryReporter, describe
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_service_plans import UndoNote, UndoReason
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.options.timeline_only import ServiceOptions, resolve_service_options
from hudi_table_services.planning.recovery.undo_rules import newest_first, require_newest, require_unsaved
from hudi_table_services.storage.clock import Clock, SystemClock
from hudi_table_services.storage.locks.lock import TableLock, table_lock
from hudi_table_services.storage.pending_plans import is_pending_row_write
from hudi_table_services.storage.pending_rollbacks import is_being_rolled_back
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.compaction.compaction_history import CompactionHistory
from hudi_table_services.tables.table import TableAccess, check_writable
from hudi_table_services.tables.timeline_edge import require_nothing_hidden, require_nothing_shown
from hudi_table_services.tables.undo_history import undone_by

_LOG = logging.getLogger(__name__)


def rollback(
    request: RollbackRequest, *, storage: Storage | None = None, clock: Clock | None = None
) -> JobResult:
    """Undo the instants that the request names, newest first. A preview only reports the files that would be deleted.

    Raises:
        InvalidRequestError: an instant is unknown, is not a write, is not the newest write, has a savepoint, or is
            needed by another instant; no instant of the request was undone.
        InstantHeldError: an instant has a fresh heartbeat, or log files depend on a compaction whose cancellation was
            begun; no instant of the request was undone.
        UnsupportedTableError: base files of the metadata table contain records of an instant; no instant was undone.
    """
    options = resolve_service_options(request)
    storage = storage or open_storage(request.base_path, request.storage_options)
    config = read_table_config(storage)
    check_writable(
        config,
        request.table_name,
        updates_metadata=False,
        merge_on_read=True,
    )
    table = TableAccess(
        storage=storage,
        clock=clock or SystemClock(),
        config=config,
        metadata=options.metadata,
    )
    job = _RollbackJob(request, options, table)
    result = job.run()
    if not request.preview:
        remove_traces_of_finished_writes(table)
    return result


class _RollbackJob:
    def __init__(self, request: RollbackRequest, options: ServiceOptions, table: TableAccess) -> None:
        self._request = request
        self._options = options
        self._table = table
        self._report = RecoveryReporter(request, options.warnings)

    def run(self) -> JobResult:
        lock = table_lock(
            self._table.storage, self._options.lock, self._table.clock, self._request.request_id
        )
        if self._request.preview:
            return self._run(lock)
        with lock:
            self._report.finished(finish_pending_rollbacks(self._table, self._table.load_timeline()))
            return self._run(lock)

    def _run(self, lock: TableLock) -> JobResult:
        timeline = self._table.load_timeline()
        undone_before = undone_by(self._table, timeline)
        chosen = newest_first(
            self._failed(timeline)
            if self._request.all_failed
            else self._named(timeline, frozenset(undone_before))
        )
        self._check(timeline, chosen)
        self._report.chosen(
            [describe(self._table, instant, preview=self._request.preview) for instant in chosen]
        )
        if not chosen:
            return self._nothing(undone_before)
        if self._request.preview:
            return self._report.previewed()
        done = None
        for instant in chosen:
            lock.verify()
            done = self._undo(instant)
        return self._report.done(done)

    def _nothing(self, undone_before: dict[str, str]) -> JobResult:
        if self._request.all_failed:
            return self._report.nothing_to_do(
                "there is no dead write (a pending write without a fresh heartbeat)"
            )
        reason = ", ".join(f"{time} was undone by {undone_before[time]}" for time in self._request.instants)
        if self._request.preview:
            return self._report.nothing_to_do(reason)
        # An earlier attempt of this request may have undone the instants before it died.
        return self._report.done(None, reason=reason, reused=True)

    def _failed(self, timeline: Timeline) -> list[Instant]:
        writes = [i for i in timeline.pending if is_pending_row_write(self._table.timeline_store, i)]
        reasons = {i: why_alive(self._table, i) for i in writes}
        self._report.left_alone(reason for reason in reasons.values() if reason)
        return [i for i in writes if not reasons[i]]

    def _named(self, timeline: Timeline, undone_before: frozenset[str]) -> list[Instant]:
        found = []
        for time in dict.fromkeys(self._request.instants):
            instants = timeline.find(time)
            writes = [i for i in instants if i.action.writes_data]
            if writes:
                found += [self._undoable(timeline, i) for i in writes]
            elif instants:
                raise InvalidRequestError(
                    f"{time} is a {instants[0].action.value}; only writes can be rolled back.",
                    hint="Use delete_savepoint.py to delete a savepoint. A clean cannot be undone.",
                )
            elif time not in undone_before:
                raise InvalidRequestError(
                    f"The active timeline has no instant {time}.",
                    hint=f"The newest completed writes: {timeline.newest_writes()}.",
                )
        return found

    def _undoable(self, timeline: Timeline, instant: Instant) -> Instant:
        store, time = self._table.timeline_store, instant.requested_time
        if instant.is_completed or is_pending_row_write(store, instant):
            return instant
        if not self._request.preview and is_being_rolled_back(self._table.timeline_store, timeline, instant):
            self._require_unneeded(timeline, instant)
            return instant  # A job died while it rolled back or cancelled the instant.
        service = "compaction" if instant.action is Action.COMPACTION else "clustering"
        advice = (
            "Execute the plan with Hudi, or cancel it with Hudi's command line."
            if instant.action is Action.LOG_COMPACTION
            else f"Execute the plan, or cancel it: cancel_{service}.py --instant {time}."
        )
        raise InvalidRequestError(
            f"Pending {instant.action.value} {time} is the plan of a table service, not a failed write.",
            hint=advice,
        )

    def _require_unneeded(self, timeline: Timeline, plan: Instant) -> None:
        """Raise InstantHeldError if log files depend on a compaction whose cancellation was begun."""
        compaction = CompactionHistory.load(self._table.timeline_store, timeline).current(plan.requested_time)
        if compaction is not None and (reason := why_needed(self._table, timeline, compaction)):
            raise InstantHeldError(
                f"The cancellation of compaction {plan.requested_time} cannot be finished: {reason}.",
                hint="Execute the compaction with execute_compaction.py, which first ends the cancellation and keeps "
                "the plan.",
            )

    def _check(self, timeline: Timeline, chosen: Sequence[Instant]) -> None:
        completed = [i for i in chosen if i.is_completed]
        require_dead(self._table, chosen)
        require_undoable(self._table, chosen)
        require_undoable_logs(self._table, chosen)
        if not completed:
            return
        # The error about later writes also names the savepoint, so that users do not delete a savepoint in vain.
        require_newest(timeline, chosen, self._table.storage.base_path)
        require_unsaved(timeline, completed, self._table.storage.base_path)
        # A running writer may have read files of the commit, and Hudi's writers do not detect that a commit was undone.
        require_dead(self._table, (i for i in timeline.pending if i.action.writes_data))
        require_unplanned(self._table, timeline, chosen)
        for instant in completed:
            require_predecessors(self._table, timeline, instant)
        require_undone_logs(self._table, chosen)
        after = timeline.without(chosen)
        require_nothing_hidden(self._table, timeline, after)
        require_nothing_shown(self._table, timeline, after)

    def _undo(self, instant: Instant) -> Instant:
        reason = UndoReason.DEAD_WRITER if self._request.all_failed else UndoReason.ASKED_FOR
        note = UndoNote(reason=reason, request_id=self._request.request_id)
        if instant.is_completed:
            done = roll_back_completed(self._table, instant, note)
        elif is_pending_row_write(self._table.timeline_store, instant):
            done = rollback_instant(self._table, instant, note)
        else:
            done = roll_back_plan(self._table, instant, note)
        if done is None:
            raise InstantVanishedError(
                f"{instant.action.value} {instant.requested_time} was changed by another writer at the same time.",
                hint="Run the request again.",
            )
        return done
