"""The script that tells how a table is."""

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hudi_table_services.contract.health import MEASURES, HealthRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.services.flags import (
    EXIT_CODES,
    CommandLine,
    add_run_flags,
    add_table_flags,
    command_line_of,
    common_fields,
    new_parser,
    pairs_in,
)
from hudi_table_services.services.service import JobScript

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EXAMPLES = f"""\
examples:
  How the table is, with a warning of what is beyond the usual:
    table_health.py --base-path /data/flights
  For a monitor: exit code 76 where somebody died or small files pile up:
    table_health.py --base-path /data/flights --fail-above dead_instants=0 --fail-above small_file_ratio=0.8

measures:
{chr(10).join(f"  {name}: {meaning}" for name, meaning in MEASURES.items())}
{EXIT_CODES.rstrip()}
  76 a measure is beyond --fail-above
"""


def parse_health(arguments: Sequence[str] | None = None) -> CommandLine:
    """Of ``table_health.py``; see `command_line_of`."""
    return command_line_of(health_parser(), _request, arguments)


def health_parser() -> argparse.ArgumentParser:
    """Flags of `HealthRequest`."""
    parser = new_parser(
        "table_health.py",
        "Tell how a Hudi table is: files, pending instants and what they block, lags. Needs no Spark.",
        _EXAMPLES,
    )
    limits = parser.add_argument_group("limits")
    add_table_flags(limits)
    for name, what in (("warn", "a warning"), ("fail", "exit code 76")):
        limits.add_argument(
            f"--{name}-above",
            action="append",
            metavar="MEASURE=N",
            help=f"{what} where the measure is above; repeatable",
        )
    limits.add_argument(
        "--small-file-limit-bytes", type=int, metavar="N", help="files below are small; default: 100 MiB"
    )
    add_run_flags(parser.add_argument_group("run"))
    return parser


def _request(flags: dict[str, object]) -> HealthRequest:
    own: dict[str, object] = {name: flags[name] for name in ("small_file_limit_bytes",) if name in flags}
    for name in ("warn_above", "fail_above"):
        own[name] = pairs_in(f"--{name.replace('_', '-')}", flags.get(name))
    fields: Mapping[str, Any] = {**common_fields(flags), **own}
    return HealthRequest(**fields)


def _check(request: HealthRequest) -> None:
    from hudi_table_services.contract.cleaning import CleanRequest
    from hudi_table_services.options.cleaning import resolve_clean_options

    resolve_clean_options(CleanRequest(base_path=request.base_path, options=request.options))


def _run_health(_: "SparkSession | None", request: HealthRequest) -> JobResult:
    from hudi_table_services.jobs.health.table_health import table_health

    return table_health(request)


TABLE_HEALTH = JobScript(
    parse=parse_health,
    read=HealthRequest.from_json,
    check=_check,
    run=_run_health,
    needs_spark=False,
)
