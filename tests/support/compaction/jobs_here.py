"""Compaction jobs in this process, without Spark: the tasks run one after another."""

from collections.abc import Mapping, Sequence
from typing import Any

from hudi_table_services.contract.compaction.compaction import (
    CancelCompactionRequest,
    CompactionReport,
    ExecuteCompactionRequest,
    ScheduleCompactionRequest,
)
from hudi_table_services.contract.result import JobResult
from hudi_table_services.execution.compaction.merge_slice import CompactionJob, SliceTask
from hudi_table_services.execution.compaction.run import MergedSlices, attempt_slice, sorted_outcomes
from hudi_table_services.jobs.compaction.cancel import cancel_compaction
from hudi_table_services.jobs.compaction.execute import CompactionExecution
from hudi_table_services.jobs.compaction.schedule import schedule_compaction
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.stores.storage import Storage

NOW = {"hoodie.airflow.compaction.expiration.minutes": "0"}
"""Options with which executions without a heartbeat count as dead."""


def merge_here(job: CompactionJob, tasks: Sequence[SliceTask], what: str) -> MergedSlices:
    return sorted_outcomes([attempt_slice(job, task) for task in tasks], what)


def schedule(
    storage: Storage, clock: Clock, options: Mapping[str, str] | None = None, **fields: Any
) -> JobResult:
    fields = {"ignore_trigger": True, **fields}
    request = ScheduleCompactionRequest(base_path="/t", options=options or {}, **fields)
    return schedule_compaction(request, storage=storage, clock=clock)


def execute(
    storage: Storage,
    clock: Clock,
    *instants: str,
    options: Mapping[str, str] | None = None,
    **fields: Any,
) -> JobResult:
    request = ExecuteCompactionRequest(base_path="/t", options=options or {}, instants=instants, **fields)
    return CompactionExecution(request, storage, clock, merge_here).run(instants)


def cancel(
    storage: Storage,
    clock: Clock,
    *instants: str,
    options: Mapping[str, str] | None = None,
    **fields: Any,
) -> JobResult:
    request = CancelCompactionRequest(base_path="/t", options=options or {}, instants=instants, **fields)
    return cancel_compaction(request, storage=storage, clock=clock)


def report_of(result: JobResult) -> CompactionReport:
    report = result.report_as(CompactionReport)
    assert report is not None
    return report
