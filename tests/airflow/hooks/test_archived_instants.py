"""Queries for instants give the same answer before and after archival."""

from typing import NoReturn

import pytest

from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.instant_query import InstantQuery, find_instants
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation
from hudi_table_services.storage.archive.examined_history import ExaminedHistory
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from support.archived_tables import History
from support.listing.counting_storage import CountingStorage

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
A, B = FileGroupId("a", "f1"), FileGroupId("b", "f2")
EMPTY = CommitMetadata(operation_type=WriteOperation.UPSERT, partition_to_write_stats={})


@VERSIONS
def test_a_query_for_instants_gives_the_same_answer_after_archival(version: TableVersion) -> None:
    history = History(version)
    done = history.commits(9, A, B)
    archived = ArchivedTimeline(history.storage, history.table.config)
    queries = [
        InstantQuery(after=done[1].visible_from),
        InstantQuery(after=done[1].visible_from, partitions=("b",), operations=("upsert",)),
        InstantQuery(after=done[7].visible_from),
    ]
    store = history.table.timeline_store
    before = [find_instants(store, query, archived.readable_writes_completed_after) for query in queries]
    assert [answer.count for answer in before] == [7, 7, 1]
    history.archive()
    assert [
        find_instants(store, query, archived.readable_writes_completed_after) for query in queries
    ] == before


def test_the_archive_is_not_read_for_a_query_that_the_active_timeline_answers() -> None:
    history = History(TableVersion.V6)
    done = history.commits(9, A)
    history.archive()

    def unexpected_read(time: str) -> NoReturn:
        raise AssertionError("the active timeline has the answer")

    for after in ("", done[-2].visible_from):
        find_instants(history.table.timeline_store, InstantQuery(after=after), unexpected_read)


def test_a_query_without_a_begin_does_not_read_the_archive() -> None:
    history = History(TableVersion.V9)
    history.commits(9, A)
    history.archive()
    for each in history.storage.list_files():
        if "history" in each.path:
            history.storage.write(each.path, b"not readable")
    answer = HudiHook(history.storage.uri).instants(InstantQuery())
    assert answer.count == len(history.active())


def test_a_write_that_was_archived_soon_after_its_late_completion_counts() -> None:
    history = History(TableVersion.V9)
    late = history.table.begin(Action.COMMIT)
    history.commits(2, A)
    (last,) = history.commits(1, B)
    history.table.timeline_store.complete(late, encode_commit_metadata(EMPTY, history.version))
    history.commits(4, A)
    query = InstantQuery(after=last.visible_from)
    hook = HudiHook(history.storage.uri)
    assert hook.instants(query).count == 5
    history.archive(low=5, high=6)
    assert late.requested_time in history.archived()
    assert last.requested_time in history.active()
    assert hook.instants(query).count == 5


def test_a_poller_reads_each_history_file_once(monkeypatch: pytest.MonkeyPatch) -> None:
    history = History(TableVersion.V9)
    done = history.commits(9, A)
    history.archive()
    counting, query = CountingStorage(history.storage), InstantQuery(after=done[3].visible_from)
    monkeypatch.setattr(HudiHook, "storage", counting)
    hook, examined = HudiHook(history.storage.uri), ExaminedHistory()
    first = hook.instants(query, examined)
    assert first.count == 5
    assert history_files_read(counting)
    counting.requests.clear()
    assert hook.instants(query, examined) == first
    assert not history_files_read(counting)

    before = history_files(history)
    history.commits(4, A)
    history.archive()
    added = history_files(history) - before
    counting.requests.clear()
    assert hook.instants(query, examined).count == 9
    assert history_files_read(counting)
    assert history_files_read(counting) <= added


def test_a_poll_without_news_takes_three_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    history = History(TableVersion.V9)
    done = history.commits(9, A)
    history.archive()
    counting, query = CountingStorage(history.storage), InstantQuery(after=done[-1].visible_from)
    monkeypatch.setattr(HudiHook, "storage", counting)
    hook, examined = HudiHook(history.storage.uri), ExaminedHistory()
    assert hook.instants(query, examined).count == 0
    counting.requests.clear()
    assert hook.instants(query, examined).count == 0
    assert counting.count == 3, counting.requests


def test_a_poller_that_asks_for_another_time_begins_anew() -> None:
    history = History(TableVersion.V9)
    done = history.commits(9, A)
    history.archive()
    hook, examined = HudiHook(history.storage.uri), ExaminedHistory()
    for first in (5, 1, 3):
        assert hook.instants(InstantQuery(after=done[first].visible_from), examined).count == 8 - first


def history_files(history: History) -> set[str]:
    return {path for path in history.files() if path.endswith(".parquet") and "history" in path}


def history_files_read(storage: CountingStorage) -> set[str]:
    return {path for path in storage.requests if path.endswith(".parquet")}
