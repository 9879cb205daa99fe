"""Sessions of a Spark Connect server: progress from the server, engines of two releases, and the memory of a job."""

import json
import logging
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil
import pytest
from airflow_stack.connect_server import ConnectServer
from pyspark.sql import SparkSession
from pyspark.sql.connect.session import SparkSession as ConnectSession

from e2e.connect.test_jobs import slow_job
from e2e.job_processes import SOURCES, JobProcess, environment
from e2e.orders import stored
from hudi_table_services.contract.progress import PROGRESS_FIELD, JobProgress
from hudi_table_services.execution import task_progress
from hudi_table_services.execution.sessions.session import SessionSettings, start_session, stop_session
from hudi_table_services.execution.spark_tasks import run_tasks

pytestmark = pytest.mark.thorough

LARGEST_CLIENT_MB = 400
"""Upper bound for the memory of a job's process. According to docs/spark-connect.md, it needs 200 to 300 MB."""

IDLE_WORKERS_END_WITHIN_S = 150
"""Spark ends workers after a minute without tasks, and looks for them every ten seconds."""

TELL_RELEASE = """
import json, sys, time
from hudi_table_services.execution.sessions.session import SessionSettings, start_session, stop_session
from hudi_table_services.execution.spark_tasks import run_tasks

def work(number):
    from hudi_table_services import errors
    time.sleep(0.2)
    return getattr(errors, "RELEASE_FOR_TEST", "of the checkout")

remote, identity = sys.argv[1:]
spark = start_session(SessionSettings(application_name="t", identity=identity, remote=remote))
try:
    found = []
    for _ in range(8):
        found += run_tasks(spark, list(range(4)), work, description="ask for the release")
    print(json.dumps(sorted(set(found))))
finally:
    stop_session(spark)
"""


@pytest.fixture
def session(server: ConnectServer, tmp_path: Path) -> Iterator[SparkSession]:
    settings = SessionSettings(application_name="t", identity=str(tmp_path), remote=server.address)
    spark = start_session(settings)
    yield spark
    stop_session(spark)


@pytest.mark.skipif(
    not hasattr(ConnectSession, "registerProgressHandler"), reason="Spark 3.5 does not report finished tasks"
)
def test_the_server_reports_the_finished_tasks(
    session: SparkSession, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(task_progress, "INTERVAL_S", 0.1)

    def work(seconds: float) -> float:
        time.sleep(seconds)
        return seconds

    tasks = [0.5] * 12
    assert run_tasks(session, tasks, work, description="Write 12 file groups") == tasks
    found: list[JobProgress] = [
        getattr(record, PROGRESS_FIELD) for record in caplog.records if hasattr(record, PROGRESS_FIELD)
    ]
    counts = [each.done for each in found]
    assert counts == sorted(counts)
    assert any(0 < count < 12 for count in counts)
    middle = next(each for each in found if 0 < each.done < 12)
    assert (middle.total, middle.rows, middle.written_bytes) == (12, 0, 0)
    assert middle.remaining_s is not None
    assert middle.text.startswith(f"Write 12 file groups: {middle.done} of 12 done")

    # The next job of the session begins with no finished tasks.
    caplog.clear()
    run_tasks(session, tasks[:4], work, description="Write 4 file groups")
    again = [
        getattr(record, PROGRESS_FIELD).done for record in caplog.records if hasattr(record, PROGRESS_FIELD)
    ]
    assert again == sorted(again)
    assert again[0] < 4


def test_jobs_of_two_releases_use_their_own_engine(server: ConnectServer, tmp_path: Path) -> None:
    """Both jobs run tasks at the same time on the same executor, which reuses its Python processes."""
    other = shutil.copytree(SOURCES, tmp_path / "other", ignore=shutil.ignore_patterns("__pycache__"))
    with (other / "hudi_table_services" / "errors.py").open("a") as module:
        module.write('\nRELEASE_FOR_TEST = "other"\n')
    jobs = []
    for number, sources in enumerate((SOURCES, other, SOURCES, other)):
        variables = environment({}, PYTHONPATH=str(sources))
        command = [sys.executable, "-c", TELL_RELEASE, server.address, f"{tmp_path}/{number}"]
        jobs.append(JobProcess(command, variables, tmp_path / f"job-{number}"))
    found = []
    for job in jobs:
        ended = job.wait()
        assert ended.exit_code == 0, ended.log
        found.append(json.loads(ended.output))
    assert found == [["of the checkout"], ["other"]] * 2


def test_the_process_of_a_job_needs_little_memory(
    base_path: Path, variables: Mapping[str, str], tmp_path: Path
) -> None:
    job = slow_job(base_path, variables, tmp_path, rows=1_000_000)
    peak_kb = 0
    while job.process.poll() is None:
        peak_kb = max(peak_kb, peak_memory_kb(job.process))
        time.sleep(0.02)
    ended = job.wait()
    assert ended.exit_code == 0, ended.log
    assert len(stored(base_path)) == 1_000_000
    logging.getLogger(__name__).warning("peak memory of the job's process: %d MB", peak_kb >> 10)
    assert 50 < peak_kb >> 10 < LARGEST_CLIENT_MB


def peak_memory_kb(process: "subprocess.Popen[bytes]") -> int:
    try:
        lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    except FileNotFoundError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


def test_the_daemon_of_a_session_ends_with_its_last_worker_and_starts_again(
    server: ConnectServer, session: SparkSession
) -> None:
    def parents(_task: int) -> int:
        time.sleep(0.2)
        return os.getppid()

    def daemons() -> set[int]:
        return set(run_tasks(session, [1, 2, 3, 4], parents, description="ask for the daemon"))

    (first,) = daemons()
    deadline = time.monotonic() + IDLE_WORKERS_END_WITHIN_S
    while psutil.pid_exists(first):
        assert time.monotonic() < deadline, f"the daemon {first} of the session runs without workers"
        time.sleep(1)
    (second,) = daemons()
    assert second != first
    assert server.pid in {process.pid for process in psutil.Process(second).parents()}
