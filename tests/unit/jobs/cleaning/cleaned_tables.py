"""A table without rows whose files the clean job deletes."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any
from uuid import uuid4

import pytest

from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.hudi_format.table_service_plans import encode_savepoint_metadata
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.table_service_plans import SavepointMetadata, SavepointPartition
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable, base_file_name

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
A, B = FileGroupId("a", "f1"), FileGroupId("b", "f2")


@dataclass
class History:
    """A table whose clock advances by a minute whenever a job reads the time; cleans run a day later."""

    version: TableVersion = TableVersion.V9
    storage: Storage = field(default_factory=lambda: MemoryStorage(uuid4().hex))

    def __post_init__(self) -> None:
        # For layout 1 the job reads the modification times of files; storage in memory sets them from the real clock.
        self.clock = FixedClock(datetime.now(timezone.utc) - timedelta(hours=2), step=timedelta(minutes=1))
        self.table = SmallTable(self.storage, self.version, self.clock)
        self.now = datetime.now(timezone.utc) + timedelta(days=1)

    def commits(self, count: int, *groups: FileGroupId) -> list[Instant]:
        return [self.table.commit(*groups) for _ in range(count)]

    def clean(self, storage: Storage | None = None, **fields: Any) -> JobResult:
        fields = {"base_path": self.storage.uri, **fields}
        result = clean(CleanRequest(**fields), storage=storage or self.storage, clock=FixedClock(self.now))
        # Later writes get times after this clean, and the next clean runs a day later.
        self.clock.moment = max(self.clock.moment, self.now) + timedelta(minutes=1)
        self.now = self.clock.moment + timedelta(days=1)
        return result

    def data_files(self, partition: str = "") -> set[str]:
        found = self.storage.list_files()
        return {f.path for f in found if f.name.endswith(".parquet") and f.path.startswith(partition)}

    def names(self, partition: str) -> list[str]:
        return [path.rpartition("/")[2] for path in self.data_files(partition)]

    def latest(self) -> set[str]:
        return {s.base_file_path or "" for s in load_snapshot(self.storage).all_slices}

    def savepoint(self, instant: Instant, partition: str, *names: str) -> None:
        store = self.table.timeline_store
        pending = Instant(
            requested_time=instant.requested_time, action=Action.SAVEPOINT, state=InstantState.INFLIGHT
        )
        self.storage.create(store.path_of(pending), b"")
        kept = SavepointMetadata(
            saved_by="test",
            saved_at_ms=0,
            comments="",
            partitions={partition: SavepointPartition(partition_path=partition, file_names=names)},
        )
        store.complete(pending, encode_savepoint_metadata(kept))


def paths(group: FileGroupId, instants: list[Instant]) -> set[str]:
    return {f"{group.partition_path}/{base_file_name(group.file_id, i.requested_time)}" for i in instants}


def report(result: JobResult) -> Any:
    assert result.report is not None
    return result.report
