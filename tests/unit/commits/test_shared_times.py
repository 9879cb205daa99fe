"""A write of Hudi keeps its instant and its files if an instant of this project has the same time."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import uuid4

import pytest

from hudi_table_services.commits.attempt import CommitAttempt
from hudi_table_services.commits.plan_attempt import ClusteringAttempt
from hudi_table_services.commits.undo import (
    finish_pending_rollbacks,
    roll_back_completed,
    roll_back_plan,
    rollback_instant,
)
from hudi_table_services.contract.clustering import ScheduleClusteringRequest
from hudi_table_services.errors import (
    InstantVanishedError,
    SharedInstantTimeError,
    UnsupportedTableError,
)
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.hudi_format.markers import MarkerKind
from hudi_table_services.hudi_format.table_service_plans import encode_requested_replace, encode_rollback_plan
from hudi_table_services.jobs.clustering.schedule import schedule_clustering
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.planning.recovery.rollback_plan import plan_rollback
from hudi_table_services.storage.locks.heartbeat import heartbeat_path
from hudi_table_services.storage.locks.lock import FileSystemLock
from hudi_table_services.storage.markers import MarkerStore
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from hudi_table_services.tables.table import TableAccess
from support.small_tables import SCHEMA, SmallTable, base_file_name
from support.with_logs.logged_tables import A as LOGGED
from support.with_logs.logged_tables import a_logged_table

A = FileGroupId("a", "a-0")


@pytest.fixture(params=[TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
def table(request: pytest.FixtureRequest) -> SmallTable:
    table = SmallTable(MemoryStorage(uuid4().hex), request.param)
    table.commit(A, FileGroupId("a", "a-1"))
    return table


def access(table: SmallTable) -> TableAccess:
    return TableAccess(storage=table.storage, clock=table.clock, config=table.config)


@dataclass
class HudisWrite:
    """A write of Hudi with the same time as another instant, and one new file with a marker."""

    table: SmallTable
    instant: Instant
    path: str

    @classmethod
    def begin(cls, table: SmallTable, time: str, action: Action = Action.COMMIT) -> "HudisWrite":
        store = table.timeline_store
        plan = encode_requested_replace(None) if action is Action.REPLACE_COMMIT else b""
        instant = store.start(store.request(action, plan, time))
        path = f"a/{base_file_name('hudi-0', time)}"
        MarkerStore(table.storage, time).mark(path, MarkerKind.CREATE)
        table.add_file("a", path.partition("/")[2])
        return cls(table, instant, path)

    def complete(self) -> "HudisWrite":
        stat = WriteStat(file_id="hudi-0", partition_path="a", path=self.path, file_size_bytes=4)
        metadata = CommitMetadata(
            operation_type=WriteOperation.UPSERT,
            partition_to_write_stats={"a": (stat,)},
            extra_metadata={"schema": SCHEMA},
        )
        content = encode_commit_metadata(metadata, self.table.version)
        self.instant = self.table.timeline_store.complete(self.instant, content)
        MarkerStore(self.table.storage, self.instant.requested_time).delete()
        return self

    @property
    def is_whole(self) -> bool:
        return self.instant in self.table.timeline_store.load() and self.table.storage.exists(self.path)


def own_file(table: SmallTable, instant: Instant) -> str:
    """Write a file of an instant, with its marker."""
    path = f"a/{base_file_name('own-0', instant.requested_time)}"
    MarkerStore(table.storage, instant.requested_time).mark(path, MarkerKind.CREATE)
    return table.add_file("a", path.partition("/")[2])


def a_plan(table: SmallTable) -> Instant:
    schedule_clustering(
        ScheduleClusteringRequest(base_path=table.storage.uri), storage=table.storage, clock=table.clock
    )
    (plan,) = table.timeline_store.load().pending
    return plan


def attempt_of(table: SmallTable, plan: Instant) -> ClusteringAttempt:
    return ClusteringAttempt(access(table), plan, FileSystemLock(table.storage), request_id="mine")


Undo = Callable[[TableAccess, Instant], Instant | None]
UNDOES = pytest.mark.parametrize("kind", ["write", "plan"])


def pending_instant(table: SmallTable, kind: str) -> tuple[Instant, Undo, Action]:
    """A dead write or plan of this project, the function that undoes it, and the action of Hudi's write."""
    if kind == "write":
        return table.begin(), rollback_instant, Action.REPLACE_COMMIT
    return table.timeline_store.start(a_plan(table)), roll_back_plan, Action.COMMIT


