"""A clustering job stops at a change to the storage. Readers see the same rows; the next run completes the job.

By default the tests stop the jobs at a sample of the changes, and with ``TEST_DEPTH=all`` at every change.
"""

from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_table_services.contract.result import Outcome
from hudi_table_services.errors import StorageError
from support.fail_points import tried
from support.faulty_storage import Crash
from support.spark.leftovers import later, settled_leftovers
from support.spark.stopped_runs import Act, stopped_runs
from support.spark.writing import Row, TableUnderTest

FAILURES = {
    "killed before": (False, Crash),
    "killed after": (True, Crash),
    "failed before": (False, partial(StorageError, "Cannot do this now.")),
    "failed after": (True, partial(StorageError, "Cannot do this now.")),
}


@pytest.fixture(scope="module")
def small_files(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], TableUnderTest]:
    """``small_files(version)`` is a table of this version, with two partitions of two files each; read-only."""

    @cache
    def made(version: str) -> TableUnderTest:
        options = {"hoodie__write__table__version": version, "hoodie__parquet__small__file__limit": "0"}
        table = TableUnderTest(spark, tmp_path_factory.mktemp("clustering") / "t", **options)
        for number in range(2):
            table.write([(f"{p}{number}", 1, p, 1.0) for p in "ab"], "insert")
        return table

    return made


def stopped(
    job: str, start: TableUnderTest, folder: Path, act: Act, failure: str, *, at_least: int = 2, turn: int = 0
) -> Iterator[TableUnderTest]:
    """Yield the table after each failed run of the job."""
    after, error = FAILURES[failure]
    for table in stopped_runs(
        start.copied_to, folder, act, after=after, error=error, at_least=at_least, turn=turn
    ):
        yield table
        tried(job)


def check_ends_well(table: TableUnderTest, rows: list[Row], *files: int) -> None:
    """Check that the rows are correct before and after the execution of pending plans, and that no leftovers stay."""
    assert table.rows() == rows
    table.execute(clock=later())
    assert table.rows() == rows
    assert sum(map(len, table.live_files().values())) in files
    assert settled_leftovers(table) == set()


@pytest.mark.parametrize(
    ("version", "failure", "turn"),
    [("6", "killed after", 0), ("9", "failed after", 1), ("9", "killed before", 2)],
)
def test_a_second_execution_completes_the_plan_of_a_stopped_execution(
    small_files: Callable[[str], TableUnderTest], tmp_path: Path, version: str, failure: str, turn: int
) -> None:
    planned = small_files(version).copied_to(tmp_path / "planned")
    plan = planned.schedule().instant_time or ""
    rows = planned.rows()
    for table in stopped(
        "execute clustering",
        planned,
        tmp_path,
        lambda t, s: t.execute(plan, storage=s),
        failure,
        at_least=8,
        turn=turn,
    ):
        assert table.rows() == rows
        assert table.execute(plan, clock=later()).outcome is Outcome.COMPLETED
        check_ends_well(table, rows, 2)


def test_a_stopped_scheduling_is_completed_by_the_same_request(
    small_files: Callable[[str], TableUnderTest], tmp_path: Path
) -> None:
    start = small_files("9")
    rows = start.rows()
    for table in stopped(
        "schedule clustering",
        start,
        tmp_path,
        lambda t, s: t.schedule(request_id="same", storage=s),
        "failed after",
    ):
        again = table.schedule(request_id="same", clock=later())
        assert again.report is not None
        assert len(again.report.instants) == 1
        check_ends_well(table, rows, 2)


def test_a_stopped_cancellation_is_completed_by_a_second_cancellation(
    small_files: Callable[[str], TableUnderTest], tmp_path: Path
) -> None:
    planned = small_files("6").copied_to(tmp_path / "planned")
    plan = planned.schedule().instant_time or ""
    rows = planned.rows()
    for table in stopped(
        "cancel clustering", planned, tmp_path, lambda t, s: t.cancel(plan, storage=s), "killed before"
    ):
        table.cancel(plan, clock=later())
        check_ends_well(table, rows, 4)


@pytest.mark.thorough
def test_a_stopped_write_that_releases_groups_of_a_plan_is_completed_by_the_same_request(
    small_files: Callable[[str], TableUnderTest], tmp_path: Path
) -> None:
    planned = small_files("9").copied_to(tmp_path / "planned")
    planned.schedule()
    change = ("a1", 2, "a", 2.0)
    rows = planned.rows()
    expected = sorted({**{r[0]: r for r in rows}, "a1": change}.values())
    for table in stopped(
        "upsert",
        planned,
        tmp_path,
        lambda t, s: t.write([change], request_id="same", storage=s),
        "killed before",
        turn=1,
    ):
        assert table.rows() in (rows, expected)
        table.write([change], request_id="same", clock=later())
        check_ends_well(table, expected, 3, 4)
