"""Tasks that wait for Spark in the triggerer are killed, cleared, marked as failed, or time out in a real Airflow."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow_stack.api import AirflowApi, wait_until
from airflow_stack.stack import AirflowStack

sys.path.insert(0, str(Path(__file__).parents[1]))

from airflow_hudi_provider.spark import run_files
from airflow_hudi_provider.spark.supervised_run import RunState, SupervisedRun
from judges.hudi_rs import read_snapshot
from judges.table_files import files_below
from support.airflow.stand_ins import stand_in

LONG = 900.0
TRIES = 'open(os.path.dirname(base_path) + "/waits/" + os.path.basename(base_path), "a").write("x")'
WAITS = f"""
import time
if not os.path.exists(base_path + "/.hoodie/hoodie.properties"): begin()
{TRIES}
while not os.path.exists(os.path.dirname(base_path) + "/waits/go"):
    print("2024-05-01 10:00:00,000 INFO Still waiting", flush=True)
    time.sleep(0.5)
i = commit()
result(outcome="completed", instant_time=i.requested_time)
"""


@pytest.fixture(scope="module")
def api(stack: AirflowStack) -> AirflowApi:
    return stack.api


@pytest.fixture(scope="module")
def runs(folder: Path) -> Path:
    """The folder of the supervised runs; see the fixture `stack`."""
    return folder / "runs"


@pytest.fixture(scope="module", autouse=True)
def begin_runs(stack: AirflowStack, folder: Path, runs: Path) -> Iterator[None]:
    pq.write_table(pa.table({"id": list(range(10))}), folder / "ten.parquet")
    (folder / "waits").mkdir()
    stand_in(folder / "waits", WAITS)
    begin(stack.api, "on_spark", "cleared", "failed")
    yield
    for each in runs.iterdir():
        run = SupervisedRun(each)
        run.ask_to_end()
        run.wait_for_end(30)


def begin(api: AirflowApi, *dag_ids: str) -> None:
    for dag_id in dag_ids:
        api.wait_for_dag(dag_id)
        api.post(f"/api/v2/dags/{dag_id}/dagRuns", {"logical_date": None})


def run_id(api: AirflowApi, dag_id: str) -> str:
    (run,) = api.runs(dag_id)
    return str(run["dag_run_id"])


def task(api: AirflowApi, dag_id: str) -> dict[str, Any]:
    return api.task_instances(dag_id, run_id(api, dag_id))["load"]


def logs(api: AirflowApi, dag_id: str) -> str:
    """The logs of all tries of the task."""
    tries = range(1, task(api, dag_id)["try_number"] + 1)
    return "\n".join(api.log(dag_id, run_id(api, dag_id), "load", number) for number in tries)


def pool(api: AirflowApi) -> Any:
    return api.get("/api/v2/pools/default_pool")


def wait_for_state(api: AirflowApi, dag_id: str, state: str) -> None:
    def problem() -> str:
        seen = task(api, dag_id)
        return (
            f"{dag_id} is {seen['state']}: {api.log(dag_id, run_id(api, dag_id), 'load', seen['try_number'])}"
        )

    wait_until(lambda: task(api, dag_id)["state"] == state, LONG, problem)


def supervised(runs: Path, dag_id: str) -> SupervisedRun:
    (folder,) = runs.glob(f"{dag_id}-*")
    return SupervisedRun(folder)


def driver(runs: Path, dag_id: str) -> psutil.Process:
    state = run_files.read_json(supervised(runs, dag_id).folder / run_files.STATE)
    assert state is not None
    return psutil.Process(state["pid"])


def followed_bytes(runs: Path, dag_id: str) -> int:
    """Number of bytes that a triggerer has read from the output of a run."""
    shown = supervised(runs, dag_id).folder / run_files.SHOWN
    return int(shown.read_text()) if shown.exists() else 0


def wait_until_followed(runs: Path, dag_id: str, seen: int | None = None) -> None:
    """Wait until a triggerer has read more than `seen` bytes of the output (default: the bytes it has read by now).

    Tests wait for this before they let Airflow end a deferred task: if no triggerer runs the trigger at that time,
    nothing ends the Spark run, and the next try of the task continues with that run.
    """
    before = followed_bytes(runs, dag_id) if seen is None else seen
    wait_until(
        lambda: followed_bytes(runs, dag_id) > before, LONG, lambda: "the triggerer does not read the output"
    )


def tries(folder: Path, dag_id: str) -> int:
    path = folder / "waits" / dag_id
    return len(path.read_text()) if path.exists() else 0


def wait_until_begun(api: AirflowApi, folder: Path, dag_id: str) -> None:
    """Wait until the task is deferred and its job has started.

    If a worker dies before its task is deferred, the job starts twice.
    """
    wait_for_state(api, dag_id, "deferred")
    wait_until(lambda: tries(folder, dag_id) > 0, LONG, lambda: f"{dag_id} did not begin")


def instants(folder: Path, dag_id: str) -> list[str]:
    """Suffixes of the files in the timeline."""
    return sorted(path.name.partition(".")[2] for path in (folder / dag_id / ".hoodie").glob("2*.*"))


def turns(folder: Path, dag_id: str) -> list[str]:
    return files_below(folder / dag_id / ".hoodie" / ".aux" / "airflow")


def test_a_run_continues_after_scheduler_and_triggerer_are_killed(
    stack: AirflowStack, api: AirflowApi, folder: Path, runs: Path
) -> None:
    """Scheduler, workers and triggerer are killed as soon as Spark starts, perhaps before the task is deferred."""
    wait_until(lambda: list(runs.glob("on_spark-*/state.json")), LONG, lambda: "Spark did not begin")
    before = driver(runs, "on_spark")
    stack.stop("scheduler", "triggerer", kill=True)
    assert before.is_running()
    for component in ("scheduler", "triggerer"):
        stack.start(component)
    wait_for_state(api, "on_spark", "success")
    assert len(read_snapshot(folder / "on_spark").to_pylist()) == 10
    assert [name for name in instants(folder, "on_spark") if name == "commit"] == ["commit"]
    assert not list(runs.glob("on_spark-*"))
    assert turns(folder, "on_spark") == []


def test_the_task_log_contains_the_progress_of_the_job(api: AirflowApi) -> None:
    assert "Write 1 file group of on_spark" in logs(api, "on_spark")


@pytest.mark.thorough
def test_deferred_tasks_occupy_no_pool_slot(
    stack: AirflowStack, api: AirflowApi, folder: Path, runs: Path
) -> None:
    begin(api, "skipped", "late")
    for dag_id in ("cleared", "failed", "skipped"):
        wait_until_begun(api, folder, dag_id)
    # Until it is deferred, the task of another DAG still occupies a slot.
    wait_until(lambda: pool(api)["running_slots"] == 0, LONG, lambda: str(pool(api)))
    assert pool(api)["deferred_slots"] >= 3
    stack.stop("triggerer", kill=True)
    before = {dag_id: followed_bytes(runs, dag_id) for dag_id in ("cleared", "failed", "skipped")}
    stack.start("triggerer")
    for dag_id, seen in before.items():
        wait_until_followed(runs, dag_id, seen)


def test_clearing_a_deferred_task_ends_its_run_and_starts_another_one(
    api: AirflowApi, folder: Path, runs: Path
) -> None:
    wait_until_begun(api, folder, "cleared")
    wait_until_followed(runs, "cleared")
    before, count = driver(runs, "cleared"), tries(folder, "cleared")
    api.clear("cleared", run_id(api, "cleared"), "load")
    wait_until(lambda: tries(folder, "cleared") == count + 1, LONG, lambda: f"{task(api, 'cleared')}")
    assert not before.is_running()
    wait_for_state(api, "cleared", "deferred")


def test_marking_a_deferred_task_failed_ends_its_run(api: AirflowApi, folder: Path, runs: Path) -> None:
    wait_until_begun(api, folder, "failed")
    wait_until_followed(runs, "failed")
    before = driver(runs, "failed")
    path = f"/api/v2/dags/failed/dagRuns/{run_id(api, 'failed')}/taskInstances/load"
    api.patch(path, {"new_state": "failed"})
    wait_until(lambda: not before.is_running(), LONG, lambda: "the driver still runs")
    wait_until(lambda: turns(folder, "failed") == [], LONG, lambda: "its turn was not released")
    assert instants(folder, "failed") == ["commit.requested", "inflight"]
    sentence = "was pending: readers see the table as it was"
    wait_until(lambda: sentence in logs(api, "failed"), LONG, lambda: logs(api, "failed"))


@pytest.mark.thorough
def test_a_timeout_of_a_dag_run_ends_the_spark_run(api: AirflowApi, folder: Path, runs: Path) -> None:
    wait_for_state(api, "skipped", "skipped")
    run = supervised(runs, "skipped")
    assert run.wait_for_end(LONG).was_asked
    assert api.runs("skipped")[0]["state"] == "failed"
    wait_until(lambda: turns(folder, "skipped") == [], LONG, lambda: "its turn was not released")


@pytest.mark.thorough
def test_a_timeout_of_a_task_ends_the_spark_run(api: AirflowApi, folder: Path, runs: Path) -> None:
    wait_for_state(api, "late", "failed")
    seen = supervised(runs, "late").observe()
    assert (seen.state, seen.was_asked) == (RunState.ENDED, True)
    assert "The execution_timeout has passed: ending the Spark run." in api.log(
        "late", run_id(api, "late"), "load", 1
    )


def test_a_cleared_task_completes_its_new_run(api: AirflowApi, folder: Path) -> None:
    count = tries(folder, "cleared")
    (folder / "waits" / "go").touch()
    wait_for_state(api, "cleared", "success")
    assert "commit" in instants(folder, "cleared")
    assert turns(folder, "cleared") == []
    assert tries(folder, "cleared") == count


def test_a_failed_task_completes_after_it_is_cleared(api: AirflowApi, folder: Path) -> None:
    count = tries(folder, "failed")
    api.clear("failed", run_id(api, "failed"), "load")
    wait_for_state(api, "failed", "success")
    assert "commit" in instants(folder, "failed")
    assert tries(folder, "failed") == count + 1
