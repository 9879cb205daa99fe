"""The scripts of savepoints."""

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hudi_table_services.contract.recovery import CreateSavepointRequest, DeleteSavepointRequest
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

_CREATE_EXAMPLES = f"""\
examples:
  Keep the table as it is now:
    create_savepoint.py --base-path /data/flights --saved-by me --comments "before the migration"
{EXIT_CODES}"""
_DELETE_EXAMPLES = f"""\
examples:
    delete_savepoint.py --base-path /data/flights --instant 20260102030405006
{EXIT_CODES}"""


def parse_create(arguments: Sequence[str] | None = None) -> CommandLine:
    """Of ``create_savepoint.py``; see `command_line_of`."""
    return command_line_of(create_parser(), _create_request, arguments)


def parse_delete(arguments: Sequence[str] | None = None) -> CommandLine:
    """Of ``delete_savepoint.py``; see `command_line_of`."""
    return command_line_of(delete_parser(), _delete_request, arguments)


def create_parser() -> argparse.ArgumentParser:
    """Flags of `CreateSavepointRequest`."""
    parser = new_parser(
        "create_savepoint.py",
        "Keep a Hudi table as of a commit: cleaning spares its files. Needs no Spark.",
        _CREATE_EXAMPLES,
    )
    savepoint = parser.add_argument_group("savepoint")
    add_table_flags(savepoint)
    savepoint.add_argument(
        "--instant", metavar="TIME", help="requested time of a commit; default: the newest"
    )
    savepoint.add_argument("--saved-by", metavar="NAME", help="who asks")
    savepoint.add_argument("--comments", metavar="TEXT", help="what for")
    savepoint.add_argument(
        "--preview", action="store_true", help="tell what would be kept, and write nothing"
    )
    add_run_flags(parser.add_argument_group("run"))
    return parser


def delete_parser() -> argparse.ArgumentParser:
    """Flags of `DeleteSavepointRequest`."""
    parser = new_parser(
        "delete_savepoint.py",
        "Let go of savepoints: cleaning may take their files from then on. Needs no Spark.",
        _DELETE_EXAMPLES,
    )
    savepoints = parser.add_argument_group("savepoints")
    add_table_flags(savepoints)
    savepoints.add_argument(
        "--instant", action="append", metavar="TIME", help="requested time of the commit, repeatable"
    )
    savepoints.add_argument("--preview", action="store_true", help="tell what would go, and delete nothing")
    add_run_flags(parser.add_argument_group("run"))
    return parser


def _create_request(flags: dict[str, object]) -> CreateSavepointRequest:
    own: dict[str, object] = {n: flags[n] for n in ("instant", "saved_by", "comments") if n in flags}
    fields: Mapping[str, Any] = {**common_fields(flags), **own, "preview": "preview" in flags}
    return CreateSavepointRequest(**fields)


def _delete_request(flags: dict[str, object]) -> DeleteSavepointRequest:
    given = flags.get("instant")
    fields: Mapping[str, Any] = {
        **common_fields(flags),
        "instants": tuple(given) if isinstance(given, list) else (),
        "preview": "preview" in flags,
    }
    return DeleteSavepointRequest(**fields)


def _run_create_savepoint(_: "SparkSession | None", request: CreateSavepointRequest) -> JobResult:
    from hudi_table_services.jobs.recovery.savepoint import create_savepoint

    return create_savepoint(request)


def _run_delete_savepoint(_: "SparkSession | None", request: DeleteSavepointRequest) -> JobResult:
    from hudi_table_services.jobs.recovery.savepoint import delete_savepoint

    return delete_savepoint(request)


CREATE_SAVEPOINT = JobScript(
    parse=parse_create,
    read=CreateSavepointRequest.from_json,
    check=resolve_service_options,
    run=_run_create_savepoint,
    needs_spark=False,
)

DELETE_SAVEPOINT = JobScript(
    parse=parse_delete,
    read=DeleteSavepointRequest.from_json,
    check=resolve_service_options,
    run=_run_delete_savepoint,
    needs_spark=False,
)
