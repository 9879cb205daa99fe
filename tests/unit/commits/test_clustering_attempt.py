"""Executions of a clustering plan: readers never see rows twice, even if other jobs change the instant."""

import time
from collections.abc import Callable
from contextlib import suppress
from uuid import uuid4

import pytest

from hudi_table_services.commits.pending_writes import clear_pending_writes
from hudi_table_services.commits.plan_attempt import ClusteringAttempt
from hudi_table_services.contract.clustering import ScheduleClusteringRequest
from hudi_table_services.errors import CommitStateUnknownError, ExecutionFailedError, InstantVanishedError
from hudi_table_services.hudi_format.markers import MarkerKind
from hudi_table_services.hudi_format.table_service_plans import encode_rollback_plan
from hudi_table_services.jobs.clustering.cancel import finish_cancellations
from hudi_table_services.jobs.clustering.schedule import schedule_clustering
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, InstantState
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.options.writing_values import FailedWritesPolicy
from hudi_table_services.planning.recovery.rollback_plan import plan_rollback
from hudi_table_services.storage.locks.heartbeat import heartbeat_path, read_heartbeat_owner
from hudi_table_services.storage.locks.lock import FileSystemLock, TableLock
from hudi_table_services.storage.markers import MarkerStore
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.table_store import update_properties
from hudi_table_services.tables.clustering_history import ClusteringHistory
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from hudi_table_services.tables.table import TableAccess
from support.small_tables import SmallTable, base_file_name

SCHEMA = '{"type":"record","name":"r","fields":[{"name":"k","type":"string"}]}'
OLD = {"a": ("a0-0", "a1-0")}
VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)


class CountedLock(FileSystemLock):
    """Counts how often the lock was acquired."""

    acquired = 0

    def __enter__(self) -> "CountedLock":
        super().__enter__()
        self.acquired += 1
        return self


class Planned:
    """A table of two files, with a pending plan that merges the files into one."""

    def __init__(self, version: TableVersion) -> None:
        self.table = SmallTable(MemoryStorage(uuid4().hex), version)
        self.table.commit(*(FileGroupId("a", i) for i in OLD["a"]), schema=SCHEMA)
        request = ScheduleClusteringRequest(base_path="/t")
        schedule_clustering(request, storage=self.table.storage, clock=self.table.clock)
        (self.plan,) = self.table.timeline_store.load().pending
        self.access = TableAccess(
            storage=self.table.storage, clock=self.table.clock, config=self.table.config
        )

    def attempt(self, lock: TableLock | None = None) -> ClusteringAttempt:
        lock = lock or FileSystemLock(self.table.storage)
        return ClusteringAttempt(self.access, self.plan, lock, request_id="mine")

    def take_over(self) -> None:
        """Write the heartbeat of another attempt that executes the plan now."""
        self.table.storage.write(heartbeat_path(self.plan.requested_time), b"others/1")

    def write(self, file_id: str) -> str:
        """Write a marker and then the file, in the same order as a task."""
        path = f"a/{base_file_name(file_id, self.plan.requested_time)}"
        self.mark(path)
        self.table.storage.write(path, b"PAR1")
        return path

    def mark(self, path: str) -> None:
        MarkerStore(self.table.storage, self.plan.requested_time).mark(path, MarkerKind.CREATE)

    def complete(self, attempt: ClusteringAttempt, path: str) -> None:
        stat = WriteStat(file_id="new-0", partition_path="a", path=path, file_size_bytes=4)
        metadata = CommitMetadata(
            operation_type=WriteOperation.CLUSTER,
            partition_to_write_stats={"a": (stat,)},
            extra_metadata={"schema": SCHEMA},
            partition_to_replace_file_ids=OLD,
        )
        attempt.complete(load_snapshot(self.table.storage), lambda _: metadata)

    def begin_rollback(self) -> None:
        """Simulate a cancellation that died after it had requested its rollback."""
        plan = plan_rollback(self.plan, (), self.table.storage.base_path)
        self.table.timeline_store.request(Action.ROLLBACK, encode_rollback_plan(plan))

    def clear_pending_writes_like_the_next_write(self) -> None:
        lock = FileSystemLock(self.table.storage)
        clear_pending_writes(self.access, lock, "other", FailedWritesPolicy.LAZY)

    def visible_file_ids(self) -> list[str]:
        return [s.file_group_id.file_id for s in load_snapshot(self.table.storage).all_slices]

    def files(self) -> list[str]:
        return [f.path for f in self.table.storage.list_files("a") if f.path.endswith(".parquet")]


@pytest.fixture
def planned(version: TableVersion) -> Planned:
    return Planned(version)


@VERSIONS
def test_a_plan_with_a_pending_cancellation_is_not_executed(planned: Planned) -> None:
    planned.begin_rollback()
    with pytest.raises(InstantVanishedError, match="was begun and has not been finished"), planned.attempt():
        pass
    assert planned.visible_file_ids() == list(OLD["a"])


@VERSIONS
@pytest.mark.parametrize("kind", ["without a plan", "overtaken"])
def test_a_removed_rollback_does_not_prevent_the_execution_of_a_plan(planned: Planned, kind: str) -> None:
    table = planned.table
    content = b""
    if kind == "overtaken":
        first = table.timeline_store.load().completed_writes[0]
        content = encode_rollback_plan(plan_rollback(first, (), table.storage.base_path))
        table.commit(FileGroupId("b", "f9-0"))
    table.timeline_store.request(Action.ROLLBACK, content)
    finish_cancellations(planned.access, FileSystemLock(table.storage), "mine", 60)
    assert table.timeline_store.load().pending == (planned.plan,)


