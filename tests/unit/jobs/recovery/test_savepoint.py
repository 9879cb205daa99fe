"""Savepoints on tables without rows: kept files, cleaning, and recovery after a crash."""

from datetime import datetime, timedelta, timezone
from typing import Any
from uuid import uuid4

import pytest

from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.recovery import (
    CreateSavepointRequest,
    DeleteSavepointRequest,
    RestoreRequest,
    RollbackRequest,
)
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.hudi_format.table_service_plans import decode_savepoint_metadata
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.recovery.restore import restore
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.jobs.recovery.savepoint import create_savepoint, delete_savepoint
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage
from support.faulty_storage import crashes_everywhere
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable, base_file_name
from support.undone_tables import finished, state

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
A, B = FileGroupId("a", "f1"), FileGroupId("b", "f2")


def a_table(version: TableVersion = TableVersion.V9) -> SmallTable:
    start = datetime.now(timezone.utc) - timedelta(hours=2)
    return SmallTable(MemoryStorage(uuid4().hex), version, FixedClock(start, step=timedelta(minutes=1)))


def create(table: SmallTable, storage: Storage | None = None, **fields: Any) -> JobResult:
    request = CreateSavepointRequest(base_path="/t", **fields)
    return create_savepoint(request, storage=storage or table.storage, clock=later())


def delete(table: SmallTable, *instants: str, storage: Storage | None = None) -> JobResult:
    request = DeleteSavepointRequest(base_path="/t", instants=instants)
    return delete_savepoint(request, storage=storage or table.storage, clock=later())


def clean_all(table: SmallTable) -> None:
    clean(CleanRequest(base_path="/t", commits_retained=1), storage=table.storage, clock=later())


def later() -> FixedClock:
    return FixedClock(datetime.now(timezone.utc) + timedelta(days=1), step=timedelta(milliseconds=1))


def savepoints(table: SmallTable) -> list[Instant]:
    return [i for i in table.timeline_store.load() if i.action is Action.SAVEPOINT]


def kept(table: SmallTable) -> dict[str, tuple[str, ...]]:
    (savepoint,) = savepoints(table)
    partitions = decode_savepoint_metadata(table.timeline_store.read(savepoint)).partitions
    return {path: each.file_names for path, each in partitions.items()}


def file(group: FileGroupId, instant: Instant) -> str:
    return base_file_name(group.file_id, instant.requested_time)


@VERSIONS
def test_a_savepoint_keeps_the_latest_versions_as_of_its_commit(version: TableVersion) -> None:
    table = a_table(version)
    first = table.commit(A, B)
    second = table.commit(A)
    table.commit(A, B)
    table.commit(FileGroupId("a", "new"), replaces={"a": ("f1",)})
    result = create(table, instant=second.requested_time, saved_by="me", comments="before the migration")
    assert (result.outcome, result.instant_time) == (Outcome.COMPLETED, second.requested_time)
    assert kept(table) == {"a": (file(A, second),), "b": (file(B, first),)}


def test_a_savepoint_keeps_the_version_before_a_write_that_began_earlier_and_completed_later() -> None:
    table = a_table()
    first = table.commit(A)
    late = table.begin()
    saved = table.commit(B)
    overtaken = finished(table, late, A)
    create(table, instant=saved.requested_time)
    assert kept(table) == {"a": (file(A, first),), "b": (file(B, saved),)}
    for _ in range(3):
        table.commit(A, B)
    clean_all(table)
    restore(
        RestoreRequest(base_path="/t", savepoint=saved.requested_time), storage=table.storage, clock=later()
    )
    assert overtaken.requested_time not in {i.requested_time for i in table.timeline_store.load()}
    assert state(table)[1] == {f"a/{file(A, first)}", f"b/{file(B, saved)}"}


@VERSIONS
def test_a_savepoint_keeps_no_file_group_that_its_commit_replaced(version: TableVersion) -> None:
    table = a_table(version)
    table.commit(A, B)
    replacing = table.commit(FileGroupId("a", "new"), replaces={"a": ("f1",)})
    create(table)
    assert kept(table)["a"] == (base_file_name("new", replacing.requested_time),)


@VERSIONS
def test_cleaning_keeps_the_files_of_a_savepoint_until_its_deletion(version: TableVersion) -> None:
    table = a_table(version)
    done = [table.commit(A) for _ in range(5)]
    saved = done[1].requested_time
    create(table, instant=saved)
    clean_all(table)
    assert table.storage.exists(f"a/{file(A, done[1])}")
    assert not table.storage.exists(f"a/{file(A, done[2])}")
    assert delete(table, saved).outcome is Outcome.COMPLETED
    assert delete(table, saved).outcome is Outcome.NOTHING_TO_DO
    clean_all(table)
    assert not table.storage.exists(f"a/{file(A, done[1])}"), (
        "the clean after the deletion of the savepoint did not delete the file"
    )


