"""Run a backfill of the example DAG in the demo's own Airflow, and report each run."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from airflow_stack.stack import COMPONENTS, AirflowStack, StackError

from demo_support.progress import Progress, activity
from demo_support.quick_spark import quick_start
from hudi_table_services.contract.result import JobResult
from hudi_table_services.services.registry import read_result

DAG_ID = "flights_daily"
ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "dags_examples"
HOME = ROOT / "airflow-home"
"""Folder of Airflow and of the tables. ``make demo`` and ``make airflow`` share it."""

_LONGEST_S = 1800
_PAUSE_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Clustered:
    """Result of a clustering, from the XComs of its tasks."""

    instants: tuple[str, ...]
    commit_count: int
    files_in: int
    files_out: int
    bytes_in: int
    bytes_out: int
    order: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """One run of the DAG. ``clustered`` is None if no clustering was due, or if the clustering dropped all groups."""

    day: date
    run_id: str
    result: JobResult
    seconds: float
    clustered: Clustered | None


def demo_stack(
    folder: Path,
    dags_folder: Path = EXAMPLES,
    variables: Mapping[str, str] = MappingProxyType({}),
    components: Sequence[str] = COMPONENTS,
) -> AirflowStack:
    """Return an Airflow with its home and the tables in the folder, and with further environment variables."""
    settings = {
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local[2]"}),
        "HUDI_EXAMPLES_FOLDER": str(folder),
        "SPARK_LOCAL_IP": "127.0.0.1",
        **quick_start({}),
    }
    return AirflowStack(folder / "airflow", dags_folder, {**settings, **variables}, components=components)


def follow_backfill(stack: AirflowStack, first: date, last: date, progress: Progress) -> Iterator[Day]:
    """Start the backfill and yield its runs as they succeed.

    Args:
        progress: gets the texts about what the backfill waits for.

    Raises:
        StackError: a run failed; the message ends with the log of the failed task.
    """
    progress.waits_for(f"Airflow's DAG processor reads the DAG {DAG_ID}")
    stack.api.wait_for_dag(DAG_ID)
    progress.waits_for("Airflow creates the runs of the backfill")
    backfill_id = stack.api.backfill(DAG_ID, f"{first}", f"{last}", max_active_runs=3)
    reported: set[str] = set()
    deadline = time.monotonic() + _LONGEST_S
    while time.monotonic() < deadline:
        stack.raise_if_dead()
        is_done = stack.api.is_backfill_done(backfill_id)
        runs = stack.api.runs(DAG_ID)
        for run in runs:
            if run["state"] == "failed":
                raise StackError(f"Run {run['dag_run_id']} failed:\n{_failed_log(stack, run['dag_run_id'])}")
            if run["state"] == "success" and run["dag_run_id"] not in reported:
                reported.add(run["dag_run_id"])
                yield _day(stack, run)
        if is_done:
            return
        if progress.needs_text:
            progress.waits_for(activity(runs, partial(stack.api.task_instances, DAG_ID)))
        time.sleep(_PAUSE_S)
    raise StackError(f"The backfill had not ended after {_LONGEST_S} s.")


def reprocess_day(stack: AirflowStack, day: date, progress: Progress) -> Day:
    """Backfill a successful day again."""
    progress.waits_for("Airflow creates the backfill; it first records the end of the earlier backfill")
    before = {run["dag_run_id"]: run["end_date"] for run in stack.api.runs(DAG_ID)}
    stack.api.backfill(DAG_ID, f"{day}", f"{day}", reprocess_behavior="completed")
    deadline = time.monotonic() + _LONGEST_S
    while time.monotonic() < deadline:
        stack.raise_if_dead()
        runs = stack.api.runs(DAG_ID)
        run = next(r for r in runs if r["logical_date"].startswith(f"{day}"))
        is_new = run["state"] == "success" and run["end_date"] != before[run["dag_run_id"]]
        if is_new:
            return _day(stack, run)
        if progress.needs_text:
            progress.waits_for(activity(runs, partial(stack.api.task_instances, DAG_ID)))
        time.sleep(_PAUSE_S)
    raise StackError(f"{day} was not reprocessed after {_LONGEST_S} s.")


def result_of(xcom: dict[str, Any]) -> JobResult:
    """Parse the result document in an XCom, which also contains the number of partitions."""
    document = {key: value for key, value in xcom.items() if key != "partition_count"}
    return read_result(json.dumps(document))


def _day(stack: AirflowStack, run: dict[str, Any]) -> Day:
    run_id = run["dag_run_id"]
    tasks = stack.api.task_instances(DAG_ID, run_id)
    has_clustered = tasks["cluster"]["state"] == "success"
    return Day(
        day=date.fromisoformat(run["logical_date"][:10]),
        run_id=run_id,
        result=result_of(stack.api.xcom(DAG_ID, run_id, "load_day")),
        seconds=_seconds(tasks["load_day"]),
        clustered=_clustered(stack, run_id, _seconds(tasks["cluster"])) if has_clustered else None,
    )


def _clustered(stack: AirflowStack, run_id: str, seconds: float) -> Clustered:
    planned, done = (stack.api.xcom(DAG_ID, run_id, task) for task in ("plan_clustering", "cluster"))
    return Clustered(
        instants=tuple(done["instants"]),
        commit_count=planned["commit_count"],
        **{name: done[name] or 0 for name in ("files_in", "files_out", "bytes_in", "bytes_out")},
        order=done["plans"][0]["layout"].removeprefix("LINEAR").strip("()"),
        seconds=seconds,
    )


def _seconds(task: dict[str, Any]) -> float:
    return float(task["duration"] or 0)


def _failed_log(stack: AirflowStack, run_id: str) -> str:
    for name, task in stack.api.task_instances(DAG_ID, run_id).items():
        if task["state"] == "failed":
            return stack.api.log(DAG_ID, run_id, name, task["try_number"])[-3000:]
    return ""
