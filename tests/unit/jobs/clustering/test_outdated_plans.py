"""Plans whose files other writers changed: executions cancel plans that can never succeed, and keep other plans."""

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import uuid4

import pytest

from hudi_table_services.contract.clustering import (
    CancelClusteringRequest,
    ExecuteClusteringRequest,
    ScheduleClusteringRequest,
)
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.errors import FileGroupConflictError, StorageError
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.jobs.clustering.cancel import cancel_clustering
from hudi_table_services.jobs.clustering.execute import execute_clustering
from hudi_table_services.jobs.clustering.schedule import schedule_clustering
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.table_service_plans import (
    ClusteringGroup,
    ClusteringPlan,
    ClusteringSlice,
)
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.planning.clustering.outdated_plans import unchanged_groups
from hudi_table_services.services.registry import read_result
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.locks.heartbeat import heartbeat_path
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.faulty_storage import FaultyStorage, crashes_everywhere
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable

SCHEMA = '{"type":"record","name":"r","fields":[{"name":"k","type":"string"}]}'
PLANNED = [FileGroupId(partition, f"{partition}{number}-0") for partition in "ab" for number in range(2)]
IN_A, IN_B = PLANNED[:2], PLANNED[2:]


def planned_table(version: TableVersion = TableVersion.V9) -> tuple[SmallTable, str]:
    """A table with a pending plan of two groups, one per partition; returns the table and the time of the plan."""
    table = SmallTable(MemoryStorage(uuid4().hex), version)
    table.commit(*PLANNED, schema=SCHEMA)
    request = ScheduleClusteringRequest(base_path="/t")
    return table, schedule_clustering(request, storage=table.storage, clock=table.clock).instant_time or ""


def begin_write(table: SmallTable, *groups: FileGroupId) -> Instant:
    """Begin a write whose inflight file names the file groups that the write changes, as in Hudi."""
    stats = {g.partition_path: () for g in groups} | {
        g.partition_path: (
            WriteStat(file_id=g.file_id, partition_path=g.partition_path, path="", file_size_bytes=0),
        )
        for g in groups
    }
    profile = CommitMetadata(operation_type=WriteOperation.UPSERT, partition_to_write_stats=stats)
    store = table.timeline_store
    return store.start(store.request(Action.COMMIT, b""), encode_commit_metadata(profile, table.version))


def execute(table: SmallTable, *instants: str, storage: Storage | None = None, **fields: Any) -> JobResult:
    """Execute without Spark: the executions of these tests end before they need Spark."""
    clock = fields.pop("clock", table.clock)
    request = ExecuteClusteringRequest(base_path="/t", instants=instants, **fields)
    return execute_clustering(None, request, storage=storage or table.storage, clock=clock)  # type: ignore[arg-type]


def later() -> FixedClock:
    """A clock ten minutes ahead, when the lock and the heartbeat of a dead job have expired."""
    return FixedClock(SystemClock().now() + timedelta(minutes=10), step=timedelta(milliseconds=1))


def leftovers(table: SmallTable) -> list[str]:
    paths = [stored.path for stored in table.storage.list_files(".hoodie")]
    return [path for path in paths if path.startswith((".hoodie/.heartbeat/", ".hoodie/.temp/"))]


@pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9])
def test_a_plan_is_cancelled_with_a_reason_if_all_its_groups_were_changed(version: TableVersion) -> None:
    table, plan = planned_table(version)
    table.commit(IN_A[0], IN_B[1], schema=SCHEMA)
    result = execute(table)
    assert result.outcome is Outcome.NOTHING_TO_DO
    why = f"clustering {plan} was cancelled: other writers changed all of its groups since it was scheduled"
    assert result.reason == why
    assert result.report is not None
    (cancelled,) = result.report.plans
    assert (cancelled.instant_time, cancelled.state, cancelled.reason, cancelled.groups_given_up) == (
        plan,
        "cancelled",
        why,
        2,
    )
    assert result.report.instants == ()
    assert read_result(result.to_json()) == result
    assert not table.timeline_store.load().pending
    assert leftovers(table) == []
    assert execute(table).reason == "no clustering is pending on the table"


def test_the_reason_of_a_cancellation_names_a_lost_file() -> None:
    table, plan = planned_table()
    table.commit(IN_B[1], schema=SCHEMA)
    lost = next(f.path for f in table.storage.list_files("a") if f"{IN_A[0].file_id}_" in f.path)
    table.storage.delete(lost)
    assert execute(table).reason == (
        f"clustering {plan} was cancelled: every group contains a file that another writer changed or that does not "
        f"exist, such as {lost} (table_health.py reports lost files)"
    )


def test_an_error_about_dropped_groups_names_a_lost_file() -> None:
    table, plan = planned_table()
    begin_write(table, IN_B[1])
    lost = next(f.path for f in table.storage.list_files("a") if f"{IN_A[0].file_id}_" in f.path)
    table.storage.delete(lost)
    with pytest.raises(
        FileGroupConflictError, match=f"clustering {plan} .* or that does not exist, such as {lost}"
    ):
        execute(table)


