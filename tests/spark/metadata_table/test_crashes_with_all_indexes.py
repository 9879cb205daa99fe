"""A job with Spark dies at one of its changes to a table with all indexes. The next run repairs table and indexes.

By default the tests stop the jobs at a few changes (``FAIL_EVERY``), and with ``TEST_DEPTH=all`` at every third change.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_table_services.contract.metadata_table import RebuildMetadataTableRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.jobs.metadata_table.rebuild import rebuild_metadata_table
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.stores.storage import Storage
from judges.metadata_check import assert_describes_the_table
from judges.table_files import properties
from support.depth import cases, number_from
from support.fail_points import tried
from support.faulty_storage import Crash, FaultyStorage
from support.spark.leftovers import later, settled_leftovers
from support.spark.writing import Row, TableUnderTest

EVERY = int(number_from("FAIL_EVERY", 12, 3))
OLD: list[Row] = [(f"k{i}", 1, "ab"[i % 2], 1.0) for i in range(8)]
BATCH: list[Row] = [(f"k{i}", 2, "abc"[i % 2 + (i > 9)], 2.0) for i in range(4, 12)]
OVERWRITING: list[Row] = [(f"n{i}", 2, "a", 2.0) for i in range(3)]
DELETED = OLD[:3]
INDEXES = {
    "6": ("files", "column_stats", "bloom_filters", "record_index"),
    "9": ("files", "column_stats", "partition_stats", "bloom_filters", "record_index"),
}
FEW_GROUPS = {
    "hoodie.metadata.record.index.min.filegroup.count": "2",
    "hoodie.metadata.record.index.max.filegroup.count": "2",
}
COMPACTS = {"hoodie.metadata.compact.max.delta.commits": "1"}

Act = Callable[[TableUnderTest, Storage | None, Clock | None], JobResult]


@dataclass(frozen=True)
class Job:
    """A job that the test stops, and the rows of the table after the job."""

    act: Act
    new: list[Row]


def _writing(operation: str, batch: list[Row]) -> Act:
    return lambda t, storage, clock: t.write(
        batch, operation, request_id="same", storage=storage, clock=clock, options=COMPACTS
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
CASES = [(name, version) for name in JOBS for version in INDEXES]
Start = Callable[[str, str], TableUnderTest]


@pytest.fixture(scope="module")
def start(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Start:
    """``start(job, version)`` is a table with two partitions of two files, and with a plan for a clustering job."""

    @cache
    def made(is_planned: bool, version: str) -> TableUnderTest:
        options = {"hoodie__write__table__version": version, "hoodie__parquet__small__file__limit": "0"}
        table = TableUnderTest(spark, tmp_path_factory.mktemp("indexed") / "t", **options)
        table.write(OLD[:4], "insert")
        request = RebuildMetadataTableRequest(
            base_path=str(table.base_path), partitions=INDEXES[version], options=FEW_GROUPS
        )
        rebuild_metadata_table(request, spark=spark)
        table.write(OLD[4:], "insert")
        if is_planned:
            table.schedule()
        assert_describes_the_table(table.base_path)
        return table

    return lambda job, version: made(job == "execute clustering", version)


@pytest.mark.parametrize(
    ("name", "version"),
    [
        pytest.param(*case.values[0], id="-".join(case.values[0]), marks=case.marks)
        for case in cases(CASES, [("upsert", "9"), ("execute clustering", "6")])
    ],
)
def test_a_second_run_completes_a_killed_job(start: Start, tmp_path: Path, name: str, version: str) -> None:
    job, origin = JOBS[name], start(name, version)
    seen = []
    for fail_at in range(1 + CASES.index((name, version)) % EVERY, 10_000, EVERY):
        table = origin.copied_to(tmp_path / str(fail_at))
        storage = FaultyStorage(LocalStorage(str(table.base_path)), fail_at)
        try:
            job.act(table, storage, None)
        except Crash:
            where = f"change {fail_at}, {storage.log[-1]}"
        else:
            break
        found = table.rows()
        assert found in (OLD, job.new), where
        seen.append(found == job.new)
        job.act(table, None, later())
        assert table.rows() == job.new, where
        assert_describes_the_table(table.base_path)
        assert set(properties(table.base_path)["hoodie.table.metadata.partitions"].split(",")) == set(
            INDEXES[version]
        )
        assert not table.timeline_store().load().pending, where
        assert settled_leftovers(table) == set(), where
        shutil.rmtree(table.base_path)
        tried(f"{name} with all indexes")
    assert seen
    assert job.new == OLD or seen == sorted(seen), (
        "readers saw the new rows, and afterwards the old rows again"
    )
