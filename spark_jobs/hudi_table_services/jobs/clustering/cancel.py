"""Cancel pending clusterings: delete the files that they wrote, delete the plan, and record a rollback."""

import logging
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta

from hudi_table_services.commits.finished_writes import remove_traces_of_finished_writes
from hudi_table_services.commits.stopwatch import Stopwatch
from hudi_table_services.commits.undo import (
    finish_pending_rollbacks,
    roll_back_plan,
)
from hudi_table_services.contract.clustering import CancelClusteringRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.contract.text import counted
from hudi_table_services.errors import InstantHeldError, InvalidRequestError
from hudi_table_services.jobs.clustering.clustered_table import open_table
from hudi_table_services.jobs.clustering.reporting import ClusteringReporter
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_service_plans import UndoNote, UndoReason
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.options.clustering import resolve_clustering_options
from hudi_table_services.options.clustering_job_options import ClusteringJobOptions
from hudi_table_services.options.keys.clustering import EXPIRATION_MINUTES
from hudi_table_services.storage.clock import Clock, SystemClock, instant_text
from hudi_table_services.storage.locks.heartbeat import read_heartbeat_owner
from hudi_table_services.storage.locks.lock import TableLock, table_lock
from hudi_table_services.storage.pending_rollbacks import is_being_rolled_back
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.clustering_history import Clustering, ClusteringHistory
from hudi_table_services.tables.clustering_lookup import ClusteringLookup
from hudi_table_services.tables.executions import is_executed
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)


def cancel_clustering(
    request: CancelClusteringRequest, *, storage: Storage | None = None, clock: Clock | None = None
) -> JobResult:
    """Cancel the plans that the request names, or all pending plans that are older than the request's limit.

    If the request names a plan that is being executed, the job fails. If the request names no plans, the job skips
    plans that are being executed. Cancelling a plan a second time changes nothing.

    Raises:
        InstantHeldError: a plan that the request names is being executed.
        InvalidRequestError: an instant that the request names is not a pending clustering.
    """
    options = resolve_clustering_options(request)
    storage, clock = (
        storage or open_storage(request.base_path, request.storage_options),
        clock or SystemClock(),
    )
    table = open_table(request, options, storage, clock, executes=False)
    report = ClusteringReporter(request, options.warnings, Stopwatch())
    lock = table_lock(storage, options.lock, clock, request.request_id)
    # A preview must not create the lock's file.
    guard: AbstractContextManager[object, None] = nullcontext() if request.preview else lock
    with guard:
        if not request.preview:
            finish_pending_rollbacks(table, table.load_timeline())
        lookup = ClusteringLookup.load(table.timeline_store)
        chosen = (
            _named(lookup, table, request, options)
            if request.older_than_minutes is None
            else _old_enough(table, request.older_than_minutes, options)
        )
        if not request.preview:
            for clustering in chosen:
                lock.verify()
                drop_plan(table, clustering, _cancelled(request.request_id))
    if not request.preview:
        remove_traces_of_finished_writes(table)
    if request.instants and not chosen and not request.preview:
        return report.cancelled_before(
            [lookup.why_missing(instant) or instant for instant in request.instants]
        )
    return report.cancelled(chosen, preview=request.preview)


def cancel_expired(
    table: TableAccess, options: ClusteringJobOptions, request_id: str
) -> tuple[Clustering, ...]:
    """Cancel plans that are not being executed and are older than the options allow. Return the cancelled plans.

    While the table is locked, the lock file contains `request_id`.
    """
    expired = _old_enough(table, options.expires_after_minutes, options)
    if not expired:
        return ()
    with table_lock(table.storage, options.lock, table.clock, request_id) as lock:
        expired = _old_enough(table, options.expires_after_minutes, options)
        for clustering in expired:
            _LOG.warning(
                "Cancelling clustering %s, pending for more than %s.",
                clustering.instant.requested_time,
                counted(options.expires_after_minutes, "minute"),
            )
            lock.verify()
            drop_plan(table, clustering, _cancelled(request_id))
    return expired


def finish_cancellations(
    table: TableAccess, lock: TableLock, request_id: str, expires_after_minutes: int
) -> None:
    """Finish cancellations whose jobs died.

    A plan with a pending rollback must not be executed: the job that finishes the rollback would delete the new files.

    Args:
        request_id: request id of the job. An earlier attempt of the same request counts as dead.
        expires_after_minutes: see `is_executed`. Plans that another request executes are skipped.
    """
    if not _is_being_undone(table.load_timeline()):
        return
    with lock:
        finish_pending_rollbacks(table, table.load_timeline())
        timeline = table.load_timeline()
        for clustering in ClusteringHistory.load(table.timeline_store, timeline).pending:
            owner = read_heartbeat_owner(table.storage, clustering.instant.requested_time) or ""
            is_ours = owner.startswith(f"{request_id}/")
            if is_being_rolled_back(table.timeline_store, timeline, clustering.instant) and (
                is_ours or not is_executed(table, clustering.instant, expires_after_minutes)
            ):
                lock.verify()
                drop_plan(table, clustering, _cancelled(request_id))


def _cancelled(request_id: str) -> UndoNote:
    return UndoNote(reason=UndoReason.CANCELLED_PLAN, request_id=request_id)


def _is_being_undone(timeline: Timeline) -> bool:
    return any(i.action in (Action.ROLLBACK, Action.RESTORE) for i in timeline.pending)


def drop_plan(table: TableAccess, clustering: Clustering, note: UndoNote) -> None:
    """Delete the files that were written for a plan, and remove the plan.

    Call this function under the table lock, after checking the heartbeat.

    The heartbeat is removed last. If it were removed first and the cancellation died, other jobs would find a plan
    without a heartbeat and assume that Hudi is executing the plan.

    Args:
        note: stored with the plan of the rollback.
    """
    roll_back_plan(table, clustering.instant, note)
    _LOG.info("Cancelled clustering %s", clustering.instant.requested_time)


def _named(
    lookup: ClusteringLookup,
    table: TableAccess,
    request: CancelClusteringRequest,
    options: ClusteringJobOptions,
) -> tuple[Clustering, ...]:
    found = tuple(lookup.find(instant) for instant in request.instants if not lookup.cancelled_by(instant))
    for clustering in found:
        time = clustering.instant.requested_time
        if clustering.instant.is_completed:
            raise InvalidRequestError(
                f"Clustering {time} is completed, so it cannot be cancelled.",
                hint="A completed clustering only moved the rows to other files, so there is nothing to undo.",
            )
        if is_executed(table, clustering.instant, options.expires_after_minutes):
            raise InstantHeldError(
                f"Clustering {time} is being executed.",
                hint="End the executing job first, or wait until it has ended. An execution by Hudi has no heartbeat: "
                f"if Hudi's job is dead, set {EXPIRATION_MINUTES}=0.",
            )
    return found


def _old_enough(table: TableAccess, minutes: int, options: ClusteringJobOptions) -> tuple[Clustering, ...]:
    timeline = table.load_timeline()
    newest = instant_text(table.clock.now() - timedelta(minutes=minutes), table.config)
    pending: Sequence[Clustering] = ClusteringHistory.load(table.timeline_store, timeline).pending
    return tuple(
        each
        for each in pending
        if each.instant.requested_time <= newest
        and not is_executed(table, each.instant, options.expires_after_minutes)
    )
