"""Job scripts whose Spark tasks run on a Spark Connect server, while no JVM runs in their own process."""

import os
import signal
import sys
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pyspark
import pytest
from airflow_stack.connect_server import ConnectServer

from e2e.job_processes import SCRIPT, SOURCES, Ended, JobProcess, busy_workers, environment, run
from e2e.orders import Order, orders, stored, table_flags, write_parquet
from hudi_table_services.contract.result import Outcome
from hudi_table_services.execution.sessions.session import SessionSettings, start_session, stop_session
from hudi_table_services.execution.spark_tasks import default_parallelism
from support.depth import cases
from support.spark.every_job import run_every_job
from support.spark.table_elsewhere import TableElsewhere, rows_by_hudi_rs

FIRST = orders(range(1000))


def load(
    rows: list[Order], base_path: Path, variables: Mapping[str, str], folder: Path, **flags: str
) -> Ended:
    source = write_parquet(rows, folder / f"{len(rows)}-{rows[0]}.parquet")
    command = [sys.executable, SCRIPT, *table_flags(base_path, source_path=str(source), **flags)]
    return run(command, variables, folder / "run")


def test_a_write_and_a_clustering_run_without_java(
    base_path: Path, variables: Mapping[str, str], tmp_path: Path
) -> None:
    first = load(FIRST, base_path, variables, tmp_path)
    assert first.exit_code == 0, first.log
    assert first.result.rows.inserted == 1000
    second = load(orders(range(900, 1100), version=2), base_path, variables, tmp_path)
    assert second.exit_code == 0, second.log
    expected = sorted(orders(range(900)) + orders(range(900, 1100), version=2))
    assert stored(base_path) == expected
    flags = [f"--base-path={base_path}", "--sort-columns=amount"]
    clustered = run(
        [sys.executable, SOURCES / "run_clustering.py", *flags], variables, tmp_path / "clustering"
    )
    assert clustered.exit_code == 0, clustered.log
    assert clustered.result.outcome is Outcome.COMPLETED
    assert stored(base_path) == expected


@pytest.mark.thorough
def test_flags_set_the_server_and_properties_of_the_session(
    server: ConnectServer, base_path: Path, variables: Mapping[str, str], tmp_path: Path
) -> None:
    without = {name: value for name, value in variables.items() if name != "SPARK_REMOTE"}
    source = write_parquet(FIRST, tmp_path / "first.parquet")
    flags = [
        *table_flags(base_path, source_path=str(source)),
        f"--remote={server.address}",
        "--conf=spark.sql.session.timeZone=Europe/Berlin",
        "--conf=spark.executor.memory=7g",
    ]
    ended = run([sys.executable, SCRIPT, *flags], without, tmp_path / "run")
    assert ended.exit_code == 0, ended.log
    assert "cannot set spark.executor.memory; the values of the server apply" in ended.log
    assert stored(base_path) == FIRST


def test_an_address_without_a_server_fails_at_once(
    base_path: Path, variables: Mapping[str, str], tmp_path: Path
) -> None:
    began = time.monotonic()
    ended = load(FIRST, base_path, {**variables, "SPARK_REMOTE": "sc://127.0.0.1:9"}, tmp_path)
    assert ended.exit_code == 70
    assert "No Spark Connect server answers at 127.0.0.1:9" in ended.log
    assert time.monotonic() - began < 30
    assert not base_path.exists()


def slow_job(base_path: Path, variables: Mapping[str, str], folder: Path, rows: int = 400_000) -> JobProcess:
    """Start a job whose Spark tasks run for some seconds."""
    source = write_parquet(orders(range(rows)), folder / "large.parquet")
    flags = table_flags(base_path, source_path=str(source), request_id="large")
    return JobProcess([sys.executable, SCRIPT, *flags], variables, folder / "large")


