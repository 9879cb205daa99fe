"""The scripts of clustering."""

from typing import TYPE_CHECKING

from hudi_table_services.contract.clustering_command_line import (
    parse_cancel,
    parse_execute,
    parse_run,
    parse_schedule,
)
from hudi_table_services.contract.clustering_options import resolve_clustering_options
from hudi_table_services.contract.clustering_request import (
    CancelClusteringRequest,
    ClusteringRequest,
    ExecuteClusteringRequest,
    ScheduleClusteringRequest,
)
from hudi_table_services.contract.job_request import JobRequest
from hudi_table_services.contract.job_result import JobResult
from hudi_table_services.planning.clustering_checks import check_clustering_options
from hudi_table_services.scripts.job_script import JobScript

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _check_plan(request: JobRequest) -> None:
    check_clustering_options(resolve_clustering_options(request).plan)


def _run_schedule(_: "SparkSession | None", request: ScheduleClusteringRequest) -> JobResult:
    from hudi_table_services.jobs.schedule_clustering import schedule_clustering

    return schedule_clustering(request)


def _run_execute(spark: "SparkSession | None", request: ExecuteClusteringRequest) -> JobResult:
    from hudi_table_services.jobs.execute_clustering import execute_clustering

    assert spark is not None  # noqa: S101 - the script needs one
    return execute_clustering(spark, request)


def _run_both(spark: "SparkSession | None", request: ClusteringRequest) -> JobResult:
    from hudi_table_services.jobs.execute_clustering import run_clustering

    assert spark is not None  # noqa: S101 - the script needs one
    return run_clustering(spark, request)


def _run_cancel(_: "SparkSession | None", request: CancelClusteringRequest) -> JobResult:
    from hudi_table_services.jobs.cancel_clustering import cancel_clustering

    return cancel_clustering(request)


SCHEDULE_CLUSTERING = JobScript(
    parse=parse_schedule,
    read=ScheduleClusteringRequest.from_json,
    check=_check_plan,
    run=_run_schedule,
    needs_spark=False,
)

EXECUTE_CLUSTERING = JobScript(
    parse=parse_execute,
    read=ExecuteClusteringRequest.from_json,
    check=resolve_clustering_options,
    run=_run_execute,
)

RUN_CLUSTERING = JobScript(
    parse=parse_run,
    read=ClusteringRequest.from_json,
    check=_check_plan,
    run=_run_both,
)

CANCEL_CLUSTERING = JobScript(
    parse=parse_cancel,
    read=CancelClusteringRequest.from_json,
    check=resolve_clustering_options,
    run=_run_cancel,
    needs_spark=False,
)
