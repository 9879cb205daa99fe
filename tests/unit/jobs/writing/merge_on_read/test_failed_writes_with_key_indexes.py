"""A write to a table with a record index and a secondary index dies or fails at each of its changes."""

import shutil
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest

from hudi_table_services.errors import HudiTableServiceError, StorageError
from hudi_table_services.storage.clock import SystemClock
from support.depth import cases
from support.fail_points import tried
from support.faulty_storage import Crash, FaultyStorage
from support.fixed_clock import FixedClock
from support.spark.indexed_log_tables import assert_indexes_equal_rows, new_indexed_table
from support.spark.log_tables import LogTable, Row

OLD: list[Row] = [(f"k{i}", 5, "ab"[i % 2], "old", False) for i in range(6)]
DELETED: list[Row] = [("k2", 6, "a", None, True)]
BATCH: list[Row] = [
    ("k0", 7, "a", None, True),
    ("k2", 7, "a", "again", False),
    ("k4", 3, "a", None, True),
    ("n", 7, "b", "inserted", False),
]
"""A delete, a row whose key a log file deleted, a late delete, and a row that pads a base file."""
LATE = BATCH[2]


def later() -> FixedClock:
    return FixedClock(SystemClock().now() + timedelta(minutes=10), step=timedelta(milliseconds=1))


def an_outage() -> BaseException:
    return StorageError("The storage cannot be reached.")


@pytest.mark.parametrize("version", cases([6, 8, 9], [6, 9]))
@pytest.mark.parametrize("after", cases([False, True], [True], "after={}".format))
@pytest.mark.parametrize("error", cases([Crash, an_outage], [Crash], lambda each: each.__name__))
def test_the_next_run_completes_the_write_and_the_indexes(
    tmp_path: Path, version: int, after: bool, error: type[BaseException]
) -> None:
    origin = new_indexed_table(tmp_path / "origin", version)
    origin.write(OLD)
    origin.write(DELETED)
    old = origin.rows()
    # In version 6, hudi-rs merges late deletes by the rules of later versions.
    batch = BATCH if version > 6 else [row for row in BATCH if row is not LATE]
    expected = LogTable(tmp_path / "expected", origin.options)
    shutil.copytree(origin.base_path, expected.base_path)
    expected.write(batch)
    new = expected.rows()
    points = 0
    for fail_at in range(1, 1000):
        table = LogTable(tmp_path / str(fail_at), origin.options)
        shutil.copytree(origin.base_path, table.base_path)
        storage = FaultyStorage(table.storage, fail_at, after, error)
        with suppress(Crash, HudiTableServiceError):
            table.write(batch, request_id="same", storage=storage)
        if storage.changes < fail_at:
            break
        points += 1
        where = f"change {fail_at} of {storage.log}"
        assert table.rows() in (old, new), where
        table.write(batch, request_id="same", clock=later())
        assert table.rows() == new, where
        assert_indexes_equal_rows(table, where)
        assert table.leftovers() == set(), where
        shutil.rmtree(table.base_path)
    tried("write to log files with indexes of keys", points)
    assert points > 25
