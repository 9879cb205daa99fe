"""The archival service and its script."""

import argparse
from typing import TYPE_CHECKING

from hudi_table_services.contract.archival import ArchiveReport, ArchiveRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.options.archival import resolve_archive_options
from hudi_table_services.options.keys.archival import MAX_COMMITS, MIN_COMMITS
from hudi_table_services.services.flags import add_numbers, add_preview, table_group
from hudi_table_services.services.service import MetadataScript, Service

if TYPE_CHECKING:
    from hudi_table_services.storage.stores.storage import Storage

_EXAMPLES = """\
examples:
  Show what would be archived, and what blocks archival:
    {program} --base-path /data/flights --preview
  Keep a week of hourly commits:
    {program} --base-path /data/flights --min-commits 168 --max-commits 192
"""


def _add_flags(parser: argparse.ArgumentParser) -> None:
    group = table_group(parser, "retention")
    add_numbers(
        group,
        {
            "min_commits": f"number of commits that stay on the active timeline; default: {MIN_COMMITS.default}",
            "max_commits": "archive only if the active timeline has more commits than this number; "
            f"default: {MAX_COMMITS.default}",
        },
    )
    add_preview(group, "report what would be archived, and write nothing")


def _archive(request: ArchiveRequest, storage: "Storage | None") -> JobResult:
    from hudi_table_services.jobs.archival.archive import archive

    return archive(request, storage=storage)


ARCHIVE = MetadataScript(
    file_name="archive.py",
    request_type=ArchiveRequest,
    description="Move the oldest completed instants of a Hudi table from its active timeline into the archive. "
    "Needs no Spark.",
    examples=_EXAMPLES,
    add_flags=_add_flags,
    check_options=resolve_archive_options,
    job=_archive,
)

ARCHIVAL = Service(name="archival", scripts=(ARCHIVE,), report=ArchiveReport)
