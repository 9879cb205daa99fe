"""The position of a chain is that of its newest write with a position, even if this write is archived."""

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.contract.result import Outcome
from hudi_table_services.jobs.archival.archive import archive
from hudi_table_services.options.reading.read_options import change_request
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.reading.change_positions import (
    POSITION_KEY,
    SOURCE_KEY,
    change_position,
    newest_positions,
)
from hudi_table_services.tables.reading.change_scan import plan_changes
from hudi_table_services.tables.reading.source_backlog import source_backlog
from hudi_table_services.tables.table import TableAccess
from support.archived_tables import SMALL_LIMITS
from support.spark.log_tables import LogTable, new_log_table

EMPTY = {"hoodie.allow.empty.commit": "true"}


def position_of(table: LogTable, chain: str) -> str:
    return change_position(access(table), chain)


def access(table: LogTable) -> TableAccess:
    config = read_table_config(table.storage)
    return TableAccess(storage=table.storage, clock=SystemClock(), config=config)


def at(chain: str, position: str, prefix: str = "_") -> dict[str, str]:
    return {f"{prefix}{POSITION_KEY}{chain}": position}


def archive_most(table: LogTable) -> None:
    archive(
        ArchiveRequest(base_path=str(table.base_path), options=SMALL_LIMITS, min_commits=2, max_commits=3),
        storage=table.storage,
    )


@dataclass
class ArchivedDuringSearch:
    """The storage of a table whose oldest commits are archived right before the first commit is read."""

    table: LogTable
    guard: Any = field(default_factory=threading.Lock)
    is_archived: bool = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.table.storage, name)

    def read(self, path: str) -> bytes:
        with self.guard:
            if path.endswith(".commit") and not self.is_archived:
                self.is_archived = True
                archive_most(self.table)
            return self.table.storage.read(path)


@pytest.mark.parametrize("version", [6, 9])
def test_an_archival_during_the_search_for_a_position_does_not_matter(tmp_path: Path, version: int) -> None:
    table = new_log_table(tmp_path / "t", version, hoodie__table__type="COPY_ON_WRITE")
    table.write([("a", 1, "p", "1")], options=at("one", "20260101000000000"))
    begin = table.newest()[0].visible_from
    for number in range(2, 7):
        table.write([("a", number, "p", "1")])
    storage: Any = ArchivedDuringSearch(table)
    archiving = TableAccess(storage=storage, clock=SystemClock(), config=access(table).config)
    assert change_position(archiving, "one") == "20260101000000000"
    assert storage.is_archived
    for number in range(7, 12):
        table.write([("a", number, "p", "1")])
    again: Any = ArchivedDuringSearch(table)
    scan = plan_changes(again, change_request({}, begin, None))
    assert again.is_archived
    assert scan.commit_count == 10


@pytest.mark.parametrize("version", [6, 8, 9])
def test_the_position_of_a_chain_is_that_of_its_newest_write_with_a_position(
    tmp_path: Path, version: int
) -> None:
    table = new_log_table(tmp_path / "t", version, hoodie__table__type="COPY_ON_WRITE")
    table.write([("a", 1, "p", "1")])
    assert position_of(table, "one") == ""
    table.write([("a", 2, "p", "2")], options=at("one", "20260101000000000"))
    table.write([("a", 3, "p", "3")], options=at("one", "20260102000000000"))
    table.write([("a", 4, "p", "4")], options=at("another-one", "20260109000000000"))
    table.write([("a", 5, "p", "5")])
    assert position_of(table, "one") == "20260102000000000"
    assert position_of(table, "another-one") == "20260109000000000"
    assert position_of(table, "two") == ""
    for number in range(6, 10):
        table.write([("a", number, "p", "x")])
    archive(
        ArchiveRequest(base_path=str(table.base_path), options=SMALL_LIMITS, min_commits=2, max_commits=3),
        storage=table.storage,
    )
    assert len(table.timeline_store.load().completed_writes) == 2
    assert position_of(table, "one") == "20260102000000000"


