"""Loads of changes are killed with SIGKILL at random moments. The next load completes the target.

Each kill ends the driver with its JVM and all child processes. The next load has the same request id or, after a
further commit of the source, another one. ``KILLS`` is the number of kills. Set ``KILL_SEED`` to the printed seed to
repeat a run.
"""

import itertools
import logging
import os
import random
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from e2e.job_processes import SCRIPT, JobProcess, environment, spark_settings
from e2e.orders import Order, orders, stored, write_parquet
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.contract.writing import SourceSpec, UpsertRequest
from hudi_table_services.jobs.change_loads import load_source
from hudi_table_services.jobs.writing.upsert import upsert
from judges.hudi_rs import read_snapshot
from judges.table_files import files_below
from support.depth import number_from
from support.fail_points import tried
from support.reading.counted_loads import STAGED, assert_windows_join, job_parts
from support.spark.leftovers import later
from support.spark.log_tables import LogTable

pytestmark = pytest.mark.thorough

_LOG = logging.getLogger(__name__)

KILLS = int(number_from("KILLS", 1, 8))
CASES = (("9", "incremental"), ("6", "changed_groups"), ("6", "incremental"), ("9", "changed_groups"))
"""Version of both tables, and mode of the loads. The kills use these cases in turn."""
LONGEST_S = 300.0
REGIONS = 8
FIRST = orders(range(400), regions=REGIONS)
CORRECTED = orders(range(200, 1000), regions=REGIONS, version=2)
DELETED = orders(range(100), regions=REGIONS, version=2)
QUERIES = {
    "incremental": "SELECT id, region, amount * 2 AS amount, version FROM source WHERE id % 10 <> 3",
    "changed_groups": "SELECT region, version, count(*) AS n, sum(amount) AS total FROM source "
    "GROUP BY region, version",
}
KEYS = {"incremental": ("id",), "changed_groups": ("region", "version")}


@dataclass(frozen=True)
class Chain:
    """A source and its target."""

    source: Path
    target: Path
    version: str
    mode: str

    def write(self, spark: SparkSession, rows: list[Order], name: str, operation: str = "upsert") -> None:
        landed = write_parquet(rows, self.source.parent / f"{name}.parquet")
        request = UpsertRequest(
            base_path=str(self.source),
            table_name="orders",
            operation=operation,
            source=SourceSpec(path=str(landed)),
            record_key=("id",),
            partition_by=("region",),
            ordering_field="version",
            options=self.options,
        )
        upsert(spark, request)

    @property
    def options(self) -> dict[str, str]:
        return {"hoodie.write.table.version": self.version}

    def request(self, request_id: str) -> UpsertRequest:
        return UpsertRequest(
            base_path=str(self.target),
            table_name="target",
            request_id=request_id,
            source=SourceSpec(table=str(self.source), mode=self.mode, sql=QUERIES[self.mode], chain="killed"),
            record_key=KEYS[self.mode],
            partition_by=("region",),
            options=self.options,
        )

    def load(self, spark: SparkSession, request_id: str) -> JobResult:
        """Load when the lock and the heartbeat of a killed load have expired."""
        request = self.request(request_id)
        assert request.source is not None
        with job_parts(clock=later()):
            return load_source(spark, request, request.source)

    def process(self, settings: dict[str, str], folder: Path) -> JobProcess:
        """Start the load with the request id ``same``."""
        folder.mkdir()
        document = folder / "request.json"
        document.write_text(self.request("same").to_json(), encoding="utf-8")
        return JobProcess([sys.executable, SCRIPT, f"--request={document}"], environment(settings), folder)

    def copied_to(self, folder: Path) -> "Chain":
        """Copy the target, but use the same source."""
        shutil.copytree(self.target, folder)
        return replace(self, target=folder)

    def rows(self) -> list[tuple[Any, ...]]:
        names = ("region", "version", "n", "total")
        if self.mode == "incremental":
            return list(stored(self.target))
        return sorted(tuple(row[name] for name in names) for row in read_snapshot(self.target).to_pylist())

    def computed(self) -> list[tuple[Any, ...]]:
        """The full computation of the target."""
        rows = stored(self.source)
        if self.mode == "incremental":
            return [(id_, region, 2 * amount, v) for id_, region, amount, v in rows if id_ % 10 != 3]
        groups: dict[tuple[str, int], list[float]] = {}
        for _, region, amount, version in rows:
            groups.setdefault((region, version), []).append(amount)
        return sorted((*group, len(found), sum(found)) for group, found in groups.items())

    def names(self) -> list[str]:
        return sorted(path.name for path in files_below(self.target))

    def leftovers(self) -> set[str]:
        return LogTable(self.target).leftovers()


