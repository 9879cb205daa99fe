"""A table without rows, and helpers that run the health job on the table."""

from datetime import datetime, timedelta, timezone
from typing import Any
from uuid import uuid4

import pytest

from hudi_table_services.contract.health import HealthReport, HealthRequest, PendingInstant
from hudi_table_services.contract.result import JobResult
from hudi_table_services.hudi_format.table_service_plans import encode_requested_replace
from hudi_table_services.jobs.health.table_health import table_health
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_service_plans import ClusteringGroup, ClusteringPlan, ClusteringSlice
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.memory import MemoryStorage
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
A, A2, B = FileGroupId("a", "f1"), FileGroupId("a", "f2"), FileGroupId("b", "f3")


class CheckedTable:
    """A table that was created two hours ago, and helpers that run the health job on the table."""

    def __init__(self, version: TableVersion) -> None:
        self.storage = MemoryStorage(uuid4().hex)
        clock = FixedClock(datetime.now(timezone.utc) - timedelta(hours=2), step=timedelta(minutes=1))
        self.table = SmallTable(self.storage, version, clock)

    def result(self, later: timedelta = timedelta(), **fields: Any) -> JobResult:
        clock = FixedClock(datetime.now(timezone.utc) + later)
        request = HealthRequest(base_path=self.storage.uri, **fields)
        before = [(f.path, f.size_bytes) for f in self.storage.list_files()]
        try:
            return table_health(request, storage=self.storage, clock=clock)
        finally:
            assert [(f.path, f.size_bytes) for f in self.storage.list_files()] == before

    def report(self, later: timedelta = timedelta(), **fields: Any) -> HealthReport:
        report = self.result(later, **fields).report
        assert report is not None
        return report

    def pending(self, later: timedelta = timedelta()) -> PendingInstant:
        found = self.report(later).pending
        assert len(found) == 1
        return found[0]

    def plan_clustering(self, *groups: FileGroupId) -> None:
        slices = tuple(
            ClusteringSlice(partition_path=g.partition_path, file_id=g.file_id, data_file_path="x")
            for g in groups
        )
        plan = ClusteringPlan(groups=(ClusteringGroup(slices=slices),))
        action = Action.CLUSTERING if self.table.version >= TableVersion.V8 else Action.REPLACE_COMMIT
        self.table.timeline_store.request(action, encode_requested_replace(plan))
