"""Start a clustering in a process without Spark and pyarrow.

The process needs pyarrow only if a cancellation, a rollback or a restore is pending on the table.
"""

import logging
from collections.abc import Sequence

from hudi_table_services.commits.finished_writes import remove_traces_of_finished_writes
from hudi_table_services.commits.measured_lock import measured_lock
from hudi_table_services.commits.staging_area import remove_staged_by
from hudi_table_services.commits.stopwatch import Stopwatch
from hudi_table_services.contract.clustering import (
    ClusteringReport,
    ClusteringRequest,
    ExecuteClusteringRequest,
)
from hudi_table_services.contract.result import JobResult
from hudi_table_services.errors import StorageError, UnsupportedTableError
from hudi_table_services.jobs.clustering.clustered_table import open_table, rule_of
from hudi_table_services.jobs.clustering.reporting import ClusteringReporter
from hudi_table_services.jobs.clustering.schedule import schedule_clustering
from hudi_table_services.model.instant import Action
from hudi_table_services.options.clustering import resolve_clustering_options
from hudi_table_services.planning.clustering.stored_plan import refuse_bucket_plan
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.locks.lock import TableLock
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.tables.clustering_history import Clustering
from hudi_table_services.tables.clustering_lookup import ClusteringLookup
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)


def start_clustering(request: ClusteringRequest) -> JobResult | None:
    """Schedule a clustering. Return the result if there is nothing to execute; else None. Needs no Spark.

    If the result is None, `run.run_clustering` with the same request executes the plans.

    Raises:
        HudiTableServiceError: see `schedule_clustering`.
    """
    scheduled = schedule_clustering(request)
    plans = scheduled.report_as(ClusteringReport)
    return scheduled if request.preview or plans is None or not plans.instants else None


def start_execution(request: ExecuteClusteringRequest) -> JobResult | None:
    """Return the result of `execute.execute_clustering` if there is no plan to execute; else None. Needs no Spark.

    Raises:
        HudiTableServiceError: the table cannot be read or written.
        ModuleNotFoundError: a cancellation is pending on the table, and this process lacks pyarrow to finish it.
    """
    options, watch = resolve_clustering_options(request), Stopwatch()
    storage, clock = open_storage(request.base_path, request.storage_options), SystemClock()
    table = open_table(request, options, storage, clock, executes=True)
    rule_of(table, options)
    lock = measured_lock(storage, options.lock, clock, watch, request.request_id)
    chosen, missing = choose_plans(
        table, lock, request.instants, request.request_id, options.expires_after_minutes
    )
    if chosen:
        return None
    remove_leftovers(table, options.staging_path)
    return ClusteringReporter(request, options.warnings, watch).nothing_executed(missing, [])


def choose_plans(
    table: TableAccess,
    lock: TableLock,
    instants: Sequence[str],
    request_id: str,
    expires_after_minutes: int,
) -> tuple[list[Clustering], list[str]]:
    """Return the plans to execute, and a sentence about each named plan that is missing.

    Args:
        instants: requested times of the plans; empty means all pending plans, oldest first.
        expires_after_minutes: see `finish_cancellations`, which this function calls first.
    """
    if any(i.action in (Action.ROLLBACK, Action.RESTORE) for i in table.load_timeline().pending):
        from hudi_table_services.jobs.clustering.cancel import finish_cancellations  # needs pyarrow

        finish_cancellations(table, lock, request_id, expires_after_minutes)
    return ClusteringLookup.load(table.timeline_store).select(instants)


def without_plans_of_hudi(
    chosen: Sequence[Clustering], *, are_named: bool
) -> tuple[list[Clustering], list[str]]:
    """Return the plans that this release can execute, and a warning about each other plan.

    If a request names no plans, a plan that only Hudi can execute stays pending and does not make the job fail.

    Args:
        are_named: whether the request names the plans.

    Raises:
        UnsupportedTableError: the request names a plan that only Hudi can execute.
    """
    kept, warnings = [], []
    for clustering in chosen:
        try:
            if not clustering.instant.is_completed:
                refuse_bucket_plan(clustering.plan, clustering.instant.requested_time)
        except UnsupportedTableError as refusal:
            if are_named:
                raise
            warnings.append(f"{refusal.message} {refusal.hint}")
        else:
            kept.append(clustering)
    return kept, warnings


def remove_leftovers(table: TableAccess, staging_path: str) -> None:
    """Delete the temporary files of attempts that completed their plans and then died."""
    remove_traces_of_finished_writes(table)
    completed = table.load_timeline().completed_writes
    try:
        owners = {staging_owner(instant.requested_time) for instant in completed}
        remove_staged_by(table.storage, staging_path, owners)
    except StorageError as failure:
        _LOG.warning("Staged files of an earlier attempt were not deleted: %s", failure)


def staging_owner(instant_time: str) -> str:
    """Return the name under which the execution of a plan stages files."""
    return f"clustering-{instant_time}"
