"""The scripts that go back: rollback, restore, repair of orphans."""

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hudi_table_services.contract.recovery import (
    RepairOrphansRequest,
    RestoreRequest,
    RollbackRequest,
)
from hudi_table_services.contract.result import JobResult
from hudi_table_services.options.timeline_only import resolve_service_options
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

_ROLLBACK_EXAMPLES = f"""\
examples:
  Undo what dead writers left:
    rollback.py --base-path /data/flights --all-failed
  Undo the newest commit; first see what goes:
    rollback.py --base-path /data/flights --instant 20260102030405006 --preview
    rollback.py --base-path /data/flights --instant 20260102030405006
{EXIT_CODES}"""
_RESTORE_EXAMPLES = f"""\
examples:
    restore.py --base-path /data/flights --savepoint 20260102030405006 --preview
    restore.py --base-path /data/flights --savepoint 20260102030405006
{EXIT_CODES}"""
_REPAIR_EXAMPLES = f"""\
examples:
  What belongs to no instant, and why:
    repair_orphan_files.py --base-path /data/flights
  Delete it, with a copy elsewhere:
    repair_orphan_files.py --base-path /data/flights --execute --backup-path /backup/flights
{EXIT_CODES}"""


def parse_rollback(arguments: Sequence[str] | None = None) -> CommandLine:
    """Of ``rollback.py``; see `command_line_of`."""
    return command_line_of(rollback_parser(), _rollback_request, arguments)


def parse_restore(arguments: Sequence[str] | None = None) -> CommandLine:
    """Of ``restore.py``; see `command_line_of`."""
    return command_line_of(restore_parser(), _restore_request, arguments)


def parse_repair(arguments: Sequence[str] | None = None) -> CommandLine:
    """Of ``repair_orphan_files.py``; see `command_line_of`."""
    return command_line_of(repair_parser(), _repair_request, arguments)


def rollback_parser() -> argparse.ArgumentParser:
    """Flags of `RollbackRequest`."""
    parser = new_parser(
        "rollback.py",
        "Undo failed writes of a Hudi table, or its newest completed ones. Needs no Spark.",
        _ROLLBACK_EXAMPLES,
    )
    group = parser.add_argument_group("rollback")
    add_table_flags(group)
    group.add_argument(
        "--instant", action="append", metavar="TIME", help="requested time of an instant, repeatable"
    )
    group.add_argument(
        "--all-failed", action="store_true", help="every pending write without a living heartbeat"
    )
    group.add_argument("--preview", action="store_true", help="tell what would go, and undo nothing")
    add_run_flags(parser.add_argument_group("run"))
    return parser


def restore_parser() -> argparse.ArgumentParser:
    """Flags of `RestoreRequest`."""
    parser = new_parser(
        "restore.py",
        "Take a Hudi table back to a savepoint. No writer may run meanwhile. Needs no Spark.",
        _RESTORE_EXAMPLES,
    )
    group = parser.add_argument_group("restore")
    add_table_flags(group)
    group.add_argument("--savepoint", metavar="TIME", help="requested time of the savepointed commit")
    group.add_argument("--preview", action="store_true", help="tell what would go, and undo nothing")
    add_run_flags(parser.add_argument_group("run"))
    return parser


def repair_parser() -> argparse.ArgumentParser:
    """Flags of `RepairOrphansRequest`."""
    parser = new_parser(
        "repair_orphan_files.py",
        "Find files of a Hudi table that belong to no instant; with --execute delete them. Needs no Spark.",
        _REPAIR_EXAMPLES,
    )
    group = parser.add_argument_group("orphans")
    add_table_flags(group)
    group.add_argument("--execute", action="store_true", help="delete them; default: only tell")
    group.add_argument(
        "--older-than-hours", type=int, metavar="N", help="leave younger files alone; default: 24"
    )
    group.add_argument(
        "--max-files", type=int, metavar="N", help="delete nothing if there are more; default: 1000"
    )
    group.add_argument(
        "--backup-path", metavar="URI", help="folder outside of the table where they are copied first"
    )
    add_run_flags(parser.add_argument_group("run"))
    return parser


def _rollback_request(flags: dict[str, object]) -> RollbackRequest:
    given = flags.get("instant")
    fields: Mapping[str, Any] = {
        **common_fields(flags),
        "instants": tuple(given) if isinstance(given, list) else (),
        "all_failed": "all_failed" in flags,
        "preview": "preview" in flags,
    }
    return RollbackRequest(**fields)


def _restore_request(flags: dict[str, object]) -> RestoreRequest:
    fields: Mapping[str, Any] = {
        **common_fields(flags),
        "savepoint": flags.get("savepoint", ""),
        "preview": "preview" in flags,
    }
    return RestoreRequest(**fields)


def _repair_request(flags: dict[str, object]) -> RepairOrphansRequest:
    names = ("older_than_hours", "max_files", "backup_path")
    own: dict[str, object] = {name: flags[name] for name in names if name in flags}
    fields: Mapping[str, Any] = {**common_fields(flags), **own, "execute": "execute" in flags}
    return RepairOrphansRequest(**fields)


def _run_rollback(_: "SparkSession | None", request: RollbackRequest) -> JobResult:
    from hudi_table_services.jobs.recovery.rollback import rollback

    return rollback(request)


def _run_restore(_: "SparkSession | None", request: RestoreRequest) -> JobResult:
    from hudi_table_services.jobs.recovery.restore import restore

    return restore(request)


def _run_repair(_: "SparkSession | None", request: RepairOrphansRequest) -> JobResult:
    from hudi_table_services.jobs.recovery.repair_orphans import repair_orphan_files

    return repair_orphan_files(request)


ROLLBACK = JobScript(
    parse=parse_rollback,
    read=RollbackRequest.from_json,
    check=resolve_service_options,
    run=_run_rollback,
    needs_spark=False,
)

RESTORE = JobScript(
    parse=parse_restore,
    read=RestoreRequest.from_json,
    check=resolve_service_options,
    run=_run_restore,
    needs_spark=False,
)

REPAIR_ORPHAN_FILES = JobScript(
    parse=parse_repair,
    read=RepairOrphansRequest.from_json,
    check=resolve_service_options,
    run=_run_repair,
    needs_spark=False,
)
