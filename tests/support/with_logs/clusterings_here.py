"""Clustering jobs on merge-on-read tables in this process, without Spark: one group is rewritten after another."""

from collections.abc import Mapping, Sequence
from typing import Any

from hudi_table_services.contract.clustering import (
    CancelClusteringRequest,
    ClusteringReport,
    ExecuteClusteringRequest,
    ScheduleClusteringRequest,
)
from hudi_table_services.contract.result import JobResult
from hudi_table_services.execution.arrow_schema import arrow_schema
from hudi_table_services.execution.clustering.rewrite import (
    GroupOutcome,
    GroupTask,
    RewriteJob,
    rewrite_group,
)
from hudi_table_services.execution.clustering.run import check_outcome
from hudi_table_services.execution.log_merging.merged_slice import open_merged_slice
from hudi_table_services.execution.log_merging.slice_reading import LogMerging
from hudi_table_services.hudi_format.avro_schema import from_avro_json
from hudi_table_services.jobs.clustering.cancel import cancel_clustering
from hudi_table_services.jobs.clustering.execute import ClusteringExecution
from hudi_table_services.jobs.clustering.schedule import schedule_clustering
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_service_plans import ClusteringPlan
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.planning.table.merge_rules import merge_rule
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.file_slices import visibility_of
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.clustering_history import ClusteringHistory
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.compaction.written_table import NORTH, SOUTH, Deleted, WrittenTable, a_row, new_storage
from support.jobs_on_tables import later

NOW = {"hoodie.clustering.expiration.threshold.mins": "0"}
"""Options with which executions without a heartbeat count as dead."""


NORTH2, SOUTH2 = FileGroupId("north", "n2"), FileGroupId("south", "s2")
ROWS = [("a", 3), ("c", 2), ("d", 1), ("e", 1), ("f", 2), ("g", 1)]


def a_table(version: TableVersion = TableVersion.V9) -> WrittenTable:
    """A table with two small file groups in each partition: three with log files, and one without."""
    table = WrittenTable(new_storage(), version, clock=later(0))
    table.insert({NORTH: [a_row("a", 1), a_row("b", 1)], SOUTH: [a_row("c", 1)]})
    table.insert({NORTH2: [a_row("e", 1), a_row("f", 1)], SOUTH2: [a_row("g", 1)]})
    table.log({NORTH: [a_row("a", 3)], SOUTH: [a_row("c", 2), a_row("d", 1)], NORTH2: [a_row("f", 2)]})
    table.log({NORTH: [Deleted("b")]}, as_parquet=True)
    return table


def keys(rows: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(row["_hoodie_record_key"], row["ts"]) for row in rows]


def plan_of(table: WrittenTable) -> ClusteringPlan:
    history = ClusteringHistory.load(table.timeline_store, table.timeline_store.load())
    assert history.newest is not None
    return history.newest.plan


def rewrite_here(job: RewriteJob, groups: Sequence[GroupTask], what: str) -> list[GroupOutcome]:
    found = []
    for group in groups:
        outcome = rewrite_group(job, group)
        assert isinstance(outcome, GroupOutcome), what
        check_outcome(group, outcome)
        found.append(outcome)
    return found


def schedule(
    storage: Storage, clock: Clock, options: Mapping[str, str] | None = None, **fields: Any
) -> JobResult:
    request = ScheduleClusteringRequest(base_path="/t", options=options or {}, **fields)
    return schedule_clustering(request, storage=storage, clock=clock)


def execute(
    storage: Storage,
    clock: Clock,
    *instants: str,
    options: Mapping[str, str] | None = None,
    **fields: Any,
) -> JobResult:
    request = ExecuteClusteringRequest(base_path="/t", options=options or {}, instants=instants, **fields)
    return ClusteringExecution(request, storage, clock, rewrite_here).run(instants)


def cancel(
    storage: Storage,
    clock: Clock,
    *instants: str,
    options: Mapping[str, str] | None = None,
    **fields: Any,
) -> JobResult:
    request = CancelClusteringRequest(base_path="/t", options=options or {}, instants=instants, **fields)
    return cancel_clustering(request, storage=storage, clock=clock)


def report_of(result: JobResult) -> ClusteringReport:
    report = result.report_as(ClusteringReport)
    assert report is not None
    return report


def merged_rows(storage: Storage, settings: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """The rows of a snapshot query with their kept meta columns, by key.

    Args:
        settings: settings of the merge that the table does not store.
    """
    snapshot = load_snapshot(storage)
    data_schema = arrow_schema(from_avro_json(snapshot.schema_json or ""), with_meta_fields=False)
    merging = LogMerging(
        rule=merge_rule(snapshot.config, settings),
        visibility=visibility_of(snapshot),
        memory_bytes=64 << 20,
    )
    rows: list[dict[str, Any]] = []
    for file_slice in snapshot.all_slices:
        with open_merged_slice(storage, file_slice, merging, data_schema) as merged:
            rows += [row for table in merged.rows() for row in table.to_pylist()]
    return sorted(rows, key=lambda row: str(row["_hoodie_record_key"]))
