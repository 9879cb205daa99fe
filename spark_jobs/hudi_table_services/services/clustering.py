"""The scripts of clustering."""

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from hudi_table_services.contract.clustering import (
    LAYOUTS,
    WHEN_HELD,
    CancelClusteringRequest,
    ClusteringRequest,
    ExecuteClusteringRequest,
    ScheduleClusteringRequest,
)
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.options.clustering import resolve_clustering_options
from hudi_table_services.planning.clustering.option_checks import check_clustering_options
from hudi_table_services.services.flags import (
    EXIT_CODES,
    CommandLine,
    add_run_flags,
    add_table_flags,
    command_line_of,
    common_fields,
    names_in,
    new_parser,
)
from hudi_table_services.services.service import JobScript

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RequestT = TypeVar("RequestT", bound=JobRequest)

_SCHEDULE_EXAMPLES = f"""\
examples:
  What would be clustered, and what would become of it:
    schedule_clustering.py --base-path /data/flights --preview
  A plan after every fourth commit; running it earlier plans nothing and says so:
    schedule_clustering.py --base-path /data/flights --every-n-commits 4 --request-id nightly-2026-01-02
  Rows in order, for queries by carrier and date, in two partitions:
    schedule_clustering.py --base-path /data/flights --sort-columns carrier,day --layout zorder --partitions 1,2
{EXIT_CODES}"""
_EXECUTE_EXAMPLES = f"""\
examples:
  All that is pending, oldest first:
    execute_clustering.py --base-path /data/flights
  One plan, waiting where another job works on it:
    execute_clustering.py --base-path /data/flights --instant 20260102030405006 --when-held wait
  On a cluster:
    spark-submit --master yarn --py-files hudi_table_services.zip execute_clustering.py --request s3://jobs/2.json
{EXIT_CODES}"""
_RUN_EXAMPLES = f"""\
examples:
  Schedule and execute, after every fourth commit:
    run_clustering.py --base-path /data/flights --every-n-commits 4 --request-id nightly-2026-01-02
{EXIT_CODES}"""
_CANCEL_EXAMPLES = f"""\
examples:
  Plans that nobody finished within two days:
    cancel_clustering.py --base-path /data/flights --older-than-minutes 2880
{EXIT_CODES}"""


def parse_schedule(arguments: Sequence[str] | None = None) -> CommandLine:
    """Of ``schedule_clustering.py``; see `command_line_of`."""
    return command_line_of(schedule_parser(), _schedule_request, arguments)


def parse_execute(arguments: Sequence[str] | None = None) -> CommandLine:
    """Of ``execute_clustering.py``; see `command_line_of`."""
    return command_line_of(execute_parser(), _execute_request, arguments)


def parse_run(arguments: Sequence[str] | None = None) -> CommandLine:
    """Of ``run_clustering.py``; see `command_line_of`."""
    return command_line_of(run_parser(), _run_request, arguments)


def parse_cancel(arguments: Sequence[str] | None = None) -> CommandLine:
    """Of ``cancel_clustering.py``; see `command_line_of`."""
    return command_line_of(cancel_parser(), _cancel_request, arguments)


def schedule_parser() -> argparse.ArgumentParser:
    """Flags of `ScheduleClusteringRequest`."""
    parser = new_parser(
        "schedule_clustering.py",
        "Plan a clustering of a Hudi table and put the plan on its timeline. Needs no Spark.",
        _SCHEDULE_EXAMPLES,
    )
    _add_plan_flags(parser)
    return parser


def execute_parser() -> argparse.ArgumentParser:
    """Flags of `ExecuteClusteringRequest`."""
    parser = new_parser(
        "execute_clustering.py", "Carry out clusterings that are pending on a Hudi table.", _EXECUTE_EXAMPLES
    )
    plans = parser.add_argument_group("plans")
    add_table_flags(plans)
    _add_instants(plans, "default: all that are pending, oldest first")
    _add_when_held(plans)
    add_run_flags(parser.add_argument_group("run"))
    return parser


def run_parser() -> argparse.ArgumentParser:
    """Flags of `ClusteringRequest`."""
    parser = new_parser(
        "run_clustering.py", "Plan a clustering of a Hudi table and carry it out.", _RUN_EXAMPLES
    )
    _add_when_held(_add_plan_flags(parser))
    return parser


