"""Command line of the job scripts: flags or document → request, Spark session, result document, exit code.

The only module that reads the environment and ends the process.
"""

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hudi_table_services.contract.job_request import OPERATIONS, SourceSpec, UpsertRequest
from hudi_table_services.contract.job_result import JobResult, Outcome
from hudi_table_services.errors import HudiTableServiceError, InvalidRequestError, ObjectNotFoundError
from hudi_table_services.storage.factory import open_storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger(__name__)
_UNEXPECTED_EXIT_CODE = 70

_EXAMPLES = """\
examples:
  upsert_with_sizing.py --base-path /data/flights --table-name flights --source-path /landing/2013-01-01 \\
      --record-key year,month,day,carrier,flight --partition-by month --ordering-field loaded_at
  upsert_with_sizing.py --request /jobs/request.json
  upsert_with_sizing.py … --source-format csv --source-option header=true \\
      --source-sql "SELECT *, current_timestamp() AS loaded_at FROM source"
  upsert_with_sizing.py … --option hoodie.parquet.max.file.size=67108864 --dry-run

exit codes: 0 done or nothing to do, 64 request, 65 data or corrupt table, 66 no table, 69 unsupported table,
70 Spark failed, 74 storage, 75 conflict (run again), 77 permission. The result document says more.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one write job. Returns the exit code; the result document is written as the last act."""
    parser = _parser()
    flags = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    logging.getLogger("py4j").setLevel(logging.WARNING)
    request: UpsertRequest | None = None
    try:
        request = _request(parser, flags)
        if flags.print_request:
            print(request.to_json())
            return 0
        result = _run(request)
        return _finish(request, result, 0)
    except HudiTableServiceError as error:
        print(f"{error.kind}: {error}", file=sys.stderr)
        return _finish(request, JobResult.failed(_id_of(request), error), error.exit_code)
    except Exception as error:
        _LOG.exception("Unexpected error; please report it.")
        return _finish(request, JobResult.failed(_id_of(request), error), _UNEXPECTED_EXIT_CODE)


def _id_of(request: UpsertRequest | None) -> str:
    return request.request_id if request is not None else ""


def _finish(request: UpsertRequest | None, result: JobResult, exit_code: int) -> int:
    if request is not None and request.result_path:
        write_document(request.result_path, result.to_json(), request)
    if result.outcome is not Outcome.FAILED:
        print(result.to_json())
    return exit_code


def write_document(uri: str, text: str, request: UpsertRequest) -> None:
    """Write a document whole or not at all; an older one at the same place is replaced."""
    folder, _, name = uri.rpartition("/")
    open_storage(folder or ".", request.storage_options).write(name, text.encode())


def _run(request: UpsertRequest) -> JobResult:
    from hudi_table_services.jobs.upsert import upsert

    _LOG.info("Request %s: %s into %s", request.request_id, request.operation, request.base_path)
    spark = spark_session(f"{request.operation} {request.table_name or request.base_path}")
    try:
        return upsert(spark, request)
    finally:
        spark.stop()


def spark_session(application_name: str) -> "SparkSession":
    """The session spark-submit prepared, or a local one when the script runs as plain python.

    Workers get this interpreter and this package where nothing else is said, since Spark's own default is whatever
    `python3` is on the path.
    """
    from pyspark.sql import SparkSession

    package_folder = str(Path(__file__).resolve().parent.parent)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    paths = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    if package_folder not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([package_folder, *paths])
    builder = SparkSession.builder.appName(application_name)
    if "SPARK_SUBMIT_DEPLOYMODE" not in os.environ and "SPARK_ENV_LOADED" not in os.environ:
        builder = builder.config("spark.ui.showConsoleProgress", "false")
    return builder.getOrCreate()


