"""A commit asks about the rows that others added since it looked, and about nothing else, without the lock."""

from collections.abc import Callable, Sequence
from uuid import uuid4

import pytest

from hudi_table_services.errors import FileGroupConflictError
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.hudi_format.table_service_plans import (
    encode_requested_replace,
    encode_rollback_metadata,
)
from hudi_table_services.jobs.commit_attempt import CommitAttempt
from hudi_table_services.jobs.table_access import TableAccess
from hudi_table_services.model.concurrent_change import ConcurrentChange
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.lock_options import LockOptions
from hudi_table_services.model.table_service_plans import RollbackMetadata
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.storage.concurrent_changes import load_commit_changes
from hudi_table_services.storage.lock import table_lock
from hudi_table_services.storage.memory import MemoryStorage
from hudi_table_services.storage.snapshot_loader import load_snapshot
from small_tables import SCHEMA, SmallTable, base_file_name

OLD, NEW, LATER = (FileGroupId("city=x", name) for name in ("old-0", "new-0", "later-0"))


@pytest.fixture(params=[TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
def table(request: pytest.FixtureRequest) -> SmallTable:
    made = SmallTable(MemoryStorage(uuid4().hex), request.param)
    made.commit(OLD)
    return made


def written(group: FileGroupId, time: str, **counts: int | str) -> WriteStat:
    path = f"{group.partition_path}/{base_file_name(group.file_id, time)}"
    return WriteStat(file_id=group.file_id, partition_path=group.partition_path, path=path, **counts)  # type: ignore[arg-type]


def commit(table: SmallTable, operation: WriteOperation, *stats: WriteStat) -> Instant:
    """A write of another, as its metadata tells it."""
    replaces = operation in (WriteOperation.CLUSTER, WriteOperation.INSERT_OVERWRITE)
    content = encode_requested_replace(None) if replaces else b""
    pending = table.begin(Action.REPLACE_COMMIT if replaces else Action.COMMIT, content)
    metadata = CommitMetadata(
        operation_type=operation,
        partition_to_write_stats={stat.partition_path: (stat,) for stat in stats},
        extra_metadata={"schema": SCHEMA},
        partition_to_replace_file_ids={} if replaces else None,
    )
    return table.timeline_store.complete(pending, encode_commit_metadata(metadata, table.version))


def commit_ours(
    table: SmallTable,
    meanwhile: Callable[[], object],
    refuse: Callable[[Sequence[ConcurrentChange]], None],
    *,
    snapshot: TableSnapshot | None = None,
    changes: FileGroupId | None = None,
) -> Instant:
    access = TableAccess(storage=table.storage, clock=table.clock, config=table.config)
    lock = table_lock(table.storage, LockOptions())
    snapshot = snapshot or load_snapshot(table.storage)
    with CommitAttempt(access, snapshot, Action.COMMIT, lock, "ours") as attempt:
        stats = [written(changes, attempt.instant_time, prev_commit="1")] if changes else []
        metadata = CommitMetadata(
            operation_type=WriteOperation.UPSERT,
            partition_to_write_stats={stat.partition_path: (stat,) for stat in stats},
            extra_metadata={"schema": SCHEMA},
        )
        attempt.start(metadata)
        meanwhile()
        return attempt.complete(metadata, Comparison(refuse))


class Comparison:
    """Everything that adds rows concerns it."""

    def __init__(self, refuse: Callable[[Sequence[ConcurrentChange]], None]) -> None:
        self.refuse = refuse

    def concerns(self, change: ConcurrentChange) -> bool:
        return bool(change.added_to)


def test_every_commit_that_adds_rows_is_asked_about_once(table: SmallTable) -> None:
    asked: list[list[str]] = []
    others: list[str] = []

    def refuse(added: Sequence[ConcurrentChange]) -> None:
        assert not table.storage.exists(".hoodie/lock")
        asked.append([change.instant.requested_time for change in added])
        if len(asked) == 1:  # one more comes while keys are compared
            others.append(table.commit(LATER).requested_time)

    done = commit_ours(table, lambda: others.append(table.commit(NEW).requested_time), refuse)
    assert asked == [[others[0]], [others[1]]]
    assert done in table.timeline_store.load().completed_writes


def test_without_other_commits_nothing_is_asked(table: SmallTable) -> None:
    def refuse(added: Sequence[ConcurrentChange]) -> None:
        raise AssertionError(added)

    assert commit_ours(table, lambda: None, refuse) in table.timeline_store.load().completed_writes


def test_what_is_refused_is_not_committed(table: SmallTable) -> None:
    def refuse(added: Sequence[ConcurrentChange]) -> None:
        raise FileGroupConflictError("the same key")

    with pytest.raises(FileGroupConflictError, match="the same key"):
        commit_ours(table, lambda: table.commit(NEW), refuse)
    timeline = table.timeline_store.load()
    assert len(timeline.completed_writes) == 2
    assert not timeline.pending


def test_who_is_always_overtaken_compares_under_the_lock_at_last(table: SmallTable) -> None:
    under_lock: list[bool] = []

    def refuse(added: Sequence[ConcurrentChange]) -> None:
        under_lock.append(table.storage.exists(".hoodie/lock"))
        if not under_lock[-1]:
            table.commit(FileGroupId("city=x", f"next-{len(under_lock)}"))

    done = commit_ours(table, lambda: table.commit(NEW), refuse)
    assert under_lock == [False] * 5 + [True]
    assert done in table.timeline_store.load().completed_writes


def archived(table: SmallTable, *instants: Instant) -> None:
    """Taken off the active timeline, as archival does."""
    for instant in instants:
        table.timeline_store.remove_completed(instant)
        table.timeline_store.remove(instant)


def test_what_came_before_our_instant_is_asked_about_though_it_is_archived(table: SmallTable) -> None:
    snapshot = load_snapshot(table.storage)
    others = [table.commit(NEW), table.commit(LATER)]
    asked: list[Instant] = []

    def refuse(added: Sequence[ConcurrentChange]) -> None:
        asked.extend(change.instant for change in added)

    def archival() -> None:
        table.commit(LATER)
        archived(table, *snapshot.timeline.completed_writes, others[0])

    commit_ours(table, archival, refuse, snapshot=snapshot)
    assert set(others) <= set(asked)


def test_a_file_group_that_an_archived_commit_changed_is_a_conflict(table: SmallTable) -> None:
    snapshot = load_snapshot(table.storage)
    other = table.commit(OLD)
    table.commit(LATER)

    def archival() -> None:
        archived(table, *snapshot.timeline.completed_writes, other)

    with pytest.raises(FileGroupConflictError, match=f"{other.requested_time} changed file groups"):
        commit_ours(table, archival, lambda added: None, snapshot=snapshot, changes=OLD)
    assert not table.timeline_store.load().pending


def test_commits_that_may_be_archived_before_our_instant_are_a_conflict(table: SmallTable) -> None:
    snapshot = load_snapshot(table.storage)
    other = table.commit(NEW)
    table.commit(LATER)
    archived(table, *snapshot.timeline.completed_writes, other)
    with pytest.raises(FileGroupConflictError, match="may be archived already"):
        commit_ours(table, lambda: None, lambda added: None, snapshot=snapshot)
    assert not table.timeline_store.load().pending


def test_a_write_that_ended_and_may_be_archived_under_ours_is_a_conflict(table: SmallTable) -> None:
    slow = table.begin()

    def archival() -> None:
        table.commit(LATER)
        archived(table, *table.timeline_store.load().completed_writes[:1], slow)

    with pytest.raises(FileGroupConflictError, match="may be archived already"):
        commit_ours(table, archival, lambda added: None)


def test_archived_commits_that_ours_had_seen_are_not_in_the_way(table: SmallTable) -> None:
    seen = [*table.timeline_store.load().completed_writes, table.commit(OLD)]
    table.commit(NEW)

    def archival() -> None:
        table.commit(LATER)
        pending, rollback = table.begin(), table.begin(Action.ROLLBACK)
        table.timeline_store.remove(pending)
        metadata = rollback_metadata(pending)
        table.timeline_store.complete(rollback, encode_rollback_metadata(metadata))
        archived(table, *seen)

    done = commit_ours(table, archival, lambda added: None, changes=OLD)
    assert done in table.timeline_store.load().completed_writes


def rollback_metadata(undone: Instant) -> RollbackMetadata:
    return RollbackMetadata(
        start_rollback_time=undone.requested_time,
        time_taken_ms=1,
        total_files_deleted=0,
        commits_rolled_back=(undone.requested_time,),
        partitions={},
    )


@pytest.mark.parametrize(
    ("operation", "counts", "adds"),
    [
        pytest.param(WriteOperation.UPSERT, {}, True, id="a new file group"),
        pytest.param(
            WriteOperation.UPSERT, {"prev_commit": "1", "num_inserts": 1}, True, id="rows in an old one"
        ),
        pytest.param(
            WriteOperation.UPSERT, {"prev_commit": "1", "num_update_writes": 1}, False, id="updates"
        ),
        pytest.param(WriteOperation.DELETE, {"prev_commit": "1", "num_deletes": 1}, False, id="deletes"),
        pytest.param(WriteOperation.INSERT, {"num_inserts": 1}, True, id="an insert"),
        pytest.param(WriteOperation.INSERT_OVERWRITE, {"num_inserts": 1}, True, id="an overwrite"),
        pytest.param(WriteOperation.CLUSTER, {"num_inserts": 1}, False, id="a clustering"),
    ],
)
def test_which_commits_add_rows(
    table: SmallTable, operation: WriteOperation, counts: dict[str, int | str], adds: bool
) -> None:
    store, before = table.timeline_store, table.timeline_store.load()
    done = commit(table, operation, written(NEW, table.clock.now().strftime("%Y%m%d%H%M%S000"), **counts))
    (change,) = load_commit_changes(store, before, store.load())
    assert change.instant == done
    assert change.added_to == (frozenset({NEW.partition_path}) if adds else frozenset())
    assert change.overwrites is (operation is WriteOperation.INSERT_OVERWRITE)
