"""Each check before a commit refuses the change that it is responsible for, and accepts all other changes."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from uuid import uuid4

import pytest

from hudi_table_services.commits.checks import (
    ComparisonNeeded,
    FilesExist,
    NoConflict,
    NoDuplicateNewKey,
    NoSecondWrite,
    NotCancelled,
    NothingArchivedSince,
    NothingUndone,
    SameSchema,
    SomeGroupsUnchanged,
    refuse_taken_over,
)
from hudi_table_services.commits.commit_point import complete
from hudi_table_services.commits.table_now import Conditions, TableNow, read_table_now
from hudi_table_services.errors import (
    CommitConflictError,
    FileGroupConflictError,
    InstantVanishedError,
    LockNotAcquiredError,
    UnsupportedTableError,
)
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.hudi_format.table_service_plans import encode_rollback_plan
from hudi_table_services.model.concurrent_change import ConcurrentChange, ConflictStrategy
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import REQUEST_ID_KEY, CommitMetadata, WriteOperation
from hudi_table_services.options.locks import LockOptions
from hudi_table_services.planning.recovery.rollback_plan import plan_rollback
from hudi_table_services.storage.locks.heartbeat import heartbeat_path
from hudi_table_services.storage.locks.lock import FileSystemLock, table_lock
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.table_store import update_properties
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from hudi_table_services.tables.table import TableAccess
from support.archived_tables import History
from support.small_tables import SmallTable

GROUP = FileGroupId("a", "f0-0")
OTHER_GROUP = FileGroupId("a", "f1-0")
WIDER = '{"type":"record","name":"r","fields":[{"name":"added","type":["null","string"],"default":null}]}'


@pytest.fixture(params=[TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
def table(request: pytest.FixtureRequest) -> SmallTable:
    table = SmallTable(MemoryStorage(uuid4().hex), request.param)
    table.commit(GROUP, OTHER_GROUP)
    return table


def access_to(table: SmallTable) -> TableAccess:
    return TableAccess(storage=table.storage, clock=table.clock, config=table.config)


def after(table: SmallTable, others_act: Callable[[], object] = lambda: None) -> TableNow:
    """Read the table for the checks of a job that planned before `others_act` changed the table."""
    planned_with = load_snapshot(table.storage)
    others_act()
    return read_table_now(access_to(table), planned_with)


def roll_back(table: SmallTable, instant: Instant) -> None:
    table.timeline_store.remove_completed(instant)
    for action in instant.action.pending_names:
        table.timeline_store.remove(replace(instant, action=action))


def test_a_change_of_the_table_version_is_refused(table: SmallTable) -> None:
    access = access_to(table)
    other = TableVersion.V9 if table.version is TableVersion.V6 else TableVersion.V6
    planned_with = load_snapshot(table.storage)
    properties = {
        "hoodie.table.version": str(int(other)),
        "hoodie.timeline.layout.version": str(int(other.layout)),
    }
    update_properties(table.storage, properties, table.clock)
    # A half-finished upgrade: the new timeline has a file name of the old layout, so it cannot be loaded.
    left = table.timeline_store.load().completed[0]
    name = table.timeline_store.path_of(left).rpartition("/")[2]
    table.storage.write(f"{other.layout.timeline_folder}/{name}", b"{}")
    with pytest.raises(UnsupportedTableError, match=f"from version {int(table.version)} to {int(other)}"):
        read_table_now(access, planned_with)


def test_instants_of_the_job_itself_are_not_reported_as_changes(table: SmallTable) -> None:
    planned_with = load_snapshot(table.storage)
    own = table.commit(GROUP)
    now = read_table_now(access_to(table), planned_with, own_times={own.requested_time})
    assert now.changes == ()


def test_noted_changes_are_kept_after_archival_of_their_instants(table: SmallTable) -> None:
    noted = after(table, lambda: table.commit(GROUP)).changes
    now = read_table_now(access_to(table), load_snapshot(table.storage), noted=noted)
    assert now.changes == noted


def test_a_noted_change_is_not_reported_twice(table: SmallTable) -> None:
    planned_with = load_snapshot(table.storage)
    table.commit(GROUP)
    noted = read_table_now(access_to(table), planned_with).changes
    assert len(read_table_now(access_to(table), planned_with, noted=noted).changes) == 1


def test_the_check_same_schema_refuses_another_schema(table: SmallTable) -> None:
    SameSchema().refuse(after(table, lambda: table.commit(GROUP)))
    with pytest.raises(CommitConflictError, match="added the columns added"):
        SameSchema().refuse(after(table, lambda: table.commit(GROUP, schema=WIDER)))


def test_the_check_no_second_write_refuses_a_second_commit_of_the_request(table: SmallTable) -> None:
    now = after(table, lambda: table.commit(GROUP, extra={REQUEST_ID_KEY: "mine"}))
    NoSecondWrite("another").refuse(now)
    with pytest.raises(CommitConflictError, match="Another attempt of request mine completed"):
        NoSecondWrite("mine").refuse(now)


def test_the_check_nothing_archived_since_refuses_writes_that_may_be_archived() -> None:
    history = History(TableVersion.V6)
    table = history.table
    pending = table.begin()
    since = table.timeline_store.load()
    NothingArchivedSince(since).refuse(after(table))
    metadata = CommitMetadata(
        operation_type=WriteOperation.UPSERT, partition_to_write_stats={}, extra_metadata={}
    )
    table.timeline_store.complete(pending, encode_commit_metadata(metadata, table.version))
    for _ in range(6):
        table.commit(GROUP)
    history.archive()
    with pytest.raises(FileGroupConflictError, match="may be archived already"):
        NothingArchivedSince(since).refuse(after(table))


def test_the_check_nothing_undone_refuses_an_undone_commit(table: SmallTable) -> None:
    newest = table.commit(GROUP)
    NothingUndone().refuse(after(table, lambda: table.commit(GROUP)))
    with pytest.raises(FileGroupConflictError, match=f"rolled back .* {newest.requested_time}"):
        NothingUndone().refuse(after(table, lambda: roll_back(table, newest)))


def test_the_check_no_conflict_refuses_a_change_of_the_same_file_group(table: SmallTable) -> None:
    now = after(table, lambda: table.commit(GROUP))
    NoConflict(frozenset({OTHER_GROUP}), ConflictStrategy.SIMPLE).refuse(now)
    with pytest.raises(FileGroupConflictError, match="f0-0"):
        NoConflict(frozenset({GROUP}), ConflictStrategy.SIMPLE).refuse(now)


class Comparison:
    """Records the changes that it compares; if `finds_rows` is True, it refuses these changes."""

    def __init__(self, *, finds_rows: bool = False) -> None:
        self.compared: list[ConcurrentChange] = []
        self._finds_rows = finds_rows

    def concerns(self, change: ConcurrentChange) -> bool:
        return GROUP in change.file_groups

    def refuse(self, changes: Sequence[ConcurrentChange]) -> None:
        self.compared.extend(changes)
        if self._finds_rows:
            raise FileGroupConflictError("The key is there already.")


def test_the_check_no_duplicate_new_key_only_requests_a_comparison(table: SmallTable) -> None:
    comparison = Comparison()
    now = after(table, lambda: table.commit(GROUP))
    with pytest.raises(ComparisonNeeded) as needed:
        NoDuplicateNewKey(comparison).refuse(now)
    assert [change.instant for change in needed.value.changes] == [now.changes[0].instant]
    assert comparison.compared == []


def test_the_check_no_duplicate_new_key_accepts_compared_and_unrelated_changes(
    table: SmallTable,
) -> None:
    now = after(table, lambda: table.commit(GROUP))
    NoDuplicateNewKey(Comparison(), compared=frozenset({now.changes[0].instant})).refuse(now)
    NoDuplicateNewKey(Comparison()).refuse(after(table, lambda: table.commit(OTHER_GROUP)))


def test_the_check_no_duplicate_new_key_can_compare_under_the_lock(table: SmallTable) -> None:
    now = after(table, lambda: table.commit(GROUP))
    comparison = Comparison()
    NoDuplicateNewKey(comparison, compares_under_lock=True).refuse(now)
    assert len(comparison.compared) == 1
    with pytest.raises(FileGroupConflictError, match="there already"):
        NoDuplicateNewKey(Comparison(finds_rows=True), compares_under_lock=True).refuse(now)


def test_an_attempt_without_its_own_heartbeat_is_refused(table: SmallTable) -> None:
    access, time = access_to(table), "20260101000000000"
    with pytest.raises(InstantVanishedError, match=f"took clustering {time} over"):
        refuse_taken_over(access, time, "mine/1")
    table.storage.write(heartbeat_path(time), b"mine/1")
    refuse_taken_over(access, time, "mine/1")
    table.storage.write(heartbeat_path(time), b"others/1")
    with pytest.raises(InstantVanishedError):
        refuse_taken_over(access, time, "mine/1")


def test_the_check_not_cancelled_refuses_after_the_request_of_a_rollback(table: SmallTable) -> None:
    pending = table.begin()
    NotCancelled(pending).refuse(after(table))
    plan = encode_rollback_plan(plan_rollback(pending, (), table.storage.base_path))
    table.timeline_store.request(Action.ROLLBACK, plan)
    with pytest.raises(InstantVanishedError, match="A cancellation .* was begun"):
        NotCancelled(pending).refuse(after(table))


def test_the_check_not_cancelled_ignores_and_keeps_a_rollback_without_a_plan(table: SmallTable) -> None:
    pending, abandoned = table.begin(), table.begin(Action.ROLLBACK)
    NotCancelled(pending).refuse(after(table))
    assert abandoned in table.timeline_store.load().pending


def test_the_check_some_groups_unchanged_refuses_if_no_group_remains(table: SmallTable) -> None:
    metadata = CommitMetadata(
        operation_type=WriteOperation.CLUSTER,
        partition_to_write_stats={},
        partition_to_replace_file_ids={"a": ("f0-0",)},
        extra_metadata={},
    )
    now = after(table)
    SomeGroupsUnchanged("1", metadata).refuse(now)
    with pytest.raises(FileGroupConflictError, match="every file group of clustering 1"):
        SomeGroupsUnchanged("1", replace(metadata, partition_to_replace_file_ids={})).refuse(now)


def test_the_check_files_exist_refuses_if_a_file_is_missing(table: SmallTable) -> None:
    path = table.add_file("a", "new.parquet")
    called: list[str] = []
    check = FilesExist("1", (path,), when_missing=lambda: called.append(path))
    check.refuse(after(table))
    assert called == []
    table.storage.delete(path)
    with pytest.raises(InstantVanishedError, match="Another job removed"):
        check.refuse(after(table))
    assert called == [path]


class RecordingCheck:
    """A check that records its call; with `refuses` it raises an error."""

    def __init__(self, name: str, called_checks: list[str], *, refuses: bool) -> None:
        self._name, self._called_checks, self._refuses = name, called_checks, refuses

    def refuse(self, now: TableNow) -> None:
        self._called_checks.append(self._name)
        if self._refuses:
            raise FileGroupConflictError(self._name)


def test_an_instant_that_a_check_refuses_stays_pending(table: SmallTable) -> None:
    pending, steps = table.begin(), list[str]()
    checks = [RecordingCheck(name, steps, refuses=name == "second") for name in ("first", "second", "third")]
    with FileSystemLock(table.storage) as lock, pytest.raises(FileGroupConflictError, match="second"):
        complete(
            access_to(table),
            pending,
            b"{}",
            lock=lock,
            conditions=Conditions(after(table), tuple(checks)),
            before=lambda: steps.append("before"),
        )
    assert steps == ["first", "second"]
    assert pending in table.timeline_store.load().pending


def test_the_lock_is_verified_after_all_slow_steps(table: SmallTable) -> None:
    pending = table.begin()
    lock = table_lock(table.storage, LockOptions())

    def lose_lock() -> None:
        table.storage.write(".hoodie/lock", b"another writer's")

    with pytest.raises(LockNotAcquiredError), lock:
        complete(access_to(table), pending, b"{}", lock=lock, before=lose_lock)
    assert pending in table.timeline_store.load().pending


def test_every_check_of_a_write_accepts_an_unchanged_table(table: SmallTable) -> None:
    checks = (
        NoSecondWrite("mine"),
        SameSchema(),
        NothingArchivedSince(Timeline()),
        NothingUndone(),
        NoConflict(frozenset({GROUP}), ConflictStrategy.SIMPLE),
        NoDuplicateNewKey(Comparison()),
    )
    Conditions(after(table), checks).refuse()
