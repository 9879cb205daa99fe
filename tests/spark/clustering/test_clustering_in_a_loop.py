"""Writers and clusterings change one table repeatedly at the same time.

At the end, the table contains exactly the rows that the writers recorded in dictionaries.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_table_services.errors import CommitConflictError, InvalidRequestError
from support.depth import cases, number_from
from support.spark.writing import Row, TableUnderTest

SECONDS = number_from("CLUSTERING_LOOP_SECONDS", 8, 30)
OPTIMISTIC = {
    "hoodie__write__concurrency__mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie__write__lock__provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
}
KEYS = 60
EXTRA_SECONDS = 120.0
"""Additional seconds for slow machines, until each writer has written twice and a clustering has completed."""


class Writer:
    """Updates and adds only its own keys, so that the expected rows do not depend on the other jobs."""

    def __init__(self, table: TableUnderTest, name: str, until: float) -> None:
        self._table, self._name, self._until = table, name, until
        self.rows: dict[str, Row] = {}
        self.writes = 0
        self.must_continue: Callable[[], bool] = lambda: False

    def run(self) -> None:
        while time.monotonic() < self._until or self._continues_after_the_deadline():
            self.writes += 1
            keys = {(self.writes * 7 + i) % KEYS for i in range(9)}
            batch: list[Row] = [
                (f"{self._name}{k}", self.writes, "ab"[k % 2], float(self.writes)) for k in keys
            ]
            self._write(batch, f"{self._name}-{self.writes}")
            self.rows.update({row[0]: row for row in batch})

    def _continues_after_the_deadline(self) -> bool:
        return self.must_continue() and time.monotonic() < self._until + EXTRA_SECONDS

    def _write(self, batch: list[Row], request_id: str) -> None:
        """Write the batch, and retry after each conflict: the other writer changes the same file groups."""
        while True:
            with suppress(CommitConflictError):
                self._table.write(batch, request_id=request_id)
                return


@pytest.mark.parametrize("version", cases(["6", "9"], ["9"]))
def test_no_rows_are_lost_or_duplicated_if_clusterings_and_writers_run_concurrently(
    spark: SparkSession, tmp_path: Path, version: str
) -> None:
    options = {
        "hoodie__write__table__version": version,
        "hoodie__parquet__small__file__limit": "0",
        **OPTIMISTIC,
    }
    table = TableUnderTest(spark, tmp_path / "t", **options)
    table.write([("first", 0, "a", 0.0)])
    until = time.monotonic() + SECONDS / 2
    writers = [Writer(table, name, until) for name in ("x", "y")]
    clusterings: list[str] = []
    stop = threading.Event()
    for writer in writers:
        writer.must_continue = lambda: not clusterings or min(each.writes for each in writers) < 2

    def cluster() -> None:
        while not stop.is_set():
            try:
                scheduled = table.schedule(sort_columns=("v",) if len(clusterings) % 2 else ())
                done = table.execute()
            except (CommitConflictError, InvalidRequestError):
                table.cancel(older_than_minutes=0)  # writers changed all file groups of the plan first
                continue
            if scheduled.instant_time and done.instant_time:
                clusterings.append(done.instant_time)

    with ThreadPoolExecutor(3) as pool:
        services = pool.submit(cluster)
        try:
            for future in [pool.submit(writer.run) for writer in writers]:
                future.result()
        finally:
            stop.set()
        services.result()
    table.execute()
    expected = {"first": ("first", 0, "a", 0.0)}
    for writer in writers:
        expected.update(writer.rows)
    assert table.rows() == sorted(expected.values())
    assert clusterings, "no clustering completed"
    assert min(writer.writes for writer in writers) >= 2
    assert table.leftovers() == set()
