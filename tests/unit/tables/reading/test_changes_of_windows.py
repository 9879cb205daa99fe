"""The changes of every window turn the state at its begin into the state at its end."""

import random
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest

from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.errors import InvalidRequestError, UnsupportedTableError
from hudi_table_services.jobs.archival.archive import archive
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.options.reading.read_options import change_request
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.reading.change_scan import KEY_COLUMNS, ChangeScan, plan_changes
from support.archived_tables import SMALL_LIMITS
from support.compaction.jobs_here import execute, schedule
from support.compaction.written_table import NORTH, SOUTH, WrittenTable, a_row, new_storage
from support.reading.read_here import END, KINDS, read, rows_of, values
from support.spark.log_tables import LogTable, Row, new_log_table
from support.with_logs import clusterings_here
from support.with_logs.clusterings_here import ROWS, a_table

NAMES = ("k", "ts", "p", "v")
NO_FLOOR = {"hoodie.airflow.clean.floor.hours": "0"}
State = dict[str, Row]
Found = list[tuple[Any, ...]]


def planned(storage: Storage, begin: str, end: str = "") -> ChangeScan:
    options = {END: end} if end else {}
    return plan_changes(storage, change_request(options, begin, None))


def changes(storage: Storage, begin: str, end: str, *names: str) -> tuple[Found, Found]:
    """The changed and the deleted rows of a window."""
    scan = planned(storage, begin, end)
    changed, before = rows_of(storage, scan.changed), rows_of(storage, scan.before)
    left = {tuple(row[name] for name in KEY_COLUMNS) for row in rows_of(storage, scan.remaining)}
    deleted = [row for row in before if tuple(row[name] for name in KEY_COLUMNS) not in left]
    return values(changed, *names), values(deleted, *names)


def new_table(base_path: Path, version: int, table_type: str) -> LogTable:
    """A table in which every write of new keys adds a file group to each partition, so that clusterings merge them."""
    limit = {"hoodie__parquet__small__file__limit": "0"}
    return new_log_table(base_path, version, hoodie__table__type=table_type, **limit)


class Walk:
    """Random changes of a table, with the visible time and the rows after each of them."""

    def __init__(self, table: LogTable, seed: int) -> None:
        self.table = table
        self.random = random.Random(seed)
        self.states: list[tuple[str, State]] = []
        self.is_log = table.options["hoodie.table.type"] == "MERGE_ON_READ"

    def step(self, number: int) -> None:
        state = dict(self.states[-1][1]) if self.states else {}
        self._service(number)
        action = self.random.choice(["upsert", "upsert", "late", "delete", "overwrite", "drop"])
        if not state or action == "upsert":
            state |= self._written(dict.fromkeys(self.random.sample(range(12), 4), number), "upsert")
        elif action == "late":
            rows = [(key, 0, row[2], "late") for key, row in list(state.items())[:2]]
            self.table.write(rows)
        elif action == "delete":
            gone = self.random.sample(sorted(state), min(2, len(state)))
            self.table.write([state.pop(key) for key in gone], "delete")
        elif action == "overwrite":
            self.random.shuffle(keys := list(range(0, 12, 2)))
            state = {key: row for key, row in state.items() if row[2] != "p0"}
            state |= self._written(dict.fromkeys(keys[:2], number), "insert_overwrite")
        else:
            path = self.random.choice(["p0", "p1"])
            state = {key: row for key, row in state.items() if row[2] != path}
            self._drop(path)
        newest = self.table.timeline_store.load().completed_writes
        self.states.append((max(i.visible_from for i in newest), state))

    def _written(self, numbers: dict[int, int], operation: str) -> State:
        rows = {f"k{key:02}": (f"k{key:02}", ts, f"p{key % 2}", f"v{ts}") for key, ts in numbers.items()}
        self.table.write(list(rows.values()), operation)
        return rows

    def _drop(self, path: str) -> None:
        from hudi_table_services.contract.writing import UpsertRequest
        from hudi_table_services.jobs.writing.upsert import upsert
        from support.spark.in_driver import DriverSession

        options = {**self.table.options, "hoodie.datasource.write.partitions.to.delete": path}
        request = UpsertRequest(
            base_path=str(self.table.base_path), operation="delete_partition", options=options
        )
        upsert(DriverSession(), request)  # type: ignore[arg-type]

    def operations(self) -> set[str]:
        """Operations of all commits."""
        store = self.table.timeline_store
        metadata = [store.commit_metadata(i) for i in store.load().completed_writes]
        return {each.operation_type.value for each in metadata}

    def _service(self, number: int) -> None:
        storage = self.table.storage
        if self.is_log and number % 3 == 0:
            if schedule(storage, SystemClock()).instant_time is not None:
                execute(storage, SystemClock())
        elif number % 4 == 0:
            clusterings_here.schedule(storage, SystemClock())
            clusterings_here.execute(storage, SystemClock())


@KINDS
def test_the_changes_of_every_window_turn_its_first_state_into_its_last_state(
    tmp_path: Path, version: int, table_type: str
) -> None:
    walk = Walk(new_table(tmp_path / "t", version, table_type), seed=version)
    for number in range(1, 13):
        walk.step(number)
    storage = walk.table.storage
    assert values(read(storage), *NAMES) == sorted(walk.states[-1][1].values())
    pairs = [each for each in combinations(walk.states, 2) if each[0][0] < each[1][0]]
    for (begin, before), (end, after) in walk.random.sample(pairs, min(25, len(pairs))):
        changed, deleted = changes(storage, begin, end, *NAMES)
        assert deleted == sorted(row for key, row in before.items() if key not in after), (begin, end)
        assert {**{k: r for k, r in before.items() if k in after}, **{r[0]: r for r in changed}} == after
        assert all(after[row[0]] == row for row in changed)
    for end, after in walk.states[::4]:
        assert changes(storage, "earliest", end, *NAMES) == (sorted(after.values()), [])
    assert walk.operations() >= {"CLUSTER", "DELETE"} | ({"COMPACT"} if walk.is_log else set())


