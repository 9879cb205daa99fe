"""The compaction service and its scripts."""

import argparse
from typing import TYPE_CHECKING, Any

from hudi_table_services.contract.compaction.compaction import (
    CancelCompactionRequest,
    CompactionReport,
    CompactionRequest,
    ExecuteCompactionRequest,
    ScheduleCompactionRequest,
)
from hudi_table_services.contract.result import JobResult
from hudi_table_services.options.compaction.compaction_job_options import resolve_compaction_options
from hudi_table_services.options.keys.compaction import MAX_DELTA_COMMITS
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
  Show what would be compacted, and the log files of the table:
    {program} --base-path /data/flights --preview
  Make a plan after every fourth delta commit; with fewer delta commits, the run makes no plan and reports why:
    {program} --base-path /data/flights --every-n-commits 4 --request-id nightly-2026-01-02
  Make a plan for two partitions at once:
    {program} --base-path /data/flights --ignore-trigger --partitions 1,2
"""
_EXECUTE_EXAMPLES = """\
examples:
  Execute all pending plans, oldest first:
    {program} --base-path /data/flights
  Execute one plan; wait while another job is executing the plan:
    {program} --base-path /data/flights --instant 20260102030405006 --when-held wait
  On a cluster:
    spark-submit --master yarn --py-files hudi_table_services.zip execute_compaction.py --request s3://jobs/2.json
"""
_RUN_EXAMPLES = """\
examples:
  Schedule a compaction after every fourth delta commit, and execute the compaction:
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
    group.add_argument(
        "--partitions",
        type=names_in,
        metavar="PATH[,PATH]",
        help="partition paths; default: all partitions that the options select",
    )
    group.add_argument(
        "--every-n-commits",
        type=int,
        metavar="N",
        help="a compaction is due after this number of delta commits since the last compaction; default: "
        f"{MAX_DELTA_COMMITS.default}",
    )
    group.add_argument(
        "--ignore-trigger",
        action="store_true",
        help="plan even if the number of delta commits and the time since the last compaction are below the limits",
    )
    add_preview(group, "plan, report and write nothing")
    return group


def _cancel_request(flags: dict[str, Any]) -> CancelCompactionRequest:
    return CancelCompactionRequest(**cancel_fields(flags))


def _schedule(request: ScheduleCompactionRequest, storage: "Storage | None") -> JobResult:
    from hudi_table_services.jobs.compaction.schedule import schedule_compaction

    return schedule_compaction(request, storage=storage)


def _start_execution(request: ExecuteCompactionRequest, _: bool) -> JobResult | None:
    from hudi_table_services.jobs.compaction.start import start_execution

    return start_execution(request)


def _start_compaction(request: CompactionRequest, _: bool) -> JobResult | None:
    from hudi_table_services.jobs.compaction.start import start_compaction

    return start_compaction(request)


def _execute(
    spark: "SparkSession", request: ExecuteCompactionRequest, storage: "Storage | None"
) -> JobResult:
    from hudi_table_services.jobs.compaction.execute import execute_compaction

    return execute_compaction(spark, request, storage=storage)


def _run(spark: "SparkSession", request: CompactionRequest, storage: "Storage | None") -> JobResult:
    from hudi_table_services.jobs.compaction.run import run_compaction

    return run_compaction(spark, request, storage=storage)


def _cancel(request: CancelCompactionRequest, storage: "Storage | None") -> JobResult:
    from hudi_table_services.jobs.compaction.cancel import cancel_compaction

    return cancel_compaction(request, storage=storage)


SCHEDULE_COMPACTION = MetadataScript(
    file_name="schedule_compaction.py",
    request_type=ScheduleCompactionRequest,
    description="Plan a compaction of a merge-on-read table and write the plan to the timeline. Needs no Spark.",
    examples=_SCHEDULE_EXAMPLES,
    add_flags=_add_schedule_flags,
    check_options=resolve_compaction_options,
    job=_schedule,
)

EXECUTE_COMPACTION = SparkScript(
    file_name="execute_compaction.py",
    request_type=ExecuteCompactionRequest,
    description="Execute pending compactions of a merge-on-read table.",
    examples=_EXECUTE_EXAMPLES,
    add_flags=add_execute_flags,
    check_options=resolve_compaction_options,
    before_spark=_start_execution,
    job=_execute,
)

RUN_COMPACTION = SparkScript(
    file_name="run_compaction.py",
    command="compact",
    request_type=CompactionRequest,
    description="Plan a compaction of a merge-on-read table and execute it.",
    examples=_RUN_EXAMPLES,
    add_flags=_add_run_flags,
    check_options=resolve_compaction_options,
    before_spark=_start_compaction,
    job=_run,
    metric="compaction",
)

CANCEL_COMPACTION = MetadataScript(
    file_name="cancel_compaction.py",
    request_type=CancelCompactionRequest,
    description="Remove pending compactions from the timeline, and delete the files that they wrote. Needs no Spark.",
    examples=_CANCEL_EXAMPLES,
    add_flags=add_cancel_flags,
    build_request=_cancel_request,
    check_options=resolve_compaction_options,
    job=_cancel,
)

COMPACTION = Service(
    name="compaction",
    scripts=(SCHEDULE_COMPACTION, EXECUTE_COMPACTION, RUN_COMPACTION, CANCEL_COMPACTION),
    report=CompactionReport,
)
