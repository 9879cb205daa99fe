"""Queries for instants give the same answer before and after archival."""

from typing import NoReturn

import pytest

from airflow_hudi_provider.instant_query import InstantQuery, find_instants
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from support.archived_tables import History

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
A, B = FileGroupId("a", "f1"), FileGroupId("b", "f2")


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
    before = [find_instants(store, query, archived.readable_writes) for query in queries]
    assert [answer.count for answer in before] == [7, 7, 1]
    history.archive()
    assert [find_instants(store, query, archived.readable_writes) for query in queries] == before


@VERSIONS
def test_the_archive_is_not_read_for_a_query_that_the_active_timeline_answers(version: TableVersion) -> None:
    history = History(version)
    done = history.commits(9, A)
    history.archive()

    def unexpected_read() -> NoReturn:
        raise AssertionError("the active timeline has the answer")

    for after in ("", done[-2].visible_from):
        find_instants(history.table.timeline_store, InstantQuery(after=after), unexpected_read)
