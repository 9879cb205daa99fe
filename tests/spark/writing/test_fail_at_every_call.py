"""The storage fails at one call of a job with Spark. Readers see old or new rows; the next run completes the job.

``TEST_DEPTH=all`` tries every call (twelve minutes). By default each test tries every ``FAIL_EVERY``-th call, and the
tests begin with different calls. Only calls in the driver fail, because Spark's tasks use other storage objects.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from hudi_table_services.contract.result import JobResult
from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.stores.storage import Storage
from support.depth import cases, number_from
from support.fail_points import tried
from support.failing_calls import FailingCalls
from support.spark.leftovers import later, settled_leftovers
from support.spark.writing import Row, TableUnderTest

EVERY = int(number_from("FAIL_EVERY", 45, 1))
OLD: list[Row] = [(f"k{i}", 1, "ab"[i % 2], 1.0) for i in range(8)]
BATCH: list[Row] = [(f"k{i}", 2, "ab"[i % 2], 2.0) for i in range(4, 12)]
OVERWRITING: list[Row] = [(f"n{i}", 2, "a", 2.0) for i in range(3)]
DELETED = OLD[:3]

Act = Callable[[TableUnderTest, Storage | None, Clock | None], JobResult]


@dataclass(frozen=True)
class Job:
    """A job in which the test causes failures, and the rows of the table after the job succeeds."""

    act: Act
    new: list[Row]


def _writing(operation: str, batch: list[Row]) -> Act:
    return lambda t, storage, clock: t.write(
        batch, operation, request_id="same", storage=storage, clock=clock
    )


JOBS = {
    "upsert": Job(_writing("upsert", BATCH), sorted({row[0]: row for row in OLD + BATCH}.values())),
    "insert overwrite": Job(
        _writing("insert_overwrite", OVERWRITING),
        sorted([*OVERWRITING, *(row for row in OLD if row[2] != "a")]),
    ),
    "delete": Job(_writing("delete", DELETED), [row for row in OLD if row not in DELETED]),
    "execute clustering": Job(
        lambda t, storage, clock: t.execute(request_id="same", storage=storage, clock=clock), OLD
    ),
}
Start = Callable[[str, str], TableUnderTest]


@pytest.fixture(scope="module")
def start(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Start:
    """``start(job, version)`` is a table with two partitions of two files, and with a plan for a clustering job."""

    @cache
    def made(is_planned: bool, version: str) -> TableUnderTest:
        options = {"hoodie__write__table__version": version, "hoodie__parquet__small__file__limit": "0"}
        table = TableUnderTest(spark, tmp_path_factory.mktemp("start") / "t", **options)
        for part in (OLD[:4], OLD[4:]):
            table.write(part, "insert")
        if is_planned:
            table.schedule()
        return table

    return lambda job, version: made(job == "execute clustering", version)


def our_rows(table: TableUnderTest) -> list[Row]:
    """All rows of the files that the engine finds."""
    files = [file for live in table.live_files().values() for file in live]
    found = [row for file in files for row in pq.read_table(file, partitioning=None).to_pylist()]
    return sorted((r["k"], r["ts"], r["p"], r["v"]) for r in found)


@pytest.mark.parametrize("version", cases(["6", "9"], ["9"]))
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("name", JOBS)
def test_a_second_run_completes_a_job_after_one_failed_call(
    start: Start, tmp_path: Path, name: str, after: bool, version: str
) -> None:
    job, origin = JOBS[name], start(name, version)
    number = 4 * list(JOBS).index(name) + 2 * after + (version == "9")
    first, points = 1 + number * EVERY // 16, 0
    for fail_at in range(first, 10_000, EVERY):
        table = origin.copied_to(tmp_path / str(fail_at))
        storage = FailingCalls(LocalStorage(str(table.base_path)), fail_at, after)
        raised: HudiTableServiceError | None = None
        try:
            job.act(table, storage, None)
        except HudiTableServiceError as error:
            raised = error
        if storage.calls < fail_at:
            break
        points += 1
        tried(name)
        where = f"call {fail_at}, {storage.failed}: {raised!r}"
        assert raised is None or raised.retryable, where
        check_repaired(job, table, where)
        shutil.rmtree(table.base_path)
    assert points, "the job makes fewer calls than expected"


def check_repaired(job: Job, table: TableUnderTest, where: str) -> None:
    """Check that both readers see old or new rows, and that the next run of the request completes the job."""
    seen = our_rows(table)
    assert seen in (OLD, job.new), where
    assert table.rows() == seen, where
    result = job.act(table, None, later())
    if job.new != OLD:
        assert result.reused == (seen == job.new), where
    assert our_rows(table) == table.rows() == job.new, where
    assert not table.timeline_store().load().pending, where
    assert settled_leftovers(table) == set(), where
