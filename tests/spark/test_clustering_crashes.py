"""Scheduling, executing and cancelling stopped at every single change: readers see equal rows, the next run finishes."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from test_job_crashes import later, settled_leftovers
from writing import Row, TableUnderTest

from faulty_storage import Crash, FaultyStorage
from hudi_table_services.contract.job_result import JobResult, Outcome
from hudi_table_services.errors import InvalidRequestError, StorageError
from hudi_table_services.storage.local import LocalStorage

Act = Callable[[TableUnderTest, FaultyStorage], JobResult]
FAILURES = {
    "killed before": (False, Crash),
    "killed after": (True, Crash),
    "failed before": (False, partial(StorageError, "Cannot do this now.")),
    "failed after": (True, partial(StorageError, "Cannot do this now.")),
}


@pytest.fixture(scope="module", params=["6", "9"])
def small_files(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> TableUnderTest:
    options = {"hoodie__write__table__version": request.param, "hoodie__parquet__small__file__limit": "0"}
    table = TableUnderTest(spark, tmp_path_factory.mktemp("clustering") / "t", **options)
    for number in range(2):
        table.write([(f"{p}{number}", 1, p, 1.0) for p in "ab"], "insert")
    return table


def stopped_runs(start: TableUnderTest, folder: Path, act: Act, failure: str) -> Iterator[TableUnderTest]:
    """The table as each failed run left it: one run per change of storage that the job makes."""
    after, error = FAILURES[failure]
    for fail_at in range(1, 1000):
        table = start.copied_to(folder / str(fail_at))
        storage = FaultyStorage(LocalStorage(str(table.base_path)), fail_at, after, error)
        try:
            act(table, storage)
        except (Crash, StorageError):
            yield table
        else:
            if storage.changes < fail_at:
                return
            yield table  # the job could do without this change
    raise AssertionError("the job makes more changes than anybody would expect")


def check_ends_well(table: TableUnderTest, rows: list[Row], files: int) -> None:
    """Equal rows now, and after the next execution of all that is pending; then writes go on."""
    assert table.rows() == rows
    table.execute(clock=later())
    assert table.rows() == rows
    assert sum(map(len, table.live_files().values())) in (files, 4)
    table.write([("more", 1, "a", 1.0)], "insert", clock=later())
    assert table.rows() == sorted([*rows, ("more", 1, "a", 1.0)])
    assert settled_leftovers(table) == set()


@pytest.mark.parametrize("failure", FAILURES)
def test_execution(small_files: TableUnderTest, tmp_path: Path, failure: str) -> None:
    planned = small_files.copied_to(tmp_path / "planned")
    plan = planned.schedule().instant_time or ""
    runs = 0
    for table in stopped_runs(planned, tmp_path, lambda t, s: t.execute(plan, storage=s), failure):
        runs += 1
        assert table.rows() == planned.rows()
        assert table.execute(plan, clock=later()).outcome is Outcome.COMPLETED
        check_ends_well(table, planned.rows(), 2)
    assert runs >= 8


@pytest.mark.parametrize("failure", ["killed before", "failed after"])
def test_scheduling(small_files: TableUnderTest, tmp_path: Path, failure: str) -> None:
    for table in stopped_runs(
        small_files, tmp_path, lambda t, s: t.schedule(request_id="same", storage=s), failure
    ):
        again = table.schedule(request_id="same", clock=later())
        assert again.clustering is not None
        assert len(again.clustering.instants) == 1
        check_ends_well(table, small_files.rows(), 2)


@pytest.mark.parametrize("failure", ["killed before", "killed after"])
def test_cancelling(small_files: TableUnderTest, tmp_path: Path, failure: str) -> None:
    planned = small_files.copied_to(tmp_path / "planned")
    plan = planned.schedule().instant_time or ""
    for table in stopped_runs(planned, tmp_path, lambda t, s: t.cancel(plan, storage=s), failure):
        try:
            table.cancel(plan, clock=later())
        except InvalidRequestError as gone:
            assert "was cancelled" in gone.message or "no instant" in gone.message
        check_ends_well(table, planned.rows(), 4)


@pytest.mark.parametrize("failure", ["killed before", "killed after"])
def test_a_write_that_a_plan_gives_way_to(small_files: TableUnderTest, tmp_path: Path, failure: str) -> None:
    planned = small_files.copied_to(tmp_path / "planned")
    planned.schedule()
    change = ("a1", 2, "a", 2.0)
    expected = sorted({**{r[0]: r for r in planned.rows()}, "a1": change}.values())
    for table in stopped_runs(
        planned, tmp_path, lambda t, s: t.write([change], request_id="same", storage=s), failure
    ):
        assert table.rows() in (planned.rows(), expected)
        table.write([change], request_id="same", clock=later())
        assert table.rows() == expected
        check_ends_well(table, expected, 3)
