"""The script that checks settings."""

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hudi_table_services.contract.config_check import FACTS, FAIL_ON, CheckConfigRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.services.flags import (
    EXIT_CODES,
    CommandLine,
    add_run_flags,
    add_table_flags,
    command_line_of,
    common_fields,
    names_in,
    new_parser,
    pairs_in,
)
from hudi_table_services.services.service import JobScript

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EXAMPLES = f"""\
examples:
  Settings alone, without a table:
    check_config.py --option hoodie.keep.min.commits=10 --option hoodie.clean.commits.retained=24
  Beside a table, for Hudi's own jobs, two of which may write at once:
    check_config.py --base-path s3://lake/flights --fact engine=hudi --fact hudi_version=1.0.2 --fact writers=2 \\
      --option hoodie.write.concurrency.mode=OPTIMISTIC_CONCURRENCY_CONTROL

facts:
{chr(10).join(f"  {name}: {meaning}" for name, meaning in FACTS.items())}
{EXIT_CODES.rstrip()}
  78 a finding as bad as --fail-on
"""


def parse_check_config(arguments: Sequence[str] | None = None) -> CommandLine:
    """Of ``check_config.py``; see `command_line_of`."""
    return command_line_of(check_config_parser(), _request, arguments)


def check_config_parser() -> argparse.ArgumentParser:
    """Flags of `CheckConfigRequest`."""
    parser = new_parser(
        "check_config.py",
        "Look through Hudi's settings for what would harm a table. Needs no Spark, and no table.",
        _EXAMPLES,
    )
    check = parser.add_argument_group("check")
    add_table_flags(check)
    check.add_argument("--fact", action="append", metavar="NAME=VALUE", help="see below; repeatable")
    check.add_argument("--fail-on", metavar="SEVERITY", help=f"{', '.join(FAIL_ON)}; default: error")
    check.add_argument("--accept", metavar="RULES", help="ids of rules whose findings are meant: r1,r2")
    add_run_flags(parser.add_argument_group("run"))
    return parser


def _request(flags: dict[str, object]) -> CheckConfigRequest:
    own: dict[str, object] = {name: flags[name] for name in ("fail_on",) if name in flags}
    own["facts"] = pairs_in("--fact", flags.get("fact"))
    own["accepted_rules"] = names_in(flags.get("accept"))
    fields: Mapping[str, Any] = {**common_fields(flags), **own}
    return CheckConfigRequest(**fields)


def _check(request: CheckConfigRequest) -> None:
    from hudi_table_services.jobs.check_config import check_rule_names

    check_rule_names(request)


def _run_check(_: "SparkSession | None", request: CheckConfigRequest) -> JobResult:
    from hudi_table_services.jobs.check_config import check_table_config

    return check_table_config(request)


CHECK_CONFIG = JobScript(
    parse=parse_check_config,
    read=CheckConfigRequest.from_json,
    check=_check,
    run=_run_check,
    needs_spark=False,
)