@KINDS
def test_consecutive_windows_return_each_change_once(tmp_path: Path, version: int, table_type: str) -> None:
    table = new_log_table(tmp_path / "t", version, hoodie__table__type=table_type)
    table.write([("a", 1, "p0", "1"), ("b", 1, "p0", "1"), ("c", 1, "p1", "1")])
    first = planned(table.storage, "earliest").until
    table.write([("a", 2, "p0", "2")])
    table.write([("b", 2, "p0", "")], "delete")
    assert changes(table.storage, first, "", *NAMES) == ([("a", 2, "p0", "2")], [("b", 1, "p0", "1")])
    second = planned(table.storage, first).until
    assert changes(table.storage, second, "", *NAMES) == ([], [])
    assert planned(table.storage, second).until == second
    assert "The window deletes no rows" in planned(table.storage, second).explain()


def test_without_deletes_the_earlier_state_of_a_copy_on_write_table_is_not_read(tmp_path: Path) -> None:
    table = new_log_table(tmp_path / "t", 9, hoodie__table__type="COPY_ON_WRITE")
    table.write([("a", 1, "p0", "1"), ("b", 1, "p1", "1")])
    begin = table.newest()[0].visible_from
    table.write([("a", 2, "p0", "2")])
    scan = planned(table.storage, begin)
    assert scan.before.plan.slices == ()
    assert [each.file_group_id.partition_path for each in scan.changed.plan.slices] == ["p0"]


@pytest.mark.parametrize("version", list(TableVersion)[-2:], ids=str)
def test_a_slow_write_belongs_to_the_window_in_which_it_became_visible(version: TableVersion) -> None:
    table = a_table(version)
    begin = planned(table.storage, "earliest").until
    slow = table.begin({NORTH: 1})
    table.log({SOUTH: [a_row("c", 7)]})
    middle = planned(table.storage, begin).until
    assert changes(table.storage, begin, middle, "id", "ts") == ([("c", 7)], [])
    table.finish(slow, {NORTH: [a_row("a", 8)]})
    for number in range(10, 16):
        table.log({SOUTH: [a_row("c", number)]})
    archive(
        ArchiveRequest(base_path=table.storage.uri, options=SMALL_LIMITS, min_commits=2, max_commits=3),
        storage=table.storage,
        clock=table.clock,
    )
    assert slow.requested_time < table.timeline_store.load().completed_writes[0].requested_time
    assert changes(table.storage, middle, "", "id", "ts") == ([("a", 8), ("c", 15)], [])
    assert changes(table.storage, begin, middle, "id", "ts") == ([("c", 7)], [])


@KINDS
def test_a_window_whose_earlier_state_was_cleaned_is_refused(
    tmp_path: Path, version: int, table_type: str
) -> None:
    table = new_log_table(tmp_path / "t", version, hoodie__table__type=table_type)
    table.write([(f"k{i}", 1, "p0", "1") for i in range(4)])
    begin = table.newest()[0].visible_from
    for number in range(2, 6):
        table.write([("k0", number, "p0", "")], "delete")
        table.write([("k0", number + 10, "p0", "x")])
        if table_type == "MERGE_ON_READ":
            schedule(table.storage, SystemClock())
            execute(table.storage, SystemClock())
    request = CleanRequest(base_path=str(table.base_path), commits_retained=1, options=NO_FLOOR)
    clean(request, storage=table.storage)
    with pytest.raises(InvalidRequestError, match=f"visible at {begin} is incomplete") as caught:
        planned(table.storage, begin)
    assert "hoodie.clean.commits.retained" in caught.value.hint


@pytest.mark.parametrize("version", [6, 9])
def test_windows_of_archived_commits_return_their_changes(tmp_path: Path, version: int) -> None:
    table = new_log_table(tmp_path / "t", version, hoodie__table__type="COPY_ON_WRITE")
    times = []
    for number in range(1, 7):
        table.write([(f"k{number}", number, f"p{number}", "v")])
        times.append(table.newest()[0].visible_from)
    archive(
        ArchiveRequest(base_path=str(table.base_path), options=SMALL_LIMITS, min_commits=2, max_commits=3),
        storage=table.storage,
    )
    for begin, end in pairwise(times):
        number = times.index(end) + 1
        assert changes(table.storage, begin, end, "k") == ([(f"k{number}",)], [])


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(InvalidRequestError, match="has no start"):
        change_request({}, " ", None)
    with pytest.raises(InvalidRequestError, match="as.of.instant has no meaning for a read of changes"):
        change_request({"as.of.instant": "1"}, "earliest", None)
    with pytest.raises(InvalidRequestError, match="fulltablescan.enable has no meaning"):
        change_request({"hoodie.datasource.read.incr.fallback.fulltablescan.enable": "true"}, "1", None)
    table = a_table()
    with pytest.raises(InvalidRequestError, match="no column 'nope'"):
        plan_changes(table.storage, change_request({}, "earliest", ["nope"]))
    properties = {"hoodie.record.merge.mode": "CUSTOM", "hoodie.table.ordering.fields": "ts"}
    custom = WrittenTable(new_storage(), more_properties=properties, has_ordering=False)
    custom.insert({NORTH: [a_row("a", 1)]})
    with pytest.raises(UnsupportedTableError, match="CUSTOM"):
        planned(custom.storage, "earliest")
    assert len(ROWS) == len(changes(table.storage, "earliest", "", "id")[0])
