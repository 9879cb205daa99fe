"""Tasks on a Spark Connect server, some of them deferred: the job, the server or the task ends too early."""

import asyncio
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import aclosing
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow.providers.common.compat.sdk import TaskDeferred
from airflow.sdk.exceptions import TaskDeferralTimeout
from airflow_stack.connect_server import ConnectServer

from airflow_hudi_provider.exceptions import HudiTaskError
from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator
from airflow_hudi_provider.spark.supervised_run import SupervisedRun
from airflow_hudi_provider.triggers.spark_run import HudiSparkRunTrigger
from e2e.job_processes import busy_workers
from judges.hudi_rs import read_snapshot
from support.airflow.task_context import TaskInstance, context
from support.airflow.waiting import wait_until

pytestmark = pytest.mark.thorough

ROWS = 2_000_000
TIMEOUT_S = 120.0
Operator = Callable[..., UpsertWithSizingOperator]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    with (
        ConnectServer(tmp_path_factory.mktemp("connect"), {}) as server,
        pytest.MonkeyPatch.context() as patch,
    ):
        made = {"conn_type": "spark_connect", "host": "localhost", "port": server.port}
        patch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(made))
        yield server


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("landing") / "rows.parquet"
    pq.write_table(pa.table({"id": list(range(ROWS))}), path)
    return str(path)


@pytest.fixture
def load(
    server: ConnectServer, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Operator]:
    """Return a function that makes the task. At the end, all deferred runs are ended."""
    runs = tmp_path / "runs"
    monkeypatch.setenv("AIRFLOW__HUDI__RUN_FOLDER", str(runs))

    def make(**arguments: Any) -> UpsertWithSizingOperator:
        return UpsertWithSizingOperator(
            task_id="load",
            base_path=str(tmp_path / "t"),
            table_name="t",
            record_key="id",
            source_path=source,
            **arguments,
        )

    yield make
    for folder in runs.glob("*"):
        run = SupervisedRun(folder)
        run.ask_to_end()
        run.wait_for_end(TIMEOUT_S)
    wait_until(lambda: not busy_workers(server.pid), TIMEOUT_S)


class InThread:
    """An execution of a task in a thread, which ends with an error or a result."""

    def __init__(self, task: UpsertWithSizingOperator) -> None:
        self.error: BaseException | None = None
        self._task = task
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._task.execute(context())
        except BaseException as error:
            self.error = error

    def wait(self) -> BaseException | None:
        self._thread.join(TIMEOUT_S)
        assert not self._thread.is_alive()
        return self.error


def deferred(task: UpsertWithSizingOperator, **fields: Any) -> HudiSparkRunTrigger:
    with pytest.raises(TaskDeferred) as stopped:
        task.execute(context(**fields))
    return HudiSparkRunTrigger(**{**stopped.value.trigger.serialize()[1], "poke_interval": 0.05})


def event_of(trigger: HudiSparkRunTrigger) -> dict[str, Any]:
    async def wait() -> dict[str, Any]:
        async with aclosing(trigger.run()) as events:
            return (await asyncio.wait_for(anext(events), TIMEOUT_S)).payload

    return asyncio.run(wait())


def jobs() -> list[psutil.Process]:
    """Processes of this Airflow that run the job's script. Deferred jobs are not children of this process."""
    return [process for process in psutil.process_iter() if runs_the_script(process)]


def runs_the_script(process: psutil.Process) -> bool:
    try:
        words = process.cmdline()
        is_job = len(words) > 1 and words[1].endswith("/upsert_with_sizing.py")
        return is_job and process.environ().get("AIRFLOW_HOME") == os.environ["AIRFLOW_HOME"]
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False


def ids_of(base_path: Path) -> list[int]:
    return sorted(read_snapshot(base_path)["id"].to_pylist())


def has_no_commit(base_path: Path) -> bool:
    return not list((base_path / ".hoodie").glob("**/*.commit"))


def test_the_next_try_completes_after_the_server_was_restarted(
    server: ConnectServer, load: Operator, tmp_path: Path
) -> None:
    running = InThread(load())
    wait_until(lambda: busy_workers(server.pid), TIMEOUT_S)
    server.kill()
    server.start()
    assert isinstance(running.wait(), HudiTaskError)
    assert has_no_commit(tmp_path / "t")
    load().execute(context(ti=TaskInstance()))
    assert ids_of(tmp_path / "t") == list(range(ROWS))


def test_the_next_try_ends_the_spark_tasks_of_a_killed_job(
    server: ConnectServer, load: Operator, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    running = InThread(load())
    wait_until(lambda: busy_workers(server.pid), TIMEOUT_S)
    (job,) = jobs()
    os.kill(job.pid, signal.SIGKILL)
    assert isinstance(running.wait(), HudiTaskError)
    load().execute(context(ti=TaskInstance()))
    assert "left a Spark session open" in "".join(capfd.readouterr())
    assert ids_of(tmp_path / "t") == list(range(ROWS))


def test_a_retry_continues_to_follow_a_deferred_job(
    server: ConnectServer, load: Operator, tmp_path: Path
) -> None:
    deferred(load(deferrable=True))
    wait_until(lambda: busy_workers(server.pid), TIMEOUT_S)
    (job,) = jobs()
    trigger = deferred(load(deferrable=True))
    assert [each.pid for each in jobs()] == [job.pid]
    task = load(deferrable=True)
    assert task.execute_when_over(context(), event_of(trigger))["outcome"] == "completed"
    assert ids_of(tmp_path / "t") == list(range(ROWS))


def test_a_deferred_task_that_is_marked_as_failed_or_cleared_ends_its_spark_tasks_on_the_server(
    server: ConnectServer, load: Operator, tmp_path: Path
) -> None:
    trigger = deferred(load(deferrable=True))
    wait_until(lambda: busy_workers(server.pid), TIMEOUT_S)
    asyncio.run(trigger.on_kill())
    wait_until(lambda: not jobs() and not busy_workers(server.pid), TIMEOUT_S)
    assert has_no_commit(tmp_path / "t")
    cleared = load(deferrable=True)
    again = deferred(cleared, ti=TaskInstance(max_tries=1))
    assert cleared.execute_when_over(context(), event_of(again))["outcome"] == "completed"
    assert ids_of(tmp_path / "t") == list(range(ROWS))


def test_a_deferred_task_past_its_timeout_ends_its_spark_tasks_on_the_server(
    server: ConnectServer, load: Operator, tmp_path: Path
) -> None:
    task = load(deferrable=True, execution_timeout=timedelta(minutes=5))
    with pytest.raises(TaskDeferred) as stopped:
        task.execute(context())
    assert stopped.value.timeout == timedelta(minutes=5)
    wait_until(lambda: busy_workers(server.pid), TIMEOUT_S)
    resumed = load(deferrable=True, execution_timeout=timedelta(minutes=5))
    with pytest.raises(TaskDeferralTimeout):
        resumed.resume_execution("__fail__", {"error": "Trigger timeout"}, context())
    wait_until(lambda: not jobs() and not busy_workers(server.pid), TIMEOUT_S)
    assert has_no_commit(tmp_path / "t")
