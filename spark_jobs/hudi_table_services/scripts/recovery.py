"""The scripts that go back: rollback, restore, repair of orphans."""

from typing import TYPE_CHECKING

from hudi_table_services.contract.job_result import JobResult
from hudi_table_services.contract.recovery_command_line import parse_repair, parse_restore, parse_rollback
from hudi_table_services.contract.recovery_request import (
    RepairOrphansRequest,
    RestoreRequest,
    RollbackRequest,
)
from hudi_table_services.contract.service_options import resolve_service_options
from hudi_table_services.scripts.job_script import JobScript

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _run_rollback(_: "SparkSession | None", request: RollbackRequest) -> JobResult:
    from hudi_table_services.jobs.rollback_job import rollback

    return rollback(request)


def _run_restore(_: "SparkSession | None", request: RestoreRequest) -> JobResult:
    from hudi_table_services.jobs.restore import restore

    return restore(request)


def _run_repair(_: "SparkSession | None", request: RepairOrphansRequest) -> JobResult:
    from hudi_table_services.jobs.repair_orphans import repair_orphan_files

    return repair_orphan_files(request)


ROLLBACK = JobScript(
    parse=parse_rollback,
    read=RollbackRequest.from_json,
    check=resolve_service_options,
    run=_run_rollback,
    needs_spark=False,
)

RESTORE = JobScript(
    parse=parse_restore,
    read=RestoreRequest.from_json,
    check=resolve_service_options,
    run=_run_restore,
    needs_spark=False,
)

REPAIR_ORPHAN_FILES = JobScript(
    parse=parse_repair,
    read=RepairOrphansRequest.from_json,
    check=resolve_service_options,
    run=_run_repair,
    needs_spark=False,
)
