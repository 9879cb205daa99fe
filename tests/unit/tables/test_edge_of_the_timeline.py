"""If the first active write changes, archived commits stay visible, and files of uncompleted writes stay hidden."""

from datetime import timedelta

import pytest

from hudi_table_services.contract.recovery import (
    CreateSavepointRequest,
    DeleteSavepointRequest,
    RepairOrphansRequest,
    RestoreRequest,
    RollbackRequest,
)
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.jobs.recovery.repair_orphans import repair_orphan_files
from hudi_table_services.jobs.recovery.restore import restore
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.jobs.recovery.savepoint import create_savepoint, delete_savepoint
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.archived_tables import SMALL_LIMITS, History
from support.faulty_storage import crashes_everywhere
from support.small_tables import base_file_name

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
BEYOND = {**SMALL_LIMITS, "hoodie.archive.beyond.savepoint": "true"}


def group(number: int) -> FileGroupId:
    return FileGroupId("a", f"f{number}")


def visible_files(history: History) -> set[str]:
    return {s.base_file_path or "" for s in load_snapshot(history.storage).all_slices}


def create(history: History, instant: Instant) -> JobResult:
    request = CreateSavepointRequest(base_path="/t", instant=instant.requested_time)
    return create_savepoint(request, storage=history.storage, clock=history.clock)


def delete_savepoint_of(history: History, instant: Instant, storage: Storage | None = None) -> JobResult:
    request = DeleteSavepointRequest(base_path="/t", instants=(instant.requested_time,))
    return delete_savepoint(request, storage=storage or history.storage, clock=history.clock)


def restore_to(history: History, instant: Instant) -> JobResult:
    request = RestoreRequest(base_path="/t", savepoint=instant.requested_time)
    return restore(request, storage=history.storage, clock=history.clock)


def undo(history: History, *instants: Instant) -> JobResult:
    request = RollbackRequest(base_path="/t", instants=tuple(i.requested_time for i in instants))
    return rollback(request, storage=history.storage, clock=history.clock)


def repair(history: History) -> JobResult:
    history.clock.moment += timedelta(days=3)
    request = RepairOrphansRequest(base_path="/t", execute=True)
    return repair_orphan_files(request, storage=history.storage, clock=history.clock)


def add_orphan(history: History, done: int) -> None:
    """Write `done` commits, and then add an orphan: a file of a write whose instant is removed."""
    for number in range(done):
        history.commits(1, group(number))
    dead = history.table.begin()
    history.table.timeline_store.remove(dead)
    history.table.add_file("a", base_file_name("orphan", dead.requested_time))


def archived_beyond_a_savepoint(version: TableVersion) -> tuple[History, list[Instant]]:
    """Write seven commits with one file group each; the first commit has a savepoint, the next four are archived."""
    history = History(version)
    done = [*history.commits(1, group(0))]
    create(history, done[0])
    for number in range(1, 7):
        done += history.commits(1, group(number))
    history.archive(options=BEYOND)
    assert history.active() == [i.requested_time for i in (done[0], *done[-2:])]
    return history, done


@VERSIONS
def test_a_savepoint_of_the_first_commit_makes_no_orphan_visible(version: TableVersion) -> None:
    history = History(version)
    add_orphan(history, done=1)
    history.commits(2, group(1))
    before = visible_files(history)
    first = history.table.timeline_store.load().completed_writes[0]
    with pytest.raises(InvalidRequestError, match="would count as committed"):
        create(history, first)
    assert visible_files(history) == before
    repair(history)
    assert create(history, first).outcome is Outcome.COMPLETED
    assert visible_files(history) == before


@VERSIONS
def test_a_savepoint_of_the_only_commit_makes_no_orphan_visible_after_the_next_commit(
    version: TableVersion,
) -> None:
    history = History(version)
    add_orphan(history, done=1)
    with pytest.raises(InvalidRequestError, match="would count as committed"):
        create(history, history.table.timeline_store.load().completed_writes[0])


