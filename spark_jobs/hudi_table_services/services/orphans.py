"""The repair of orphans and its script."""

import argparse
from typing import TYPE_CHECKING

from hudi_table_services.contract.recovery import OrphanReport, RepairOrphansRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.options.timeline_only import resolve_service_options
from hudi_table_services.services.flags import add_numbers, table_group
from hudi_table_services.services.service import MetadataScript, Service

if TYPE_CHECKING:
    from hudi_table_services.storage.stores.storage import Storage

_EXAMPLES = """\
examples:
  Report the files that belong to no instant, each with the reason:
    {program} --base-path /data/flights
  Copy these files to another folder, then delete them:
    {program} --base-path /data/flights --execute --backup-path /backup/flights
"""


def _add_flags(parser: argparse.ArgumentParser) -> None:
    group = table_group(parser, "orphans")
    group.add_argument("--execute", action="store_true", help="delete the files; default: only report them")
    add_numbers(
        group,
        {
            "older_than_hours": "minimum age in hours of the files to delete; default: 24",
            "max_files": "delete nothing if there are more orphans than this number; default: 1000",
        },
    )
    group.add_argument(
        "--backup-path", metavar="URI", help="folder outside of the table; data files are copied there first"
    )


def _repair_orphan_files(request: RepairOrphansRequest, storage: "Storage | None") -> JobResult:
    from hudi_table_services.jobs.recovery.repair_orphans import repair_orphan_files

    return repair_orphan_files(request, storage=storage)


REPAIR_ORPHAN_FILES = MetadataScript(
    file_name="repair_orphan_files.py",
    command="repair",
    request_type=RepairOrphansRequest,
    description="Find files of a Hudi table that belong to no instant; with --execute, delete them. Needs no Spark.",
    examples=_EXAMPLES,
    add_flags=_add_flags,
    check_options=resolve_service_options,
    job=_repair_orphan_files,
)

ORPHANS = Service(name="orphans", scripts=(REPAIR_ORPHAN_FILES,), report=OrphanReport)
