"""A backfill on CeleryExecutor: workers of Celery run the tasks. The broker is Redis, the database is PostgreSQL."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow_stack.api import wait_until
from airflow_stack.stack import COMPONENTS, AirflowStack, free_ports
from demo_support.backfill import demo_stack

from judges.hudi_rs import read_snapshot

ROOT = Path(__file__).parents[3]
DAYS = 3
LONGEST_S = 600.0
WORKER = "celery worker"

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of a Redis server."""
    program = subprocess.run(
        [ROOT / "scripts" / "ensure_redis.sh"], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()
    if not program:
        pytest.skip("Redis is missing, and cannot be installed.")
    (port,) = free_ports(6380)
    folder = tmp_path_factory.mktemp("redis")
    settings = ["--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no"]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen([program, *settings], cwd=folder, stdout=log, stderr=log)
    try:
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.terminate()
        server.wait()


@pytest.fixture(scope="module")
def celery_stack(
    broker: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[AirflowStack, Path]]:
    """An Airflow whose tasks run in a worker of Celery, and the folder of its tables."""
    if not os.environ.get("POSTGRES_PROGRAMS"):
        pytest.skip(
            "Celery needs PostgreSQL, which cannot be installed: SQLite does not allow concurrent writers."
        )
    folder = tmp_path_factory.mktemp("celery")
    pq.write_table(pa.table({"id": list(range(10))}), folder / "ten.parquet")
    (folder / "dags").mkdir()
    shutil.copy(Path(__file__).parent / "dags" / "days.py", folder / "dags")
    settings = {
        "AIRFLOW__CORE__EXECUTOR": "CeleryExecutor",
        "AIRFLOW__CELERY__BROKER_URL": broker,
        "AIRFLOW__CELERY__WORKER_CONCURRENCY": "3",
        "AIRFLOW__HUDI__RUN_FOLDER": str(folder / "runs"),
        "AIRFLOW_CONN_STORE": json.dumps({"conn_type": "aws"}),
    }
    with demo_stack(folder, folder / "dags", settings, components=(*COMPONENTS, WORKER)) as stack:
        yield stack, folder
        stack.stop(kill=True)


def test_a_backfill_completes_although_its_worker_is_killed(celery_stack: tuple[AirflowStack, Path]) -> None:
    stack, folder = celery_stack
    api = stack.api
    api.wait_for_dag("parallel")
    api.backfill("parallel", "2013-01-01", f"2013-01-{DAYS:02d}", max_active_runs=3)

    def states() -> list[str]:
        return [run["state"] for run in api.runs("parallel")]

    def has_begun() -> bool:
        return any(
            task["state"] == "running"
            for run in api.runs("parallel")
            for task in api.task_instances("parallel", run["dag_run_id"]).values()
        )

    wait_until(has_begun, LONGEST_S, lambda: stack.log_of(WORKER)[-3000:])
    stack.stop(WORKER, kill=True)
    time.sleep(1)
    stack.start(WORKER)
    wait_until(
        lambda: len(states()) == DAYS and set(states()) <= {"success", "failed"},
        LONGEST_S,
        lambda: f"{states()}\n{stack.log_of(WORKER)[-3000:]}",
    )
    assert states() == ["success"] * DAYS, stack.log_of(WORKER)[-3000:]
    rows = [(row["day"], row["id"]) for row in read_snapshot(folder / "parallel").to_pylist()]
    assert sorted(rows) == [
        (f"2013-01-{day:02d}", number) for day in range(1, DAYS + 1) for number in range(10)
    ]
