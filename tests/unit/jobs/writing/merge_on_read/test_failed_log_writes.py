"""A write to a merge-on-read table dies or fails at each of its changes. Readers see old or new rows, never a part."""

import shutil
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest

from hudi_table_services.errors import HudiTableServiceError, InvalidDataError, StorageError
from hudi_table_services.storage.clock import SystemClock
from support.depth import cases
from support.fail_points import tried
from support.faulty_storage import Crash, FaultyStorage
from support.fixed_clock import FixedClock
from support.spark.log_tables import LogTable, Row, new_log_table

OLD: list[Row] = [(f"k{i}", 1, "ab"[i % 2], "old") for i in range(6)]
LOGGED: list[Row] = [("k0", 2, "a", "logged"), *OLD[1:]]
BATCH: list[Row] = [
    ("k0", 3, "a", "new"),
    ("k1", 3, "b", "new"),
    ("n", 3, "b", "inserted"),
    ("n", 3, "c", "inserted"),
]
NEW = sorted([*BATCH, *OLD[2:]])


def later() -> FixedClock:
    return FixedClock(SystemClock().now() + timedelta(minutes=10), step=timedelta(milliseconds=1))


def an_outage() -> BaseException:
    return StorageError("The storage cannot be reached.")


def start(base_path: Path, version: int) -> LogTable:
    """A table whose slice in `a` has a log file, and whose slice in `b` is padded by `BATCH`."""
    table = new_log_table(base_path, version)
    table.write(OLD)
    table.write(LOGGED[:1])
    return table


@pytest.mark.parametrize("version", cases([6, 8, 9], [6, 9]))
@pytest.mark.parametrize("after", cases([False, True], [False], "after={}".format))
@pytest.mark.parametrize("error", [Crash, an_outage], ids=["dies", "fails"])
def test_the_next_run_completes_a_write_that_stopped_at_any_change(
    tmp_path: Path, version: int, after: bool, error: type[BaseException]
) -> None:
    origin = start(tmp_path / "origin", version)
    points = 0
    for fail_at in range(1, 1000):
        table = LogTable(tmp_path / str(fail_at), origin.options)
        shutil.copytree(origin.base_path, table.base_path)
        storage = FaultyStorage(table.storage, fail_at, after, error)
        with suppress(Crash, HudiTableServiceError):
            table.write(BATCH, request_id="same", storage=storage)
        if storage.changes < fail_at:
            break
        points += 1
        where = f"change {fail_at} of {storage.log}"
        seen = table.rows()
        assert seen in (LOGGED, NEW), where
        again = table.write(BATCH, request_id="same", clock=later())
        assert again.reused == (seen == NEW), where
        assert table.rows() == NEW, where
        assert not table.timeline_store.load().pending, where
        assert table.leftovers() == set(), where
        shutil.rmtree(table.base_path)
    tried("write to log files", points)
    assert points > 20


@pytest.mark.parametrize("version", [6, 9])
def test_a_failed_write_removes_its_log_files_and_its_instant_at_once(tmp_path: Path, version: int) -> None:
    table = new_log_table(tmp_path / "t", version)
    table.write(OLD)
    before = table.files()
    with pytest.raises(StorageError):
        fail_when_completing(table, [("k0", 2, "a", "new"), ("k1", 2, "b", "new")])
    assert table.rows() == OLD
    assert not table.timeline_store.load().pending
    assert table.leftovers() == set()
    data = {path for path in table.files() - before if not path.startswith(".hoodie/")}
    assert data == set()


def fail_when_completing(table: LogTable, rows: list[Row]) -> None:
    """Run a write that fails at the change that would complete the instant. All log files exist at that time."""
    copy = LogTable(table.base_path.with_name("copy"), table.options)
    shutil.copytree(table.base_path, copy.base_path)
    counting = FaultyStorage(copy.storage)
    copy.write(rows, storage=counting)
    (place,) = [i for i, entry in enumerate(counting.log, start=1) if entry.endswith(".deltacommit")]
    table.write(rows, storage=FaultyStorage(table.storage, place, error=an_outage))


def test_a_row_that_cannot_be_stored_undoes_the_write(tmp_path: Path) -> None:
    table = new_log_table(tmp_path / "t", hoodie__table__ordering__fields="ts,v")
    table.ordering_field = "ts,v"
    table.write([(*row, False) for row in OLD])
    with pytest.raises(InvalidDataError, match="ordering"):
        table.write([("k0", 2, "a", "new", False), ("k1", 2, "b", None, True)])
    assert not any(file_slice.log_files for file_slice in table.slices())
    assert not table.timeline_store.load().pending
    assert table.leftovers() == set()