def cancel_parser() -> argparse.ArgumentParser:
    """Flags of `CancelClusteringRequest`."""
    parser = new_parser(
        "cancel_clustering.py",
        "Take pending clusterings off the timeline, with what they wrote. Needs no Spark.",
        _CANCEL_EXAMPLES,
    )
    plans = parser.add_argument_group("plans")
    add_table_flags(plans)
    _add_instants(plans, "or give an age")
    plans.add_argument(
        "--older-than-minutes",
        type=int,
        metavar="N",
        help="plans of at least this age; 0: all that nobody executes",
    )
    plans.add_argument("--preview", action="store_true", help="tell which ones, and cancel none")
    add_run_flags(parser.add_argument_group("run"))
    return parser


def _add_plan_flags(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    plan = parser.add_argument_group("plan")
    add_table_flags(plan)
    add = plan.add_argument
    add("--sort-columns", metavar="COLUMN[,COLUMN]", help="bring rows in order; left out: as they are read")
    add("--layout", choices=LAYOUTS, metavar="NAME", help=f"{', '.join(LAYOUTS)}; default: linear")
    add(
        "--partitions", metavar="PATH[,PATH]", help="partition paths; left out: all that the options let pass"
    )
    add(
        "--every-n-commits",
        type=int,
        metavar="N",
        help="only after as many commits since the last clustering, completed or pending",
    )
    add("--preview", action="store_true", help="plan, report and write nothing")
    add_run_flags(parser.add_argument_group("run"))
    return plan


def _add_instants(group: argparse._ArgumentGroup, default: str) -> None:
    group.add_argument(
        "--instant", action="append", metavar="TIME", help=f"requested time of a plan, repeatable; {default}"
    )


def _add_when_held(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--when-held",
        choices=WHEN_HELD,
        metavar="NAME",
        help=f"{', '.join(WHEN_HELD)}: what to do while another job works on the plan; default: fail",
    )


def _plan(flags: dict[str, object]) -> dict[str, object]:
    lists = {name: names_in(flags.get(name)) for name in ("sort_columns", "partitions")}
    plain: dict[str, object] = {name: flags[name] for name in ("layout", "every_n_commits") if name in flags}
    return {**common_fields(flags), **lists, **plain, **_when_held(flags), "preview": "preview" in flags}


def _when_held(flags: dict[str, object]) -> dict[str, object]:
    return {name: flags[name] for name in ("when_held",) if name in flags}


def _instants(flags: dict[str, object]) -> tuple[str, ...]:
    given = flags.get("instant")
    return tuple(given) if isinstance(given, list) else ()


def _schedule_request(flags: dict[str, object]) -> ScheduleClusteringRequest:
    return _built(ScheduleClusteringRequest, _plan(flags))


def _run_request(flags: dict[str, object]) -> ClusteringRequest:
    return _built(ClusteringRequest, _plan(flags))


def _execute_request(flags: dict[str, object]) -> ExecuteClusteringRequest:
    return _built(
        ExecuteClusteringRequest, {**common_fields(flags), **_when_held(flags), "instants": _instants(flags)}
    )


def _cancel_request(flags: dict[str, object]) -> CancelClusteringRequest:
    own: dict[str, object] = {"instants": _instants(flags), "preview": "preview" in flags}
    if "instant" not in flags and "older_than_minutes" not in flags:
        raise InvalidRequestError(
            "Say which plans: --instant or --older-than-minutes.",
            hint="--older-than-minutes 0 takes all that nobody executes.",
        )
    if "older_than_minutes" in flags:
        own["older_than_minutes"] = flags["older_than_minutes"]
    return _built(CancelClusteringRequest, {**common_fields(flags), **own})


def _built(kind: type[RequestT], fields: Mapping[str, Any]) -> RequestT:
    return kind(**fields)


def _check_plan(request: JobRequest) -> None:
    check_clustering_options(resolve_clustering_options(request).plan)


def _run_schedule(_: "SparkSession | None", request: ScheduleClusteringRequest) -> JobResult:
    from hudi_table_services.jobs.clustering.schedule import schedule_clustering

    return schedule_clustering(request)


def _run_execute(spark: "SparkSession | None", request: ExecuteClusteringRequest) -> JobResult:
    from hudi_table_services.jobs.clustering.execute import execute_clustering

    assert spark is not None  # noqa: S101 - the script needs one
    return execute_clustering(spark, request)


def _run_both(spark: "SparkSession | None", request: ClusteringRequest) -> JobResult:
    from hudi_table_services.jobs.clustering.execute import run_clustering

    assert spark is not None  # noqa: S101 - the script needs one
    return run_clustering(spark, request)


def _run_cancel(_: "SparkSession | None", request: CancelClusteringRequest) -> JobResult:
    from hudi_table_services.jobs.clustering.cancel import cancel_clustering

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
