"""The savepoint service and its scripts."""

import argparse
from typing import TYPE_CHECKING

from hudi_table_services.contract.recovery import (
    CreateSavepointRequest,
    DeleteSavepointRequest,
    SavepointReport,
)
from hudi_table_services.contract.result import JobResult
from hudi_table_services.options.timeline_only import resolve_service_options
from hudi_table_services.services.flags import add_instants, add_preview, table_group
from hudi_table_services.services.service import MetadataScript, Service

if TYPE_CHECKING:
    from hudi_table_services.storage.stores.storage import Storage

_CREATE_EXAMPLES = """\
examples:
  Keep the current state of the table:
    {program} --base-path /data/flights --saved-by me --comments "before the migration"
"""
_DELETE_EXAMPLES = """\
examples:
    {program} --base-path /data/flights --instant 20260102030405006
"""


def _add_create_flags(parser: argparse.ArgumentParser) -> None:
    group = table_group(parser, "savepoint")
    group.add_argument(
        "--instant", metavar="TIME", help="requested time of a commit; default: the newest commit"
    )
    group.add_argument("--saved-by", metavar="NAME", help="name of the user who creates the savepoint")
    group.add_argument("--comments", metavar="TEXT", help="purpose of the savepoint")
    add_preview(group, "report what would be kept, and write nothing")


def _add_delete_flags(parser: argparse.ArgumentParser) -> None:
    group = table_group(parser, "savepoints")
    add_instants(group, "requested time of the commit, repeatable")
    add_preview(group, "report what would be deleted, and delete nothing")


def _create_savepoint(request: CreateSavepointRequest, storage: "Storage | None") -> JobResult:
    from hudi_table_services.jobs.recovery.savepoint import create_savepoint

    return create_savepoint(request, storage=storage)


def _delete_savepoint(request: DeleteSavepointRequest, storage: "Storage | None") -> JobResult:
    from hudi_table_services.jobs.recovery.savepoint import delete_savepoint

    return delete_savepoint(request, storage=storage)


CREATE_SAVEPOINT = MetadataScript(
    file_name="create_savepoint.py",
    command="savepoint",
    request_type=CreateSavepointRequest,
    description="Create a savepoint of a Hudi table: cleaning keeps the files of the commit. Needs no Spark.",
    examples=_CREATE_EXAMPLES,
    add_flags=_add_create_flags,
    check_options=resolve_service_options,
    job=_create_savepoint,
)

DELETE_SAVEPOINT = MetadataScript(
    file_name="delete_savepoint.py",
    request_type=DeleteSavepointRequest,
    description="Delete savepoints. After that, cleaning may delete the files that the savepoints kept. "
    "Needs no Spark.",
    examples=_DELETE_EXAMPLES,
    add_flags=_add_delete_flags,
    needed_flags=lambda flags: (("instants",),),
    check_options=resolve_service_options,
    job=_delete_savepoint,
)

SAVEPOINTS = Service(name="savepoints", scripts=(CREATE_SAVEPOINT, DELETE_SAVEPOINT), report=SavepointReport)
