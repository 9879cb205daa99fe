"""A backfill that is cancelled half-way, while one day writes and another waits for its turn."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow_stack.api import AirflowApi, wait_until
from airflow_stack.stack import AirflowStack
from submitted_jobs import spark_processes, wait_for_job

from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.locks.turns import WriterQueue
from hudi_table_services.storage.snapshot_loader import load_snapshot
from hudi_table_services.storage.stores.local import LocalStorage
from judges.hudi_rs import read_snapshot
from judges.table_files import files_below

DAG_ID = "cancelled"
LONG = 900.0
LAST_DAY = "2013-01-03"


@pytest.fixture(scope="session")
def api(stack: AirflowStack, folder: Path) -> AirflowApi:
    pq.write_table(pa.table({"id": list(range(10))}), folder / "ten.parquet")
    stack.api.wait_for_dag(DAG_ID)
    return stack.api


@pytest.fixture(scope="session")
def table(folder: Path) -> Path:
    return folder / DAG_ID


@pytest.fixture(scope="session")
def cancelled(api: AirflowApi, table: Path, folder: Path) -> list[str]:
    """Three days, cancelled after the first; returns the runs that were then marked failed."""
    backfill_id = api.backfill(DAG_ID, "2013-01-01", LAST_DAY, max_active_runs=3)
    wait_until(lambda: "success" in run_states(api), LONG, lambda: f"{api.runs(DAG_ID)}")
    wait_until(lambda: "deferred" in task_states(api), LONG, lambda: f"{task_states(api)}")
    at_work = wait_for_job(folder, LONG)
    assert places(table), "a day must write, and another one must wait"
    api.put(f"/api/v2/backfills/{backfill_id}/cancel")
    running = [run["dag_run_id"] for run in api.runs(DAG_ID) if run["state"] == "running"]
    assert len(running) >= 2
    for run_id in running:
        api.patch(f"/api/v2/dags/{DAG_ID}/dagRuns/{quote(run_id)}", {"state": "failed"})
    wait_until(lambda: not set(at_work) & set(spark_processes(folder)), LONG, lambda: "Spark goes on")
    return running


def run_states(api: AirflowApi) -> list[str]:
    return [run["state"] for run in api.runs(DAG_ID)]


def task_states(api: AirflowApi) -> list[Any]:
    return [api.task_instances(DAG_ID, run["dag_run_id"])["load"]["state"] for run in api.runs(DAG_ID)]


def tries_of_done(api: AirflowApi) -> dict[str, int]:
    """Runs that succeeded → how often their task was tried."""
    done = [run["dag_run_id"] for run in api.runs(DAG_ID) if run["state"] == "success"]
    return {run_id: api.task_instances(DAG_ID, run_id)["load"]["try_number"] for run_id in done}


def places(table: Path) -> list[Path]:
    """Tickets of the tasks that wait and of the task that writes."""
    return files_below(table / ".hoodie" / ".aux" / "airflow")


def days_in(table: Path) -> list[str]:
    """Days of which the table has all ten rows; a row that is there twice, or a part of a day, fails."""
    rows = [(row["day"], row["id"]) for row in read_snapshot(table).to_pylist()]
    days = sorted({day for day, _ in rows})
    assert sorted(rows) == [(day, number) for day in days for number in range(10)]
    return days


def test_all_runs_end(api: AirflowApi, cancelled: list[str]) -> None:
    wait_until(lambda: "running" not in task_states(api), LONG, lambda: f"{task_states(api)}")
    assert not {"running", "queued"} & set(run_states(api))
    assert "deferred" not in task_states(api)


@pytest.mark.at_the_end
def test_nothing_is_stuck(api: AirflowApi, table: Path, cancelled: list[str]) -> None:
    """A task that is ended after its turn came and before its first line leaves its place behind for three minutes."""
    queue = WriterQueue(LocalStorage(str(table)), SystemClock())
    wait_until(lambda: queue.begin("the next one"), LONG, lambda: f"{queue.wait('the next one').ahead}")
    queue.leave("the next one")
    assert places(table) == []
    wait_until(lambda: "running" not in task_states(api), LONG, lambda: f"{task_states(api)}")
    assert not {"running", "queued"} & set(run_states(api))
    assert "deferred" not in task_states(api)


@pytest.mark.at_the_end
def test_readers_see_whole_days(api: AirflowApi, table: Path, cancelled: list[str]) -> None:
    done = [run["logical_date"][:10] for run in api.runs(DAG_ID) if run["state"] == "success"]
    assert done
    assert days_in(table) == done


@pytest.mark.at_the_end
def test_the_next_run_completes_and_cleans_up(api: AirflowApi, table: Path, cancelled: list[str]) -> None:
    before = days_in(table)
    run_id = api.post(f"/api/v2/dags/{DAG_ID}/dagRuns", {"logical_date": "2013-01-21T00:00:00Z"})[
        "dag_run_id"
    ]
    path = f"/api/v2/dags/{DAG_ID}/dagRuns/{quote(run_id)}"
    wait_until(lambda: api.get(path)["state"] == "success", LONG, lambda: api.log(DAG_ID, run_id, "load"))
    assert len(days_in(table)) == len(before) + 1
    assert load_snapshot(LocalStorage(str(table))).timeline.pending == ()
    assert places(table) == []


@pytest.mark.at_the_end
def test_the_same_backfill_again_does_what_is_missing(
    api: AirflowApi, table: Path, cancelled: list[str]
) -> None:
    days, tries = set(days_in(table)), tries_of_done(api)
    api.backfill(DAG_ID, "2013-01-01", LAST_DAY, max_active_runs=3, reprocess_behavior="failed")
    wait_until(
        lambda: run_states(api) == ["success"] * 4, LONG, lambda: f"{api.runs(DAG_ID)}: {task_states(api)}"
    )
    assert set(days_in(table)) == days | {f"2013-01-{day:02d}" for day in range(1, 4)}
    assert tries.items() <= tries_of_done(api).items(), "a day that was done did not run again"
