"""Leftovers of finished writes: which files a job deletes, and which files it keeps."""

from dataclasses import replace
from uuid import uuid4

import pytest

from hudi_table_services.commits.attempt import CommitAttempt
from hudi_table_services.commits.finished_writes import remove_traces_of_finished_writes
from hudi_table_services.commits.pending_writes import clear_pending_writes
from hudi_table_services.commits.undo import rollback_instant
from hudi_table_services.errors import CommitConflictError, InstantVanishedError
from hudi_table_services.hudi_format.markers import MarkerKind
from hudi_table_services.hudi_format.table_service_plans import decode_undo_note
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_service_plans import UndoNote, UndoReason
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import REQUEST_ID_KEY, CommitMetadata, WriteOperation
from hudi_table_services.options.writing_values import FailedWritesPolicy
from hudi_table_services.storage.locks.heartbeat import has_heartbeat, heartbeat_path
from hudi_table_services.storage.locks.lock import FileSystemLock
from hudi_table_services.storage.markers import MarkerStore
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from hudi_table_services.tables.table import TableAccess
from support.fixed_clock import FixedClock
from support.metadata_table.without_metadata_table import NO_METADATA_TABLE
from support.small_tables import SmallTable, base_file_name

EMPTY = CommitMetadata(operation_type=WriteOperation.UPSERT, partition_to_write_stats={})


