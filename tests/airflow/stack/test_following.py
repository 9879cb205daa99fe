"""DAGs start when a watcher finds a commit, or when a load writes a partition. The test kills the triggerer once."""

import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow_stack.api import AirflowApi, wait_until
from airflow_stack.stack import AirflowStack

# The second test checks the runs that the loads of the first test start, so either both tests run or neither.
pytestmark = pytest.mark.thorough

LONG = 900.0
DAYS = ["2013-01-01", "2013-01-02"]
KEYS = sorted(f"{day}-{number}" for day in DAYS for number in range(10))


def read_rows(api: AirflowApi) -> list[str]:
    """Keys of the rows that the runs of ``read_new`` read, in order."""
    runs = [run for run in api.runs("read_new") if run["state"] == "success"]
    return [key for run in runs for key in api.xcom("read_new", run["dag_run_id"], "read")]


def load(api: AirflowApi, first: str, last: str, days: int) -> None:
    api.backfill("followed", first, last)
    wait_until(
        lambda: [run["state"] for run in api.runs("followed")] == ["success"] * days,
        LONG,
        lambda: f"not loaded: {api.runs('followed')}",
    )


def test_every_row_is_read_once_although_the_triggerer_is_killed(stack: AirflowStack, folder: Path) -> None:
    api = stack.api
    pq.write_table(pa.table({"id": list(range(10))}), folder / "ten.parquet")
    for dag_id in ("followed", "read_new", "by_partition"):
        api.wait_for_dag(dag_id)
    load(api, DAYS[0], DAYS[0], 1)
    wait_until(lambda: len(read_rows(api)) >= 10, LONG, lambda: f"read: {read_rows(api)}")
    stack.stop("triggerer", kill=True)
    load(api, DAYS[1], DAYS[1], 2)
    stack.start("triggerer")
    wait_until(lambda: len(read_rows(api)) >= 20, LONG, lambda: f"read: {read_rows(api)}")
    time.sleep(3)
    assert sorted(read_rows(api)) == KEYS


def test_each_loaded_partition_starts_a_run(stack: AirflowStack) -> None:
    """This test checks the runs that the loads of the previous test started."""
    api = stack.api

    def keys() -> list[str]:
        runs = [run for run in api.runs("by_partition") if run["state"] == "success"]
        return sorted(api.xcom("by_partition", run["dag_run_id"], "tell") for run in runs)

    wait_until(lambda: len(keys()) >= len(DAYS), LONG, lambda: f"{keys()}")
    assert keys() == DAYS
