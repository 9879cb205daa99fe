"""The service that checks settings, and its script."""

import argparse
from typing import TYPE_CHECKING

from hudi_table_services.contract.config_check import FACTS, FAIL_ON, CheckConfigRequest, ConfigReport
from hudi_table_services.contract.result import JobResult
from hudi_table_services.options.keys.archival import MIN_COMMITS
from hudi_table_services.options.keys.cleaning import COMMITS_RETAINED
from hudi_table_services.options.keys.writing import CONCURRENCY_MODE
from hudi_table_services.planning.config_check.check import check_rule_names
from hudi_table_services.services.flags import EXIT_CODES, PairsAction, names_in, table_group
from hudi_table_services.services.service import MetadataScript, Service

if TYPE_CHECKING:
    from hudi_table_services.storage.stores.storage import Storage

_EXAMPLES = f"""\
examples:
  Check settings without a table:
    {{program}} --option {MIN_COMMITS}=10 --option {COMMITS_RETAINED}=24
  Check settings and a table, for Hudi's own jobs. Two of these jobs may write at the same time:
    {{program}} --base-path s3://lake/flights --fact engine=hudi --fact hudi_version=1.0.2 --fact writers=2 \\
      --option {CONCURRENCY_MODE}=OPTIMISTIC_CONCURRENCY_CONTROL

facts:
{chr(10).join(f"  {name}: {meaning}" for name, meaning in FACTS.items())}
"""


def _add_flags(parser: argparse.ArgumentParser) -> None:
    group = table_group(parser, "check")
    group.add_argument(
        "--fact",
        action=PairsAction,
        dest="facts",
        metavar="NAME=VALUE",
        help="one of the facts below; repeatable",
    )
    group.add_argument(
        "--fail-on",
        metavar="SEVERITY",
        help=f"lowest severity that fails the job: {', '.join(FAIL_ON)}; default: error",
    )
    group.add_argument(
        "--accept",
        type=names_in,
        dest="accepted_rules",
        metavar="RULES",
        help="ids of rules that the check skips, because you accept their findings; separated by commas",
    )


def _check_config(request: CheckConfigRequest, storage: "Storage | None") -> JobResult:
    from hudi_table_services.jobs.check_config import check_table_config

    return check_table_config(request, storage=storage)


CHECK_CONFIG = MetadataScript(
    file_name="check_config.py",
    request_type=CheckConfigRequest,
    description="Find settings of Hudi that would harm a table. Needs neither Spark nor a table.",
    examples=_EXAMPLES,
    exit_codes=f"{EXIT_CODES.rstrip()}\n  78 a finding is at least as severe as --fail-on\n",
    add_flags=_add_flags,
    check_options=check_rule_names,
    job=_check_config,
)

CONFIG_CHECK = Service(name="config_check", scripts=(CHECK_CONFIG,), report=ConfigReport)
