"""The check before a commit also finds commits of other writers that were archived during the write."""

from collections.abc import Callable, Sequence
from typing import ClassVar
from uuid import uuid4

import pytest

from hudi_table_services.commits.plan_attempt import ClusteringAttempt
from hudi_table_services.contract.clustering import ScheduleClusteringRequest
from hudi_table_services.contract.recovery import CreateSavepointRequest
from hudi_table_services.contract.result import Outcome
from hudi_table_services.errors import CommitConflictError, FileGroupConflictError
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.hudi_format.table_service_plans import (
    decode_requested_replace,
    encode_requested_replace,
    encode_rollback_metadata,
    encode_rollback_plan,
)
from hudi_table_services.jobs.clustering.schedule import schedule_clustering
from hudi_table_services.jobs.recovery.savepoint import create_savepoint
from hudi_table_services.model.concurrent_change import ChangeKind, ConcurrentChange
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_service_plans import (
    ClusteringGroup,
    ClusteringPlan,
    ClusteringSlice,
    RollbackMetadata,
)
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import REQUEST_ID_KEY, CommitMetadata, WriteOperation
from hudi_table_services.planning.recovery.rollback_plan import plan_rollback
from hudi_table_services.storage.concurrent_changes import load_commit_changes
from hudi_table_services.storage.locks.lock import FileSystemLock
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.tables.request_lookup import refuse_second_write
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from hudi_table_services.tables.table import TableAccess
from support.archived_tables import History
from support.overtaken_commits import commit_ours

OLD, NEW, LATER = (FileGroupId("city=x", name) for name in ("old-0", "new-0", "later-0"))


def accept_all(added: Sequence[ConcurrentChange]) -> None:
    """Compare no keys, and accept every change."""