def test_the_prefix_of_stored_options_does_not_matter(tmp_path: Path) -> None:
    table = new_log_table(tmp_path / "t", 9)
    prefix = {"hoodie.datasource.write.commitmeta.key.prefix": "mine."}
    table.write([("a", 1, "p", "1")], options={**prefix, **at("one", "20260101000000000", "mine.")})
    assert position_of(table, "one") == "20260101000000000"


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("version", [6, 9])
def test_a_batch_without_rows_makes_a_commit_if_an_option_is_set(
    tmp_path: Path, version: int, table_type: str
) -> None:
    table = new_log_table(tmp_path / "t", version, hoodie__table__type=table_type)
    table.write([("a", 1, "p", "1")])
    assert table.write([]).outcome is Outcome.NOTHING_TO_DO
    assert table.write([], options={**EMPTY, **at("one", "20260101000000000")}).outcome is Outcome.COMPLETED
    assert position_of(table, "one") == "20260101000000000"
    assert table.rows() == [("a", 1, "p", "1")]
    table.write([("b", 1, "p", "1")])
    assert table.rows() == [("a", 1, "p", "1"), ("b", 1, "p", "1")]


def test_a_batch_without_rows_creates_no_table(tmp_path: Path) -> None:
    table = new_log_table(tmp_path / "t", 9)
    assert table.write([], options=EMPTY).outcome is Outcome.NOTHING_TO_DO
    assert not table.base_path.exists()


@pytest.mark.parametrize("version", [6, 9])
def test_all_chains_have_their_newest_position(tmp_path: Path, version: int) -> None:
    table = new_log_table(tmp_path / "t", version, hoodie__table__type="COPY_ON_WRITE")
    sources = {f"_{SOURCE_KEY}one": "/lake/one"}
    table.write([("a", 1, "p", "1")], options=at("two", "20260105000000000"))
    for number in range(2, 9):
        table.write([("a", number, "p", "1")], options={**at("one", f"2026010{number}000000000"), **sources})
    archive(
        ArchiveRequest(base_path=str(table.base_path), options=SMALL_LIMITS, min_commits=2, max_commits=3),
        storage=table.storage,
    )
    one, two = newest_positions(access(table))
    assert (one.chain, one.time, one.source) == ("one", "20260108000000000", "/lake/one")
    assert one.instant == table.newest()[0]
    assert (two.chain, two.time, two.source) == ("two", "20260105000000000", "")


@pytest.mark.parametrize("version", [6, 9])
def test_the_backlog_counts_commits_and_rows_after_a_position(tmp_path: Path, version: int) -> None:
    table = new_log_table(tmp_path / "t", version, hoodie__table__type="COPY_ON_WRITE")
    times = []
    for rows in ([("a", 1, "p", "1"), ("b", 1, "p", "1")], [("a", 2, "p", "2")], [("c", 1, "p", "1")]):
        table.write(rows)
        times.append(table.newest()[0].visible_from)
    none = source_backlog(access(table), times[2])
    assert (none.commits, none.rows, none.since, none.is_exact) == (0, 0, "", True)
    found = source_backlog(access(table), times[0])
    assert (found.commits, found.rows, found.since, found.is_exact) == (2, 2, times[1], True)
    table.write([("a", 3, "p", "")], "delete")
    assert source_backlog(access(table), times[2]).rows == 1
    table.write([("z", 3, "p", "z")], "insert_overwrite_table")
    replaced = source_backlog(access(table), times[2])
    assert (replaced.commits, replaced.rows) == (2, None)


def test_archived_commits_make_the_backlog_a_lower_bound(tmp_path: Path) -> None:
    table = new_log_table(tmp_path / "t", 9, hoodie__table__type="COPY_ON_WRITE")
    table.write([("a", 1, "p", "1")])
    begin = table.newest()[0].visible_from
    for number in range(2, 9):
        table.write([("a", number, "p", "1")])
    archive(
        ArchiveRequest(base_path=str(table.base_path), options=SMALL_LIMITS, min_commits=2, max_commits=3),
        storage=table.storage,
    )
    found = source_backlog(access(table), begin)
    assert (found.commits, found.rows, found.is_exact) == (2, None, False)
