"""The script that cleans."""

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hudi_table_services.contract.cleaning import POLICIES, CleanRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.options.cleaning import resolve_clean_options
from hudi_table_services.services.flags import (
    EXIT_CODES,
    CommandLine,
    add_run_flags,
    add_table_flags,
    command_line_of,
    common_fields,
    new_parser,
)
from hudi_table_services.services.service import JobScript

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NUMBERS = {
    "commits_retained": "commits whose state stays readable; default: 10",
    "hours_retained": "hours whose commits stay readable",
    "file_versions_retained": "versions of each file group",
    "max_commits_per_run": "most commits that this run cleans; default: no limit",
}
_EXAMPLES = f"""\
examples:
  What would go, with names and bytes:
    clean.py --base-path /data/flights --preview
  Keep what readers may ask for of the last two days:
    clean.py --base-path /data/flights --hours-retained 48 --request-id nightly-2026-01-02
  After a long gap, a hundred commits at a time:
    clean.py --base-path /data/flights --max-commits-per-run 100
{EXIT_CODES}"""


def parse_clean(arguments: Sequence[str] | None = None) -> CommandLine:
    """Of ``clean.py``; see `command_line_of`."""
    return command_line_of(clean_parser(), _request, arguments)


def clean_parser() -> argparse.ArgumentParser:
    """Flags of `CleanRequest`."""
    parser = new_parser(
        "clean.py",
        "Delete files of a Hudi table that no reader may ask for any more. Needs no Spark.",
        _EXAMPLES,
    )
    retention = parser.add_argument_group("retention")
    add_table_flags(retention)
    retention.add_argument(
        "--policy",
        choices=POLICIES,
        metavar="NAME",
        help=f"{', '.join(POLICIES)}; left out: the one whose retention is given alone",
    )
    for name, meaning in _NUMBERS.items():
        retention.add_argument(f"--{name.replace('_', '-')}", type=int, metavar="N", help=meaning)
    retention.add_argument("--preview", action="store_true", help="tell what would go, and delete nothing")
    add_run_flags(parser.add_argument_group("run"))
    return parser


def _request(flags: dict[str, object]) -> CleanRequest:
    own = {name: flags[name] for name in ("policy", *_NUMBERS) if name in flags}
    fields: Mapping[str, Any] = {**common_fields(flags), **own, "preview": "preview" in flags}
    return CleanRequest(**fields)


def _run_clean(_: "SparkSession | None", request: CleanRequest) -> JobResult:
    from hudi_table_services.jobs.cleaning.clean import clean

    return clean(request)


CLEAN = JobScript(
    parse=parse_clean,
    read=CleanRequest.from_json,
    check=resolve_clean_options,
    run=_run_clean,
    needs_spark=False,
)