Made = Callable[[str, str], Chain]


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A chain after its first load; the source has two further commits."""

    @cache
    def make(version: str, mode: str) -> Chain:
        folder = tmp_path_factory.mktemp(f"{mode}-{version}")
        chain = Chain(folder / "source", folder / "target", version, mode)
        chain.write(spark, FIRST, "first")
        chain.load(spark, "first")
        assert chain.rows() == chain.computed()
        chain.write(spark, CORRECTED, "corrected")
        chain.write(spark, DELETED, "deleted", "delete")
        return chain

    return make


def wait_for_change(process: JobProcess, chain: Chain, before: list[str]) -> float:
    process.wait_for("change of the target", lambda: chain.names() != before or None, LONGEST_S)
    return time.monotonic()


def usual_seconds(chain: Chain, folder: Path, settings: dict[str, str]) -> float:
    """Run the load without killing it; return the time between its first and its last change of the target."""
    run = chain.copied_to(folder / "usual")
    process = run.process(settings, folder / "usual run")
    try:
        began = wait_for_change(process, run, chain.names())
        ended = process.wait(LONGEST_S)
        assert ended.exit_code == 0, ended.log
        return time.monotonic() - began
    finally:
        process.kill()


def test_the_next_load_completes_the_target_of_a_killed_load(
    spark: SparkSession, made: Made, tmp_path: Path
) -> None:
    seed = int(os.environ.get("KILL_SEED", time.time_ns() % 1_000_000))
    settings = spark_settings(tmp_path / "conf", spark__master="local[2,3]")
    rng, seen, numbers = random.Random(seed), Counter[str](), itertools.count()
    usual = usual_seconds(made(*CASES[0]), tmp_path, settings)
    for number in range(KILLS):
        origin = made(*CASES[number % len(CASES)])
        old, new = origin.rows(), origin.computed()
        run = origin.copied_to(tmp_path / f"t{number}")
        process = run.process(settings, tmp_path / f"run{number}")
        try:
            wait_for_change(process, run, origin.names())
            time.sleep(rng.uniform(0, usual))
        finally:
            process.kill()
        found = run.rows()
        is_done, is_same = found == new, rng.random() < 0.5
        stage = "after" if is_done else "before"
        where = f"seed {seed}, kill {number}: {origin.version}, {origin.mode}, {stage} the commit, {is_same=}"
        _LOG.info("Load killed (%s)", where)
        assert found in (old, new), where
        if not is_same:
            # The next kills of this case begin with a source that has this commit.
            origin.write(spark, orders([2000 + next(numbers)], regions=REGIONS, version=4), f"late-{number}")
        result = run.load(spark, "same" if is_same else "other")
        assert result.outcome is Outcome.COMPLETED, where
        assert result.reused == (is_same and is_done), where
        assert run.rows() == run.computed(), where
        assert_windows_join(LogTable(run.target), LogTable(run.source), "killed")
        assert run.load(spark, "last").outcome is Outcome.NOTHING_TO_DO, where
        assert not LogTable(run.target).timeline_store.load().pending, where
        left = {path for path in run.leftovers() if is_same or STAGED not in path}
        assert not left, f"{left}, {where}"
        shutil.rmtree(run.target)
        tried("load of changes, driver killed")
        seen[f"{origin.mode} {stage}"] += 1
    print(f"loads: seed {seed}, {KILLS} kills, {dict(sorted(seen.items()))}; all completed")
