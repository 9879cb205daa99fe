"""Schedule a compaction and execute the plan in one job."""

from dataclasses import replace
from typing import TYPE_CHECKING

from hudi_table_services.contract.compaction.compaction import CompactionReport, CompactionRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.jobs.compaction.execute import execute_plans
from hudi_table_services.jobs.compaction.schedule import schedule_compaction
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run_compaction(
    spark: "SparkSession",
    request: CompactionRequest,
    *,
    storage: Storage | None = None,
    clock: Clock | None = None,
) -> JobResult:
    """Schedule a compaction and execute it. If the request has already scheduled a plan, execute that plan instead.

    Raises:
        HudiTableServiceError: see `schedule_compaction` and `execute_compaction`.
    """
    storage = storage or open_storage(request.base_path, request.storage_options)
    scheduled = schedule_compaction(request, storage=storage, clock=clock)
    plans = scheduled.report_as(CompactionReport)
    if request.preview or plans is None or not plans.instants:
        return scheduled
    executed = execute_plans(spark, request, plans.instants, storage, clock)
    report = executed.report_as(CompactionReport)
    if report is None:
        return executed
    noted = replace(
        report,
        trigger=plans.trigger,
        delta_commits=plans.delta_commits,
        skipped=plans.skipped,
        skipped_count=plans.skipped_count,
    )
    return replace(executed, report=noted)
