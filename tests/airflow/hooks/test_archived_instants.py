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
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from support.archived_tables import History

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
