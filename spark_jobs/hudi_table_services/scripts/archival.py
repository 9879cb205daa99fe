"""The script that archives."""

from typing import TYPE_CHECKING

from hudi_table_services.contract.archive_command_line import parse_archive
from hudi_table_services.contract.archive_options import resolve_archive_options
from hudi_table_services.contract.archive_request import ArchiveRequest
from hudi_table_services.contract.job_result import JobResult
from hudi_table_services.scripts.job_script import JobScript

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _run_archive(_: "SparkSession | None", request: ArchiveRequest) -> JobResult:
    from hudi_table_services.jobs.archive import archive

    return archive(request)


ARCHIVE = JobScript(
    parse=parse_archive,
    read=ArchiveRequest.from_json,
    check=resolve_archive_options,
    run=_run_archive,
    needs_spark=False,
)
