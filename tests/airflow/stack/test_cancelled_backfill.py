"""A backfill is cancelled while the task of one day is writing and another task is waiting for its turn."""

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
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from judges.hudi_rs import read_snapshot
from judges.table_files import files_below

pytestmark = pytest.mark.thorough
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
    """Cancel a backfill of three days after the first day, mark its running runs as failed, and return them."""
    backfill_id = api.backfill(DAG_ID, "2013-01-01", LAST_DAY, max_active_runs=3)
    wait_until(lambda: "success" in run_states(api), LONG, lambda: f"{api.runs(DAG_ID)}")
    wait_until(lambda: "deferred" in task_states(api), LONG, lambda: f"{task_states(api)}")
    at_work = wait_for_job(folder, LONG)
    assert places(table), "no task is writing or waiting for its turn"
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
    """For each successful run, the number of tries of its task."""
    done = [run["dag_run_id"] for run in api.runs(DAG_ID) if run["state"] == "success"]
    return {run_id: api.task_instances(DAG_ID, run_id)["load"]["try_number"] for run_id in done}


def places(table: Path) -> list[Path]:
    """Files of the writer queue: one for each waiting task and one for the writing task."""
    return files_below(table / ".hoodie" / ".aux" / "airflow")


def days_in(table: Path) -> list[str]:
    """Days in the table. Fails if the table does not contain each of the ten rows of these days exactly once."""
    rows = [(row["day"], row["id"]) for row in read_snapshot(table).to_pylist()]
    days = sorted({day for day, _ in rows})
    assert sorted(rows) == [(day, number) for day in days for number in range(10)]
    return days


def test_all_runs_of_a_cancelled_backfill_end(api: AirflowApi, cancelled: list[str]) -> None:
    wait_until(lambda: "running" not in task_states(api), LONG, lambda: f"{task_states(api)}")
    assert not {"running", "queued"} & set(run_states(api))
    assert "deferred" not in task_states(api)


@pytest.mark.at_the_end
def test_the_writer_queue_is_free_after_a_cancelled_backfill(
    api: AirflowApi, table: Path, cancelled: list[str]
) -> None:
    """If a task ends before it can leave the writer queue, its place in the queue expires only after three minutes."""
    queue = WriterQueue(LocalStorage(str(table)), SystemClock())
    wait_until(lambda: queue.begin("the next one"), LONG, lambda: f"{queue.wait('the next one').ahead}")
    queue.leave("the next one")
    assert places(table) == []
    wait_until(lambda: "running" not in task_states(api), LONG, lambda: f"{task_states(api)}")
    assert not {"running", "queued"} & set(run_states(api))
    assert "deferred" not in task_states(api)


@pytest.mark.at_the_end
def test_the_table_contains_exactly_the_days_of_successful_runs(
    api: AirflowApi, table: Path, cancelled: list[str]
) -> None:
    done = [run["logical_date"][:10] for run in api.runs(DAG_ID) if run["state"] == "success"]
    assert done
    assert days_in(table) == done


@pytest.mark.at_the_end
def test_the_next_run_after_a_cancelled_backfill_completes_and_leaves_nothing_pending(
    api: AirflowApi, table: Path, cancelled: list[str]
) -> None:
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
def test_a_repeated_backfill_runs_only_the_missing_days(
    api: AirflowApi, table: Path, cancelled: list[str]
) -> None:
    days, tries = set(days_in(table)), tries_of_done(api)
    api.backfill(DAG_ID, "2013-01-01", LAST_DAY, max_active_runs=3, reprocess_behavior="failed")
    wait_until(
        lambda: run_states(api) == ["success"] * 4, LONG, lambda: f"{api.runs(DAG_ID)}: {task_states(api)}"
    )
    assert set(days_in(table)) == days | {f"2013-01-{day:02d}" for day in range(1, 4)}
    assert tries.items() <= tries_of_done(api).items(), "a successful day ran again"
