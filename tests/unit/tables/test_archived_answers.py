"""Queries of the timeline return the same result after archival; they read the archive only if they need it."""

from dataclasses import replace

import pytest

from hudi_table_services.errors import CorruptTableError
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.hudi_format.table_service_plans import encode_requested_replace
from hudi_table_services.model.archival import HistoryEntry
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_service_plans import ClusteringPlan, PlanStrategy
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import REQUEST_ID_KEY, CommitMetadata, WriteOperation
from hudi_table_services.storage.table_store import read_table_config, update_properties
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.archived_timeline import ArchivedTimeline, history_store
from hudi_table_services.tables.commit_counter import CommitCounter
from hudi_table_services.tables.request_lookup import find_completed_anywhere
from support.archived_tables import SMALL_LIMITS, History
from support.listing.counting_storage import CountingStorage

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
A, B = FileGroupId("a", "f1"), FileGroupId("b", "f2")


def count_commits(history: History) -> tuple[int, str | None]:
    store = history.table.timeline_store
    archived = ArchivedTimeline(history.storage, history.table.config)
    count = CommitCounter(store, store.load(), archived).count()
    return count.count, count.since.requested_time if count.since else None


@VERSIONS
@pytest.mark.parametrize("clusters", [True, False])
def test_archival_does_not_change_the_count_of_commits_since_the_last_clustering(
    version: TableVersion, clusters: bool
) -> None:
    history = History(version)
    history.commits(2, A)
    if clusters:
        cluster(history)
    history.commits(7, B)
    before = count_commits(history)
    assert before[0] == (7 if clusters else 9)
    archived = history.archive().report
    assert archived is not None
    assert archived.archived_commits > 2
    assert count_commits(history) == before


def test_the_count_reads_the_history_only_up_to_the_newest_clustering() -> None:
    history = History(TableVersion.V9)
    history.commits(12, A)
    history.archive()
    old = {path for path in history.files() if path.endswith(".parquet")}
    cluster(history)
    history.commits(7, B)
    history.archive(options={**SMALL_LIMITS, "hoodie.timeline.compaction.batch.size": "99"})
    counting, store = CountingStorage(history.storage), history.table.timeline_store
    archived = ArchivedTimeline(counting, history.table.config)
    count = CommitCounter(store, store.load(), archived).count()
    assert count.count == 7
    assert old
    assert old.isdisjoint(path for path, reads in counting.requests.items() if reads)


@VERSIONS
def test_the_count_stops_at_the_number_that_the_caller_needs(version: TableVersion) -> None:
    history = History(version)
    history.commits(12, A)
    history.archive()
    store, archive = history.table.timeline_store, ArchivedTimeline(history.storage, history.table.config)
    timeline = store.load()
    active = len(timeline.completed_writes)
    assert active < 12
    for enough in range(14):
        found = CommitCounter(store, timeline, archive).count(enough=enough)
        assert found.count == min(max(enough, active), 12)
        assert found.is_complete == (enough > 12)
        assert found.since is None


@VERSIONS
def test_the_count_reads_no_archive_file_if_the_active_timeline_has_enough_commits(
    version: TableVersion,
) -> None:
    history = History(version)
    history.commits(12, A)
    history.archive()
    counting, store = CountingStorage(history.storage), history.table.timeline_store
    archive, timeline = ArchivedTimeline(counting, history.table.config), store.load()
    active = len(timeline.completed_writes)
    found = CommitCounter(store, timeline, archive).count(enough=active)
    assert (found.count, found.is_complete) == (active, False)
    assert not archive_files_read(counting)
    CommitCounter(store, timeline, archive).count(enough=active + 1)
    assert archive_files_read(counting)


def archive_files_read(storage: CountingStorage) -> set[str]:
    return {path for path in storage.requests if ".archive." in path or path.endswith(".parquet")}


@VERSIONS
def test_writes_that_are_both_active_and_archived_count_once(version: TableVersion) -> None:
    history = History(version)
    done = history.commits(12, A)
    active = {each.path: history.storage.read(each.path) for each in history.storage.list_files()}
    history.archive()
    present = {each.path for each in history.storage.list_files()}
    for path, content in active.items():  # the archival died before it deleted the archived instants
        if path not in present:
            history.storage.write(path, content)
    store, archive = history.table.timeline_store, ArchivedTimeline(history.storage, history.table.config)
    timeline = store.load()
    assert timeline.completed_writes == tuple(done)
    found = CommitCounter(store, timeline, archive).count(enough=13)
    assert (found.count, found.is_complete) == (12, True)


