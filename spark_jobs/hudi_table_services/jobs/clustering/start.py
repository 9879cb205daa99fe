"""Start a clustering in a process without Spark and pyarrow."""

from hudi_table_services.commits.measured_lock import measured_lock
from hudi_table_services.commits.stopwatch import Stopwatch
from hudi_table_services.contract.clustering import (
    ClusteringReport,
    ClusteringRequest,
    ExecuteClusteringRequest,
)
from hudi_table_services.contract.result import JobResult
from hudi_table_services.jobs.clustering.chosen_plans import choose_plans, remove_leftovers
from hudi_table_services.jobs.clustering.reporting import ClusteringReporter
from hudi_table_services.jobs.clustering.schedule import schedule_clustering
from hudi_table_services.options.clustering import resolve_clustering_options
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.table import TableAccess, check_writable


def start_clustering(request: ClusteringRequest) -> JobResult | None:
    """Schedule a clustering. Return the result if there is nothing to execute; else None. Needs no Spark.

    `run.run_clustering` with the same request then executes the plans.

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
    config = read_table_config(storage)
    check_writable(config, request.table_name, updates_metadata=options.metadata.enable is not False)
    table = TableAccess(storage=storage, clock=clock, config=config, metadata=options.metadata)
    lock = measured_lock(storage, options.lock, clock, watch, request.request_id)
    chosen, missing = choose_plans(
        table, lock, request.instants, request.request_id, options.expires_after_minutes
    )
    if chosen:
        return None
    remove_leftovers(table, options.staging_path)
    return ClusteringReporter(request, options.warnings, watch).nothing_executed(missing, [])
