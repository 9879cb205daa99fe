"""The script that checks settings."""

from typing import TYPE_CHECKING

from hudi_table_services.contract.config_command_line import parse_check_config
from hudi_table_services.contract.config_request import CheckConfigRequest
from hudi_table_services.contract.job_result import JobResult
from hudi_table_services.scripts.job_script import JobScript

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _check(request: CheckConfigRequest) -> None:
    from hudi_table_services.jobs.check_config import check_rule_names

    check_rule_names(request)


def _run_check(_: "SparkSession | None", request: CheckConfigRequest) -> JobResult:
    from hudi_table_services.jobs.check_config import check_table_config

    return check_table_config(request)


CHECK_CONFIG = JobScript(
    parse=parse_check_config,
    read=CheckConfigRequest.from_json,
    check=_check,
    run=_run_check,
    needs_spark=False,
)
