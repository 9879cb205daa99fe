"""The cleaning service and its script."""

import argparse
from typing import TYPE_CHECKING

from hudi_table_services.contract.cleaning import POLICIES, CleanReport, CleanRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.options.cleaning import resolve_clean_options
from hudi_table_services.options.keys.cleaning import COMMITS_RETAINED
from hudi_table_services.services.flags import add_numbers, add_preview, table_group
from hudi_table_services.services.service import MetadataScript, Service

if TYPE_CHECKING:
    from hudi_table_services.storage.stores.storage import Storage

_EXAMPLES = """\
examples:
  Show what would be deleted, with names and bytes:
    {program} --base-path /data/flights --preview
  Keep the states of the last two days readable:
    {program} --base-path /data/flights --hours-retained 48 --request-id nightly-2026-01-02
  After a long time without cleaning, clean a hundred commits at a time:
    {program} --base-path /data/flights --max-commits-per-run 100
"""


def _add_flags(parser: argparse.ArgumentParser) -> None:
    group = table_group(parser, "retention")
    group.add_argument(
        "--policy",
        choices=POLICIES,
        metavar="NAME",
        help=f"{', '.join(POLICIES)}; default: if exactly one --…-retained flag is given, the "
        "policy of this flag; else KEEP_LATEST_COMMITS",
    )
    add_numbers(
        group,
        {
            "commits_retained": f"number of commits whose state stays readable; default: {COMMITS_RETAINED.default}",
            "hours_retained": "number of past hours whose commits stay readable",
            "file_versions_retained": "number of versions of each file group that cleaning keeps",
            "max_commits_per_run": "maximum number of commits that this run cleans; default: no limit",
        },
    )
    add_preview(group, "report what would be deleted, and delete nothing")


def _clean(request: CleanRequest, storage: "Storage | None") -> JobResult:
    from hudi_table_services.jobs.cleaning.clean import clean

    return clean(request, storage=storage)


CLEAN = MetadataScript(
    file_name="clean.py",
    request_type=CleanRequest,
    description="Delete those files of a Hudi table that the retention policy no longer keeps. Needs no Spark.",
    examples=_EXAMPLES,
    add_flags=_add_flags,
    check_options=resolve_clean_options,
    job=_clean,
)

CLEANING = Service(name="cleaning", scripts=(CLEAN,), report=CleanReport)
