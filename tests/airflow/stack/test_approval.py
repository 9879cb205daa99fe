"""The example ``preview_then_approve``, with answers through Airflow's REST API."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow_stack.api import AirflowApi, wait_until
from airflow_stack.stack import AirflowStack

from hudi_table_services.model.instant import Instant
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from judges.hudi_rs import read_snapshot
from judges.table_files import files_below

DAG_ID = "preview_then_approve"
LONG = 900.0
FORM = {"sort_columns": "dest", "layout": "linear"}
ROWS = [
    {"id": n, "carrier": ("AA", "B6", "UA")[n % 3], "dest": ("ATL", "BOS", "ORD", "SFO")[n % 4]}
    for n in range(600)
]


@pytest.fixture(scope="module")
def api(stack: AirflowStack) -> AirflowApi:
    return stack.api


@pytest.fixture(scope="module")
def table(api: AirflowApi, folder: Path) -> Path:
    """The table of the example: six files, each with rows of all destinations."""
    pq.write_table(pa.Table.from_pylist(ROWS), folder / "flights.parquet")
    wait_for_end(api, "six_files", trigger(api, "six_files"))
    return folder / "flights"


@pytest.fixture(scope="module")
def waiting_runs(api: AirflowApi, stack: AirflowStack, table: Path) -> tuple[str, str]:
    """Two runs that wait for an answer; the second run has parameters."""
    runs = trigger(api, DAG_ID), trigger(api, DAG_ID, FORM)
    for run_id in runs:
        wait_until(lambda run_id=run_id: is_waiting(stack, run_id), LONG, lambda: f"{states(api, *runs)}")
    return runs


def trigger(api: AirflowApi, dag_id: str, params: Mapping[str, str] = MappingProxyType({})) -> str:
    api.wait_for_dag(dag_id)
    body = {"logical_date": None, "conf": dict(params)}
    return str(api.post(f"/api/v2/dags/{dag_id}/dagRuns", body)["dag_run_id"])


def wait_for_end(api: AirflowApi, dag_id: str, run_id: str) -> dict[str, str]:
    """Wait until the run has succeeded, and return the states of its tasks. Fail if the run fails."""
    path = f"/api/v2/dags/{dag_id}/dagRuns/{quote(run_id)}"

    def tasks() -> dict[str, str]:
        return {name: ti["state"] for name, ti in api.task_instances(dag_id, run_id).items()}

    def is_done() -> bool:
        state = api.get(path)["state"]
        assert state != "failed", tasks()
        return bool(state == "success")

    wait_until(is_done, LONG, lambda: f"{dag_id} is not done: {tasks()}")
    return tasks()


def states(api: AirflowApi, *run_ids: str) -> list[Any]:
    return [api.task_instances(DAG_ID, run_id)["approve"]["state"] for run_id in run_ids]


def is_waiting(stack: AirflowStack, run_id: str) -> bool:
    """Whether the scheduler knows that the task is waiting.

    The state of the task changes up to a second before the scheduler knows that the task is waiting. If a test
    answers within this second, Airflow 3.3 assumes that the task was killed, and fails the task.
    """
    return any(
        "TaskInstance Finished" in line and f"task_id=approve, run_id={run_id}," in line
        for line in stack.log_of("scheduler").splitlines()
    )


def question(run_id: str) -> str:
    """Path at which the API returns the question and accepts the answer."""
    return f"/api/v2/dags/{DAG_ID}/dagRuns/{quote(run_id)}/taskInstances/approve/-1/hitlDetails"


def completed(table: Path) -> tuple[Instant, ...]:
    """Return the completed instants, and assert that no instant is pending."""
    timeline = load_snapshot(LocalStorage(str(table))).timeline
    assert timeline.pending == ()
    return timeline.completed


def names_of_files(table: Path) -> set[str]:
    return {str(path.relative_to(table)) for path in files_below(table)}


@pytest.mark.thorough
def test_a_rejected_preview_changes_nothing(
    api: AirflowApi, table: Path, waiting_runs: tuple[str, str]
) -> None:
    run_id, _ = waiting_runs
    before = names_of_files(table)
    assert len(completed(table)) == 1, "the previews of both runs wrote nothing"
    api.patch(question(run_id), {"chosen_options": ["Reject"]})
    assert wait_for_end(api, DAG_ID, run_id) == {
        "preview": "success",
        "approve": "success",
        "cluster": "skipped",
    }
    assert names_of_files(table) == before
    completed(table)


@pytest.mark.thorough
def test_after_an_approval_the_table_is_clustered_as_in_the_preview(
    api: AirflowApi, table: Path, waiting_runs: tuple[str, str]
) -> None:
    _, run_id = waiting_runs
    preview = api.xcom(DAG_ID, run_id, "preview")
    assert (preview["outcome"], preview["files_in"], preview["expected_files"]) == ("planned", 6, 1)
    shown = api.get(question(run_id))
    assert shown["subject"] == f"Cluster {table}?"
    assert preview["picture"] in shown["body"]
    assert "6 files into 1, ordered by LINEAR(dest)" in shown["body"]

    api.patch(question(run_id), {"chosen_options": ["Approve"]})
    assert set(wait_for_end(api, DAG_ID, run_id).values()) == {"success"}
    done = api.xcom(DAG_ID, run_id, "cluster")
    assert (done["outcome"], done["files_in"], done["files_out"]) == ("completed", 6, 1)
    assert done["rows_checked"] == len(ROWS)
    assert [instant.requested_time for instant in completed(table)[1:]] == done["instants"]
    rows = read_snapshot(table).to_pylist()
    assert [row["dest"] for row in rows] == sorted(row["dest"] for row in rows)
    assert sorted(rows, key=lambda row: row["id"]) == ROWS

    nothing_left = trigger(api, DAG_ID, FORM)
    assert set(wait_for_end(api, DAG_ID, nothing_left).values()) == {"skipped"}
