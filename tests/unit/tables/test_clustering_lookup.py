"""Finding clusterings by requested time: the number of reads, and plans that replace cancelled plans."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import pytest

from hudi_table_services.contract.clustering import CancelClusteringRequest, ExecuteClusteringRequest
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.hudi_format.table_service_plans import encode_requested_replace
from hudi_table_services.jobs.clustering.cancel import cancel_clustering
from hudi_table_services.jobs.clustering.execute import execute_clustering
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_service_plans import ClusteringGroup, ClusteringPlan, ClusteringSlice
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import FolderListing
from hudi_table_services.tables.clustering_history import GAVE_WAY_KEY, PREDECESSOR_KEY
from support.small_tables import SmallTable


@dataclass
class CountingStorage:
    """A storage that counts reads and listings."""

    inner: MemoryStorage
    calls: Counter[str] = field(default_factory=Counter)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def read(self, path: str) -> bytes:
        self.calls[path] += 1
        return self.inner.read(path)

    def list_folder(self, folder: str = "") -> FolderListing:
        self.calls[f"{folder}/"] += 1
        return self.inner.list_folder(folder)


@pytest.fixture
def table() -> SmallTable:
    made = SmallTable(MemoryStorage(uuid4().hex))
    made.commit(FileGroupId("a", "a-0"))
    return made


def plan(table: SmallTable, **extra: str) -> Instant:
    piece = ClusteringSlice(file_id="a-0", partition_path="a", data_file_path="file:///t/a/a-0")
    content = encode_requested_replace(
        ClusteringPlan(groups=(ClusteringGroup(slices=(piece,)),)),
        {key.replace("__", "."): value for key, value in extra.items()},
    )
    return table.timeline_store.request(Action.REPLACE_COMMIT, content)


def complete(table: SmallTable, instant: Instant) -> None:
    store = table.timeline_store
    metadata = CommitMetadata(operation_type=WriteOperation.CLUSTER, partition_to_write_stats={})
    store.complete(store.start(instant), encode_commit_metadata(metadata, table.version))


def execute(table: SmallTable, *instants: str, storage: Any = None) -> JobResult:
    """Execute without Spark; only executions of pending plans need Spark."""
    request = ExecuteClusteringRequest(base_path="/t", instants=instants)
    return execute_clustering(None, request, storage=storage or table.storage, clock=table.clock)  # type: ignore[arg-type]


def test_the_timeline_is_loaded_once_for_many_requested_times(table: SmallTable) -> None:
    plans = [plan(table) for _ in range(6)]
    for each in plans:
        complete(table, each)
    gone = plan(table).requested_time
    cancel_clustering(
        CancelClusteringRequest(base_path="/t", instants=(gone,)), storage=table.storage, clock=table.clock
    )
    table.commit(FileGroupId("a", "a-0"), extra={GAVE_WAY_KEY: gone})
    times = [each.requested_time for each in plans]
    one, all_of_them = CountingStorage(table.storage), CountingStorage(table.storage)  # type: ignore[arg-type]
    execute(table, times[0], storage=one)
    assert execute(table, *times, gone, storage=all_of_them).outcome is Outcome.COMPLETED
    assert all_of_them.calls[".hoodie/"] == one.calls[".hoodie/"]
    requested = [f".hoodie/{time}.replacecommit.requested" for time in times]
    assert [all_of_them.calls[path] for path in requested] == [1] * len(times)


def test_cancelling_a_replaced_plan_cancels_its_replacement(table: SmallTable) -> None:
    first = plan(table)
    request = CancelClusteringRequest(base_path="/t", instants=(first.requested_time,))
    cancel_clustering(request, storage=table.storage, clock=table.clock)
    second = plan(table, **{PREDECESSOR_KEY: first.requested_time})
    result = cancel_clustering(request, storage=table.storage, clock=table.clock)
    assert result.report is not None
    assert result.report.instants == (second.requested_time,)
    assert not table.timeline_store.load().pending