def test_an_execution_of_a_cancelled_plan_has_nothing_to_do() -> None:
    """A retry finds its plan cancelled if the first attempt cancelled the plan and died before it wrote its result."""
    table, plan = planned_table()
    table.commit(*PLANNED, schema=SCHEMA)
    assert execute(table, plan).outcome is Outcome.NOTHING_TO_DO
    again = execute(table, plan)
    assert again.outcome is Outcome.NOTHING_TO_DO
    assert f"clustering {plan} was cancelled: rollback" in again.reason


@pytest.mark.parametrize("changed", [[], IN_A])
def test_a_plan_is_kept_if_a_pending_write_changes_the_groups_that_no_commit_changed(
    changed: list[FileGroupId],
) -> None:
    table, plan = planned_table()
    if changed:
        table.commit(*changed, schema=SCHEMA)
    write = begin_write(table, *(group for group in (IN_A[0], IN_B[0]) if group not in changed))
    with pytest.raises(FileGroupConflictError, match=f"every group of clustering {plan}") as failure:
        execute(table)
    assert failure.value.retryable
    (pending,) = [i for i in table.timeline_store.load().pending if i.requested_time == plan]
    assert pending.state is InstantState.REQUESTED
    assert leftovers(table) == []
    assert write in table.timeline_store.load().pending


@pytest.mark.parametrize("retry", [{"request_id": "same"}, {}])
def test_the_next_execution_completes_the_cancellation_of_a_dead_execution(retry: dict[str, str]) -> None:
    """The next execution may have any request id, because the heartbeat and the lock have expired."""
    tables: list[tuple[SmallTable, str]] = []

    def start() -> Storage:
        tables.append(planned_table())
        tables[-1][0].commit(*PLANNED, schema=SCHEMA)
        return tables[-1][0].storage

    def act(storage: FaultyStorage) -> None:
        table, plan = tables[-1]
        execute(table, plan, storage=storage, request_id="same")

    crashes = 0
    for _ in crashes_everywhere(act, start):
        crashes += 1
        table, plan = tables[-1]
        result = execute(table, plan, clock=later(), **retry)
        assert result.outcome is Outcome.NOTHING_TO_DO
        assert plan in result.reason
        assert "was cancelled" in result.reason
        assert not table.timeline_store.load().pending
        assert leftovers(table) == []
    assert crashes >= 7


def test_the_next_cancellation_completes_a_dead_cancellation() -> None:
    """The heartbeat of the killed execution has expired. The next job must not treat the plan as a plan of Hudi."""
    tables: list[tuple[SmallTable, str]] = []

    def start() -> Storage:
        table, plan = planned_table()
        tables.append((table, plan))
        (pending,) = table.timeline_store.load().pending
        table.timeline_store.start(pending)
        table.storage.write(heartbeat_path(plan), b"killed/1")
        return table.storage

    def cancel(storage: Storage, plan: str) -> JobResult:
        request = CancelClusteringRequest(base_path="/t", instants=(plan,))
        return cancel_clustering(request, storage=storage, clock=later())

    crashes = 0
    for left in crashes_everywhere(lambda storage: cancel(storage, tables[-1][1]), start):
        crashes += 1
        table, plan = tables[-1]
        assert cancel(left, plan).outcome is Outcome.COMPLETED
        assert not table.timeline_store.load().pending
        assert leftovers(table) == []
    assert crashes >= 6


@pytest.mark.parametrize("after", [False, True])
def test_a_retry_after_a_storage_error_completes_the_cancellation(after: bool) -> None:
    for fail_at in range(1, 100):
        table, plan = planned_table()
        table.commit(*PLANNED, schema=SCHEMA)
        storage = FaultyStorage(table.storage, fail_at, after, partial(StorageError, "Cannot do this now."))
        with suppress(StorageError):
            execute(table, plan, storage=storage, request_id="same")
        assert execute(table, plan, request_id="same").outcome is Outcome.NOTHING_TO_DO
        assert not table.timeline_store.load().pending
        if storage.changes < fail_at:
            break
    assert fail_at >= 12


@pytest.mark.parametrize("older_too", [False, True])
def test_a_group_that_names_a_file_group_twice_is_not_executed(older_too: bool) -> None:
    """Hudi's commit-based strategy creates plans that name a file twice; a job must not read the file twice."""
    table = SmallTable(MemoryStorage(uuid4().hex), TableVersion.V9)
    table.commit(*IN_A, schema=SCHEMA)
    table.commit(IN_A[0], schema=SCHEMA)
    snapshot = load_snapshot(table.storage)
    paths = sorted(f.path for f in table.storage.list_files("a") if f"{IN_A[0].file_id}_" in f.path)
    named = paths if older_too else [paths[-1], paths[-1]]
    twice = ClusteringGroup(
        slices=tuple(
            ClusteringSlice(file_id=IN_A[0].file_id, partition_path="a", data_file_path=f"file:///t/{path}")
            for path in named
        )
    )
    once = replace(twice, slices=(replace(twice.slices[0], data_file_path=f"file:///t/{paths[-1]}"),))
    assert unchanged_groups(ClusteringPlan(groups=(twice,)), snapshot) == ()
    assert unchanged_groups(ClusteringPlan(groups=(once, once)), snapshot) == (once,)
