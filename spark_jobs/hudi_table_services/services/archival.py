"""The script that archives."""

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.options.archival import resolve_archive_options
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
    "min_commits": "commits that stay on the active timeline; default: 20",
    "max_commits": "nothing is archived up to so many; default: 30",
}
_EXAMPLES = f"""\
examples:
  What would go, and what holds archival back:
    archive.py --base-path /data/flights --preview
  Keep a week of hourly commits:
    archive.py --base-path /data/flights --min-commits 168 --max-commits 192
{EXIT_CODES}"""


def parse_archive(arguments: Sequence[str] | None = None) -> CommandLine:
    """Of ``archive.py``; see `command_line_of`."""
    return command_line_of(archive_parser(), _request, arguments)


def archive_parser() -> argparse.ArgumentParser:
    """Flags of `ArchiveRequest`."""
    parser = new_parser(
        "archive.py",
        "Move the oldest completed instants of a Hudi table from its active timeline into the archive. Needs no Spark.",
        _EXAMPLES,
    )
    retention = parser.add_argument_group("retention")
    add_table_flags(retention)
    for name, meaning in _NUMBERS.items():
        retention.add_argument(f"--{name.replace('_', '-')}", type=int, metavar="N", help=meaning)
    retention.add_argument("--preview", action="store_true", help="tell what would go, and write nothing")
    add_run_flags(parser.add_argument_group("run"))
    return parser


def _request(flags: dict[str, object]) -> ArchiveRequest:
    own = {name: flags[name] for name in _NUMBERS if name in flags}
    fields: Mapping[str, Any] = {**common_fields(flags), **own, "preview": "preview" in flags}
    return ArchiveRequest(**fields)


def _run_archive(_: "SparkSession | None", request: ArchiveRequest) -> JobResult:
    from hudi_table_services.jobs.archival.archive import archive

    return archive(request)


ARCHIVE = JobScript(
    parse=parse_archive,
    read=ArchiveRequest.from_json,
    check=resolve_archive_options,
    run=_run_archive,
    needs_spark=False,
)
