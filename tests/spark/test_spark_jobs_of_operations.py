"""Each operation starts a fixed number of Spark jobs and tasks. The tests compare counts, not seconds."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from hudi_table_services.contract.clustering import ClusteringRequest
from hudi_table_services.contract.compaction.compaction import CompactionRequest
from hudi_table_services.contract.writing import SourceSpec, UpsertRequest
from hudi_table_services.jobs.clustering.run import run_clustering
from hudi_table_services.jobs.compaction.run import run_compaction
from hudi_table_services.jobs.writing.upsert import upsert
from hudi_table_services.reading.read_table import read_table

ROWS = 2_000


@dataclass(frozen=True)
class Counts:
    """Number of Spark jobs, and of their tasks."""

    jobs: int
    tasks: int


class SparkJobs:
    """Counts the Spark jobs of a session."""

    def __init__(self, spark: SparkSession) -> None:
        self._context: Any = spark.sparkContext._jsc.sc()

    def counts_of(self, work: Callable[[], object]) -> Counts:
        """Return the counts of a function's jobs."""
        before = self._tasks()
        work()
        found = {job: count for job, count in self._tasks().items() if job not in before}
        return Counts(len(found), sum(found.values()))

    def _tasks(self) -> dict[int, int]:
        self._context.listenerBus().waitUntilEmpty()
        jobs = self._context.statusStore().jobsList(None)
        return {jobs.apply(i).jobId(): jobs.apply(i).numTasks() for i in range(jobs.size())}


@dataclass
class Table:
    """A table in four partitions, which the write job changes from Parquet files."""

    spark: SparkSession
    folder: Path
    table_type: str

    @property
    def base_path(self) -> str:
        return str(self.folder / "t")

    def write(self, name: str, ids: range, operation: str) -> None:
        source = self.folder / f"{name}.parquet"
        pq.write_table(
            pa.table(
                {"k": [f"k{i:06}" for i in ids], "p": [f"p{i % 4}" for i in ids], "v": [name] * len(ids)}
            ),
            source,
        )
        request = UpsertRequest(
            request_id=name,
            base_path=self.base_path,
            table_name="t",
            operation=operation,
            record_key=("k",),
            partition_by=("p",),
            source=SourceSpec(path=str(source), format="parquet"),
            options={"hoodie.table.type": self.table_type, "hoodie.parquet.small.file.limit": "0"},
        )
        upsert(self.spark, request)

    def cluster(self, *columns: str) -> None:
        run_clustering(self.spark, ClusteringRequest(base_path=self.base_path, sort_columns=columns))

    def compact(self) -> None:
        run_compaction(self.spark, CompactionRequest(base_path=self.base_path, ignore_trigger=True))

    def read(self, *filters: tuple[str, str, object]) -> None:
        read_table(self.spark, self.base_path, filters=filters).toPandas()


def of_one_key(spark: SparkSession) -> Counts:
    """The driver has the row already. Spark 3.5 returns it without a job."""
    return Counts(jobs=0, tasks=0) if spark.version.startswith("3.") else Counts(jobs=1, tasks=1)


def test_copy_on_write(spark: SparkSession, tmp_path: Path) -> None:
    table, jobs = Table(spark, tmp_path, "COPY_ON_WRITE"), SparkJobs(spark)
    found = {
        "first insert": jobs.counts_of(lambda: table.write("first", range(ROWS), "insert")),
        "upsert": jobs.counts_of(lambda: table.write("upsert", range(ROWS // 2, 2 * ROWS), "upsert")),
        "insert": jobs.counts_of(lambda: table.write("insert", range(2 * ROWS, 3 * ROWS), "insert")),
        "bulk_insert": jobs.counts_of(lambda: table.write("bulk", range(3 * ROWS, 4 * ROWS), "bulk_insert")),
        "delete": jobs.counts_of(lambda: table.write("delete", range(100), "delete")),
        "clustering without sorting": jobs.counts_of(table.cluster),
        "clustering with sorting": jobs.counts_of(lambda: table.cluster("v")),
        "snapshot read": jobs.counts_of(table.read),
        "read of one key": jobs.counts_of(lambda: table.read(("k", "=", "k000500"), ("p", "=", "p0"))),
    }
    # Spark reads the schema of the source in one job; the others stage rows, look up keys, and write files.
    assert found == {
        "first insert": Counts(jobs=3, tasks=4),
        "upsert": Counts(jobs=5, tasks=7),
        "insert": Counts(jobs=3, tasks=4),
        "bulk_insert": Counts(jobs=3, tasks=4),
        "delete": Counts(jobs=5, tasks=7),
        "clustering without sorting": Counts(jobs=1, tasks=2),
        "clustering with sorting": Counts(jobs=1, tasks=2),
        "snapshot read": Counts(jobs=1, tasks=2),
        "read of one key": of_one_key(spark),
    }


def test_merge_on_read(spark: SparkSession, tmp_path: Path) -> None:
    table, jobs = Table(spark, tmp_path, "MERGE_ON_READ"), SparkJobs(spark)
    found = {
        "first insert": jobs.counts_of(lambda: table.write("first", range(ROWS), "insert")),
        "upsert": jobs.counts_of(lambda: table.write("upsert", range(ROWS), "upsert")),
        "snapshot read": jobs.counts_of(table.read),
        "compaction": jobs.counts_of(table.compact),
    }
    assert found == {
        "first insert": Counts(jobs=3, tasks=4),
        "upsert": Counts(jobs=5, tasks=7),
        "snapshot read": Counts(jobs=1, tasks=2),
        "compaction": Counts(jobs=1, tasks=2),
    }
