"""A commit asks about the rows that others added since it looked, and about nothing else, without the lock."""

from collections.abc import Callable, Sequence
from uuid import uuid4

import pytest

from hudi_table_services.errors import FileGroupConflictError
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.hudi_format.table_service_plans import encode_requested_replace
from hudi_table_services.jobs.commit_attempt import CommitAttempt
from hudi_table_services.jobs.table_access import TableAccess
from hudi_table_services.model.concurrent_change import ConcurrentChange
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.lock_options import LockOptions
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.storage.lock import table_lock
from hudi_table_services.storage.memory import MemoryStorage
from hudi_table_services.storage.snapshot_loader import load_commit_changes, load_snapshot
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
    table: SmallTable, meanwhile: Callable[[], object], refuse: Callable[[Sequence[ConcurrentChange]], None]
) -> Instant:
    access = TableAccess(storage=table.storage, clock=table.clock, config=table.config)
    lock = table_lock(table.storage, LockOptions())
    with CommitAttempt(access, load_snapshot(table.storage), Action.COMMIT, lock, "ours") as attempt:
        metadata = CommitMetadata(
            operation_type=WriteOperation.UPSERT,
            partition_to_write_stats={},
            extra_metadata={"schema": SCHEMA},
        )
        attempt.start(metadata)
        meanwhile()
        return attempt.complete(metadata, refuse)


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
