"""Tables whose files are worth a clustering, and an execution that waits for whoever comes between."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from pyspark.sql import SparkSession
from writing import TableUnderTest

from hudi_table_services.contract.job_result import JobResult
from hudi_table_services.storage.local import LocalStorage
from judges.table_files import markers

BATCHES = 3
STRATEGY = "hoodie.clustering.updates.strategy"


def in_small_files(
    spark: SparkSession, base_path: Path, version: str, batches: int = BATCHES
) -> TableUnderTest:
    """Partitions a and b with as many files of one row each, with the keys a0, a1 and so on, b0, b1 and so on."""
    options = {"hoodie__write__table__version": version, "hoodie__parquet__small__file__limit": "0"}
    table = TableUnderTest(spark, base_path, **options)
    for number in range(batches):
        table.write([(f"{p}{number}", 1, p, 1.0) for p in "ab"], "insert")
    return table


class HeldUp:
    """An execution that has written its files and waits before it completes."""

    def __init__(self, table: TableUnderTest, **fields: object) -> None:
        self.has_written, self.may_commit = threading.Event(), threading.Event()
        has_written, may_commit, base_path = self.has_written, self.may_commit, table.base_path

        class Waiting(LocalStorage):
            def create(self, path: str, data: bytes) -> None:
                # The second lock is the one under which the clustering is checked and completed.
                if path == ".hoodie/lock" and markers(base_path):
                    has_written.set()
                    may_commit.wait(60)
                super().create(path, data)

            def __reduce__(self) -> tuple[object, ...]:
                return (LocalStorage, (self.root,))

        self._pool = ThreadPoolExecutor(1)
        self.result: Future[JobResult] = self._pool.submit(
            table.execute, storage=Waiting(str(base_path)), **fields
        )

    def __enter__(self) -> "HeldUp":
        assert self.has_written.wait(60), self.result.exception(0)
        return self

    def __exit__(self, *error: object) -> None:
        self.may_commit.set()
        self._pool.shutdown()
