"""Loads of changes in Airflow's four processes: runs that a watcher starts, skipped runs, and parallel backfills.

This process writes the source without Spark; only the loads start Spark.
"""

from pathlib import Path
from typing import Any

import pytest
from airflow_stack.api import AirflowApi, wait_until
from airflow_stack.stack import AirflowStack

from judges.hudi_rs import read_snapshot
from support.reading.counted_loads import assert_windows_join, windows
from support.spark.log_tables import LogTable, Row, new_log_table

pytestmark = pytest.mark.thorough

LONG = 900.0
DAYS = 3


@pytest.fixture
def api(stack: AirflowStack) -> AirflowApi:
    return stack.api


def stored(path: Path, *names: str) -> list[tuple[Any, ...]]:
    """Rows of a table, or nothing if the table has no commit yet."""
    if not list((path / ".hoodie").rglob("*.commit")):
        return []
    return sorted(tuple(row[name] for name in names) for row in read_snapshot(path).to_pylist())


def failed_logs(api: AirflowApi, dag_id: str) -> str:
    failed = [run["dag_run_id"] for run in api.runs(dag_id) if run["state"] == "failed"]
    tries = {run_id: api.task_instances(dag_id, run_id)["load"]["try_number"] for run_id in failed}
    return "\n".join(api.log(dag_id, run_id, "load", tries[run_id])[-2000:] for run_id in failed)


def wait_for_copy(api: AirflowApi, source: LogTable, copy: Path) -> None:
    expected = [(k, ts, p, v.upper()) for k, ts, p, v in source.rows()]

    def is_equal() -> bool:
        assert not failed_logs(api, "chain_follows"), failed_logs(api, "chain_follows")
        return stored(copy, "k", "ts", "p", "v") == expected

    wait_until(is_equal, LONG, lambda: f"{stored(copy, 'k', 'ts', 'p', 'v')} is not {expected}")


def test_a_commit_starts_the_load_and_a_run_without_new_commits_is_skipped(
    api: AirflowApi, folder: Path
) -> None:
    source, copy = new_log_table(folder / "chain_source"), folder / "chain_copy"
    api.wait_for_dag("chain_follows")
    source.write([("a", 1, "p0", "a1"), ("b", 1, "p0", "b1"), ("c", 1, "p1", "c1")])
    wait_for_copy(api, source, copy)
    source.write([("a", 2, "p0", "a2"), ("d", 2, "p1", "d2")])
    source.write([("b", 2, "p0", "")], "delete")
    wait_for_copy(api, source, copy)
    runs = api.runs("chain_follows")
    assert {run["run_type"] for run in runs} == {"asset_triggered"}

    run_id = api.post("/api/v2/dags/chain_follows/dagRuns", {"logical_date": None})["dag_run_id"]

    def task() -> dict[str, Any]:
        return api.task_instances("chain_follows", run_id)["load"]

    wait_until(lambda: task()["state"] in ("skipped", "success", "failed"), LONG, lambda: str(task()))
    assert task()["state"] == "skipped"
    position = source.newest()[0].visible_from
    reason = f"{source.base_path} has no commit after {position}, the position of the chain"
    assert reason in api.log("chain_follows", run_id, "load")


@pytest.mark.parametrize("dag_id", ["chain_retries", "chain_turns"])
def test_parallel_runs_of_a_backfill_load_each_change_once(
    api: AirflowApi, folder: Path, dag_id: str
) -> None:
    source, counts = new_log_table(folder / f"{dag_id}_source"), folder / f"{dag_id}_counts"

    def batch(number: int) -> list[Row]:
        return [(f"k{i}", number, f"p{i % 3}", f"v{number}") for i in range(number, number + 6)]

    def expected() -> list[tuple[str, int, int]]:
        groups: dict[str, list[int]] = {}
        for _, ts, p, _ in source.rows():
            groups.setdefault(p, []).append(ts)
        return sorted((p, len(found), sum(found)) for p, found in groups.items())

    def are_done(runs: int) -> bool:
        states = [run["state"] for run in api.runs(dag_id)]
        assert "failed" not in states, failed_logs(api, dag_id)
        return states == ["success"] * runs

    source.write(batch(1))
    api.wait_for_dag(dag_id)
    api.backfill(dag_id, "2013-01-01", f"2013-01-{DAYS:02d}", max_active_runs=DAYS)
    number = 1

    def writes_until_done() -> bool:
        """Change the source while the runs load it: add, update and delete rows."""
        nonlocal number
        number += 1
        if number < 12:
            source.write(batch(number))
            source.write(batch(number)[:2], "delete")
        return are_done(DAYS)

    wait_until(writes_until_done, LONG, lambda: str(api.runs(dag_id)), pause_s=3.0)
    # On a slow machine, the first run may load all changes, so the last run must find a change.
    source.write(batch(number + 1))
    api.backfill(dag_id, f"2013-01-{DAYS + 1:02d}", f"2013-01-{DAYS + 1:02d}")
    wait_until(lambda: are_done(DAYS + 1), LONG, lambda: str(api.runs(dag_id)))
    assert stored(counts, "p", "n", "total") == expected()
    assert_windows_join(LogTable(counts), source)
    assert len(windows(LogTable(counts))) > 1
