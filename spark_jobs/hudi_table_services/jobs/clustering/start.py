"""Start a clustering in a process without Spark and pyarrow."""

from hudi_table_services.contract.clustering import ClusteringReport, ClusteringRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.jobs.clustering.schedule import schedule_clustering


def start_clustering(request: ClusteringRequest) -> JobResult | None:
    """Schedule a clustering. Return the result if there is nothing to execute; else None. Needs no Spark.

    `run.run_clustering` with the same request then executes the plans.

    Raises:
        HudiTableServiceError: see `schedule_clustering`.
    """
    scheduled = schedule_clustering(request)
    plans = scheduled.report_as(ClusteringReport)
    return scheduled if request.preview or plans is None or not plans.instants else None