@pytest.fixture(params=[TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
def history(request: pytest.FixtureRequest) -> History:
    """A table with file group OLD, some archived commits and some active commits."""
    history = History(request.param)
    history.commits(8, OLD)
    history.archive()
    assert history.archived()
    return history


@pytest.fixture(params=[TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
def young(request: pytest.FixtureRequest) -> History:
    """A table without commits."""
    return History(request.param)


def is_archived(history: History, instant: Instant) -> bool:
    return instant.requested_time not in history.active()


def test_earlier_commits_that_are_archived_during_the_write_are_compared(history: History) -> None:
    snapshot = load_snapshot(history.storage)
    others = history.commits(2, NEW)
    compared: list[Instant] = []

    def others_act() -> None:
        history.commits(9, LATER)
        history.archive()
        assert is_archived(history, others[0])

    def refuse(added: Sequence[ConcurrentChange]) -> None:
        compared.extend(change.instant for change in added)

    done = commit_ours(history.table, others_act, refuse, snapshot=snapshot)
    assert set(others) <= set(compared)
    assert done.requested_time in history.active()


def test_a_change_of_the_same_file_group_by_an_archived_commit_is_a_conflict(history: History) -> None:
    snapshot = load_snapshot(history.storage)
    (other, _) = (*history.commits(1, OLD), *history.commits(1, NEW))

    def others_act() -> None:
        history.commits(9, LATER)
        history.archive()
        assert is_archived(history, other)

    with pytest.raises(FileGroupConflictError, match=f"{other.requested_time} changed file groups"):
        commit_ours(history.table, others_act, accept_all, snapshot=snapshot, changes=OLD)
    assert not history.table.timeline_store.load().pending


@pytest.mark.parametrize("is_empty", [False, True], ids=["snapshot with commits", "empty snapshot"])
def test_an_archival_between_the_snapshot_and_the_start_of_the_write_is_a_conflict(
    history: History, young: History, is_empty: bool
) -> None:
    table = young if is_empty else history
    snapshot = load_snapshot(table.storage)
    table.commits(9, NEW)
    table.archive()
    with pytest.raises(FileGroupConflictError, match="may be archived already"):
        commit_ours(table.table, lambda: None, accept_all, snapshot=snapshot)
    assert not table.table.timeline_store.load().pending
    commit_ours(table.table, lambda: None, accept_all)


def archived_by_hudi(history: History, slow: Instant) -> None:
    """Archive all commits before the newest one. Archive `slow` too, as if this write had been completed."""
    history.commits(1, LATER)
    store = history.table.timeline_store
    for instant in store.load().completed_writes[:-1]:
        store.remove_completed(instant)
        store.remove(instant)
    store.remove(slow)


def test_a_pending_write_that_vanished_and_may_be_archived_is_a_conflict(history: History) -> None:
    slow = history.table.begin()

    with pytest.raises(FileGroupConflictError, match="may be archived already"):
        commit_ours(history.table, lambda: archived_by_hudi(history, slow), accept_all, changes=OLD)


def undo(history: History, pending: Instant) -> None:
    """Change the timeline in the same way as a rollback of a dead write."""
    store = history.table.timeline_store
    rollback = history.table.begin(Action.ROLLBACK)
    store.remove(pending)
    metadata = RollbackMetadata(
        start_rollback_time=rollback.requested_time,
        time_taken_ms=1,
        total_files_deleted=0,
        commits_rolled_back=(pending.requested_time,),
        partitions={},
    )
    store.complete(rollback, encode_rollback_metadata(metadata))


def test_archival_of_commits_in_the_snapshot_of_the_writer_is_not_a_conflict(history: History) -> None:
    """A rollback of another write at the same time does not cause a conflict either."""
    dead = history.table.begin()

    def others_act() -> None:
        undo(history, dead)
        history.commits(9, LATER)
        before = history.active()
        history.archive()
        assert history.active() != before

    done = commit_ours(history.table, others_act, accept_all, changes=OLD)
    assert done.requested_time in history.active()


def test_writers_of_a_new_table_do_not_conflict(young: History) -> None:
    """The first writer dies and the second writer commits; the tested writer can commit as well."""
    first, second = young.table.begin(), young.table.begin()

    def others_act() -> None:
        undo(young, first)
        empty = CommitMetadata(operation_type=WriteOperation.UPSERT, partition_to_write_stats={})
        young.table.timeline_store.complete(second, encode_commit_metadata(empty, young.version))

    done = commit_ours(young.table, others_act, accept_all)
    assert done.requested_time in young.active()


def create_savepoints(history: History) -> None:
    """Create a savepoint of each active commit."""
    for instant_time in history.active():
        request = CreateSavepointRequest(base_path=history.storage.uri, instant=instant_time)
        create_savepoint(request, storage=history.storage, clock=history.clock)


def test_a_dead_first_write_that_was_rolled_back_is_not_a_conflict(history: History) -> None:
    """The dead write is older than every write without a savepoint, like an archived write."""
    create_savepoints(history)
    dead = history.table.begin()
    history.commits(1, NEW)
    done = commit_ours(history.table, lambda: undo(history, dead), accept_all, changes=OLD)
    assert done.requested_time in history.active()


def pending_clustering(history: History) -> Instant:
    """Request a clustering plan for file group OLD."""
    piece = ClusteringSlice(file_id=OLD.file_id, partition_path=OLD.partition_path)
    action = Action.REPLACE_COMMIT if history.version is TableVersion.V6 else Action.CLUSTERING
    plan = ClusteringPlan(groups=(ClusteringGroup(slices=(piece,)),))
    return history.table.timeline_store.request(action, encode_requested_replace(plan))


def test_savepoints_of_all_commits_and_a_pending_plan_are_not_a_conflict(history: History) -> None:
    create_savepoints(history)
    pending_clustering(history)
    done = commit_ours(history.table, lambda: None, accept_all)
    assert done.requested_time in history.active()


def test_the_commit_of_another_attempt_of_the_request_is_found_in_the_archive(history: History) -> None:
    table = TableAccess(storage=history.storage, clock=history.clock, config=history.table.config)
    before = table.load_timeline()
    refuse_second_write(table, before, before, "r")
    (done,) = history.commits(1, NEW, extra={REQUEST_ID_KEY: "r"})
    with pytest.raises(CommitConflictError, match=f"of request r completed {done.requested_time}"):
        refuse_second_write(table, before, table.load_timeline(), "r")
    history.commits(9, LATER)
    history.archive()
    assert is_archived(history, done)
    with pytest.raises(CommitConflictError, match=f"of request r completed {done.requested_time}"):
        refuse_second_write(table, before, table.load_timeline(), "r", in_archive=True)
    refuse_second_write(table, before, table.load_timeline(), "another", in_archive=True)


def test_the_archive_is_not_read_under_the_lock(history: History) -> None:
    """A damaged archive does not prevent the commit, because the job does not read the archive."""
    snapshot = load_snapshot(history.storage)
    history.commits(2, NEW)

    def others_act() -> None:
        history.commits(9, LATER)
        history.archive()
        for stored in history.storage.list_files(".hoodie"):
            if "archive" in stored.path or "/history/" in stored.path:
                history.storage.write(stored.path, b"damaged")

    done = commit_ours(history.table, others_act, accept_all, snapshot=snapshot)
    assert done.requested_time in history.active()


@pytest.mark.parametrize("state", ["at work", "without a plan", "damaged"])
def test_only_the_instant_in_the_plan_of_a_pending_rollback_counts_as_undone(
    history: History, state: str
) -> None:
    """If the job cannot read the plan of the rollback, every missing commit counts as undone."""
    dead = history.table.begin()
    plan = encode_rollback_plan(plan_rollback(dead, (), history.storage.base_path))
    content = {"at work": plan, "without a plan": b"", "damaged": b"Obj"}[state]
    store, before = history.table.timeline_store, history.table.timeline_store.load()
    store.request(Action.ROLLBACK, content)
    gone = before.completed_writes[0]
    store.remove_completed(gone)
    store.remove(gone)
    changes = load_commit_changes(store, before, store.load())
    undone = [change.instant for change in changes if change.kind is ChangeKind.UNDONE]
    assert undone == ([] if state == "at work" else [gone])


def test_a_clustering_conflicts_with_a_write_that_may_be_archived(history: History) -> None:
    slow = history.table.begin()
    plan = pending_clustering(history)
    snapshot = load_snapshot(history.storage)
    access = TableAccess(storage=history.storage, clock=history.clock, config=history.table.config)
    metadata = CommitMetadata(operation_type=WriteOperation.CLUSTER, partition_to_write_stats={})

    def execute() -> None:
        lock = FileSystemLock(history.storage)
        with ClusteringAttempt(access, plan, lock, request_id="ours") as attempt:
            archived_by_hudi(history, slow)
            attempt.complete(snapshot, lambda _: metadata)

    with pytest.raises(FileGroupConflictError, match="may be archived already"):
        execute()


class Overtaken(MemoryStorage):
    """A storage on which other writers commit directly before a job takes the lock."""

    others_act: ClassVar[list[Callable[[], object]]] = []

    def create(self, path: str, data: bytes) -> None:
        if path == ".hoodie/lock" and Overtaken.others_act:
            Overtaken.others_act.pop()()
        super().create(path, data)


@pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
def test_a_schedule_job_plans_again_if_commits_since_its_snapshot_are_archived(version: TableVersion) -> None:
    history = History(version, Overtaken(uuid4().hex))
    other = FileGroupId("city=x", "other-0")
    history.commits(4, OLD, other)

    def others_act() -> None:
        history.commits(1, OLD)
        history.commits(9, NEW)
        history.archive()

    Overtaken.others_act.append(others_act)
    request = ScheduleClusteringRequest(base_path=history.storage.uri)
    done = schedule_clustering(request, storage=history.storage, clock=history.clock)
    assert done.outcome is Outcome.COMPLETED
    (plan,) = history.table.timeline_store.load().pending
    content = decode_requested_replace(history.table.timeline_store.read_requested(plan))
    assert content.clustering_plan is not None
    named = {
        str(each.data_file_path).rpartition("/")[2]
        for group in content.clustering_plan.groups
        for each in group.slices
    }
    current = {str(s.base_file_path).rpartition("/")[2] for s in load_snapshot(history.storage).all_slices}
    assert named == current
