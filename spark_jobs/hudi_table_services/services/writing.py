"""The write service and its script."""

import argparse
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hudi_table_services.contract.result import JobResult
from hudi_table_services.contract.writing import (
    OPERATIONS,
    SourceMode,
    SourceSpec,
    TimestampsWithoutZone,
    UpsertRequest,
)
from hudi_table_services.errors import InvalidRequestError, UnsupportedTableError
from hudi_table_services.model.write_stat import WriteOperation
from hudi_table_services.options.keys.writing import MAX_FILE_SIZE, OPERATION
from hudi_table_services.options.writing import resolve_options
from hudi_table_services.options.writing_values import InsertDupPolicy, WriteOptions
from hudi_table_services.services.flags import PairsAction, names_in
from hudi_table_services.services.service import Service, SparkScript

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hudi_table_services.storage.stores.storage import Storage

_LOG = logging.getLogger(__name__)

_EXAMPLES = f"""\
examples:
  Create a table, or write one more day into the table; a second run with the same request id writes nothing:
    {{program}} --base-path /data/flights --table-name flights --source-path /landing/2013-01-01 \\
        --record-key carrier,flight,sched_dep --partition-by month --ordering-field loaded_at \\
        --request-id flights-2013-01-01 --result-path /results/flights-2013-01-01.json
  Preview the write, with smaller files:
    {{program}} … --option {MAX_FILE_SIZE}=67108864 --dry-run
  Transform the rows first:
    {{program}} … --source-format csv --source-option header=true \\
        --source-sql "SELECT *, current_timestamp() AS loaded_at FROM source"
  Load the changes of another table, with deletes; the next run continues where this run ended:
    {{program}} --base-path /data/clean_flights --table-name clean_flights --source-table /data/flights \\
        --source-sql "SELECT flight, CAST(delay AS DOUBLE) AS delay FROM source" --record-key flight
  On a cluster:
    spark-submit --master yarn --py-files hudi_table_services.zip upsert_with_sizing.py --request s3://jobs/1.json
"""  # noqa: S608 - an example, not a query of this program
_EXIT_CODES = """
exit codes:
  0 done, planned or nothing to do   64 the request cannot succeed     65 invalid rows, or a corrupt table
  66 no table                        69 table not supported            70 Spark failed, or an unexpected error
  74 storage                         75 conflict: run it again         77 permission denied
The result document contains the details.
"""
_SOURCE = {
    "source_path": "path",
    "source_format": "format",
    "source_options": "options",
    "source_sql": "sql",
    "source_table": "table",
    "source_mode": "mode",
    "source_chain": "chain",
    "source_begin": "begin",
    "source_first_begin": "first_begin",
    "source_storage_options": "storage_options",
}
"""Maps the name of each flag's value to a field of `SourceSpec`."""

_SECOND_RUN = {
    WriteOperation.UPSERT: "updates the same rows again, and adds no duplicates",
    WriteOperation.BULK_INSERT: "inserts the rows again, and adds duplicates",
    WriteOperation.DELETE: "searches the same keys again, and also deletes rows that other writes have added since",
    WriteOperation.INSERT_OVERWRITE: "replaces all rows of the same partitions again, and adds no duplicates",
    WriteOperation.INSERT_OVERWRITE_TABLE: "replaces all rows of the table again, and adds no duplicates",
    WriteOperation.DELETE_PARTITION: "deletes the same partitions again, with rows that other writes have added since",
}
_SECOND_INSERT = {
    InsertDupPolicy.NONE: "inserts the rows again, and may add duplicates",
    InsertDupPolicy.DROP: "writes no row whose record key is in the table, and adds no duplicates",
    InsertDupPolicy.FAIL: "fails, because the record keys are already in the table",
}


def _add_flags(parser: argparse.ArgumentParser) -> None:
    _add_table_flags(parser.add_argument_group("table"))
    _add_row_flags(parser.add_argument_group("rows"))


