"""Jobs with Spark are killed with SIGKILL at random moments. Readers see old or new rows; a retry completes the job.

The tests kill drivers (with their JVM and all its child processes), or single Python workers of a running session.
After the death of a driver, another session completes the same request. After the death of a worker, Spark retries
the task.
``KILLS`` is the number of kills per test (default 1). Set ``KILL_SEED`` to the printed seed to repeat a run.
"""

import itertools
import logging
import os
import random
import shutil
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from e2e.job_processes import SOURCES, JobProcess, busy_workers, environment, spark_settings
from e2e.orders import Order, orders, stored, write_parquet
from hudi_table_services.contract.clustering import (
    ExecuteClusteringRequest,
    ScheduleClusteringRequest,
)
from hudi_table_services.contract.metadata_table import RebuildMetadataTableRequest
from hudi_table_services.contract.recovery import RollbackRequest
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.contract.writing import SourceSpec, UpsertRequest
from hudi_table_services.jobs.clustering.execute import execute_clustering
from hudi_table_services.jobs.clustering.schedule import schedule_clustering
from hudi_table_services.jobs.metadata_table.rebuild import rebuild_metadata_table
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.jobs.writing.upsert import upsert
from hudi_table_services.storage.clock import Clock, SystemClock
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.storage.timeline_store import TimelineStore
from judges.metadata_check import assert_describes_the_table
from judges.table_files import data_files, files_below, instant_names, instant_of
from support.depth import number_from
from support.fail_points import tried
from support.fixed_clock import FixedClock

_LOG = logging.getLogger(__name__)

KILLS = int(number_from("KILLS", 1, 8))
CASES = (
    ("upsert", "9", True),
    ("execute clustering", "6", True),
    ("upsert", "6", False),
    ("execute clustering", "9", False),
    ("upsert", "6", True),
    ("execute clustering", "9", True),
    ("upsert", "9", True),
    ("execute clustering", "6", True),
)
"""Job and table version of a kill, and whether the table has a metadata table with all indexes. The kills of a test use
these cases in turn."""
INDEXES = {
    "6": ("files", "column_stats", "bloom_filters", "record_index"),
    "9": ("files", "column_stats", "partition_stats", "bloom_filters", "record_index"),
}
FEW_GROUPS = {
    "hoodie.metadata.record.index.min.filegroup.count": "2",
    "hoodie.metadata.record.index.max.filegroup.count": "2",
}
COMPACTS_OFTEN = {"hoodie.metadata.compact.max.delta.commits": "2"}

REGIONS = 8
STORED = (orders(range(160), regions=REGIONS), orders(range(160, 320), regions=REGIONS))
BATCH = orders(range(80, 400), regions=REGIONS, version=2)
OLD = sorted(STORED[0] + STORED[1])
NEW = {
    "upsert": sorted({row[0]: row for row in OLD + BATCH}.values()),
    "execute clustering": OLD,
}
SCRIPTS = {"upsert": "upsert_with_sizing.py", "execute clustering": "execute_clustering.py"}


def later() -> FixedClock:
    """A clock ten minutes ahead, for which the lock and the heartbeat of a dead job have expired."""
    return FixedClock(SystemClock().now() + timedelta(minutes=10), step=timedelta(milliseconds=1))


def upsert_request(base_path: Path, rows: list[Order], name: str, version: str) -> UpsertRequest:
    source = write_parquet(rows, base_path.parent / f"{name}.parquet")
    return UpsertRequest(
        base_path=str(base_path),
        request_id=name,
        source=SourceSpec(path=str(source)),
        table_name="orders",
        record_key=("id",),
        partition_by=("region",),
        ordering_field="version",
        options={
            "hoodie.write.table.version": version,
            "hoodie.parquet.small.file.limit": "0",
            **COMPACTS_OFTEN,
        },
    )


