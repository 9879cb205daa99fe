"""The count of commits reads the metadata of a commit only if it is not known whether the commit changed rows."""

import pytest

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.commit_counter import CommitCounter
from support.archived_tables import History
from support.listing.counting_storage import CountingStorage

A = FileGroupId("a", "f1")


def schema_change(history: History) -> None:
    """Complete a commit of ALTER TABLE, which changes no rows."""
    store = history.table.timeline_store
    pending = history.table.begin(Action.COMMIT)
    metadata = CommitMetadata(operation_type=WriteOperation.ALTER_SCHEMA, partition_to_write_stats={})
    store.complete(pending, encode_commit_metadata(metadata, history.version))


def test_commits_that_are_known_to_change_rows_are_counted_without_their_metadata() -> None:
    history = History(TableVersion.V9)
    history.commits(2, A)
    schema_change(history)
    store = history.table.timeline_store
    first, second, _ = store.load().completed_writes
    for instant in (first, second):
        history.storage.write(store.path_of(instant), b"damaged")
    known = {first.requested_time, second.requested_time}
    found = CommitCounter(store, store.load()).count(row_writes=known)
    assert set(found.instants) == known
    assert found.not_counted == 1


@pytest.mark.parametrize(
    "operations", [(), (WriteOperation.INSERT,)], ids=["unknown commit", "one operation"]
)
def test_the_metadata_of_all_other_commits_is_read(operations: tuple[WriteOperation, ...]) -> None:
    history = History(TableVersion.V9)
    history.commits(2, A)
    store = history.table.timeline_store
    first, second = store.load().completed_writes
    history.storage.write(store.path_of(second), b"damaged")
    known = {i.requested_time for i in ((first, second) if operations else (first,))}
    with pytest.raises(MalformedMetadataError):
        CommitCounter(store, store.load()).count(operations, row_writes=known)


def test_a_caller_that_remembers_operations_reads_only_new_commits() -> None:
    history = History(TableVersion.V9)
    history.commits(3, A)
    schema_change(history)
    counting = CountingStorage(history.storage)
    store = TimelineStore(counting, history.table.config, SystemClock())
    remembered: dict[str, WriteOperation] = {}
    first = CommitCounter(store, store.load(), remembered=remembered).count()
    assert (first.count, first.not_counted) == (3, 1)
    history.commits(1, A)
    counting.requests.clear()
    second = CommitCounter(store, store.load(), remembered=remembered).count()
    assert (second.count, second.not_counted) == (4, 1)
    newest = store.load().completed_writes[-1]
    assert [path for path in counting.requests if path.endswith("commit")] == [store.path_of(newest)]
    assert len(remembered) == 5
