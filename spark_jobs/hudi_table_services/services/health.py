"""The health check of a table and its script."""

import argparse
from typing import TYPE_CHECKING

from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.health import MEASURES, HealthReport, HealthRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.options.cleaning import resolve_clean_options
from hudi_table_services.options.keys.writing import SMALL_FILE_LIMIT
from hudi_table_services.services.flags import EXIT_CODES, PairsAction, table_group
from hudi_table_services.services.service import MetadataScript, Service

if TYPE_CHECKING:
    from hudi_table_services.storage.stores.storage import Storage

_EXAMPLES = f"""\
examples:
  Report the state of the table, with a warning for each measure above its default limit:
    {{program}} --base-path /data/flights
  For monitoring, end with exit code 76 if a writer died or small files accumulate:
    {{program}} --base-path /data/flights --fail-above dead_instants=0 --fail-above small_file_ratio=0.8

measures:
{chr(10).join(f"  {name}: {meaning}" for name, meaning in MEASURES.items())}
"""


def _add_flags(parser: argparse.ArgumentParser) -> None:
    group = table_group(parser, "limits")
    for name, effect in (("warn", "a warning"), ("fail", "exit code 76")):
        group.add_argument(
            f"--{name}-above",
            action=PairsAction,
            metavar="MEASURE=N",
            help=f"{effect} if the measure is above the number; repeatable",
        )
    group.add_argument(
        "--small-file-limit-bytes",
        type=int,
        metavar="N",
        help=f"files below this size count as small; default: {SMALL_FILE_LIMIT.default_value >> 20} MiB",
    )
    group.add_argument(
        "--deep",
        action="store_true",
        help="also read all records of the metadata table, and compare column statistics with the footers of all data "
        "files",
    )


def _check_options(request: HealthRequest) -> None:
    resolve_clean_options(CleanRequest(base_path=request.base_path, options=request.options))


def _table_health(request: HealthRequest, storage: "Storage | None") -> JobResult:
    from hudi_table_services.jobs.health.table_health import table_health

    return table_health(request, storage=storage)


TABLE_HEALTH = MetadataScript(
    file_name="table_health.py",
    command="health",
    request_type=HealthRequest,
    description="Report the health of a Hudi table: its files, its pending instants with the actions that they block, "
    "and the backlog of its table services. Needs no Spark.",
    examples=_EXAMPLES,
    exit_codes=f"{EXIT_CODES.rstrip()}\n  76 a measure is above --fail-above\n",
    add_flags=_add_flags,
    check_options=_check_options,
    job=_table_health,
)

HEALTH = Service(name="health", scripts=(TABLE_HEALTH,), report=HealthReport)
