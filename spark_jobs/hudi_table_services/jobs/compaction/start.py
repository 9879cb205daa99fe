"""Start a compaction in a process without Spark and pyarrow.

The process needs pyarrow only if a cancellation or rollback is pending on the table.
"""

from collections.abc import Sequence

from hudi_table_services.commits.finished_writes import remove_traces_of_finished_writes
from hudi_table_services.commits.measured_lock import measured_lock
from hudi_table_services.commits.plans.slice_records import remove_old_records
from hudi_table_services.commits.stopwatch import Stopwatch
from hudi_table_services.contract.compaction.compaction import (
    CompactionReport,
    CompactionRequest,
    ExecuteCompactionRequest,
)
from hudi_table_services.contract.result import JobResult
from hudi_table_services.jobs.compaction.opening import open_table, rule_of
from hudi_table_services.jobs.compaction.reporting import CompactionReporter
from hudi_table_services.jobs.compaction.schedule import schedule_compaction
from hudi_table_services.model.instant import Action
from hudi_table_services.options.compaction.compaction_job_options import resolve_compaction_options
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.locks.lock import TableLock
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.tables.compaction.compaction_history import Compaction, CompactionHistory
from hudi_table_services.tables.table import TableAccess


def start_compaction(request: CompactionRequest) -> JobResult | None:
    """Schedule a compaction. Return the result if there is nothing to execute; else None. Needs no Spark.

    If the result is None, `run.run_compaction` with the same request executes the plan.

    Raises:
        HudiTableServiceError: see `schedule_compaction`.
    """
    scheduled = schedule_compaction(request)
    plans = scheduled.report_as(CompactionReport)
    return scheduled if request.preview or plans is None or not plans.instants else None


def start_execution(request: ExecuteCompactionRequest) -> JobResult | None:
    """Return the result of `execute.execute_compaction` if there is no plan to execute; else None. Needs no Spark.

    Raises:
        HudiTableServiceError: the table cannot be read or written.
        ModuleNotFoundError: a cancellation is pending on the table, and this process lacks pyarrow to finish it.
    """
    options, watch = resolve_compaction_options(request), Stopwatch()
    storage, clock = open_storage(request.base_path, request.storage_options), SystemClock()
    updates_metadata = options.metadata.enable is not False
    table = open_table(request, options, storage, clock, updates_metadata=updates_metadata)
    rule_of(table, options)
    lock = measured_lock(storage, options.lock, clock, watch, request.request_id)
    chosen, missing = choose_plans(
        table, lock, request.instants, request.request_id, options.expires_after_minutes
    )
    if chosen:
        return None
    remove_leftovers(table)
    return CompactionReporter(request, options.warnings, watch).nothing_executed(missing)


def choose_plans(
    table: TableAccess,
    lock: TableLock,
    instants: Sequence[str],
    request_id: str,
    expires_after_minutes: int,
) -> tuple[list[Compaction], list[str]]:
    """Return the plans to execute, and a sentence about each named plan that is missing.

    Args:
        instants: requested times of the plans; empty means all pending plans, oldest first.
        expires_after_minutes: see `finish_cancellations`, which this function calls first.
    """
    if any(i.action in (Action.ROLLBACK, Action.RESTORE) for i in table.load_timeline().pending):
        from hudi_table_services.jobs.compaction.cancel import finish_cancellations  # needs pyarrow

        finish_cancellations(table, lock, request_id, expires_after_minutes)
    return CompactionHistory.load(table.timeline_store).select(instants)


def remove_leftovers(table: TableAccess) -> None:
    """Delete the temporary files of attempts that completed their plans and then died."""
    remove_traces_of_finished_writes(table)
    remove_old_records(table)
