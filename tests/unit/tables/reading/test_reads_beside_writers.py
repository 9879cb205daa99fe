"""Reads at every instant, while jobs write, compact and clean the table."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.recovery import CreateSavepointRequest
from hudi_table_services.contract.result import Outcome
from hudi_table_services.errors import ExecutionFailedError, InvalidRequestError
from hudi_table_services.jobs.archival.archive import archive
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.recovery.savepoint import create_savepoint
from hudi_table_services.model.reading.query import HolesPolicy
from hudi_table_services.model.reading.stream import BatchLimits
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.tables.reading.planned_reads import plan_read
from hudi_table_services.tables.reading.stream_positions import BEFORE_ALL_COMMITS, next_position
from hudi_table_services.tables.reading.table_scan import TableScan
from support.archived_tables import SMALL_LIMITS
from support.compaction.jobs_here import execute, schedule
from support.reading.read_here import AS_OF, FULL_SCAN, KINDS, read, rows_of, values, window
from support.spark.log_tables import LogTable, Row, new_log_table
from support.with_logs import clusterings_here

NAMES = ("k", "ts", "p", "v")
State = Mapping[str, Row]


def new_table(base_path: Path, version: int, table_type: str, **options: str) -> LogTable:
    return new_log_table(base_path, version, hoodie__table__type=table_type, **options)


def found(table: LogTable, options: dict[str, str] | None = None, *filters: object) -> list[tuple[Any, ...]]:
    return values(read(table.storage, options, *filters), *NAMES)


def rows(state: State) -> list[tuple[Any, ...]]:
    return sorted(state.values())


def clean_all(table: LogTable) -> None:
    """Delete every slice that only states before the latest commit need, without a grace time for running reads."""
    options = {"hoodie.airflow.clean.floor.hours": "0"}
    request = CleanRequest(base_path=str(table.base_path), commits_retained=1, options=options)
    assert clean(request, storage=table.storage).outcome is Outcome.COMPLETED


class Walk:
    """Random writes of a table, with the state after each of them.

    Attributes:
        states: the requested time and the visible time of each write, and the rows after the write.
    """

    def __init__(self, table: LogTable, seed: int) -> None:
        self.table = table
        self.random = random.Random(seed)
        self.states: list[tuple[str, str, dict[str, Row]]] = []
        self.scans: list[tuple[TableScan, dict[str, Row]]] = []

    @property
    def state(self) -> dict[str, Row]:
        return dict(self.states[-1][2]) if self.states else {}

    def write(self, number: int) -> None:
        state = self.state
        keys = self.random.sample([f"k{i:02}" for i in range(12)], 4)
        if self.random.random() < 0.25 and state:
            gone = self.random.sample(sorted(state), min(2, len(state)))
            self.table.write([state[key] for key in gone], "delete")
            state = {key: row for key, row in state.items() if key not in gone}
        else:
            batch = {key: (key, number, "p" + str(int(key[1:]) % 2), f"{key}-{number}") for key in keys}
            self.table.write(list(batch.values()))
            state |= batch
        newest = self.table.newest()[0]
        self.states.append((newest.requested_time, newest.visible_from, state))
        self.scans.append((plan_read(self.table.storage, {}), state))

    def compact(self) -> None:
        if schedule(self.table.storage, SystemClock()).instant_time is not None:
            execute(self.table.storage, SystemClock())


@KINDS
def test_reads_return_the_rows_of_every_state_and_every_window_of_a_random_walk(
    tmp_path: Path, version: int, table_type: str
) -> None:
    walk = Walk(new_table(tmp_path / "t", version, table_type), seed=version)
    for number in range(1, 9):
        walk.write(number)
        if table_type == "MERGE_ON_READ" and number in (3, 6):
            walk.compact()
    table = walk.table
    for requested, _, state in walk.states:
        assert found(table, {AS_OF: requested}) == rows(state), requested
    for scan, state in walk.scans:
        assert values(rows_of(table.storage, scan), *NAMES) == rows(state), scan.state
    for first, (_, after, _) in enumerate(walk.states):
        for _, until, state in walk.states[first + 1 :]:
            changed = {row for row in state.values() if row[1] > first + 1}
            assert found(table, window(after, until)) == sorted(changed), (after, until)


@KINDS
def test_a_planned_read_whose_files_were_cleaned_names_the_file_and_the_setting(
    tmp_path: Path, version: int, table_type: str
) -> None:
    walk = Walk(new_table(tmp_path / "t", version, table_type), seed=1)
    for number in range(1, 7):
        walk.write(number)
        if table_type == "MERGE_ON_READ":
            walk.compact()
    clean_all(walk.table)
    scan, _ = walk.scans[0]
    with pytest.raises(ExecutionFailedError, match="does not exist any more") as caught:
        rows_of(walk.table.storage, scan)
    assert caught.value.path in {path for each in scan.plan.slices for path in each.paths}
    assert "hoodie.clean.commits.retained" in caught.value.hint
    assert scan.state in str(caught.value)
    with pytest.raises(InvalidRequestError, match="is incomplete") as refused:
        read(walk.table.storage, {AS_OF: walk.states[0][0]})
    assert "hoodie.clean.commits.retained" in refused.value.hint
    assert found(walk.table) == rows(walk.state)


@pytest.mark.parametrize("version", [6, 9])
def test_windows_whose_files_were_cleaned_are_refused_or_read_from_the_whole_table(
    tmp_path: Path, version: int
) -> None:
    table = new_table(tmp_path / "t", version, "COPY_ON_WRITE")
    times = []
    for number in range(1, 6):
        table.write([("a", number, "p0", f"a-{number}"), (f"b{number}", number, "p0", "b")])
        times.append(table.newest()[0].visible_from)
    clean_all(table)
    with pytest.raises(InvalidRequestError, match="do not exist any more") as caught:
        found(table, window("000", times[1]))
    assert "fulltablescan" in caught.value.hint
    assert "hoodie.clean.commits.retained" in caught.value.hint
    # The later versions of "a" are not in the window.
    assert found(table, {**window("000", times[1]), **FULL_SCAN}) == [
        ("b1", 1, "p0", "b"),
        ("b2", 2, "p0", "b"),
    ]
    assert found(table, window(times[3])) == [("a", 5, "p0", "a-5"), ("b5", 5, "p0", "b")]


@pytest.mark.parametrize("version", [6, 9])
def test_archived_commits_belong_to_windows(tmp_path: Path, version: int) -> None:
    table = new_table(tmp_path / "t", version, "COPY_ON_WRITE")
    times = []
    for number in range(1, 7):
        table.write([(f"k{number}", number, f"p{number}", "v")])
        times.append(table.newest()[0].visible_from)
    archive(
        ArchiveRequest(base_path=str(table.base_path), options=SMALL_LIMITS, min_commits=2, max_commits=3),
        storage=table.storage,
    )
    assert len(table.timeline_store.load().completed_writes) == 2
    expected = [(f"k{number}", number, f"p{number}", "v") for number in range(1, 7)]
    assert found(table, window("earliest")) == expected
    assert found(table, window(times[1], times[3])) == expected[2:4]
    assert found(table, {**window(times[1], times[3]), **FULL_SCAN}) == expected[2:4]
    assert found(table, window(times[4])) == expected[5:]
    with pytest.raises(InvalidRequestError, match="The active timeline of the table begins with"):
        found(table, {AS_OF: "20260101000000000"})


@KINDS
def test_the_state_of_a_savepoint_stays_readable(tmp_path: Path, version: int, table_type: str) -> None:
    walk = Walk(new_table(tmp_path / "t", version, table_type), seed=5)
    for number in range(1, 7):
        walk.write(number)
        if number == 2:
            create_savepoint(
                CreateSavepointRequest(base_path=str(walk.table.base_path), instant=walk.states[1][0]),
                storage=walk.table.storage,
            )
        if table_type == "MERGE_ON_READ":
            walk.compact()
    clean_all(walk.table)
    assert found(walk.table, {AS_OF: walk.states[1][0]}) == rows(walk.states[1][2])


@KINDS
def test_rows_of_overwritten_partitions_stay_readable_in_earlier_states_and_windows(
    tmp_path: Path, version: int, table_type: str
) -> None:
    table = new_table(tmp_path / "t", version, table_type)
    table.write([("a", 1, "p0", "1"), ("b", 1, "p1", "1")])
    before = table.newest()[0]
    table.write([("c", 2, "p0", "2")], "insert_overwrite")
    assert found(table) == [("b", 1, "p1", "1"), ("c", 2, "p0", "2")]
    assert found(table, {AS_OF: before.requested_time}) == [("a", 1, "p0", "1"), ("b", 1, "p1", "1")]
    assert found(table, window(before.visible_from)) == [("c", 2, "p0", "2")]
    assert found(table, window("000", before.visible_from)) == [("a", 1, "p0", "1"), ("b", 1, "p1", "1")]


@KINDS
def test_a_clustering_that_completes_after_a_window_keeps_its_rows(
    tmp_path: Path, version: int, table_type: str
) -> None:
    """The rows of the replaced file groups are in no other window, because a clustering adds no rows."""
    table = new_table(tmp_path, version, table_type, hoodie__parquet__small__file__limit="0")
    table.write([("a", 1, "p0", "a1")])
    begin = table.newest()[0].visible_from
    table.write([("b", 1, "p0", "b1")])
    clusterings_here.schedule(table.storage, SystemClock())
    table.write([("c", 1, "p1", "c1")])
    end = max(write.visible_from for write in table.timeline_store.load().completed_writes)
    before = found(table, window(begin, end))
    assert [row[0] for row in before] == ["b", "c"]
    clusterings_here.execute(table.storage, SystemClock())
    assert found(table, window(begin, end)) == before
    assert found(table, window(end)) == []


@KINDS
@pytest.mark.parametrize("service", ["clustering", "insert_overwrite"])
def test_file_groups_that_an_archived_commit_replaced_are_not_needed_any_more(
    tmp_path: Path, version: int, table_type: str, service: str
) -> None:
    """A stream that starts at the first commit reads such a window."""
    options = {"hoodie__parquet__small__file__limit": "0"}
    table = new_table(tmp_path / "t", version, table_type, **options)
    for number in range(1, 4):
        table.write([(f"a{number}", number, "p0", "old")])
    if service == "clustering":
        clusterings_here.schedule(table.storage, SystemClock())
        clusterings_here.execute(table.storage, SystemClock())
    else:
        table.write([("a1", 4, "p0", "new")], "insert_overwrite")
    replaced = table.newest()[0]
    expected = found(table)
    for number in range(5, 12):
        table.write([(f"b{number}", number, "p1", "later")])
    clean_all(table)
    limits = ArchiveRequest(
        base_path=str(table.base_path), options=SMALL_LIMITS, min_commits=2, max_commits=3
    )
    archive(limits, storage=table.storage)
    active = {i.requested_time for i in table.timeline_store.load().completed_writes}
    assert replaced.requested_time not in active
    end = table.newest()[0].visible_from
    later = [(f"b{number}", number, "p1", "later") for number in range(5, 12)]
    assert found(table, window("000", end)) == sorted([*expected, *later])
    ends = next_position(table.storage, BEFORE_ALL_COMMITS, BatchLimits(), HolesPolicy.BLOCK)
    assert ends == end
