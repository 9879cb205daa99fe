"""The script that tells how a table is."""

from typing import TYPE_CHECKING

from hudi_table_services.contract.health_command_line import parse_health
from hudi_table_services.contract.health_request import HealthRequest
from hudi_table_services.contract.job_result import JobResult
from hudi_table_services.scripts.job_script import JobScript

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _check(request: HealthRequest) -> None:
    from hudi_table_services.contract.clean_options import resolve_clean_options
    from hudi_table_services.contract.clean_request import CleanRequest

    resolve_clean_options(CleanRequest(base_path=request.base_path, options=request.options))


def _run_health(_: "SparkSession | None", request: HealthRequest) -> JobResult:
    from hudi_table_services.jobs.table_health import table_health

    return table_health(request)


TABLE_HEALTH = JobScript(
    parse=parse_health,
    read=HealthRequest.from_json,
    check=_check,
    run=_run_health,
    needs_spark=False,
)
