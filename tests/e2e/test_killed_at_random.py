"""Jobs with Spark killed with SIGKILL at random moments, again and again: the table stays whole, and retries finish.

Killed are drivers, with their JVM and all that it started, and single Python workers of a session that goes on. What
a dead driver leaves the same request finishes in another session; what a dead worker leaves Spark's own retry.
``KILLS`` says how often in each of the tests (1), ``KILL_SEED`` repeats a run; the seed is in the output.
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

import pytest
from pyspark.sql import SparkSession

from e2e.job_processes import SOURCES, JobProcess, busy_workers, environment, spark_settings
from e2e.orders import Order, orders, stored, write_parquet
from hudi_table_services.contract.clustering import (
    ExecuteClusteringRequest,
    ScheduleClusteringRequest,
)
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.contract.writing import SourceSpec, UpsertRequest
from hudi_table_services.jobs.clustering.execute import execute_clustering
from hudi_table_services.jobs.clustering.schedule import schedule_clustering
from hudi_table_services.jobs.writing.upsert import upsert
from hudi_table_services.storage.clock import Clock, SystemClock
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.storage.timeline_store import TimelineStore
from judges.table_files import data_files, files_below, instant_names, instant_of
from support.depth import number_from
from support.fail_points import tried
from support.fixed_clock import FixedClock

_LOG = logging.getLogger(__name__)

KILLS = int(number_from("KILLS", 1, 8))
CASES = (("upsert", "6"), ("execute clustering", "9"), ("upsert", "9"), ("execute clustering", "6"))
"""Job and table version, in turn."""

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
    """When the lock and the heartbeat of a dead job have expired."""
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
        options={"hoodie.write.table.version": version, "hoodie.parquet.small.file.limit": "0"},
    )


@dataclass(frozen=True)
class Case:
    """A job that is going to be killed, and the table that it is going to work on."""

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

    def process(self, settings: Path, folder: Path) -> JobProcess:
        folder.mkdir()
        document = folder / "request.json"
        document.write_text(self.request.to_json(), encoding="utf-8")
        command = [sys.executable, SOURCES / SCRIPTS[self.job], f"--request={document}"]
        return JobProcess(command, environment(settings), folder)

    def leftovers(self) -> list[str]:
        """What only a running job may keep: markers, heartbeats, staged rows, files without a completed commit."""
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
        """How far the job got that began with the old table."""
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


@pytest.fixture(scope="module")
def case(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Case]:
    """Two files in each of eight partitions, with a plan of clustering if that is the job; read only."""

    @cache
    def made(job: str, version: str) -> Case:
        base_path = tmp_path_factory.mktemp("killed") / "t"
        for number, rows in enumerate(STORED):
            upsert(spark, upsert_request(base_path, rows, f"stored-{number}", version))
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
    """When things happened that others see; seconds of the monotonic clock.

    Attributes:
        changed: something of the table changed for the first time: a plan became inflight, rows were staged.
        announced: the instant appeared on the timeline.
        over: the table changed for the last time.
    """

    changed: float
    announced: float
    over: float


def wait_for_change(process: JobProcess, table: Case, old: Case, *, of_timeline: bool) -> float:
    """When the table is first seen to differ from the one it is a copy of."""
    look = instant_names if of_timeline else names_of_files
    before = look(old.base_path)
    process.ask_for("change of the table", lambda: look(table.base_path) != before or None)
    return time.monotonic()


def names_of_files(base_path: Path) -> list[str]:
    return [file.name for file in files_below(base_path)]


def usual_moments(old: Case, folder: Path, settings: Path) -> Moments:
    """The moments of the job when it is not killed."""
    table = old.copied_to(folder / f"usual {old.job}")
    process = table.process(settings, folder / f"usual run {old.job}")
    try:
        changed = wait_for_change(process, table, old, of_timeline=False)
        announced = wait_for_change(process, table, old, of_timeline=True)
        process.ask_for("end", lambda: table.is_over() or None)
        return Moments(changed, announced, time.monotonic())
    finally:
        process.kill()


def kill_at_random(
    process: JobProcess, table: Case, old: Case, usual: Moments, chance: random.Random
) -> None:
    # Most of the work of an upsert comes before its instant, and most of what can go wrong after it.
    late = chance.random() >= 0.2
    longest = usual.over - (usual.announced if late else usual.changed)
    try:
        wait_for_change(process, table, old, of_timeline=late)
        time.sleep(chance.uniform(0, longest))
    finally:
        process.kill()


def test_killed_drivers(
    spark: SparkSession, case: Callable[[str, str], Case], tmp_path: Path, seed: int
) -> None:
    settings = spark_settings(tmp_path / "conf", spark__master="local[2,3]")
    usual = cache(lambda job, version: usual_moments(case(job, version), tmp_path, settings))
    chance, seen = random.Random(seed), Counter[str]()
    for number in range(KILLS):
        job, version = CASES[number % len(CASES)]
        moments = usual(*CASES[number % 2])
        old = case(job, version)
        table = old.copied_to(tmp_path / f"t{number}")
        process = table.process(settings, tmp_path / f"run{number}")
        kill_at_random(process, table, old, moments, chance)
        stage = table.stage(old)
        where = f"seed {seed}, kill {number}: {job}, version {version}, {stage}"
        _LOG.info("Driver killed (%s)", where)
        assert stored(table.base_path) in (OLD, NEW[job]), where
        result = table.run(spark, later())
        assert result.outcome in (Outcome.COMPLETED, Outcome.NOTHING_TO_DO), where
        table.check_finished(where)
        shutil.rmtree(table.base_path)
        tried(f"{job}, driver killed")
        seen[f"{job} {stage}"] += 1
    print(f"drivers: seed {seed}, {KILLS} kills, {dict(sorted(seen.items()))}; all repaired")


def test_killed_workers(
    spark: SparkSession, case: Callable[[str, str], Case], tmp_path: Path, seed: int
) -> None:
    """The job does not fail: Spark tries the task again, and what the dead worker wrote is not in the table."""
    chance, copies = random.Random(seed), itertools.count()
    jvm = int(spark._jvm.java.lang.ProcessHandle.current().pid())

    @cache
    def usual(job: str, version: str) -> float:
        """Seconds that the job takes when nothing has to be loaded any more."""
        for _ in range(2):
            table, began = case(job, version).copied_to(tmp_path / f"t{next(copies)}"), time.monotonic()
            table.run(spark)
        return time.monotonic() - began

    number = missed = 0
    while number < KILLS:
        job, version = CASES[number % len(CASES)]
        longest = usual(*CASES[number % 2])
        table, failed_before = (
            case(job, version).copied_to(tmp_path / f"t{next(copies)}"),
            failed_tasks(spark),
        )
        killer = WorkerKiller(jvm, chance.uniform(0, longest))
        killer.start()
        try:
            result = table.run(spark)
        finally:
            killer.stop()
        where = f"seed {seed}, kill {number}: {job}, version {version}"
        assert result.outcome is Outcome.COMPLETED, where
        table.check_finished(where)
        shutil.rmtree(table.base_path)
        if failed_tasks(spark) > failed_before:
            _LOG.info("Worker killed (%s)", where)
            tried(f"{job}, worker killed")
            number += 1
        else:  # the job was over before, or the worker had no task any more
            missed += 1
            assert missed <= 10 + 2 * KILLS, "the kills do not hit"
    print(
        f"workers: seed {seed}, {KILLS} killed in mid task, {missed} besides them without a task; no job failed"
    )


def failed_tasks(spark: SparkSession) -> int:
    """Tasks of the session that failed so far."""
    store = spark.sparkContext._jsc.sc().statusStore()
    return int(store.executorSummary("driver").failedTasks())


class WorkerKiller(threading.Thread):
    """Waits, then kills the first Python worker of Spark that it sees at work, unless it is stopped before."""

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