@pytest.fixture(params=[TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
def table(request: pytest.FixtureRequest) -> SmallTable:
    return SmallTable(MemoryStorage(uuid4().hex), request.param)


def access(table: SmallTable) -> TableAccess:
    return TableAccess(storage=table.storage, clock=FixedClock(), config=table.config)


def marked_file(table: SmallTable, instant_time: str, file_id: str = "late-0") -> str:
    """Write a marker and its file, in the same way as a task of an abandoned job."""
    name = base_file_name(file_id, instant_time, token="7-7-7")
    MarkerStore(table.storage, instant_time).mark(f"city=a/{name}", MarkerKind.CREATE)
    return table.add_file("city=a", name)


def test_marked_files_that_a_completed_write_does_not_contain_are_deleted(table: SmallTable) -> None:
    instant = table.commit(FileGroupId("city=a", "a-0"))
    late = marked_file(table, instant.requested_time, "a-0")
    remove_traces_of_finished_writes(access(table))
    assert not table.storage.exists(late)
    (kept,) = load_snapshot(table.storage).all_slices
    assert kept.base_file_path is not None
    assert table.storage.exists(kept.base_file_path)
    assert list(table.storage.list_files(".hoodie/.temp")) == []


def test_files_that_a_rolled_back_write_creates_late_are_deleted(table: SmallTable) -> None:
    pending = table.begin()
    rollback_instant(access(table), pending)
    late = marked_file(table, pending.requested_time)
    remove_traces_of_finished_writes(access(table))
    assert not table.storage.exists(late)
    assert list(table.storage.list_files(".hoodie/.temp")) == []


def test_no_file_of_a_write_that_is_not_on_the_timeline_is_deleted(table: SmallTable) -> None:
    """The write may be archived, so its files may be part of the table."""
    late = marked_file(table, "20200101000000000")
    table.commit(FileGroupId("city=a", "a-0"))
    remove_traces_of_finished_writes(access(table))
    assert table.storage.exists(late)


def test_all_files_of_a_pending_write_are_kept(table: SmallTable) -> None:
    pending = table.begin()
    file = marked_file(table, pending.requested_time)
    remove_traces_of_finished_writes(access(table))
    assert table.storage.exists(file)
    assert list(table.storage.list_files(".hoodie/.temp")) != []


def test_expired_heartbeats_without_a_write_are_deleted(table: SmallTable) -> None:
    table.storage.write(heartbeat_path("20200101000000000"), b"")
    long_after = TableAccess(
        storage=table.storage, clock=FixedClock(FixedClock().moment.replace(year=2100)), config=table.config
    )
    remove_traces_of_finished_writes(long_after)
    assert not has_heartbeat(table.storage, "20200101000000000")


def attempt_of(table: SmallTable, request_id: str = "me") -> CommitAttempt:
    lock = FileSystemLock(table.storage)
    own = replace(access(table), metadata=NO_METADATA_TABLE)
    return CommitAttempt(own, load_snapshot(table.storage), Action.COMMIT, lock, request_id)


def test_files_written_after_another_writer_rolled_the_attempt_back_are_deleted(table: SmallTable) -> None:
    def write() -> None:
        with attempt_of(table) as attempt:
            attempt.start(EMPTY)
            (pending,) = table.timeline_store.load().pending
            rollback_instant(access(table), pending)
            table.storage.write(heartbeat_path(attempt.instant_time), b"me")
            files.append(marked_file(table, attempt.instant_time))
            attempt.complete(EMPTY)

    files: list[str] = []
    with pytest.raises(InstantVanishedError):
        write()
    assert not table.storage.exists(files[0])
    assert list(table.storage.list_files(".hoodie/.temp")) == []
    assert list(table.storage.list_files(".hoodie/.heartbeat")) == []


def interrupt(attempt: CommitAttempt, *, after_commit: bool) -> None:
    """Interrupt an attempt, as Ctrl+C does, before or after its commit."""
    with attempt:
        attempt.start(EMPTY)
        if after_commit:
            attempt.complete(EMPTY)
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("is_first", "state"),
    [(True, "the table has no rows. The table and the folders"), (False, "the table is unchanged.")],
    ids=["first write", "later write"],
)
def test_an_interrupted_write_is_rolled_back_with_its_reason(
    table: SmallTable, caplog: pytest.LogCaptureFixture, is_first: bool, state: str
) -> None:
    if not is_first:
        table.commit(FileGroupId("city=a", "a-0"))
    with pytest.raises(KeyboardInterrupt):
        interrupt(attempt_of(table, "mine"), after_commit=False)
    assert f"The job was interrupted. Its write is rolled back: {state}" in caplog.text
    (rollback,) = (i for i in table.timeline_store.load() if i.action is Action.ROLLBACK)
    note = decode_undo_note(table.timeline_store.read_requested(rollback))
    assert note == UndoNote(reason=UndoReason.INTERRUPTED_JOB, request_id="mine")


def test_an_interrupt_after_the_commit_says_that_the_rows_are_in_the_table(
    table: SmallTable, caplog: pytest.LogCaptureFixture
) -> None:
    attempt = attempt_of(table)
    with pytest.raises(KeyboardInterrupt):
        interrupt(attempt, after_commit=True)
    assert f"its write {attempt.instant_time} was completed: the table contains the rows." in caplog.text
    assert [i.action for i in table.timeline_store.load().completed] == [Action.COMMIT]


@pytest.mark.parametrize(
    ("owner", "reason"),
    [("mine", UndoReason.EARLIER_ATTEMPT), ("other", UndoReason.DEAD_WRITER)],
)
def test_the_rollback_of_a_pending_write_stores_the_reason(
    table: SmallTable, owner: str, reason: UndoReason
) -> None:
    pending = table.begin()
    if owner == "mine":
        table.storage.write(heartbeat_path(pending.requested_time), b"mine")
    own = replace(access(table), metadata=NO_METADATA_TABLE)
    cleared = clear_pending_writes(own, FileSystemLock(table.storage), "mine", FailedWritesPolicy.LAZY)
    assert [i.requested_time for i in cleared] == [pending.requested_time]
    (rollback,) = table.timeline_store.load().completed
    note = decode_undo_note(table.timeline_store.read_requested(rollback))
    assert note == UndoNote(reason=reason, request_id="mine")


def test_a_request_is_not_written_twice_if_another_attempt_completes_first(table: SmallTable) -> None:
    def write() -> None:
        with attempt_of(table, "same") as attempt:
            attempt.start(EMPTY)
            table.commit(FileGroupId("city=b", "b-0"), extra={REQUEST_ID_KEY: "same"})
            attempt.complete(EMPTY)

    with pytest.raises(CommitConflictError, match="Another attempt of request same completed"):
        write()
    assert [i.action for i in table.timeline_store.load().completed_writes] == [Action.COMMIT]


def test_a_schema_change_by_another_writer_is_a_conflict(table: SmallTable) -> None:
    wide = '{"type":"record","name":"r","fields":[{"name":"c","type":["null","long"],"default":null}]}'
    table.commit(FileGroupId("city=a", "a-0"))

    def write() -> None:
        with attempt_of(table) as attempt:
            attempt.start(EMPTY)
            table.commit(FileGroupId("city=b", "b-0"), schema=wide)
            attempt.complete(EMPTY)

    with pytest.raises(CommitConflictError, match="added the columns c"):
        write()