@VERSIONS
def test_commits_archived_beyond_a_savepoint_are_visible_after_its_deletion(version: TableVersion) -> None:
    history, done = archived_beyond_a_savepoint(version)
    before = visible_files(history)
    assert len(before) == 7
    assert delete_savepoint_of(history, done[0]).outcome is Outcome.COMPLETED
    assert visible_files(history) == before
    assert done[0].requested_time in history.archived()
    assert history.active() == [i.requested_time for i in done[-2:]]


@VERSIONS
def test_after_a_crash_at_any_change_the_next_run_deletes_the_savepoint(version: TableVersion) -> None:
    histories: dict[str, tuple[History, list[Instant]]] = {}

    def start() -> Storage:
        history, done = archived_beyond_a_savepoint(version)
        histories[history.storage.uri] = history, done
        return history.storage

    def delete(storage: Storage) -> JobResult:
        history, done = histories[storage.uri]
        return delete_savepoint_of(history, done[0], storage)

    stopped = 0
    for left in crashes_everywhere(delete, start):
        history, done = histories[left.uri]
        assert len(visible_files(history)) == len(done)
        left.delete(".hoodie/lock")  # simulates that the lock has expired
        delete(left)
        assert len(visible_files(history)) == len(done)
        assert [i for i in history.table.timeline_store.load() if i.action is Action.SAVEPOINT] == []
        stopped += 1
    assert stopped > 5


@VERSIONS
def test_a_savepoint_whose_commit_cannot_be_archived_is_not_deleted(version: TableVersion) -> None:
    history = History(version)
    history.commits(1, group(0))
    saved = history.table.commit(group(1), replaces={"a": ("f0",)})
    create(history, saved)
    for number in range(2, 7):
        history.commits(1, group(number))
    history.archive(options=BEYOND)
    before = visible_files(history)
    with pytest.raises(InvalidRequestError, match="not cleaned yet"):
        delete_savepoint_of(history, saved)
    assert visible_files(history) == before


@VERSIONS
def test_a_restore_is_refused_if_commits_after_the_savepoint_were_archived(version: TableVersion) -> None:
    history, done = archived_beyond_a_savepoint(version)
    before = visible_files(history)
    with pytest.raises(InvalidRequestError, match="archived"):
        restore_to(history, done[0])
    assert visible_files(history) == before


@VERSIONS
def test_a_restore_makes_no_orphan_visible_after_the_next_commit(version: TableVersion) -> None:
    history = History(version)
    saved = history.commits(1, group(0))[0]
    create(history, saved)
    before = visible_files(history)
    add_orphan(history, done=1)
    history.commits(1, group(2))
    with pytest.raises(InvalidRequestError, match="would count as committed"):
        restore_to(history, saved)
    repair(history)
    restore_to(history, saved)
    assert visible_files(history) == before
    history.commits(1, group(3))
    assert visible_files(history) == before | {path for path in visible_files(history) if "f3" in path}


@VERSIONS
def test_a_rollback_of_all_active_commits_is_refused_if_the_table_has_an_archive(
    version: TableVersion,
) -> None:
    """Readers of a table without writes on the active timeline would see an empty table."""
    history = History(version)
    for number in range(6):
        history.commits(1, group(number))
    history.archive()
    before = visible_files(history)
    left = history.table.timeline_store.load().completed_writes
    with pytest.raises(InvalidRequestError, match="archived"):
        undo(history, *left)
    assert visible_files(history) == before
    assert undo(history, left[-1]).outcome is Outcome.COMPLETED
    assert len(visible_files(history)) == 5


@VERSIONS
def test_a_file_of_an_archived_commit_is_not_an_orphan(version: TableVersion) -> None:
    """Hudi deletes a savepoint and keeps its commit; then archived commits are later than the first active commit."""
    history, done = archived_beyond_a_savepoint(version)
    store: TimelineStore = history.table.timeline_store
    saved = next(i for i in store.load() if i.action is Action.SAVEPOINT)
    store.remove_completed(saved)
    store.remove(saved)
    assert len(visible_files(history)) == 3, "Hudi's readers see the same files"
    assert repair(history).outcome is Outcome.NOTHING_TO_DO
    assert len([p for p in history.files() if p.endswith(".parquet") and p.startswith("a/")]) == len(done)
