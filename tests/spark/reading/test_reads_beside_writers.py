"""Reads of a table that a writer and table services change at the same time.

A read returns exactly the rows of one commit, or fails because a clean has deleted files of its state.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from hudi_table_services.contract.cleaning import CleanReport, CleanRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.errors import CommitConflictError
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.reading.read_table import read_table
from hudi_table_services.storage.clock import SystemClock
from support.compaction import jobs_here
from support.depth import cases, number_from
from support.spark.held_up import OPTIMISTIC
from support.spark.log_tables import LogTable, Row, new_log_table

SECONDS = number_from("READ_LOOP_SECONDS", 6, 30)
EXTRA_SECONDS = 180.0
"""Additional seconds for slow machines, until each job of the loop has run often enough."""
READERS, KEYS, RETAINED = 2, 16, 4
NO_FLOOR = {"hoodie.airflow.clean.floor.hours": "0"}
KINDS = [(version, kind) for version in (6, 9) for kind in ("COPY_ON_WRITE", "MERGE_ON_READ")]
State = list[Row]


def rows_of(frame: DataFrame) -> State:
    return sorted((row["k"], row["ts"], row["p"], row["v"]) for row in frame.collect())


def new_table(base_path: Path, version: int, kind: str) -> LogTable:
    options = {name.replace(".", "__"): value for name, value in OPTIMISTIC.items()}
    return new_log_table(base_path, version, hoodie__table__type=kind, **options)


def compact(table: LogTable) -> JobResult:
    jobs_here.schedule(table.storage, SystemClock(), OPTIMISTIC)
    return jobs_here.execute(table.storage, SystemClock(), options={**OPTIMISTIC, **jobs_here.NOW})


def clean_files(table: LogTable, retained: int) -> int:
    """Clean the table, and return the number of deleted files."""
    request = CleanRequest(
        base_path=str(table.base_path), commits_retained=retained, options={**OPTIMISTIC, **NO_FLOOR}
    )
    report = clean(request).report_as(CleanReport)
    return 0 if report is None else report.file_count


def read_or_lost(frame: DataFrame) -> State | None:
    """The rows of a frame; None if the action failed with the error about deleted files."""
    try:
        return rows_of(frame)
    except (PySparkException, Py4JJavaError) as error:
        text = str(error)
        if "does not exist any more" not in text or "hoodie.clean.commits.retained" not in text:
            raise
        return None


class Loop:
    """A writer, table services and readers of one table, in one thread each, until all have run often enough.

    Attributes:
        states: the rows after each commit, the commit that is being written included.
        committed: index of the newest state whose commit has completed.
        counts: number of runs, by job and outcome.
    """

    def __init__(self, spark: SparkSession, table: LogTable, *, compacts: bool) -> None:
        self._spark, self._table, self._compacts = spark, table, compacts
        self._stop = threading.Event()
        self._permits = threading.Semaphore(READERS)
        self.states: list[State] = [[]]
        self.committed = 0
        self.counts: Counter[str] = Counter()

    def run(self) -> None:
        self._write_next()
        jobs = [
            self._write,
            self._clean,
            *([self._compact] if self._compacts else []),
            *READERS * [self._read],
        ]
        deadline = time.monotonic() + SECONDS
        with ThreadPoolExecutor(len(jobs)) as pool:
            running = [pool.submit(self._until_stopped, job) for job in jobs]
            while not any(job.done() for job in running) and (
                time.monotonic() < deadline
                or (not self._is_enough() and time.monotonic() < deadline + EXTRA_SECONDS)
            ):
                time.sleep(0.05)
            self._stop.set()
            for job in running:
                job.result()
        assert self._is_enough(), self.counts

    def _is_enough(self) -> bool:
        services = ["cleaned", *(["compacted"] if self._compacts else [])]
        return (
            self.counts["read"] >= 6
            and self.counts["kept"] >= 2
            and all(self.counts[s] >= 2 for s in services)
        )

    def _until_stopped(self, job: Callable[[], None]) -> None:
        try:
            while not self._stop.is_set():
                job()
        finally:
            self._stop.set()

    def _write(self) -> None:
        """Write a commit after each read, so that cleans do not delete the files of all reads on slow machines."""
        if self._permits.acquire(timeout=0.1):
            self._write_next()

    def _write_next(self) -> None:
        number, stored = len(self.states), {row[0]: row for row in self.states[-1]}
        operation = "upsert" if number % 4 else "delete"
        if operation == "upsert":
            keys = sorted({(number * 5 + each) % KEYS for each in range(6)})
            batch: State = [(f"k{key}", number, f"p{key % 2}", f"v{number}") for key in keys]
            stored.update({row[0]: row for row in batch})
        else:
            batch = [(k, number, p, v) for k, _, p, v in self.states[-1][number % 3 :: 3]]
            for row in batch:
                del stored[row[0]]
        self.states.append(sorted(stored.values()))
        self._table.write(batch, operation)
        self.committed = number

    def _compact(self) -> None:
        try:
            self.counts["compacted"] += compact(self._table).instant_time is not None
        except CommitConflictError:
            self.counts["compaction lost a conflict"] += 1
        self._stop.wait(0.2)

    def _clean(self) -> None:
        try:
            self.counts["cleaned"] += clean_files(self._table, RETAINED) > 0
        except CommitConflictError:
            self.counts["clean lost a conflict"] += 1
        self._stop.wait(0.2)

    def _read(self) -> None:
        """Read twice: after planning the read, and again after later commits."""
        first = self.committed
        frame = read_table(self._spark, str(self._table.base_path))
        possible = self.states[first:]
        found = read_or_lost(frame)
        self._permits.release()
        self.counts["lost" if found is None else "read"] += 1
        if found is None:
            return
        assert found in possible, f"commits {first} to {first + len(possible) - 1}: {found}"
        again = read_or_lost(frame)
        self._permits.release()
        self.counts["lost" if again is None else "kept"] += 1
        assert again in (None, found)


@pytest.mark.parametrize("kind", cases(KINDS, [(9, "MERGE_ON_READ")], lambda kind: f"v{kind[0]}-{kind[1]}"))
def test_each_read_beside_a_writer_and_services_returns_one_commit_or_names_deleted_files(
    spark: SparkSession, tmp_path: Path, kind: tuple[int, str]
) -> None:
    table = new_table(tmp_path / "t", *kind)
    loop = Loop(spark, table, compacts=kind[1] == "MERGE_ON_READ")
    loop.run()
    assert rows_of(read_table(spark, str(table.base_path))) == loop.states[loop.committed]
    assert table.rows() == loop.states[loop.committed]


@pytest.mark.parametrize("version", cases([6, 8, 9], [9]))
def test_a_kept_frame_returns_its_rows_after_a_compaction_until_a_clean(
    spark: SparkSession, tmp_path: Path, version: int
) -> None:
    table = new_table(tmp_path / "t", version, "MERGE_ON_READ")
    table.write([(f"k{each}", 1, f"p{each % 2}", "v1") for each in range(8)])
    table.write([(f"k{each}", 2, f"p{each % 2}", "v2") for each in range(4)])
    frame = read_table(spark, str(table.base_path))
    before = rows_of(frame)
    assert compact(table).instant_time
    table.write([("k0", 3, "p0", "v3"), ("k1", 3, "p1", "v3")])
    assert rows_of(frame) == before
    assert ("k0", 3, "p0", "v3") in rows_of(read_table(spark, str(table.base_path)))
    assert clean_files(table, 1)
    assert read_or_lost(frame) is None
