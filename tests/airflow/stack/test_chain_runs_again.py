"""A task of a chain runs again: a user clears the task, or a new Airflow with an empty database runs the same DAG."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from airflow_stack.api import AirflowApi, wait_until
from airflow_stack.stack import AirflowStack
from demo_support.backfill import demo_stack

from judges.hudi_rs import read_snapshot
from support.reading.counted_loads import assert_windows_join, windows
from support.spark.log_tables import LogTable, new_log_table

pytestmark = pytest.mark.thorough

LONG = 900.0
DAG_ID = "chain_again"
REUSED = "an earlier attempt of this request completed it"


def task(api: AirflowApi, day: int) -> dict[str, Any]:
    """The task of the run of this day."""
    (run,) = (run for run in api.runs(DAG_ID) if run["logical_date"].startswith(f"2013-01-{day:02d}"))
    return {**api.task_instances(DAG_ID, run["dag_run_id"])["load"], "run_id": run["dag_run_id"]}


def wait_for_task(api: AirflowApi, day: int, state: str, *, tries: int = 1) -> str:
    """Wait until the task has this state and number of tries; return the log of the last try."""

    def is_done() -> bool:
        found = task(api, day)
        if found["state"] in ("failed", "upstream_failed"):
            raise AssertionError(api.log(DAG_ID, found["run_id"], "load", found["try_number"])[-3000:])
        return found["state"] == state and found["try_number"] >= tries

    wait_until(is_done, LONG, lambda: str(task(api, day)))
    found = task(api, day)
    return api.log(DAG_ID, found["run_id"], "load", found["try_number"])


def run_day(api: AirflowApi, day: int, state: str = "success") -> str:
    api.backfill(DAG_ID, f"2013-01-{day:02d}", f"2013-01-{day:02d}")
    wait_until(lambda: any(f"-{day:02d}T" in run["logical_date"] for run in api.runs(DAG_ID)), LONG, str)
    return wait_for_task(api, day, state)


def computed(source: LogTable) -> list[tuple[str, int, int]]:
    """The full computation of the target."""
    groups: dict[str, list[int]] = {}
    for _, ts, p, _ in source.rows():
        groups.setdefault(p, []).append(ts)
    return sorted((p, len(found), sum(found)) for p, found in groups.items())


def stored(counts: LogTable) -> list[tuple[str, int, int]]:
    return sorted((r["p"], r["n"], r["total"]) for r in read_snapshot(counts.base_path).to_pylist())


def test_a_cleared_task_and_a_new_airflow_load_each_change_once(
    stack: AirflowStack, folder: Path, tmp_path: Path
) -> None:
    source, counts = new_log_table(folder / f"{DAG_ID}_source"), LogTable(folder / f"{DAG_ID}_counts")
    source.write([("a", 1, "p0", "a1"), ("b", 1, "p1", "b1")])
    stack.api.wait_for_dag(DAG_ID)
    run_day(stack.api, 1)
    assert stored(counts) == computed(source)
    source.write([("a", 2, "p0", "a2"), ("c", 2, "p2", "c2")])
    run_day(stack.api, 2)
    before = computed(source)

    # The source has a new commit. A cleared task does not load this commit, and writes nothing again.
    source.write([("b", 3, "p1", "")], "delete")
    found = windows(counts)
    stack.api.clear(DAG_ID, task(stack.api, 2)["run_id"], "load")
    assert REUSED in wait_for_task(stack.api, 2, "success", tries=2)
    assert windows(counts) == found
    assert stored(counts) == before

    dags = tmp_path / "dags"
    dags.mkdir()
    for name in ("chains.py", "days.py"):
        shutil.copy(Path(__file__).parent / "dags" / name, dags)
    settings = {
        "HUDI_EXAMPLES_FOLDER": str(folder),
        "AIRFLOW__HUDI__RUN_FOLDER": str(tmp_path / "runs"),
    }
    with demo_stack(tmp_path, dags, settings) as new:
        new.api.wait_for_dag(DAG_ID)
        assert new.api.runs(DAG_ID) == []
        # The run of the new Airflow has the same id as the run of day 2 in the lost database.
        assert REUSED in run_day(new.api, 2)
        assert windows(counts) == found
        run_day(new.api, 3)
        assert windows(counts)[:-1] == found
        assert stored(counts) == computed(source)
        log = run_day(new.api, 4, "skipped")
        assert f"has no commit after {source.newest()[0].visible_from}, the position of the chain" in log
        source.write([("d", 4, "p0", "d4")])
        run_day(new.api, 5)
        new.stop(kill=True)
    assert stored(counts) == computed(source)
    assert_windows_join(counts, source)
    assert len(windows(counts)) == len(found) + 2
