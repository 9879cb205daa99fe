"""The script that cleans."""

from typing import TYPE_CHECKING

from hudi_table_services.contract.clean_command_line import parse_clean
from hudi_table_services.contract.clean_options import resolve_clean_options
from hudi_table_services.contract.clean_request import CleanRequest
from hudi_table_services.contract.job_result import JobResult
from hudi_table_services.scripts.job_script import JobScript

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _run_clean(_: "SparkSession | None", request: CleanRequest) -> JobResult:
    from hudi_table_services.jobs.clean import clean

    return clean(request)


CLEAN = JobScript(
    parse=parse_clean,
    read=CleanRequest.from_json,
    check=resolve_clean_options,
    run=_run_clean,
    needs_spark=False,
)