@UNDOES
def test_the_removal_of_a_pending_instant_keeps_a_completed_write_with_its_time(
    table: SmallTable, kind: str
) -> None:
    dead, undo, action = pending_instant(table, kind)
    path = own_file(table, dead)
    hudis = HudisWrite.begin(table, dead.requested_time, action).complete()
    before = load_snapshot(table.storage)
    assert undo(access(table), dead) is None
    assert hudis.is_whole
    assert not table.storage.exists(path)
    timeline = table.timeline_store.load()
    assert timeline.pending == ()
    assert Action.ROLLBACK not in {each.action for each in timeline}
    after = load_snapshot(table.storage)
    assert {s.base_file_path for s in before.all_slices} - {s.base_file_path for s in after.all_slices} == {
        path
    }


@UNDOES
def test_a_pending_instant_stays_while_a_running_write_has_its_time(table: SmallTable, kind: str) -> None:
    dead, undo, action = pending_instant(table, kind)
    path = own_file(table, dead)
    table.storage.write(heartbeat_path(dead.requested_time), b"")
    hudis = HudisWrite.begin(table, dead.requested_time, action)
    before = {each.path for each in table.storage.list_files()}
    with pytest.raises(SharedInstantTimeError, match="cannot be removed yet"):
        undo(access(table), dead)
    assert {each.path for each in table.storage.list_files()} == before
    hudis.complete()
    undo(access(table), dead)
    assert hudis.is_whole
    assert not table.storage.exists(path)


@UNDOES
def test_if_both_writers_are_dead_both_instants_are_removed(table: SmallTable, kind: str) -> None:
    dead, undo, action = pending_instant(table, kind)
    path = own_file(table, dead)
    hudis = HudisWrite.begin(table, dead.requested_time, action)
    assert undo(access(table), dead) is not None
    assert not table.storage.exists(path)
    assert not table.storage.exists(hudis.path)
    assert table.timeline_store.load().pending == (hudis.instant,)
    assert rollback_instant(access(table), hudis.instant) is not None
    assert table.timeline_store.load().pending == ()
    assert {s.file_group_id.file_id for s in load_snapshot(table.storage).all_slices} == {"a-0", "a-1"}


def test_a_plan_that_was_not_started_is_removed_beside_a_running_write(table: SmallTable) -> None:
    plan = a_plan(table)
    hudis = HudisWrite.begin(table, plan.requested_time)
    table.storage.write(heartbeat_path(plan.requested_time), b"")
    assert roll_back_plan(access(table), plan) is None
    assert table.timeline_store.load().pending == (hudis.instant,)
    assert hudis.is_whole
    assert table.storage.exists(heartbeat_path(plan.requested_time))
    assert MarkerStore(table.storage, plan.requested_time).data_files() == {hudis.path}


def test_a_dead_write_is_removed_beside_a_plan_that_was_not_started(table: SmallTable) -> None:
    plan = a_plan(table)
    hudis = HudisWrite.begin(table, plan.requested_time)
    assert rollback_instant(access(table), hudis.instant) is None
    assert not table.storage.exists(hudis.path)
    assert table.timeline_store.load().pending == (plan,)