def cluster(history: History) -> None:
    """Complete a clustering that replaces a file group and writes no files."""
    plan = ClusteringPlan(groups=(), strategy=PlanStrategy(class_name="any"))
    layout = history.version.layout
    action = Action.CLUSTERING if layout.has_completion_time_in_names else Action.REPLACE_COMMIT
    pending = history.table.begin(action, encode_requested_replace(plan))
    metadata = CommitMetadata(
        operation_type=WriteOperation.CLUSTER,
        partition_to_write_stats={},
        partition_to_replace_file_ids={"a": ("gone",)},
    )
    history.table.timeline_store.complete(pending, encode_commit_metadata(metadata, history.version))


@VERSIONS
def test_the_archive_is_read_only_if_the_active_timeline_does_not_contain_the_result(
    version: TableVersion,
) -> None:
    history = History(version)
    history.commits(3, A)
    cluster(history)
    done = history.commits(9, A, extra={REQUEST_ID_KEY: "the last"})
    history.archive(4, 5)
    store = history.table.timeline_store
    cluster(history)
    for each in history.storage.list_files():
        if "archive" in each.path or "history" in each.path:
            history.storage.write(each.path, b"not readable")
    assert count_commits(history)[0] == 0
    found = find_completed_anywhere(history.storage, history.table.config, store, store.load(), "the last")
    assert found is not None
    assert found[0] == done[-1]


@VERSIONS
def test_a_request_is_found_on_the_active_timeline_and_in_the_archive(version: TableVersion) -> None:
    history = History(version)
    (wanted,) = history.commits(1, A, extra={REQUEST_ID_KEY: "first"})
    history.commits(6, A)
    store, config = history.table.timeline_store, history.table.config
    for _ in range(2):
        found = find_completed_anywhere(history.storage, config, store, store.load(), "first")
        assert found is not None
        assert found[0].identity == wanted.identity
        history.archive()
    assert find_completed_anywhere(history.storage, config, store, store.load(), "second") is None


def test_the_error_names_an_unreadable_manifest() -> None:
    history = History(TableVersion.V9)
    history.commits(6, A)
    history.archive()
    history.storage.write(".hoodie/timeline/history/_version_", b"1")
    history.storage.write(".hoodie/timeline/history/manifest_1", b'{"files": [{"fileName": "other"}]}')
    with pytest.raises(CorruptTableError, match="manifest_1"):
        history.archived()


@VERSIONS
@pytest.mark.parametrize("folder", ["", "old/instants"], ids=["default", "other folder"])
def test_the_timeline_says_whether_there_may_be_an_archive(version: TableVersion, folder: str) -> None:
    history = History(version)
    if folder:
        keys = ("hoodie.archivelog.folder", "hoodie.timeline.history.path")
        update_properties(history.storage, dict.fromkeys(keys, folder), history.clock)
    store = TimelineStore(history.storage, read_table_config(history.storage), history.clock)
    history.commits(9, A)
    assert not store.load().may_have_archive
    history.archive()
    assert store.load().may_have_archive


def test_a_search_in_the_history_reads_the_newest_files_first() -> None:
    history = History(TableVersion.V9)
    # No other text of a commit contains these names; random hexadecimal digits can contain "f1".
    older, newer = FileGroupId("b", "older group"), FileGroupId("a", "newer group")
    old, new = history.commits(2, older), history.commits(10, newer)
    store, counting = history.table.timeline_store, CountingStorage(history.storage)
    entries = [
        HistoryEntry(
            requested_time=i.requested_time,
            completion_time=i.completion_time or "",
            action=i.action.value,
            metadata=store.read(i),
            plan=None,
        )
        for i in (*old, *new)
    ]
    searched = history_store(counting, history.table.config)
    searched.add(entries, 2)
    # A file that an archival of one late write added: its entry belongs between the entries of another file.
    searched.add([replace(entries[5], completion_time="29990101000000000")], 2)

    def files_read() -> int:
        return sum(count for path, count in counting.requests.items() if path.endswith(".parquet"))

    first = next(iter(searched.find(newer.file_id)))
    assert (first.instant.requested_time, files_read()) == (new[-1].requested_time, 1)
    times = [i.requested_time for i in reversed((*old, *new))]
    found = [each.instant.requested_time for group in (newer, older) for each in searched.find(group.file_id)]
    assert found == times
