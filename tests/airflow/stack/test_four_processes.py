"""Backfills, cleared tasks, kills and restarts in a real Airflow; hudi-rs reads the tables."""

import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow_stack.api import AirflowApi, wait_until
from airflow_stack.stack import AirflowStack
from submitted_jobs import command_of, spark_processes, wait_for_job

from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.storage.stores.local import LocalStorage
from judges.hudi_rs import read_snapshot
from judges.table_files import files_below
from support.depth import IS_ALL, by_depth
from support.small_tables import SmallTable

LONG = 900.0
# First and last days of the backfills.
PARALLEL = by_depth((1, 2), (1, 3))
ONE_OF_TWO = by_depth((1, 1), (1, 2))
TWO_OF_TWO = by_depth((2, 2), (2, 3))
STATE_AFTER_KILL = re.compile(
    r"Killed (before the write began|while .+ was pending|after instant \S+ was completed)"
)
"""The sentence about the table that `HudiWriteOperator` logs after a kill."""


@pytest.fixture(scope="session")
def landing(folder: Path) -> None:
    pq.write_table(pa.table({"id": list(range(10))}), folder / "ten.parquet")


@pytest.fixture
def api(stack: AirflowStack) -> AirflowApi:
    return stack.api


def rows(table: Path) -> dict[tuple[str, int], Any]:
    """Map the day and number of each row to the time of its write. Fails if a row is stored twice."""
    found = [((r["day"], r["id"]), r["written_at"]) for r in read_snapshot(table).to_pylist()]
    assert len(found) == len(dict(found)), "a row is stored twice"
    return dict(found)


def of_days(*days: int) -> set[tuple[str, int]]:
    return {(f"2013-01-{day:02d}", number) for day in days for number in range(10)}


def wait_for_runs(api: AirflowApi, dag_id: str, *days: int) -> None:
    """Wait until the runs of these days have succeeded. Fail with the log of the run if a run fails."""

    def are_done() -> bool:
        wanted = [run for run in api.runs(dag_id) if int(run["logical_date"][8:10]) in days]
        for run in wanted:
            assert run["state"] != "failed", api.log(dag_id, run["dag_run_id"], "load", 4)[-3000:]
        return [run["state"] for run in wanted] == ["success"] * len(set(days))

    wait_until(are_done, LONG, lambda: f"the runs of {dag_id} are not done: {api.runs(dag_id)}")


def backfill(api: AirflowApi, dag_id: str, first: int, last: int, **settings: Any) -> None:
    api.backfill(dag_id, f"2013-01-{first:02d}", f"2013-01-{last:02d}", **settings)


@pytest.fixture(scope="session", autouse=True)
def started(landing: None, stack: AirflowStack) -> None:
    """Start the backfills of several tests together; each test waits for its own backfill."""
    for dag_id in ("parallel", "one_of_two", "two_of_two", *(["backwards"] if IS_ALL else [])):
        stack.api.wait_for_dag(dag_id)
    backfill(stack.api, "parallel", *PARALLEL, max_active_runs=3)
    backfill(stack.api, "one_of_two", *ONE_OF_TWO)
    backfill(stack.api, "two_of_two", *TWO_OF_TWO)
    if IS_ALL:
        backfill(stack.api, "backwards", 1, 2, run_backwards=True)


def run_of(api: AirflowApi, dag_id: str, day: int) -> dict[str, Any]:
    return next(r for r in api.runs(dag_id) if r["logical_date"].startswith(f"2013-01-{day:02d}"))


def commits(table: Path) -> int:
    return len(list((table / ".hoodie").glob("*.commit")))


def test_a_parallel_backfill_writes_every_day_once(api: AirflowApi, folder: Path) -> None:
    first, last = PARALLEL
    days = range(first, last + 1)
    wait_for_runs(api, "parallel", *days)
    assert set(rows(folder / "parallel")) == of_days(*days)
    assert commits(folder / "parallel") == len(days)


def test_two_dags_write_to_one_table_at_the_same_time(api: AirflowApi, folder: Path) -> None:
    wait_for_runs(api, "one_of_two", *ONE_OF_TWO)
    wait_for_runs(api, "two_of_two", *TWO_OF_TWO)
    assert set(rows(folder / "shared")) == of_days(*ONE_OF_TWO, *TWO_OF_TWO)