def _add_table_flags(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--base-path", metavar="URI", help="base path of the table, which may not exist yet")
    add(
        "--table-name",
        metavar="NAME",
        help="name of the table; required to create a table; an existing table must have this name",
    )
    add("--record-key", type=names_in, metavar="COLUMN[,COLUMN]", help="columns that identify a record")
    add(
        "--partition-by",
        type=names_in,
        metavar="COLUMN[,COLUMN]",
        help="partition columns; COLUMN:day (also :hour, :month or :year) makes a partition for each day of a column "
        "of times; default: the table is not partitioned",
    )
    add(
        "--ordering-field",
        metavar="COLUMN[,COLUMN]",
        help="columns that decide which of two versions of a record stays: the one with the larger value; default: the "
        "later version stays",
    )


def _add_row_flags(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "--operation",
        choices=OPERATIONS,
        metavar="NAME",
        help=f"{', '.join(OPERATIONS)}; default: {OPERATION.default}",
    )
    add("--source-path", metavar="URI", help="file, folder or glob that Spark reads")
    add("--source-format", metavar="NAME", help="data source of Spark; default: parquet")
    add(
        "--source-option",
        action=PairsAction,
        dest="source_options",
        metavar="K=V",
        help="option of Spark's reader; repeatable",
    )
    add("--source-sql", metavar="SQL", help='query over the source, e.g. "SELECT … FROM source"')
    _add_chain_flags(group)
    add(
        "--timestamps-without-zone",
        choices=[each.value for each in TimestampsWithoutZone],
        metavar="NAME",
        help="how to store timestamps without time zone: utc, session (Spark's session time zone) or refuse; "
        "default: utc in tables of version 6, and without time zone in later versions",
    )
    add(
        "--skip-unchanged",
        action="store_true",
        help="upsert: do not write rows that equal the stored row; without any change, there is no commit",
    )
    add(
        "--no-source-check",
        dest="check_source",
        action="store_false",
        help="do not check the source before Spark starts, for example because only Spark can read the source",
    )
    add("--dry-run", action="store_true", help="only plan and report; write nothing")


def _add_chain_flags(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "--source-table",
        metavar="URI",
        help="Hudi table whose changes are loaded instead of files; the commit stores how far the table was read",
    )
    add(
        "--source-mode",
        choices=[each.value for each in SourceMode],
        metavar="NAME",
        help="with --source-table: incremental (changed and deleted rows, the default) or changed_groups (all rows of "
        "the groups in which a row changed)",
    )
    add(
        "--source-chain",
        metavar="NAME",
        help="name under which the position is stored; default: the location of the source table",
    )
    add(
        "--source-begin",
        metavar="TIME",
        help="read the source table again from this time, exclusive, or from earliest",
    )
    add(
        "--source-first-begin",
        metavar="TIME",
        help="time from which the first load reads, exclusive; default: the whole table",
    )
    add(
        "--source-storage-option",
        action=PairsAction,
        dest="source_storage_options",
        metavar="K=V",
        help="option of the object store of the source table; repeatable; default: the options --storage-option. Pass "
        "secrets in the request document or the environment",
    )


def _request(flags: dict[str, Any]) -> UpsertRequest:
    source = {field: flags.pop(flag) for flag, field in _SOURCE.items() if flag in flags}
    return UpsertRequest(**{"base_path": "", **flags}, source=SourceSpec(**source) if source else None)


def _needed_flags(flags: Mapping[str, Any]) -> Sequence[Sequence[str]]:
    operation = flags.get("operation") or flags.get("options", {}).get(OPERATION.key, "")
    return (
        ()
        if operation.lower() == "delete_partition"
        else (("source_path", "source_options", "source_table"),)
    )


def _check_options(request: UpsertRequest) -> None:
    options = resolve_options(request)
    if not request.can_be_repeated and not request.dry_run:
        _LOG.info(
            "No request id was given, so a second run %s. If both runs have the same --request-id, the second run does "
            "nothing.",
            _second_run(options),
        )


def _second_run(options: WriteOptions) -> str:
    """Return what a second write of the same rows does, as the predicate of a sentence."""
    if options.operation is WriteOperation.INSERT:
        return _SECOND_INSERT[options.insert_dup_policy]
    return _SECOND_RUN[options.operation]


def _require_rows(request: UpsertRequest) -> None:
    if request.source is None and request.operation != "delete_partition":
        raise InvalidRequestError(
            f"Operation {request.operation} needs rows.", hint="Give the input with --source-path."
        )


def _check_write(request: UpsertRequest, sees_local_files: bool) -> JobResult | None:
    if request.source is not None and request.source.table:
        return _check_load(request, request.source)
    from hudi_table_services.jobs.writing.preflight import check_write

    checked = check_write(request, source_is_local=sees_local_files)
    for note in checked.notes:
        _LOG.info("%s", note)
    for warning in checked.warnings:
        _LOG.warning("%s", warning)
    return checked.result


def _check_load(request: UpsertRequest, source: SourceSpec) -> JobResult | None:
    if not request.check_source:
        return None
    from hudi_table_services.jobs.change_source import check_load

    try:
        return check_load(request, source)
    except UnsupportedTableError as error:
        if not isinstance(error.__cause__, ImportError):
            raise
        _LOG.info("The load is not checked before Spark starts: %s", error.message)
        return None


def _upsert(spark: "SparkSession", request: UpsertRequest, storage: "Storage | None") -> JobResult:
    if request.source is not None and request.source.table:
        from hudi_table_services.jobs.change_loads import load_source

        return load_source(spark, request, request.source)
    from hudi_table_services.jobs.writing.upsert import upsert

    return upsert(spark, request, storage=storage)


UPSERT = SparkScript(
    file_name="upsert_with_sizing.py",
    command="upsert",
    request_type=UpsertRequest,
    description="Write rows into a Hudi table, in files of the target size.",
    examples=_EXAMPLES,
    exit_codes=_EXIT_CODES,
    add_flags=_add_flags,
    build_request=_request,
    needed_flags=_needed_flags,
    advice_on_flags="A write that creates the table also needs --table-name and --record-key.",
    check_options=_check_options,
    check_run=_require_rows,
    before_spark=_check_write,
    job=_upsert,
    metric="write",
)

WRITING = Service(name="writing", scripts=(UPSERT,), report=None)
