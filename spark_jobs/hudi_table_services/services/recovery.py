"""Rollback and restore, with their scripts."""

import argparse
from typing import TYPE_CHECKING

from hudi_table_services.contract.recovery import RecoveryReport, RestoreRequest, RollbackRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.options.timeline_only import resolve_service_options
from hudi_table_services.services.flags import add_instants, add_preview, table_group
from hudi_table_services.services.service import MetadataScript, Service

if TYPE_CHECKING:
    from hudi_table_services.storage.stores.storage import Storage

_ROLLBACK_EXAMPLES = """\
examples:
  Roll back the writes of dead writers:
    {program} --base-path /data/flights --all-failed
  Undo the newest commit; the first command shows what would be deleted:
    {program} --base-path /data/flights --instant 20260102030405006 --preview
    {program} --base-path /data/flights --instant 20260102030405006
"""
_RESTORE_EXAMPLES = """\
examples:
    {program} --base-path /data/flights --savepoint 20260102030405006 --preview
    {program} --base-path /data/flights --savepoint 20260102030405006
"""
_PREVIEW = "report what would be undone, and undo nothing"


def _add_rollback_flags(parser: argparse.ArgumentParser) -> None:
    group = table_group(parser, "rollback")
    add_instants(group, "requested time of an instant, repeatable")
    group.add_argument(
        "--all-failed", action="store_true", help="roll back every pending write without a fresh heartbeat"
    )
    add_preview(group, _PREVIEW)


def _add_restore_flags(parser: argparse.ArgumentParser) -> None:
    group = table_group(parser, "restore")
    group.add_argument("--savepoint", metavar="TIME", help="requested time of the savepointed commit")
    add_preview(group, _PREVIEW)


def _rollback(request: RollbackRequest, storage: "Storage | None") -> JobResult:
    from hudi_table_services.jobs.recovery.rollback import rollback

    return rollback(request, storage=storage)


def _restore(request: RestoreRequest, storage: "Storage | None") -> JobResult:
    from hudi_table_services.jobs.recovery.restore import restore

    return restore(request, storage=storage)


ROLLBACK = MetadataScript(
    file_name="rollback.py",
    request_type=RollbackRequest,
    description="Undo failed writes of a Hudi table, or its newest completed instants. Needs no Spark.",
    examples=_ROLLBACK_EXAMPLES,
    add_flags=_add_rollback_flags,
    needed_flags=lambda flags: (("instants", "all_failed"),),
    check_options=resolve_service_options,
    job=_rollback,
)

RESTORE = MetadataScript(
    file_name="restore.py",
    request_type=RestoreRequest,
    description="Restore a Hudi table to a savepoint. No writer may run during the restore. Needs no Spark.",
    examples=_RESTORE_EXAMPLES,
    add_flags=_add_restore_flags,
    needed_flags=lambda flags: (("savepoint",),),
    check_options=resolve_service_options,
    job=_restore,
)

RECOVERY = Service(name="recovery", scripts=(ROLLBACK, RESTORE), report=RecoveryReport)
