"""Undone commits stay undone: the archive does not return them, and running writers notice them.

A restore also undoes clusterings that completed after the savepoint.
"""

from datetime import datetime, timedelta, timezone

import pytest

from hudi_table_services.commits.undo import roll_back_completed, undo_in_place
from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.recovery import CreateSavepointRequest, RestoreRequest, RollbackRequest
from hudi_table_services.errors import CommitConflictError, InvalidRequestError
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.hudi_format.table_service_plans import decode_restore_metadata, encode_restore_plan
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.recovery.restore import restore
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.jobs.recovery.savepoint import create_savepoint
from hudi_table_services.model.concurrent_change import ChangeKind
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_service_plans import InstantReference, RestorePlan
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import REQUEST_ID_KEY, CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.storage.concurrent_changes import load_commit_changes
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from hudi_table_services.tables.request_lookup import find_completed_anywhere
from hudi_table_services.tables.table import TableAccess
from support.archived_tables import History
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable, base_file_name
from support.undone_tables import a_table, planned, state, updated

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
A, B = FileGroupId("a", "f1"), FileGroupId("b", "f2")


def later(days: int = 1) -> FixedClock:
    return FixedClock(datetime.now(timezone.utc) + timedelta(days=days), timedelta(milliseconds=1))


def save_commit(table: SmallTable, instant: Instant) -> str:
    request = CreateSavepointRequest(base_path="/t", instant=instant.requested_time)
    create_savepoint(request, storage=table.storage, clock=table.clock)
    return instant.requested_time


def restore_to(table: SmallTable, savepoint: str, **more: str) -> None:
    request = RestoreRequest(base_path="/t", savepoint=savepoint, **more)
    restore(request, storage=table.storage, clock=later())


@VERSIONS
def test_the_archive_does_not_return_undone_commits(version: TableVersion) -> None:
    """An archival dies after it has written the archive. Then a rollback undoes commits that are still active."""
    history = History(version)
    history.commits(1, A)
    undone = history.commits(4, B, extra={REQUEST_ID_KEY: "again"})
    folder = version.layout.timeline_folder
    kept = {each.path: history.storage.read(each.path) for each in history.storage.list_folder(folder).files}
    history.archive()
    for path, content in kept.items():
        history.storage.write(path, content)
    request = RollbackRequest(base_path="/t", instants=tuple(i.requested_time for i in undone))
    rollback(request, storage=history.storage, clock=later())
    store, config = history.table.timeline_store, history.table.config
    assert find_completed_anywhere(history.storage, config, store, store.load(), "again") is None
    archived = ArchivedTimeline(history.storage, config).writes()
    assert not {each.identity for each in archived} & {i.identity for i in undone}


def test_a_restore_undoes_a_clustering_that_completed_after_the_savepoint() -> None:
    """Version 6 records no completion time, but the savepoint contains the file groups that the clustering replaced."""
    table = a_table(TableVersion.V6)
    table.commit(A)
    plan = planned(table)
    saved = save_commit(table, table.commit(B))
    before = state(table)[1]
    started = table.timeline_store.start(plan)
    path = table.add_file("a", base_file_name("f3", plan.requested_time))
    stats = {"a": (WriteStat(file_id="f3", partition_path="a", path=path),)}
    clustering = CommitMetadata(
        operation_type=WriteOperation.CLUSTER,
        partition_to_write_stats=stats,
        partition_to_replace_file_ids={"a": ("f1",)},
    )
    table.timeline_store.complete(started, encode_commit_metadata(clustering, table.version))
    for _ in range(3):
        updated(table, FileGroupId("a", "f3"))
    options = {"hoodie.keep.min.commits": "2"}
    clean(
        CleanRequest(base_path="/t", commits_retained=1, options=options),
        storage=table.storage,
        clock=later(),
    )
    restore_to(table, saved)
    assert state(table)[1] == before


@VERSIONS
def test_a_commit_gets_no_savepoint_if_a_clean_by_versions_may_have_deleted_its_files(
    version: TableVersion,
) -> None:
    table = a_table(version)
    done = [table.commit(A), *(updated(table, A) for _ in range(4))]
    clean(
        CleanRequest(base_path="/t", file_versions_retained=1),
        storage=table.storage,
        clock=later(),
    )
    with pytest.raises(InvalidRequestError, match="may have deleted files"):
        save_commit(table, done[1])
    assert save_commit(table, done[-1])


@VERSIONS
def test_a_commit_is_not_undone_if_another_writer_updated_its_files(version: TableVersion) -> None:
    """The other writer uses no lock, or a different lock."""
    table = a_table(version)
    table.commit(A)
    instant = updated(table, A)
    newer = updated(table, A)
    before = state(table)
    access = TableAccess(storage=table.storage, clock=table.clock, config=table.config)
    with pytest.raises(CommitConflictError, match=newer.requested_time):
        roll_back_completed(access, instant)
    assert state(table) == before
    assert table.timeline_store.load().pending == ()


@VERSIONS
def test_a_restore_undoes_writes_that_began_while_the_restore_was_pending(version: TableVersion) -> None:
    """Hudi's writers ignore a pending restore; they may update files of commits that the restore is going to undo."""
    table = a_table(version)
    saved = save_commit(table, table.commit(A))
    before = state(table)
    updated(table, A)
    updated(table, A)
    plan = [
        InstantReference(requested_time=i.requested_time, action="commit") for i in state(table)[0][:0:-1]
    ]
    restore_plan = RestorePlan(instants_to_rollback=tuple(plan), savepoint_to_restore=saved)
    stored = encode_restore_plan(restore_plan, notes={REQUEST_ID_KEY: "mine"})
    table.timeline_store.request(Action.RESTORE, stored)
    access = TableAccess(storage=table.storage, clock=table.clock, config=table.config)
    undo_in_place(access, state(table)[0][-1])
    updated(table, A)
    restore_to(table, saved, request_id="mine")
    assert state(table) == before
    restores = [i for i in table.timeline_store.load().completed if i.action is Action.RESTORE]
    found = [decode_restore_metadata(table.timeline_store.read(i)).instants_rolled_back for i in restores]
    assert [len(times) for times in found] == [2, 1]
    newest = updated(table, A)
    restore_to(table, saved, request_id="mine")
    assert state(table)[0][-1] == newest


@VERSIONS
@pytest.mark.parametrize("kind", [Action.ROLLBACK, Action.RESTORE], ids=lambda a: a.value)
def test_a_running_writer_finds_that_a_commit_of_its_snapshot_was_undone(
    version: TableVersion, kind: Action
) -> None:
    """The writer finds the undone commit even if all older commits have savepoints.

    Then the first write without a savepoint is newer than the undone commit, as if that commit were archived.
    """
    table = a_table(version)
    saved = save_commit(table, table.commit(A))
    undone = updated(table, A)
    planned_with = table.timeline_store.load()
    if kind is Action.RESTORE:
        restore_to(table, saved)
    else:
        request = RollbackRequest(base_path="/t", instants=(undone.requested_time,))
        rollback(request, storage=table.storage, clock=later())
    table.clock.moment += timedelta(days=2)
    table.commit(B)
    changes = load_commit_changes(table.timeline_store, planned_with, table.timeline_store.load())
    assert [c.instant for c in changes if c.kind is ChangeKind.UNDONE] == [undone]