def _request(parser: argparse.ArgumentParser, flags: argparse.Namespace) -> UpsertRequest:
    if flags.request is not None:
        given = [name for name in _REQUEST_FLAGS if getattr(flags, name) != parser.get_default(name)]
        if given:
            names = ", ".join("--" + name.replace("_", "-") for name in given)
            raise InvalidRequestError(f"--request and {names} exclude each other: the document says it all.")
        return UpsertRequest.from_json(_read_document(flags.request))
    source = SourceSpec(
        path=flags.source_path or "",
        format=flags.source_format,
        options=_pairs("--source-option", flags.source_option),
        sql=flags.source_sql,
    )
    has_source = bool(flags.source_path or flags.source_option)
    identity = {"request_id": flags.request_id} if flags.request_id else {}
    return UpsertRequest(
        base_path=flags.base_path or "",
        table_name=flags.table_name or "",
        operation=flags.operation,
        source=source if has_source else None,
        record_key=_names(flags.record_key),
        partition_by=_names(flags.partition_by),
        ordering_field=flags.ordering_field or "",
        options=_pairs("--option", flags.option),
        storage_options=_pairs("--storage-option", flags.storage_option),
        result_path=flags.result_path or "",
        dry_run=flags.dry_run,
        **identity,
    )


def _read_document(uri: str) -> str:
    folder, _, name = uri.rpartition("/")
    try:
        return open_storage(folder or ("/" if uri.startswith("/") else ".")).read(name).decode()
    except ObjectNotFoundError:
        raise InvalidRequestError(f"There is no request document at {uri!r}.") from None


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def _pairs(flag: str, items: Sequence[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for item in items:
        key, separator, value = item.partition("=")
        if not separator or not key:
            raise InvalidRequestError(f"{flag} {item!r} is not of the form key=value.")
        if pairs.setdefault(key, value) != value:
            raise InvalidRequestError(f"{flag} gives {key} twice, as {pairs[key]!r} and {value!r}.")
    return pairs


_REQUEST_FLAGS = (
    "base_path",
    "table_name",
    "source_path",
    "source_format",
    "source_option",
    "source_sql",
    "operation",
    "record_key",
    "partition_by",
    "ordering_field",
    "option",
    "storage_option",
    "result_path",
    "request_id",
    "dry_run",
)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="upsert_with_sizing.py",
        description="Write rows into a Hudi copy-on-write table and keep its files at their right size.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--request", metavar="FILE_OR_URI", help="request document (JSON) instead of the flags below")
    add("--print-request", action="store_true", help="print the request document the flags stand for, and end")
    table = parser.add_argument_group("table").add_argument
    table("--base-path", metavar="URI", help="where the table is, or is to be created")
    table("--table-name", metavar="NAME", help="name; needed to create the table, else checked")
    table("--record-key", metavar="COLUMN[,COLUMN]", help="columns that identify a record")
    table("--partition-by", metavar="COLUMN[,COLUMN]", help="partition columns; none: not partitioned")
    table("--ordering-field", metavar="COLUMN", help="of two versions of a record the larger value wins")
    rows = parser.add_argument_group("rows").add_argument
    rows("--operation", default="upsert", choices=OPERATIONS, help="default: upsert")
    rows("--source-path", metavar="URI", help="file, folder or glob that Spark reads")
    rows("--source-format", default="parquet", metavar="FORMAT", help="default: parquet")
    rows("--source-option", action="append", default=[], metavar="K=V", help="option of Spark's reader; repeatable")
    rows("--source-sql", metavar="SQL", help='query over the source, e.g. "SELECT … FROM source"')
    run = parser.add_argument_group("run").add_argument
    run("--option", action="append", default=[], metavar="hoodie.K=V", help="Hudi's own keys; repeatable")
    run("--storage-option", action="append", default=[], metavar="K=V", help="object-store option; repeatable")
    run("--request-id", metavar="ID", help="the same id never writes twice; default: a new one")
    run("--result-path", metavar="URI", help="where the result document goes")
    run("--dry-run", action="store_true", help="plan, report and write nothing")
    return parser