def runs_tasks(job: JobProcess, server: ConnectServer) -> bool | None:
    """Whether the job has begun to read its source, and a worker of the server is busy.

    A worker alone is not enough: tasks of an earlier job may still run on the server.
    """
    return True if "Stage the incoming rows" in job.log and busy_workers(server.pid) else None


@pytest.mark.parametrize(
    "number", cases([signal.SIGTERM, signal.SIGKILL], [signal.SIGKILL], lambda number: number.name)
)
def test_the_next_run_ends_the_spark_tasks_of_a_killed_job_and_completes(
    number: signal.Signals,
    server: ConnectServer,
    base_path: Path,
    variables: Mapping[str, str],
    tmp_path: Path,
) -> None:
    job = slow_job(base_path, variables, tmp_path)
    job.wait_for("worker that runs a task", lambda: runs_tasks(job, server))
    os.kill(job.process.pid, number)
    killed = job.wait()
    assert killed.exit_code != 0
    assert ("was asked to end" in killed.log) == (number is signal.SIGTERM)
    again = slow_job(base_path, variables, tmp_path)
    ended = again.wait()
    assert ended.exit_code == 0, ended.log
    assert ("left a Spark session open" in ended.log) == (number is signal.SIGKILL or is_spark35())
    assert len(stored(base_path)) == 400_000


def is_spark35() -> bool:
    """Whether this is Spark 3.5, whose client cannot end a session. The server ends it after an idle hour."""
    return pyspark.__version__.startswith("3.5.")


def tasks_in_parallel(server: ConnectServer) -> int:
    spark = start_session(SessionSettings(application_name="tasks in parallel", remote=server.address))
    try:
        return default_parallelism(spark)
    finally:
        stop_session(spark)


@pytest.mark.thorough
def test_a_job_fails_if_its_server_dies_and_its_next_run_completes(base_path: Path, tmp_path: Path) -> None:
    jar = os.environ.get("CONNECT_JAR", "")
    with ConnectServer(tmp_path / "server", environment({}), master="local[3]", jars=jar) as own:
        assert tasks_in_parallel(own) == 3
        variables = environment({}, SPARK_REMOTE=own.address)
        job = slow_job(base_path, variables, tmp_path)
        job.wait_for("worker that runs a task", lambda: runs_tasks(job, own))
        own.kill()
        own.start()
        failed = job.wait()
        assert failed.exit_code == 70, failed.log
        assert "ExecutionFailedError: Spark failed in the step: " in failed.log
        ended = slow_job(base_path, variables, tmp_path).wait()
        assert ended.exit_code == 0, ended.log
        assert len(stored(base_path)) == 400_000


@pytest.mark.thorough
def test_jobs_at_the_same_time_do_not_disturb_each_other(
    base_path: Path, variables: Mapping[str, str], tmp_path: Path
) -> None:
    places = [base_path, base_path.with_name("second"), base_path.with_name("third")]
    jobs = []
    for number, place in enumerate(places):
        source = write_parquet(orders(range(5000), version=number), tmp_path / f"{number}.parquet")
        flags = table_flags(place, source_path=str(source), request_id="the same for each table")
        command = [sys.executable, SCRIPT, *flags]
        jobs.append(JobProcess(command, variables, tmp_path / f"job-{number}"))
    for job in jobs:
        ended = job.wait()
        assert ended.exit_code == 0, ended.log
    for number, place in enumerate(places):
        assert stored(place) == sorted(orders(range(5000), version=number))


@pytest.mark.thorough
@pytest.mark.parametrize("version", ["6", "9"])
def test_every_job_runs_on_the_server(version: str, server: ConnectServer, base_path: Path) -> None:
    settings = SessionSettings(application_name="every job", identity=str(base_path), remote=server.address)
    spark = start_session(settings)
    try:
        read_rows = partial(rows_by_hudi_rs, options={})
        run_every_job(TableElsewhere(spark, str(base_path), {}, version, read_rows))
    finally:
        stop_session(spark)
