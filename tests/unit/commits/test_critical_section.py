"""A commit makes few storage calls under the table lock; their number does not depend on the size of the write."""

from collections import Counter
from collections.abc import Callable
from types import TracebackType
from typing import Any, ClassVar
from uuid import uuid4

import pytest

from hudi_table_services.commits.attempt import CommitAttempt
from hudi_table_services.commits.pending_writes import clear_pending_writes
from hudi_table_services.errors import FileGroupConflictError, LockNotAcquiredError
from hudi_table_services.hudi_format.markers import MarkerKind
from hudi_table_services.hudi_format.table_service_plans import encode_requested_replace
from hudi_table_services.model.concurrent_change import ConflictStrategy
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_service_plans import ClusteringGroup, ClusteringPlan, ClusteringSlice
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.options.locks import FILE_SYSTEM_PROVIDER, STORAGE_BASED_PROVIDER, LockOptions
from hudi_table_services.options.writing_values import FailedWritesPolicy
from hudi_table_services.storage.locks.lock import TableLock, table_lock
from hudi_table_services.storage.markers import MarkerStore
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from hudi_table_services.tables.table import TableAccess
from support.small_tables import SCHEMA, SmallTable, base_file_name

COUNTED = {
    name for name in dir(MemoryStorage) if not name.startswith("_") and callable(getattr(MemoryStorage, name))
}
MOST_CALLS = 20


class CountingStorage(MemoryStorage):
    """Counts the calls that reach the storage."""

    calls: ClassVar[Counter[str]] = Counter()

    def __getattribute__(self, name: str) -> Any:
        if name in COUNTED:
            CountingStorage.calls[name] += 1
        return super().__getattribute__(name)


class CountingLock:
    """A table lock that counts the storage calls of each block in which the lock is held."""

    def __init__(self, lock: TableLock) -> None:
        self._lock = lock
        self._before: Counter[str] = Counter()
        self.under_lock: list[Counter[str]] = []

    def __enter__(self) -> "CountingLock":
        self._lock.__enter__()
        self._before = Counter(CountingStorage.calls)
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.under_lock.append(CountingStorage.calls - self._before)
        self._lock.__exit__(error_type, error, traceback)

    def verify(self) -> None:
        self._lock.verify()


def group(number: int) -> FileGroupId:
    return FileGroupId(f"city={number % 7}", f"f{number}-0")


def commit_updates(
    table: SmallTable,
    lock: TableLock,
    files: int,
    strategy: ConflictStrategy = ConflictStrategy.SIMPLE,
    others_act: Callable[[], object] = lambda: None,
) -> None:
    """Commit a write that rewrites this number of file groups."""
    access = TableAccess(storage=table.storage, clock=table.clock, config=table.config)
    snapshot = load_snapshot(table.storage)
    with CommitAttempt(access, snapshot, Action.COMMIT, lock, "r", strategy) as attempt:
        stats: dict[str, tuple[WriteStat, ...]] = {}
        for number in range(files):
            path, file_id = group(number).partition_path, group(number).file_id
            name = f"{path}/{base_file_name(file_id, attempt.instant_time)}"
            MarkerStore(table.storage, attempt.instant_time).mark(name, MarkerKind.MERGE)
            table.storage.write(name, b"PAR1")
            stat = WriteStat(file_id=file_id, partition_path=path, path=name, prev_commit="20260101000000000")
            stats[path] = (*stats.get(path, ()), stat)
        metadata = CommitMetadata(
            operation_type=WriteOperation.UPSERT,
            partition_to_write_stats=stats,
            extra_metadata={"schema": SCHEMA},
        )
        attempt.start(metadata)
        others_act()
        attempt.complete(metadata)


def table_of(files: int, version: TableVersion) -> SmallTable:
    table = SmallTable(CountingStorage(uuid4().hex), version)
    table.commit(*(group(number) for number in range(files)))
    return table


@pytest.mark.parametrize("provider", [FILE_SYSTEM_PROVIDER, STORAGE_BASED_PROVIDER])
@pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
def test_the_number_of_storage_calls_under_the_lock_does_not_grow_with_the_write(
    version: TableVersion, provider: str
) -> None:
    counts: list[list[Counter[str]]] = []
    for files in (3, 300):
        table = table_of(files, version)
        lock = CountingLock(table_lock(table.storage, LockOptions(provider=provider)))
        commit_updates(table, lock, files)
        counts.append(lock.under_lock)
    small, large = counts
    assert small == large
    assert len(small) == 2  # one block chooses the instant time, the other completes the commit
    assert all(sum(calls.values()) <= MOST_CALLS for calls in small), small


