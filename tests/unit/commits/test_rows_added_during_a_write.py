"""Before its commit, a job compares its rows with the rows that other writers added since its snapshot.

The job compares the rows without the lock, unless other writers commit during each comparison.
"""

from collections.abc import Sequence
from uuid import uuid4

import pytest

from hudi_table_services.errors import FileGroupConflictError
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.hudi_format.table_service_plans import (
    encode_requested_replace,
)
from hudi_table_services.model.concurrent_change import ConcurrentChange
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.storage.concurrent_changes import load_commit_changes
from hudi_table_services.storage.stores.memory import MemoryStorage
from support.overtaken_commits import commit_ours, written
from support.small_tables import SCHEMA, SmallTable

OLD, NEW, LATER = (FileGroupId("city=x", name) for name in ("old-0", "new-0", "later-0"))


@pytest.fixture(params=[TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
def table(request: pytest.FixtureRequest) -> SmallTable:
    made = SmallTable(MemoryStorage(uuid4().hex), request.param)
    made.commit(OLD)
    return made


def commit(table: SmallTable, operation: WriteOperation, *stats: WriteStat) -> Instant:
    """Commit these write stats as another writer."""
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


def test_every_commit_that_adds_rows_is_compared_once(table: SmallTable) -> None:
    compared: list[list[str]] = []
    others: list[str] = []

    def refuse(added: Sequence[ConcurrentChange]) -> None:
        assert not table.storage.exists(".hoodie/lock")
        compared.append([change.instant.requested_time for change in added])
        if len(compared) == 1:  # another commit during the comparison
            others.append(table.commit(LATER).requested_time)

    done = commit_ours(table, lambda: others.append(table.commit(NEW).requested_time), refuse)
    assert compared == [[others[0]], [others[1]]]
    assert done in table.timeline_store.load().completed_writes


def test_nothing_is_compared_without_commits_of_other_writers(table: SmallTable) -> None:
    def refuse(added: Sequence[ConcurrentChange]) -> None:
        raise AssertionError(added)

    assert commit_ours(table, lambda: None, refuse) in table.timeline_store.load().completed_writes


def test_a_refused_write_is_not_committed(table: SmallTable) -> None:
    def refuse(added: Sequence[ConcurrentChange]) -> None:
        raise FileGroupConflictError("the same key")

    with pytest.raises(FileGroupConflictError, match="the same key"):
        commit_ours(table, lambda: table.commit(NEW), refuse)
    timeline = table.timeline_store.load()
    assert len(timeline.completed_writes) == 2
    assert not timeline.pending


def test_after_five_comparisons_without_the_lock_a_write_compares_under_the_lock(table: SmallTable) -> None:
    under_lock: list[bool] = []

    def refuse(added: Sequence[ConcurrentChange]) -> None:
        under_lock.append(table.storage.exists(".hoodie/lock"))
        if not under_lock[-1]:
            table.commit(FileGroupId("city=x", f"next-{len(under_lock)}"))

    done = commit_ours(table, lambda: table.commit(NEW), refuse)
    assert under_lock == [False] * 5 + [True]
    assert done in table.timeline_store.load().completed_writes


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
def test_a_change_names_the_partitions_to_which_it_added_rows(
    table: SmallTable, operation: WriteOperation, counts: dict[str, int | str], adds: bool
) -> None:
    store, before = table.timeline_store, table.timeline_store.load()
    done = commit(table, operation, written(NEW, table.clock.now().strftime("%Y%m%d%H%M%S000"), **counts))
    (change,) = load_commit_changes(store, before, store.load())
    assert change.instant == done
    assert change.added_to == (frozenset({NEW.partition_path}) if adds else frozenset())
    assert change.overwrites is (operation is WriteOperation.INSERT_OVERWRITE)