@VERSIONS
def test_a_plan_is_not_completed_if_a_cancellation_begins_during_its_execution(planned: Planned) -> None:
    def execute() -> None:
        with planned.attempt() as attempt:
            path = planned.write("new-0")
            planned.begin_rollback()
            planned.complete(attempt, path)

    with pytest.raises(InstantVanishedError, match="was begun and has not been finished"):
        execute()
    planned.clear_pending_writes_like_the_next_write()
    assert planned.visible_file_ids() == list(OLD["a"])
    assert len(planned.files()) == 2


@VERSIONS
def test_a_pending_rollback_does_not_undo_a_completed_clustering(planned: Planned) -> None:
    """Hudi may begin a rollback of a running clustering, because Hudi ignores heartbeats of this project."""
    with planned.attempt() as attempt:
        planned.complete(attempt, planned.write("new-0"))
    planned.begin_rollback()
    planned.clear_pending_writes_like_the_next_write()
    assert planned.visible_file_ids() == ["new-0"]


@VERSIONS
def test_a_leftover_file_without_a_marker_does_not_become_part_of_the_table(planned: Planned) -> None:
    """The task wrote the file after its execution had failed, and was killed before it could remove the file."""
    stray = f"a/{base_file_name('zombie-0', planned.plan.requested_time)}"
    with suppress(ExecutionFailedError), planned.attempt():
        planned.mark(stray)
        raise ExecutionFailedError("another task failed")
    planned.table.storage.write(stray, b"half a file")
    with planned.attempt() as attempt:
        planned.complete(attempt, planned.write("new-0"))
    assert planned.visible_file_ids() == ["new-0"]
    assert stray not in planned.files()


@VERSIONS
def test_files_of_another_execution_of_the_same_plan_are_kept(planned: Planned) -> None:
    """Hudi executes plans without reading heartbeats, and deletes files that Hudi considers leftovers."""

    def execute() -> None:
        with planned.attempt() as attempt:
            path = planned.write("new-0")
            planned.table.storage.delete(path)
            planned.write("theirs-0")
            planned.complete(attempt, path)

    with pytest.raises(InstantVanishedError, match="Another job removed"):
        execute()
    assert any("theirs-0" in path for path in planned.files())
    (pending,) = planned.table.timeline_store.load().pending
    assert pending.state is InstantState.INFLIGHT


@VERSIONS
def test_files_of_a_second_execution_by_hudi_are_kept(planned: Planned) -> None:
    """Hudi rolls the inflight plan back and starts it again, before a task of this attempt writes its file."""
    store = planned.table.timeline_store

    def execute() -> None:
        with planned.attempt() as attempt:
            time.sleep(0.005)  # so that the new inflight file has another modification time
            store.return_to_requested(planned.plan)
            store.start(planned.plan)
            planned.table.storage.write(
                f"a/{base_file_name('theirs-0', planned.plan.requested_time)}", b"PAR1"
            )
            planned.complete(attempt, planned.write("new-0"))

    with pytest.raises(InstantVanishedError, match="restarted clustering .* during this execution"):
        execute()
    assert [path for path in planned.files() if "theirs-0" in path or "new-0" in path] == [
        f"a/{base_file_name('theirs-0', planned.plan.requested_time)}"
    ]
    assert [i.state for i in store.load().pending] == [InstantState.INFLIGHT]


@pytest.mark.parametrize("version", [TableVersion.V9], ids=lambda v: v.name)
def test_an_attempt_that_lost_its_plan_reports_the_loss_before_any_other_change_of_the_table(
    planned: Planned,
) -> None:
    def execute() -> None:
        with planned.attempt() as attempt:
            path = planned.write("new-0")
            planned.take_over()
            update_properties(planned.table.storage, {"hoodie.table.version": "8"}, planned.table.clock)
            planned.complete(attempt, path)

    with pytest.raises(InstantVanishedError, match="Another attempt took clustering .* over"):
        execute()


def lose_at_the_commit(planned: Planned, attempt: ClusteringAttempt) -> None:
    planned.complete(attempt, planned.write("new-0"))


def lose_when_dropping_the_plan(planned: Planned, attempt: ClusteringAttempt) -> None:
    (clustering,) = ClusteringHistory.load(
        planned.table.timeline_store, planned.table.timeline_store.load()
    ).pending
    attempt.drop_if_outdated(clustering.plan)


@VERSIONS
def test_a_heartbeat_is_marked_as_ended_only_under_the_lock(planned: Planned) -> None:
    """Without the lock, the mark could replace the heartbeat of an attempt that takes the plan over."""
    lock = CountedLock(planned.table.storage)
    with suppress(CommitStateUnknownError), planned.attempt(lock):
        raise CommitStateUnknownError("the storage did not answer")
    assert lock.acquired == 2  # once to start the plan, and once to mark the heartbeat
    owner = read_heartbeat_owner(planned.table.storage, planned.plan.requested_time) or ""
    assert owner.endswith("/over")


@VERSIONS
@pytest.mark.parametrize("lose", [lose_at_the_commit, lose_when_dropping_the_plan])
def test_an_attempt_that_lost_its_plan_only_stops_its_heartbeat(
    planned: Planned, lose: Callable[[Planned, ClusteringAttempt], None]
) -> None:
    """The attempt does not wait for the lock again, because the other attempt may hold the lock for a long time."""
    lock = CountedLock(planned.table.storage)

    def execute() -> None:
        with planned.attempt(lock) as attempt:
            planned.take_over()
            lose(planned, attempt)

    with pytest.raises(InstantVanishedError, match="Another attempt took clustering .* over"):
        execute()
    assert lock.acquired == 2  # once to start the plan, and once to find that the plan is lost
    assert read_heartbeat_owner(planned.table.storage, planned.plan.requested_time) == "others/1"
    (pending,) = planned.table.timeline_store.load().pending
    assert pending.state is InstantState.INFLIGHT