class LostLock(CountingLock):
    """A lock that another writer takes over while the attempt checks for conflicts."""

    def __init__(self, lock: TableLock, table: SmallTable) -> None:
        super().__init__(lock)
        self._table = table

    def verify(self) -> None:
        for path in (".hoodie/lock", ".hoodie/.locks/table_lock.json"):
            if self._table.storage.exists(path):
                self._table.storage.write(path, b"another writer's")
        super().verify()


@pytest.mark.parametrize("provider", [FILE_SYSTEM_PROVIDER, STORAGE_BASED_PROVIDER])
def test_an_attempt_that_loses_the_lock_commits_nothing(provider: str) -> None:
    table = table_of(2, TableVersion.V6)
    before = load_snapshot(table.storage).timeline.completed_writes
    lock = LostLock(
        table_lock(table.storage, LockOptions(provider=provider, retries=0, client_retries=0)), table
    )
    with pytest.raises(LockNotAcquiredError, match="taken over by another writer"):
        commit_updates(table, lock, 2)
    after = load_snapshot(table.storage)
    assert after.timeline.completed_writes == before
    assert {s.base_instant_time for s in after.all_slices} == {before[0].requested_time}


def plan_clustering(table: SmallTable) -> None:
    piece = ClusteringSlice(file_id=group(0).file_id, partition_path=group(0).partition_path)
    plan = ClusteringPlan(groups=(ClusteringGroup(slices=(piece,)),))
    is_v6 = table.version is TableVersion.V6
    action = Action.REPLACE_COMMIT if is_v6 else Action.CLUSTERING
    table.timeline_store.request(action, encode_requested_replace(plan))


@pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
def test_a_plan_scheduled_during_a_write_prevents_the_commit_unless_writers_are_preferred(
    version: TableVersion,
) -> None:
    table = table_of(2, version)
    lock = table_lock(table.storage, LockOptions())
    before = len(load_snapshot(table.storage).timeline.completed_writes)
    with pytest.raises(FileGroupConflictError, match="is going to replace"):
        commit_updates(table, lock, 2, others_act=lambda: plan_clustering(table))
    assert len(load_snapshot(table.storage).timeline.completed_writes) == before
    commit_updates(table, lock, 2, ConflictStrategy.PREFER_WRITER, others_act=lambda: plan_clustering(table))
    assert len(load_snapshot(table.storage).timeline.completed_writes) == before + 1


class RecordingStorage(MemoryStorage):
    """A storage that records changes of the timeline, and whether the lock was held at each change."""

    changes: ClassVar[list[tuple[str, bool]]] = []

    def create(self, path: str, data: bytes) -> None:
        self._note(path)
        super().create(path, data)

    def delete(self, path: str) -> bool:
        self._note(path)
        return super().delete(path)

    def _note(self, path: str) -> None:
        if ".rollback" in path or path.endswith(".commit.requested"):
            RecordingStorage.changes.append((path, self.exists(".hoodie/lock")))


class JobFailedError(Exception):
    """The failure of a job."""


def fail() -> None:
    raise JobFailedError


@pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
def test_a_failed_attempt_is_rolled_back_under_the_lock(version: TableVersion) -> None:
    table = SmallTable(RecordingStorage(uuid4().hex), version)
    table.commit(group(0), group(1))
    RecordingStorage.changes.clear()
    with pytest.raises(JobFailedError):
        commit_updates(table, table_lock(table.storage, LockOptions()), 2, others_act=fail)
    assert not table.timeline_store.load().pending
    assert (
        len(RecordingStorage.changes) == 5
    )  # two requests, start and completion of the rollback, deletion of the write
    assert [path for path, is_locked in RecordingStorage.changes if not is_locked] == []
    assert not table.storage.exists(".hoodie/lock")


def test_the_next_job_rolls_back_an_attempt_that_did_not_get_the_lock() -> None:
    table = table_of(2, TableVersion.V9)
    lock = table_lock(table.storage, LockOptions(retries=1, retry_wait_ms=1, client_retries=0))
    hudis = b'{"lockThreadName":"main"}'
    with pytest.raises(LockNotAcquiredError, match="main"):
        commit_updates(table, lock, 2, others_act=lambda: table.storage.create(".hoodie/lock", hudis))
    (pending,) = table.timeline_store.load().pending
    assert pending.action is Action.COMMIT
    table.storage.delete(".hoodie/lock")
    access = TableAccess(storage=table.storage, clock=table.clock, config=table.config)
    clear_pending_writes(access, lock, "another", FailedWritesPolicy.LAZY)
    assert not table.timeline_store.load().pending
    assert len(load_snapshot(table.storage).all_slices) == 2
