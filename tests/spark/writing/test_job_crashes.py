"""A write stops or fails at one of its changes to the storage. Readers see the old or the new rows.

The next run of the same request completes the write. By default the tests stop the write at a sample of the changes,
and with ``TEST_DEPTH=all`` at every change.
"""

import errno
import os
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_table_services.contract.result import JobResult
from hudi_table_services.errors import (
    ExecutionFailedError,
    HudiTableServiceError,
    StorageError,
    StoragePermissionError,
)
from hudi_table_services.storage.stores.local import LocalStorage, translate_errors
from support.depth import cases
from support.fail_points import tried
from support.faulty_storage import FaultyStorage
from support.spark.leftovers import later, settled_leftovers
from support.spark.stopped_runs import stopped_runs
from support.spark.writing import Row, TableUnderTest

OLD: list[Row] = [(f"k{i}", 1, "ab"[i % 2], 1.0) for i in range(8)]
BATCH: list[Row] = [(f"k{i}", 2, "ab"[i % 2], 2.0) for i in range(4, 12)]
NEW = sorted({row[0]: row for row in OLD + BATCH}.values())


def rows(table: TableUnderTest) -> list[Row]:
    is_table = (table.base_path / ".hoodie" / "hoodie.properties").exists()
    return table.rows() if is_table else []


def write_batch(table: TableUnderTest, storage: FaultyStorage) -> JobResult:
    return table.write(BATCH, request_id="same", storage=storage)


def check_repaired(table: TableUnderTest, old: list[Row], new: list[Row]) -> None:
    """Check that readers see old or new rows, and that the same request completes the write without leftover files."""
    found = rows(table)
    assert found in (old, new)
    result = table.write(BATCH, request_id="same", clock=later())
    assert result.reused == (found == new)
    assert table.rows() == new
    assert settled_leftovers(table) == set()
    tried("upsert" if old else "first write")


@pytest.fixture(params=cases(["6", "9"], ["9"]))
def old_table(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> TableUnderTest:
    table = TableUnderTest(spark, tmp_path / "old", hoodie__write__table__version=request.param)
    table.write(OLD)
    return table


def test_a_second_run_completes_a_killed_upsert(old_table: TableUnderTest, tmp_path: Path) -> None:
    seen = []
    turn = int(old_table.options["hoodie.write.table.version"] == "9")
    for table in stopped_runs(old_table.copied_to, tmp_path, write_batch, at_least=10, turn=turn):
        seen.append(table.rows() == NEW)
        check_repaired(table, OLD, NEW)
    assert seen == sorted(seen), "readers saw the new rows, and afterwards the old rows again"
    assert set(seen) == {False, True}


def test_a_second_run_completes_a_killed_first_write(spark: SparkSession, tmp_path: Path) -> None:
    for table in stopped_runs(
        lambda place: TableUnderTest(spark, place), tmp_path, write_batch, at_least=15, turn=2
    ):
        check_repaired(table, [], sorted(BATCH))


@pytest.mark.thorough
@pytest.mark.parametrize("after", [False, True], ids=["not done", "done but reported as failed"])
def test_a_second_run_completes_an_upsert_after_one_error_of_the_storage(
    spark: SparkSession, tmp_path: Path, after: bool
) -> None:
    old = TableUnderTest(spark, tmp_path / "old", hoodie__write__table__version="9")
    old.write(OLD)
    fails = partial(StorageError, "Cannot do this now.")
    for table in stopped_runs(
        old.copied_to, tmp_path, write_batch, after=after, error=fails, turn=0 if after else 2
    ):
        check_repaired(table, OLD, NEW)


def failing_to_write_data(base_path: Path, number: int) -> LocalStorage:
    """Storage that creates data files and then raises an error of the operating system."""

    class Failing(LocalStorage):  # a local class, because workers cannot import this module
        def open_writer(self, path: str):  # type: ignore[no-untyped-def]
            if path.endswith(".parquet"):
                (Path(self.root) / path).write_bytes(b"PAR1")
                with translate_errors("write", path):
                    raise OSError(number, os.strerror(number))
            return super().open_writer(path)

    return Failing(str(base_path))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("number", "error", "message"),
    [
        (errno.ENOSPC, ExecutionFailedError, "No space left"),
        (errno.EACCES, StoragePermissionError, "Permission denied"),
    ],
    ids=["no space left", "permission denied"],
)
def test_an_upsert_that_cannot_write_data_files_leaves_no_files(
    old_table: TableUnderTest, number: int, error: type[HudiTableServiceError], message: str
) -> None:
    before = old_table.files()
    with pytest.raises(error, match=message):
        old_table.write(BATCH, request_id="same", storage=failing_to_write_data(old_table.base_path, number))
    assert old_table.rows() == OLD
    assert settled_leftovers(old_table) == set()
    assert {name for name in old_table.files() - before if not name.startswith(".hoodie/")} == set()
    check_repaired(old_table, OLD, NEW)