@dataclass(frozen=True)
class Case:
    """A job that a test kills, and the table of the job."""

    job: str
    base_path: Path
    request: JobRequest

    def copied_to(self, folder: Path) -> "Case":
        shutil.copytree(self.base_path, folder)
        return Case(self.job, folder, replace(self.request, base_path=str(folder)))

    def run(self, spark: SparkSession, clock: Clock | None = None) -> JobResult:
        if isinstance(self.request, UpsertRequest):
            return upsert(spark, self.request, clock=clock)
        assert isinstance(self.request, ExecuteClusteringRequest)
        return execute_clustering(spark, self.request, clock=clock)

    def process(self, settings: dict[str, str], folder: Path) -> JobProcess:
        folder.mkdir()
        document = folder / "request.json"
        document.write_text(self.request.to_json(), encoding="utf-8")
        command = [sys.executable, SOURCES / SCRIPTS[self.job], f"--request={document}"]
        return JobProcess(command, environment(settings), folder)

    def leftovers(self) -> list[str]:
        """Files that only a running job may have: markers, heartbeats, staged rows, and uncommitted data files."""
        hoodie = self.base_path / ".hoodie"
        found = [
            file for place in (".temp", ".heartbeat", ".aux/staging") for file in files_below(hoodie / place)
        ]
        completed = {
            name.partition(".")[0].partition("_")[0] for name in instant_names(self.base_path, "commit")
        }
        found += [file for file in data_files(self.base_path) if instant_of(file) not in completed]
        return [str(file.relative_to(self.base_path)) for file in found]

    def is_over(self) -> bool:
        """Whether the job has made its last change."""
        return not self.pending() and not self.leftovers()

    def stage(self, old: "Case") -> str:
        """The stage that the job has reached; ``old`` is the table as it was before the job."""
        if instant_names(self.base_path) == instant_names(old.base_path):
            return "before the instant"
        if self.pending():
            return "before the commit"
        return "over" if self.is_over() else "after the commit"

    def pending(self) -> list[str]:
        storage = LocalStorage(str(self.base_path))
        timeline = TimelineStore(storage, read_table_config(storage), SystemClock()).load()
        return [i.requested_time for i in timeline.pending]

    def check_finished(self, where: str) -> None:
        assert stored(self.base_path) == NEW[self.job], where
        assert self.leftovers() == [], where
        assert self.pending() == [], where
        self.check_metadata_table()

    def check_metadata_table(self) -> None:
        """If the table has a metadata table, all of its indexes describe the files of the table."""
        if read_table_config(LocalStorage(str(self.base_path))).metadata_partitions:
            assert_describes_the_table(self.base_path)


Made = Callable[[str, str, bool], Case]


