"""Helpers for tests of the clustering operators, and bodies of programs that replace spark-submit."""

import json
from collections.abc import Callable
from typing import Any

from airflow_hudi_provider.tables.connection import TableLocation
from hudi_table_services.model.instant import Instant
from support.small_tables import SmallTable

Run = Callable[..., dict[str, Any]]
"""A function that executes an operator; see the fixture ``run``."""

INSTANT = "20260102030405678"
SCHEMA = json.dumps({"type": "record", "name": "r", "fields": [{"name": "x", "type": "long"}]})
SMALL = {
    "hoodie.clustering.plan.strategy.small.file.limit": 1000,
    "hoodie.clustering.plan.strategy.target.file.max.bytes": 1000,
}

NOT_TO_BE_RUN = "raise SystemExit('submitted')"
COMPLETES = """
from support.airflow.clustered_tables import complete_pending
from hudi_table_services.contract.clustering import (
    ClusteringGroupReport, ClusteringPlanReport, ClusteringReport, ColumnSkipping)
def report(times, state="completed"):
    group = ClusteringGroupReport(partition_path="city=a", input_files=2, input_bytes=8, expected_files=1,
        reason="2 files into 1", output_files=1, output_bytes=6, rows=5)
    skipping = (ColumnSkipping(column="x", before=1.0, after=0.25),)
    return ClusteringReport(plans=tuple(ClusteringPlanReport(instant_time=time, state=state, layout="LINEAR(x)",
        target_file_max_bytes=8, groups=(group,), rows_checked=5, skipping=skipping) for time in times))
times = complete_pending(base_path, request.get("instants", ()), request["request_id"])
"""
PLANS = """
from support.airflow.clustered_tables import open_table, schedule
if not open_table(base_path).timeline_store.load().pending:  # the worker may have made the plan
    schedule(open_table(base_path), request_id=request["request_id"])
"""
REPORTS = "result(outcome='completed', operation='cluster', instant_time=times[-1], report=report(times))"


def clusterings(table: SmallTable) -> list[Instant]:
    """List the pending instants of a table on which only clusterings are pending."""
    return list(table.timeline_store.load().pending)


def made(operator: type, **arguments: Any) -> Any:
    given = {"task_id": "cluster", "base_path": "/t", **arguments}
    return operator(**given)


def request_of(operator: type, **arguments: Any) -> Any:
    return made(operator, **arguments).build_request(TableLocation(base_path="/t"), "r", "/result")