def test_a_failed_write_keeps_the_heartbeat_of_a_write_that_was_only_requested(table: SmallTable) -> None:
    failed = table.begin()
    path = own_file(table, failed)
    heartbeat = heartbeat_path(failed.requested_time)
    table.storage.write(heartbeat, b"")
    plan = encode_requested_replace(None)
    requested = table.timeline_store.request(Action.REPLACE_COMMIT, plan, failed.requested_time)
    assert rollback_instant(access(table), failed) is None
    assert not table.storage.exists(path)
    assert table.storage.exists(heartbeat)
    assert table.timeline_store.load().instants[1:] == (requested,)


def test_log_blocks_of_version_6_are_rolled_back_beside_a_requested_instant() -> None:
    table = a_logged_table(TableVersion.V6)
    table.delta(bases=[LOGGED])
    before = table.seen()
    dead = table.begin(Action.DELTA_COMMIT)
    table.write(dead, logs=[LOGGED])
    plan = encode_requested_replace(None)
    requested = table.timeline_store.request(Action.REPLACE_COMMIT, plan, dead.requested_time)
    assert rollback_instant(access(table), dead) is not None
    assert table.seen() == before
    assert table.timeline_store.load().pending == (requested,)


def test_a_completed_write_that_shares_its_time_is_not_undone(table: SmallTable) -> None:
    completed = table.commit(FileGroupId("a", "n-0"))
    hudis = HudisWrite.begin(table, completed.requested_time, Action.REPLACE_COMMIT).complete()
    before = {each.path for each in table.storage.list_files()}
    with pytest.raises(SharedInstantTimeError, match="cannot be undone"):
        roll_back_completed(access(table), completed)
    assert {each.path for each in table.storage.list_files()} == before
    assert hudis.is_whole


def test_a_clustering_does_not_complete_beside_a_write_with_its_time(table: SmallTable) -> None:
    plan = a_plan(table)
    hudis: list[HudisWrite] = []

    def execute() -> None:
        with attempt_of(table, plan) as attempt:
            path = own_file(table, plan)
            hudis.append(HudisWrite.begin(table, plan.requested_time))
            attempt.complete(load_snapshot(table.storage), lambda _: clustered(path))

    with pytest.raises(SharedInstantTimeError, match="same time as this"):
        execute()
    assert hudis[0].is_whole
    hudis[0].complete()
    with pytest.raises(InstantVanishedError, match="was removed, because commit"), attempt_of(table, plan):
        pass
    assert hudis[0].is_whole
    assert table.timeline_store.load().pending == ()
    files = {each.path for each in table.storage.list_files() if each.path.endswith(".parquet")}
    assert {path.partition("_")[0] for path in files} == {"a/a-0", "a/a-1", "a/hudi-0"}
    assert {s.file_group_id.file_id for s in load_snapshot(table.storage).all_slices} == {
        "a-0",
        "a-1",
        "hudi-0",
    }


def clustered(path: str) -> CommitMetadata:
    stat = WriteStat(file_id="own-0", partition_path="a", path=path, file_size_bytes=4)
    return CommitMetadata(
        operation_type=WriteOperation.CLUSTER,
        partition_to_write_stats={"a": (stat,)},
        extra_metadata={"schema": SCHEMA},
        partition_to_replace_file_ids={"a": ("a-0", "a-1")},
    )


def test_a_plan_is_not_executed_beside_a_write_with_its_time(table: SmallTable) -> None:
    plan = a_plan(table)
    hudis = HudisWrite.begin(table, plan.requested_time)
    with pytest.raises(InstantVanishedError, match="was removed"), attempt_of(table, plan):
        pass
    assert hudis.is_whole
    assert table.timeline_store.load().pending == (hudis.instant,)
    assert MarkerStore(table.storage, plan.requested_time).data_files() == {hudis.path}


