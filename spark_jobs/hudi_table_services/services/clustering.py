"""The clustering service and its scripts."""

import argparse
from typing import TYPE_CHECKING, Any

from hudi_table_services.contract.clustering import (
    LAYOUTS,
    CancelClusteringRequest,
    ClusteringReport,
    ClusteringRequest,
    ExecuteClusteringRequest,
    ScheduleClusteringRequest,
)
from hudi_table_services.contract.result import JobResult
from hudi_table_services.options.clustering import resolve_clustering_options
from hudi_table_services.options.keys.clustering import LAYOUT_STRATEGY
from hudi_table_services.planning.clustering.option_checks import check_clustering_options
from hudi_table_services.services.flags import add_preview, names_in, table_group
from hudi_table_services.services.plan_flags import (
    add_cancel_flags,
    add_execute_flags,
    add_when_held,
    cancel_fields,
)
from hudi_table_services.services.service import MetadataScript, Service, SparkScript

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hudi_table_services.storage.stores.storage import Storage

_SCHEDULE_EXAMPLES = """\
examples:
  Show what would be clustered, and the resulting files:
    {program} --base-path /data/flights --preview
  Schedule a plan after every fourth commit; with fewer commits, the run schedules nothing and reports why:
    {program} --base-path /data/flights --every-n-commits 4 --request-id nightly-2026-01-02
  Sort the rows of two partitions for queries by carrier and date:
    {program} --base-path /data/flights --sort-columns carrier,day --layout zorder --partitions 1,2
"""
_EXECUTE_EXAMPLES = """\
examples:
  Execute all pending plans, oldest first:
    {program} --base-path /data/flights
  Execute one plan; wait while another job is executing the plan:
    {program} --base-path /data/flights --instant 20260102030405006 --when-held wait
  On a cluster:
    spark-submit --master yarn --py-files hudi_table_services.zip execute_clustering.py --request s3://jobs/2.json
"""
_RUN_EXAMPLES = """\
examples:
  Schedule a clustering after every fourth commit, and execute the clustering:
    {program} --base-path /data/flights --every-n-commits 4 --request-id nightly-2026-01-02
"""
_CANCEL_EXAMPLES = """\
examples:
  Cancel plans that were not completed within two days:
    {program} --base-path /data/flights --older-than-minutes 2880
"""


def _add_schedule_flags(parser: argparse.ArgumentParser) -> None:
    _add_plan_flags(parser)


def _add_run_flags(parser: argparse.ArgumentParser) -> None:
    add_when_held(_add_plan_flags(parser))


def _add_plan_flags(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    group = table_group(parser, "plan")
    add = group.add_argument
    add(
        "--sort-columns",
        type=names_in,
        metavar="COLUMN[,COLUMN]",
        help="sort rows by these columns; default: the order of the rows does not change",
    )
    add(
        "--layout",
        choices=LAYOUTS,
        metavar="NAME",
        help=f"{', '.join(LAYOUTS)}; default: {LAYOUT_STRATEGY.default.lower()}",
    )
    add(
        "--partitions",
        type=names_in,
        metavar="PATH[,PATH]",
        help="partition paths; default: all partitions that the options select",
    )
    add(
        "--every-n-commits",
        type=int,
        metavar="N",
        help="schedule only if there are at least N commits since the last completed or pending clustering",
    )
    add_preview(group, "only plan and report; write nothing")
    return group


def _cancel_request(flags: dict[str, Any]) -> CancelClusteringRequest:
    return CancelClusteringRequest(**cancel_fields(flags))


def _check_plan(request: ScheduleClusteringRequest) -> None:
    check_clustering_options(resolve_clustering_options(request).plan)


def _schedule(request: ScheduleClusteringRequest, storage: "Storage | None") -> JobResult:
    from hudi_table_services.jobs.clustering.schedule import schedule_clustering

    return schedule_clustering(request, storage=storage)


def _start_execution(request: ExecuteClusteringRequest, _: bool) -> JobResult | None:
    from hudi_table_services.jobs.clustering.start import start_execution

    return start_execution(request)


def _start_clustering(request: ClusteringRequest, _: bool) -> JobResult | None:
    from hudi_table_services.jobs.clustering.start import start_clustering

    return start_clustering(request)


def _execute(
    spark: "SparkSession", request: ExecuteClusteringRequest, storage: "Storage | None"
) -> JobResult:
    from hudi_table_services.jobs.clustering.execute import execute_clustering

    return execute_clustering(spark, request, storage=storage)


def _run(spark: "SparkSession", request: ClusteringRequest, storage: "Storage | None") -> JobResult:
    from hudi_table_services.jobs.clustering.run import run_clustering

    return run_clustering(spark, request, storage=storage)


def _cancel(request: CancelClusteringRequest, storage: "Storage | None") -> JobResult:
    from hudi_table_services.jobs.clustering.cancel import cancel_clustering

    return cancel_clustering(request, storage=storage)


SCHEDULE_CLUSTERING = MetadataScript(
    file_name="schedule_clustering.py",
    request_type=ScheduleClusteringRequest,
    description="Plan a clustering of a Hudi table and write the plan to the timeline. Needs no Spark.",
    examples=_SCHEDULE_EXAMPLES,
    add_flags=_add_schedule_flags,
    check_options=_check_plan,
    job=_schedule,
)

EXECUTE_CLUSTERING = SparkScript(
    file_name="execute_clustering.py",
    request_type=ExecuteClusteringRequest,
    description="Execute pending clusterings of a Hudi table.",
    examples=_EXECUTE_EXAMPLES,
    add_flags=add_execute_flags,
    check_options=resolve_clustering_options,
    before_spark=_start_execution,
    job=_execute,
)

RUN_CLUSTERING = SparkScript(
    file_name="run_clustering.py",
    command="cluster",
    request_type=ClusteringRequest,
    description="Schedule a clustering of a Hudi table and execute it.",
    examples=_RUN_EXAMPLES,
    add_flags=_add_run_flags,
    check_options=_check_plan,
    before_spark=_start_clustering,
    job=_run,
    metric="clustering",
)

CANCEL_CLUSTERING = MetadataScript(
    file_name="cancel_clustering.py",
    request_type=CancelClusteringRequest,
    description="Remove pending clusterings from the timeline, and delete the files that they wrote. Needs no Spark.",
    examples=_CANCEL_EXAMPLES,
    add_flags=add_cancel_flags,
    needed_flags=lambda flags: (("instants", "older_than_minutes"),),
    build_request=_cancel_request,
    check_options=resolve_clustering_options,
    job=_cancel,
)

CLUSTERING = Service(
    name="clustering",
    scripts=(SCHEDULE_CLUSTERING, EXECUTE_CLUSTERING, RUN_CLUSTERING, CANCEL_CLUSTERING),
    report=ClusteringReport,
)
