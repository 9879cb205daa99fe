"""The scripts of savepoints."""

from typing import TYPE_CHECKING

from hudi_table_services.contract.job_result import JobResult
from hudi_table_services.contract.savepoint_command_line import parse_create, parse_delete
from hudi_table_services.contract.savepoint_request import CreateSavepointRequest, DeleteSavepointRequest
from hudi_table_services.contract.service_options import resolve_service_options
from hudi_table_services.scripts.job_script import JobScript

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _run_create_savepoint(_: "SparkSession | None", request: CreateSavepointRequest) -> JobResult:
    from hudi_table_services.jobs.savepoint import create_savepoint

    return create_savepoint(request)


def _run_delete_savepoint(_: "SparkSession | None", request: DeleteSavepointRequest) -> JobResult:
    from hudi_table_services.jobs.savepoint import delete_savepoint

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
