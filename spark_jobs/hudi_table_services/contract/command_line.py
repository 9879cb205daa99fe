"""The flags of the write job: each stands for a field of the request document, and for nothing else."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from hudi_table_services.contract.job_request import OPERATIONS, SourceSpec, UpsertRequest
from hudi_table_services.errors import InvalidRequestError

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


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """What the flags say: a request, or where its document is.

    Attributes:
        request: None if the flags name a document.
        request_uri: file or URI of the document; empty if the flags are the request.
        prints_request: print the request document and do nothing else.
    """

    request: UpsertRequest | None = None
    request_uri: str = ""
    prints_request: bool = False


def parse_command_line(arguments: Sequence[str] | None = None) -> CommandLine:
    """Read the flags; ``--help`` prints and exits.

    Args:
        arguments: without the program's name; None: those of the process.

    Raises:
        InvalidRequestError: a flag is unknown, lacks its value or contradicts another.
    """
    flags = vars(request_parser().parse_args(arguments))
    prints_request = flags.pop("print_request", False)
    request_uri = flags.pop("request", None)
    if request_uri is None:
        return CommandLine(request=_request(flags), prints_request=prints_request)
    if flags:
        names = ", ".join("--" + name.replace("_", "-") for name in flags)
        raise InvalidRequestError(
            f"--request and {names} exclude each other.", hint="The document says all that flags can say."
        )
    return CommandLine(request_uri=request_uri, prints_request=prints_request)


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
        record_key=_names(flags.get("record_key")),
        partition_by=_names(flags.get("partition_by")),
        options=_pairs("--option", flags.get("option")),
        storage_options=_pairs("--storage-option", flags.get("storage_option")),
        dry_run="dry_run" in flags,
    )


def _source(flags: dict[str, object]) -> SourceSpec | None:
    names = {"path": "source_path", "format": "source_format", "sql": "source_sql"}
    texts = {field: str(flags[name]) for field, name in names.items() if name in flags}
    options = _pairs("--source-option", flags.get("source_option"))
    return SourceSpec(**texts, options=options) if texts or options else None


def _names(text: object) -> tuple[str, ...]:
    return tuple(part.strip() for part in str(text or "").split(",") if part.strip())


def _pairs(flag: str, items: object) -> dict[str, str]:
    """Messages name the key only: the value may be a secret."""
    pairs: dict[str, str] = {}
    for item in items if isinstance(items, list) else []:
        key, separator, value = item.partition("=")
        if not separator or not key:
            raise InvalidRequestError(f"{flag} {key!r} is not of the form key=value.")
        if pairs.setdefault(key, value) != value:
            raise InvalidRequestError(f"{flag} gives {key} twice, with different values.")
    return pairs


class _Parser(argparse.ArgumentParser):
    """Errors end as every other error of a request does, not in an exit of argparse's own."""

    def error(self, message: str) -> NoReturn:
        raise InvalidRequestError(f"{message[:1].upper()}{message[1:]}.", hint="See --help.")


def request_parser() -> argparse.ArgumentParser:
    """The parser behind `parse_command_line`; flags that are not given leave no trace in its result."""
    parser = _Parser(
        prog="upsert_with_sizing.py",
        description="Write rows into a copy-on-write Hudi table and keep its files at their right size.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--request", metavar="FILE_OR_URI", help="request document (JSON) instead of the flags below")
    add(
        "--print-request",
        action="store_true",
        help="print the request document that the flags stand for, storage options included, and end",
    )
    _add_table_flags(parser.add_argument_group("table"))
    _add_row_flags(parser.add_argument_group("rows"))
    _add_run_flags(parser.add_argument_group("run"))
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


def _add_run_flags(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "--option", action="append", metavar="hoodie.K=V", help="Hudi's own keys, docs/options.md; repeatable"
    )
    add(
        "--storage-option",
        action="append",
        metavar="K=V",
        help="option of the object store; repeatable. Others can see the flags of a process: keep secrets in the "
        "request document or the environment",
    )
    add(
        "--request-id",
        metavar="ID",
        help="the same id never writes twice; default: one that never comes again",
    )
    add("--result-path", metavar="FILE_OR_URI", help="where the result document goes")
    add("--dry-run", action="store_true", help="plan, report and write nothing")
