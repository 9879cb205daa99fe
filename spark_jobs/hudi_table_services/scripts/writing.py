"""The script that writes rows."""

import logging
from typing import TYPE_CHECKING

from hudi_table_services.contract.command_line import parse_command_line
from hudi_table_services.contract.hoodie_options import resolve_options
from hudi_table_services.contract.job_request import UpsertRequest
from hudi_table_services.contract.job_result import JobResult
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.scripts.job_script import JobScript

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
    from hudi_table_services.jobs.upsert import upsert

    assert spark is not None  # noqa: S101 - the script needs one
    return upsert(spark, request)


UPSERT = JobScript(
    parse=parse_command_line,
    read=UpsertRequest.from_json,
    check=_check_upsert,
    run=_run_upsert,
    check_run=_require_rows,
)