@pytest.fixture(scope="module")
def case(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A table with two files in each of eight partitions, and with a plan if the job is a clustering; read-only."""

    @cache
    def made(job: str, version: str, has_metadata_table: bool) -> Case:
        base_path = tmp_path_factory.mktemp("killed") / "t"
        for number, rows in enumerate(STORED):
            stored = upsert_request(base_path, rows, f"stored-{number}", version)
            # Without this option, the first write would create a metadata table.
            off = {} if has_metadata_table or number else {"hoodie.metadata.enable": "false"}
            upsert(spark, replace(stored, options={**stored.options, **off}))
            if has_metadata_table and not number:
                build = RebuildMetadataTableRequest(
                    base_path=str(base_path), partitions=INDEXES[version], options=FEW_GROUPS
                )
                rebuild_metadata_table(build, spark=spark)
        if job == "upsert":
            return Case(job, base_path, upsert_request(base_path, BATCH, "killed", version))
        scheduled = schedule_clustering(ScheduleClusteringRequest(base_path=str(base_path)))
        instants = (scheduled.instant_time or "",)
        request = ExecuteClusteringRequest(base_path=str(base_path), request_id="killed", instants=instants)
        return Case(job, base_path, request)

    return made


@pytest.fixture
def seed() -> int:
    return int(os.environ.get("KILL_SEED", time.time_ns() % 1_000_000))


@dataclass(frozen=True)
class Moments:
    """Times (of the monotonic clock, in seconds) at which a job changed its table.

    Attributes:
        changed: time of the first change, when a plan becomes inflight or the job stages rows.
        announced: time of the first change of the timeline.
        over: time of the last change.
    """

    changed: float
    announced: float
    over: float


def wait_for_change(process: JobProcess, table: Case, old: Case, *, of_timeline: bool) -> float:
    """Wait until the job changes the table, which was a copy of the table ``old``; return the time."""
    look = instant_names if of_timeline else names_of_files
    before = look(old.base_path)
    process.wait_for("change of the table", lambda: look(table.base_path) != before or None)
    return time.monotonic()


def names_of_files(base_path: Path) -> list[str]:
    return [file.name for file in files_below(base_path)]


def usual_moments(old: Case, folder: Path, settings: dict[str, str]) -> Moments:
    """Run the job without killing it, and return its moments."""
    name = old.base_path.parent.name
    table = old.copied_to(folder / f"usual {name}")
    process = table.process(settings, folder / f"usual run {name}")
    try:
        changed = wait_for_change(process, table, old, of_timeline=False)
        announced = wait_for_change(process, table, old, of_timeline=True)
        process.wait_for("end", lambda: table.is_over() or None)
        return Moments(changed, announced, time.monotonic())
    finally:
        process.kill()


def kill_at_random(process: JobProcess, table: Case, old: Case, usual: Moments, rng: random.Random) -> None:
    # An upsert does most of its work before its instant exists, but most failures are possible afterwards.
    late = rng.random() >= 0.2
    longest = usual.over - (usual.announced if late else usual.changed)
    try:
        wait_for_change(process, table, old, of_timeline=late)
        time.sleep(rng.uniform(0, longest))
    finally:
        process.kill()


def undo(table: Case, where: str) -> None:
    """Roll an incomplete dead write back; then readers see the old rows, and no file of the write is left."""
    if table.pending():
        rollback(RollbackRequest(base_path=str(table.base_path), all_failed=True), clock=later())
        assert table.pending() == [], where
        assert stored(table.base_path) == OLD, where
        table.check_metadata_table()
        tried("upsert, driver killed, rolled back")


@pytest.mark.thorough
def test_another_session_completes_the_job_of_a_killed_driver(
    spark: SparkSession, case: Made, tmp_path: Path, seed: int
) -> None:
    settings = spark_settings(tmp_path / "conf", spark__master="local[2,3]")
    usual = cache(lambda *key: usual_moments(case(*key), tmp_path, settings))
    rng, seen = random.Random(seed), Counter[str]()
    for number in range(KILLS):
        job, version, has_metadata_table = CASES[number % len(CASES)]
        moments = usual(*CASES[number % 4])
        old = case(job, version, has_metadata_table)
        table = old.copied_to(tmp_path / f"t{number}")
        process = table.process(settings, tmp_path / f"run{number}")
        kill_at_random(process, table, old, moments, rng)
        stage = table.stage(old)
        where = f"seed {seed}, kill {number}: {job}, version {version}, {has_metadata_table=}, {stage}"
        _LOG.info("Driver killed (%s)", where)
        assert stored(table.base_path) in (OLD, NEW[job]), where
        if job == "upsert" and rng.random() < 0.5:
            undo(table, where)
        result = table.run(spark, later())
        assert result.outcome in (Outcome.COMPLETED, Outcome.NOTHING_TO_DO), where
        table.check_finished(where)
        shutil.rmtree(table.base_path)
        tried(f"{job}, driver killed")
        seen[f"{job} {stage}"] += 1
    print(f"drivers: seed {seed}, {KILLS} kills, {dict(sorted(seen.items()))}; all repaired")


def test_a_job_completes_although_a_worker_is_killed(
    spark: SparkSession, case: Made, tmp_path: Path, seed: int
) -> None:
    """The job does not fail: Spark retries the task, and the table does not contain files of the dead worker."""
    rng, copies = random.Random(seed), itertools.count()
    jvm = int(spark._jvm.java.lang.ProcessHandle.current().pid())

    @cache
    def usual(*key: Any) -> float:
        """Return the duration, in seconds, of a second run of the job, which needs to load no code."""
        for _ in range(2):
            table, began = case(*key).copied_to(tmp_path / f"t{next(copies)}"), time.monotonic()
            table.run(spark)
        return time.monotonic() - began

    number = missed = 0
    while number < KILLS:
        job, version, has_metadata_table = CASES[number % len(CASES)]
        longest = usual(*CASES[number % 4])
        table = case(job, version, has_metadata_table).copied_to(tmp_path / f"t{next(copies)}")
        failed_before = failed_tasks(spark)
        killer = WorkerKiller(jvm, rng.uniform(0, longest))
        killer.start()
        try:
            result = table.run(spark)
        finally:
            killer.stop()
        where = f"seed {seed}, kill {number}: {job}, version {version}, {has_metadata_table=}"
        assert result.outcome is Outcome.COMPLETED, where
        table.check_finished(where)
        shutil.rmtree(table.base_path)
        if failed_tasks(spark) > failed_before:
            _LOG.info("Worker killed (%s)", where)
            tried(f"{job}, worker killed")
            number += 1
        else:  # the job ended before the kill, or the worker had no task at the moment of the kill
            missed += 1
            assert missed <= 10 + 2 * KILLS, "most kills did not interrupt a task"
    print(f"workers: seed {seed}, {KILLS} killed during a task; {missed} attempts hit no task; no job failed")


def failed_tasks(spark: SparkSession) -> int:
    """Number of tasks of the session that have failed."""
    store = spark.sparkContext._jsc.sc().statusStore()
    return int(store.executorSummary("driver").failedTasks())


class WorkerKiller(threading.Thread):
    """Waits, and then kills the first Python worker of Spark that is running code, unless a test stops the thread."""

    def __init__(self, jvm: int, wait_s: float) -> None:
        super().__init__(name="worker-killer", daemon=True)
        self._jvm, self._wait_s, self._is_over = jvm, wait_s, threading.Event()

    def run(self) -> None:
        self._is_over.wait(self._wait_s)
        while not self._is_over.is_set():
            for pid in busy_workers(self._jvm)[:1]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    return
            time.sleep(0.0005)

    def stop(self) -> None:
        self._is_over.set()
        self.join()
