"""The script that writes rows."""

import argparse
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hudi_table_services.contract.result import JobResult
from hudi_table_services.contract.writing import OPERATIONS, SourceSpec, UpsertRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.options.writing import resolve_options
from hudi_table_services.services.flags import (
    CommandLine,
    add_run_flags,
    command_line_of,
    names_in,
    new_parser,
    pairs_in,
)
from hudi_table_services.services.service import JobScript

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EXAMPLES = """\
examples:
  Create a table, or write one more day into it; running the same request id again writes nothing:
    upsert_with_sizing.py --base-path /data/flights --table-name flights --source-path /landing/2013-01-01 \\
        --record-key carrier,flight,sched_dep --partition-by month --ordering-field loaded_at \\
        --request-id flights-2013-01-01 --result-path /results/flights-2013-01-01.json
  See what would happen, with smaller files:
    upsert_with_sizing.py … --option hoodie.parquet.max.file.size=67108864 --dry-run
  Shape the rows first:
    upsert_with_sizing.py … --source-format csv --source-option header=true \\
        --source-sql "SELECT *, current_timestamp() AS loaded_at FROM source"
  On a cluster:
    spark-submit --master yarn --py-files hudi_table_services.zip upsert_with_sizing.py --request s3://jobs/1.json

exit codes:
  0 done, planned or nothing to do   64 the request cannot succeed     65 the rows, or a corrupt table
  66 no table                        69 table not supported            70 Spark failed, or an unexpected error
  74 storage                         75 conflict: run it again         77 permission denied
The result document says more than the exit code.
"""


def parse_command_line(arguments: Sequence[str] | None = None) -> CommandLine:
    """Read the flags; ``--help`` prints and exits.

    Args:
        arguments: without the program's name; None: those of the process.

    Raises:
        InvalidRequestError: a flag is unknown, lacks its value or contradicts another.
    """
    return command_line_of(request_parser(), _request, arguments)


def _request(flags: dict[str, object]) -> UpsertRequest:
    """Flags not given are absent, so that the defaults are those of the document."""
    texts = {
        name: str(flags[name])
        for name in ("table_name", "operation", "ordering_field", "request_id", "result_path")
        if name in flags
    }
    return UpsertRequest(
        base_path=str(flags.get("base_path", "")),
        **texts,
        source=_source(flags),
        record_key=names_in(flags.get("record_key")),
        partition_by=names_in(flags.get("partition_by")),
        options=pairs_in("--option", flags.get("option")),
        storage_options=pairs_in("--storage-option", flags.get("storage_option")),
        dry_run="dry_run" in flags,
    )


def _source(flags: dict[str, object]) -> SourceSpec | None:
    names = {"path": "source_path", "format": "source_format", "sql": "source_sql"}
    texts = {field: str(flags[name]) for field, name in names.items() if name in flags}
    options = pairs_in("--source-option", flags.get("source_option"))
    return SourceSpec(**texts, options=options) if texts or options else None


def request_parser() -> argparse.ArgumentParser:
    """The parser behind `parse_command_line`; flags that are not given leave no trace in its result."""
    parser = new_parser(
        "upsert_with_sizing.py",
        "Write rows into a copy-on-write Hudi table and keep its files at their right size.",
        _EXAMPLES,
    )
    _add_table_flags(parser.add_argument_group("table"))
    _add_row_flags(parser.add_argument_group("rows"))
    run = parser.add_argument_group("run")
    add_run_flags(run)
    run.add_argument("--dry-run", action="store_true", help="plan, report and write nothing")
    return parser


def _add_table_flags(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--base-path", metavar="URI", help="where the table is, or is to be created")
    add(
        "--table-name",
        metavar="NAME",
        help="needed to create the table; else checked against the table's name",
    )
    add("--record-key", metavar="COLUMN[,COLUMN]", help="columns that identify a record")
    add("--partition-by", metavar="COLUMN[,COLUMN]", help="partition columns; left out: not partitioned")
    add(
        "--ordering-field",
        metavar="COLUMN[,COLUMN]",
        help="of two versions of a record the one with the larger value wins; left out: the later one",
    )


def _add_row_flags(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--operation", choices=OPERATIONS, metavar="NAME", help=f"{', '.join(OPERATIONS)}; default: upsert")
    add("--source-path", metavar="URI", help="file, folder or glob that Spark reads")
    add("--source-format", metavar="NAME", help="data source of Spark; default: parquet")
    add("--source-option", action="append", metavar="K=V", help="option of Spark's reader; repeatable")
    add("--source-sql", metavar="SQL", help='query over the source, e.g. "SELECT … FROM source"')


_LOG = logging.getLogger(__name__)


def _check_upsert(request: UpsertRequest) -> None:
    if not request.can_be_repeated and not request.dry_run:
        _LOG.info("No request id was given: running this again writes again. See --request-id.")
    resolve_options(request)


def _require_rows(request: UpsertRequest) -> None:
    if request.source is None and request.operation != "delete_partition":
        raise InvalidRequestError(
            f"Operation {request.operation} needs rows.", hint="Say where they are: --source-path."
        )


def _run_upsert(spark: "SparkSession | None", request: UpsertRequest) -> JobResult:
    from hudi_table_services.jobs.writing.upsert import upsert

    assert spark is not None  # noqa: S101 - the script needs one
    return upsert(spark, request)


UPSERT = JobScript(
    parse=parse_command_line,
    read=UpsertRequest.from_json,
    check=_check_upsert,
    run=_run_upsert,
    check_run=_require_rows,
)
