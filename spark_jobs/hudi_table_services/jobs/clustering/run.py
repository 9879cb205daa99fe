"""Schedule a clustering and execute it, as one job."""

from dataclasses import replace
from typing import TYPE_CHECKING

from hudi_table_services.contract.clustering import ClusteringReport, ClusteringRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.jobs.clustering.execute import execute_plans
from hudi_table_services.jobs.clustering.schedule import schedule_clustering
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run_clustering(
    spark: "SparkSession",
    request: ClusteringRequest,
    *,
    storage: Storage | None = None,
    clock: Clock | None = None,
) -> JobResult:
    """Schedule a clustering and execute it. If the request has already scheduled plans, execute those plans instead.

    Raises:
        HudiTableServiceError: see `schedule_clustering` and `execute_clustering`.
    """
    storage = storage or open_storage(request.base_path, request.storage_options)
    scheduled = schedule_clustering(request, storage=storage, clock=clock)
    plans = scheduled.report_as(ClusteringReport)
    if request.preview or plans is None or not plans.instants:
        return scheduled
    executed = execute_plans(spark, request, plans.instants, storage, clock)
    report = executed.report_as(ClusteringReport)
    if report is None:
        return executed
    counted = replace(
        report,
        skipped=plans.skipped,
        skipped_count=plans.skipped_count,
        skipped_slices=plans.skipped_slices,
        commits=plans.commits,
        commit_count=plans.commit_count,
    )
    return replace(executed, report=counted)