def test_a_started_plan_is_not_executed_while_a_pending_write_has_its_time(table: SmallTable) -> None:
    plan = table.timeline_store.start(a_plan(table))
    table.storage.write(heartbeat_path(plan.requested_time), b"mine/1")
    hudis = HudisWrite.begin(table, plan.requested_time)
    with pytest.raises(SharedInstantTimeError, match="cannot be removed yet"), attempt_of(table, plan):
        pass
    assert hudis.is_whole
    assert plan in table.timeline_store.load()


@pytest.mark.parametrize("completes", [True, False])
def test_a_write_does_not_complete_beside_an_instant_with_its_time(completes: bool) -> None:
    table = SmallTable(MemoryStorage(uuid4().hex), TableVersion.V6)
    table.commit(A)
    attempt = CommitAttempt(
        access(table), load_snapshot(table.storage), Action.COMMIT, FileSystemLock(table.storage), "mine"
    )
    hudis: list[HudisWrite] = []

    def write() -> None:
        with attempt:
            attempt.start(CommitMetadata(operation_type=WriteOperation.UPSERT, partition_to_write_stats={}))
            path = own_file(table, own_instant(attempt))
            other = HudisWrite.begin(table, attempt.instant_time, Action.REPLACE_COMMIT)
            hudis.append(other.complete() if completes else other)
            stat = WriteStat(file_id="own-0", partition_path="a", path=path, file_size_bytes=4)
            attempt.complete(
                CommitMetadata(
                    operation_type=WriteOperation.UPSERT,
                    partition_to_write_stats={"a": (stat,)},
                    extra_metadata={"schema": SCHEMA},
                )
            )

    with pytest.raises(SharedInstantTimeError):
        write()
    assert hudis[0].is_whole
    own = own_instant(attempt)
    assert (own in table.timeline_store.load()) != completes
    assert table.storage.exists(f"a/{base_file_name('own-0', own.requested_time)}") != completes
    # Without the common heartbeat file, other jobs would take the running write of Hudi for dead.
    assert table.storage.exists(heartbeat_path(own.requested_time)) != completes
    if not completes:
        with pytest.raises(SharedInstantTimeError, match="cannot be removed yet"):
            rollback_instant(access(table), own)
        with pytest.raises(SharedInstantTimeError, match="cannot be removed yet"):
            rollback_instant(access(table), hudis[0].instant)
        assert hudis[0].is_whole


def own_instant(attempt: CommitAttempt) -> Instant:
    return Instant(requested_time=attempt.instant_time, action=Action.COMMIT, state=InstantState.INFLIGHT)


def test_a_rollback_that_was_planned_earlier_keeps_a_write_with_the_same_time(table: SmallTable) -> None:
    dead = table.begin()
    path = own_file(table, dead)
    plan = plan_rollback(dead, [path], table.storage.base_path)
    table.timeline_store.request(Action.ROLLBACK, encode_rollback_plan(plan))
    hudis = HudisWrite.begin(table, dead.requested_time, Action.REPLACE_COMMIT)
    finish_pending_rollbacks(access(table), table.timeline_store.load())
    assert hudis.is_whole
    assert hudis.path in MarkerStore(table.storage, dead.requested_time).data_files()
    assert not table.storage.exists(path)
    assert [i for i in table.timeline_store.load() if not i.is_completed] == [hudis.instant]


def test_a_write_whose_rows_are_in_log_files_of_version_6_is_not_removed() -> None:
    table = a_logged_table(TableVersion.V6)
    table.delta(bases=[LOGGED])
    dead = table.begin(Action.DELTA_COMMIT)
    table.write(dead, logs=[LOGGED])
    hudis = HudisWrite.begin(table, dead.requested_time, Action.REPLACE_COMMIT).complete()
    before = {each.path for each in table.storage.list_files()}
    with pytest.raises(UnsupportedTableError, match="added rows to log files"):
        rollback_instant(access(table), dead)
    assert {each.path for each in table.storage.list_files()} == before
    assert hudis.is_whole