def test_a_second_creation_of_a_savepoint_changes_nothing() -> None:
    table = a_table()
    table.commit(A)
    create(table)
    assert create(table).reused
    assert len(savepoints(table)) == 1


def test_impossible_savepoints_are_refused() -> None:
    table = a_table()
    with pytest.raises(InvalidRequestError, match="no completed write yet"):
        create(table)
    done = [table.commit(A) for _ in range(5)]
    with pytest.raises(InvalidRequestError, match="no completed write 20200101000000000"):
        create(table, instant="20200101000000000")
    with pytest.raises(InvalidRequestError, match="is not an instant time"):
        create(table, instant="yesterday")
    clean_all(table)
    with pytest.raises(InvalidRequestError, match="may have deleted files"):
        create(table, instant=done[0].requested_time)
    assert savepoints(table) == []


@VERSIONS
def test_after_a_crash_at_any_change_the_next_run_completes_the_creation_or_deletion(
    version: TableVersion,
) -> None:
    tables: list[SmallTable] = []

    def start() -> Storage:
        tables.append(a_table(version))
        tables[-1].commit(A)
        return tables[-1].storage

    runs = 0
    for _ in crashes_everywhere(lambda s: create(tables[-1], s), start):
        runs += 1
        assert create(tables[-1]).outcome is Outcome.COMPLETED
        assert [i.is_completed for i in savepoints(tables[-1])] == [True]

    def start_saved() -> Storage:
        start()
        create(tables[-1])
        return tables[-1].storage

    def delete_savepoint_of_commit(storage: Storage) -> None:
        (commit,) = tables[-1].timeline_store.load().completed_writes
        delete(tables[-1], commit.requested_time, storage=storage)

    for left in crashes_everywhere(delete_savepoint_of_commit, start_saved):
        runs += 1
        delete_savepoint_of_commit(left)
        assert savepoints(tables[-1]) == []
    assert runs >= 7


@VERSIONS
def test_previews_write_nothing(version: TableVersion) -> None:
    table = a_table(version)
    commit = table.commit(A, B)
    before = {stored.path for stored in table.storage.list_files()}
    result = create(table, preview=True)
    assert (result.outcome, result.reason) == (
        Outcome.PLANNED,
        f"would keep 2 files of commit {commit.requested_time}",
    )
    assert {stored.path for stored in table.storage.list_files()} == before
    assert create(table).reason == "keeps 2 files"
    request = DeleteSavepointRequest(base_path="/t", instants=(commit.requested_time,), preview=True)
    preview = delete_savepoint(request, storage=table.storage, clock=later())
    assert (preview.outcome, preview.reason) == (Outcome.PLANNED, f"would delete {commit.requested_time}")
    assert len(savepoints(table)) == 1


@VERSIONS
def test_the_newest_commit_gets_a_savepoint_after_a_rollback_of_the_earliest_commit_that_a_clean_retained(
    version: TableVersion,
) -> None:
    table = a_table(version)
    older, stays = table.commit(A), table.commit(A, B)
    undone = table.commit(B)
    clean_all(table)
    request = RollbackRequest(base_path="/t", instants=(undone.requested_time,))
    rollback(request, storage=table.storage, clock=later())
    with pytest.raises(InvalidRequestError, match="may have deleted files"):
        create(table, instant=older.requested_time)
    saved = create(table)
    assert saved.instant_time == stays.requested_time
    assert sorted(kept(table)) == ["a", "b"]


def test_the_error_for_an_unknown_commit_lists_the_newest_commits() -> None:
    table = a_table()
    commits = [table.commit(A).requested_time for _ in range(7)]
    with pytest.raises(InvalidRequestError, match=f"newest completed writes: {commits[6]}, {commits[5]},"):
        create(table, instant="20200101000000000")


def test_a_delete_without_effect_lists_the_savepoints_of_the_table() -> None:
    table = a_table(TableVersion.V9)
    unknown = "20200101000000000"
    assert delete(table, unknown).reason == f"no savepoint at {unknown}; savepoints of the table: none"
    commit = table.commit(A, B)
    create(table)
    expected = f"no savepoint at {unknown}; savepoints of the table: {commit.requested_time}"
    assert delete(table, unknown).reason == expected