@pytest.mark.thorough
def test_a_backfill_can_run_backwards(api: AirflowApi, folder: Path) -> None:
    wait_for_runs(api, "backwards", 1, 2)
    found = rows(folder / "backwards")
    assert set(found) == of_days(1, 2)
    in_order = sorted((written_at, day) for (day, number), written_at in found.items() if number == 0)
    assert [day for _, day in in_order] == ["2013-01-02", "2013-01-01"]


@pytest.mark.thorough
def test_marking_a_task_failed_ends_spark_and_the_cleared_task_writes_its_rows(
    api: AirflowApi, folder: Path
) -> None:
    api.wait_for_dag("marked_failed")
    backfill(api, "marked_failed", 1, 1)
    before = wait_for_job(folder, LONG)
    run_id = run_of(api, "marked_failed", 1)["dag_run_id"]
    api.patch(f"/api/v2/dags/marked_failed/dagRuns/{run_id}/taskInstances/load", {"new_state": "failed"})
    wait_until(
        lambda: not set(before) & set(spark_processes(folder)),
        LONG,
        lambda: "Spark still runs after the kill",
    )
    wait_until(
        lambda: STATE_AFTER_KILL.search(api.log("marked_failed", run_id, "load", 1)) is not None,
        LONG,
        lambda: api.log("marked_failed", run_id, "load", 1),
    )
    api.clear("marked_failed", run_id, "load")
    wait_for_runs(api, "marked_failed", 1)
    assert set(rows(folder / "marked_failed")) == of_days(1)


@pytest.fixture(scope="session")
def killed_worker(stack: AirflowStack, folder: Path) -> None:
    """Kill the worker of day 2 while Spark is running."""
    stack.api.wait_for_dag("killed")
    backfill(stack.api, "killed", 2, 2)
    jobs = wait_for_job(folder, LONG)
    workers = {pid for job in jobs for pid in _ancestors(job)} - set(jobs)
    assert workers
    for pid in workers:
        os.kill(pid, signal.SIGKILL)


def test_a_run_is_still_running_after_its_worker_was_killed(api: AirflowApi, killed_worker: None) -> None:
    assert run_of(api, "killed", 2)["state"] == "running"


@pytest.mark.at_the_end
def test_a_retry_completes_the_load_of_a_killed_worker(
    api: AirflowApi, folder: Path, killed_worker: None
) -> None:
    """Airflow retries the task when it has received no heartbeat of the worker for 45 seconds."""
    wait_for_runs(api, "killed", 2)
    run_id = run_of(api, "killed", 2)["dag_run_id"]
    assert api.task_instances("killed", run_id)["load"]["try_number"] >= 2
    assert set(rows(folder / "killed")) == of_days(2)
    assert [
        p for place in (".temp", ".heartbeat") for p in files_below(folder / "killed" / ".hoodie" / place)
    ] == []


def _ancestors(pid: int) -> list[int]:
    """Ids of the ancestors of a process below the scheduler; empty if the scheduler is not an ancestor."""
    found = []
    while pid > 1:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        pid = int(fields[1])
        if b"scheduler" in command_of(pid):
            return found
        found.append(pid)
    return []


def test_a_deferred_sensor_still_fires_after_a_restart_of_the_triggerer(
    api: AirflowApi, stack: AirflowStack, folder: Path
) -> None:
    table = SmallTable(LocalStorage(str(folder / "watched")))
    api.wait_for_dag("watch")
    run_id = api.post("/api/v2/dags/watch/dagRuns", {"logical_date": None})["dag_run_id"]

    def state() -> str:
        return str(api.task_instances("watch", run_id)["wait"]["state"])

    wait_until(lambda: state() == "deferred", LONG, state)
    stack.stop("triggerer", kill=True)
    time.sleep(2)
    stack.start("triggerer")
    table.commit(FileGroupId("city=a", "a-0"))
    wait_until(lambda: state() == "success", LONG, state)
    assert api.xcom("watch", run_id, "wait")["count"] == 1


@pytest.mark.at_the_end
def test_no_file_contains_the_secret(stack: AirflowStack, folder: Path, canary: str) -> None:
    """The test searches logs, Airflow's database, tables, requests and results. It runs after the other tests."""
    database = stack.database_content()
    assert b"one_of_two" in database
    assert canary.encode() not in database
    files = files_below(folder)
    assert any(path.name == "attempt=1.log" for path in files)
    assert [path for path in files if canary.encode() in path.read_bytes()] == []
