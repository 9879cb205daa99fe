"""Operators whose Spark connection names a Spark Connect server. No JVM runs in the worker."""

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowTaskTimeout
from airflow_stack.connect_server import ConnectServer

from airflow_hudi_provider.exceptions import HudiTaskRefusedError
from airflow_hudi_provider.operators.clean import CleanOperator
from airflow_hudi_provider.operators.clustering import ClusteringOperator
from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator
from e2e.job_processes import busy_workers
from judges.hudi_rs import read_snapshot
from support.airflow.task_context import context
from support.airflow.waiting import wait_until
from support.depth import cases

CANARY = "canary-5b21"
WITHOUT_JAVA = {"PATH": "/nowhere", "JAVA_HOME": ""}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    """A server that requires a token, and two connections: `spark_default`, and `wrong` with another token."""
    token = {"spark.connect.authenticate.token": CANARY}
    with (
        ConnectServer(tmp_path_factory.mktemp("connect"), {}, conf=token) as server,
        pytest.MonkeyPatch.context() as patch,
    ):
        made = {"conn_type": "spark_connect", "host": "localhost", "port": server.port}
        patch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({**made, "password": CANARY}))
        patch.setenv("AIRFLOW_CONN_WRONG", json.dumps({**made, "password": "other"}))
        yield server


def landed(folder: Path, rows: int) -> str:
    path = folder / f"{rows}.parquet"
    pq.write_table(pa.table({"id": list(range(rows)), "p": ["a", "b"] * (rows // 2)}), path)
    return str(path)


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(
    "deferrable", cases([False, True], [True], {False: "waiting", True: "deferred"}.__getitem__)
)
def test_tasks_load_rows_and_then_cluster_and_clean_the_table(
    run_dag: Callable[..., Any], tmp_path: Path, deferrable: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    base_path = tmp_path / "t"
    table: dict[str, Any] = {"base_path": str(base_path), "deferrable": deferrable, "env_vars": WITHOUT_JAVA}
    with DAG(f"connect_{deferrable}", schedule=None, default_args={"retries": 0}) as dag:
        load = UpsertWithSizingOperator(
            task_id="load",
            table_name="t",
            record_key="id",
            partition_by="p",
            source_path=landed(tmp_path, 1000),
            hudi_options={
                "hoodie.copyonwrite.insert.auto.split": False,
                "hoodie.copyonwrite.insert.split.size": 200,
            },
            executor_memory="7g",
            **table,
        )
        cluster = ClusteringOperator(task_id="cluster", sort_columns="id", **table)
        clean = CleanOperator(task_id="clean", **table)
        load >> cluster >> clean
    assert run_dag(dag).state == "success"
    assert sorted(row["id"] for row in read_snapshot(base_path).to_pylist()) == list(range(1000))
    logged = "".join(capfd.readouterr())
    assert "Spark Connect server: localhost" in logged
    assert "executor_memory: these arguments have no effect on a Spark Connect session" in logged
    assert CANARY not in logged


def test_a_wrong_token_fails_with_the_answer_of_the_server(server: ConnectServer, tmp_path: Path) -> None:
    task = UpsertWithSizingOperator(
        task_id="load",
        base_path=str(tmp_path / "t"),
        table_name="t",
        record_key="id",
        source_path=landed(tmp_path, 10),
        spark_conn_id="wrong",
    )
    with pytest.raises(Exception, match=f"server at localhost:{server.port} opened no session") as raised:
        task.execute(context())
    assert CANARY not in str(raised.value)
    assert not (tmp_path / "t").exists()


def test_a_killed_task_ends_its_spark_tasks_on_the_server(server: ConnectServer, tmp_path: Path) -> None:
    task = UpsertWithSizingOperator(
        task_id="load",
        base_path=str(tmp_path / "t"),
        table_name="t",
        record_key="id",
        source_path=landed(tmp_path, 2_000_000),
    )
    errors: list[BaseException] = []

    def execute() -> None:
        try:
            task.execute(context())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=execute)
    thread.start()
    try:
        wait_until(lambda: busy_workers(server.pid))
        words = [
            word for process in psutil.process_iter(["cmdline"]) for word in process.info["cmdline"] or ()
        ]
        assert any("upsert_with_sizing.py" in word for word in words)
        assert not [word for word in words if CANARY in word and "authenticate.token" not in word]
    finally:
        task.on_kill()
        thread.join(60)
    assert errors
    wait_until(lambda: not busy_workers(server.pid))
    assert not list((tmp_path / "t" / ".hoodie").glob("*.commit"))


def test_a_task_that_exceeds_its_time_ends_its_job(server: ConnectServer, tmp_path: Path) -> None:
    task = UpsertWithSizingOperator(
        task_id="load",
        base_path=str(tmp_path / "t"),
        table_name="t",
        record_key="id",
        source_path=landed(tmp_path, 2_000_000),
    )

    def time_out(*_: object) -> None:
        raise AirflowTaskTimeout("too late")

    def after_the_tasks_have_begun() -> None:
        wait_until(lambda: busy_workers(server.pid))
        os.kill(os.getpid(), signal.SIGUSR1)

    watcher = threading.Thread(target=after_the_tasks_have_begun)
    earlier = signal.signal(signal.SIGUSR1, time_out)
    try:
        watcher.start()
        with pytest.raises(AirflowTaskTimeout):
            task.execute(context())
        children = set(psutil.Process().children(recursive=True))
        found = [each for each in psutil.process_iter(["cmdline"]) if each in children]
        words = [word for each in found for word in each.info["cmdline"] or ()]
        assert not any("upsert_with_sizing.py" in word for word in words), "the job still runs"
    finally:
        signal.signal(signal.SIGUSR1, earlier)
        watcher.join()
    wait_until(lambda: not busy_workers(server.pid))


def test_the_hudi_connection_names_a_spark_connection_with_a_whole_address(
    server: ConnectServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = {"conn_type": "spark", "host": f"sc://localhost:{server.port}", "password": CANARY}
    monkeypatch.setenv("AIRFLOW_CONN_BY_ADDRESS", json.dumps(made))
    lake = {"conn_type": "hudi", "extra": {"spark_conn_id": "by_address"}}
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps(lake))
    UpsertWithSizingOperator(
        task_id="load",
        base_path=str(tmp_path / "t"),
        hudi_conn_id="lake",
        table_name="t",
        record_key="id",
        source_path=landed(tmp_path, 10),
        env_vars=WITHOUT_JAVA,
    ).execute(context())
    assert sorted(row["id"] for row in read_snapshot(tmp_path / "t").to_pylist()) == list(range(10))


def test_a_connection_with_a_path_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = {"conn_type": "spark_connect", "host": "localhost/path", "port": 15002, "password": CANARY}
    monkeypatch.setenv("AIRFLOW_CONN_WITH_PATH", json.dumps(made))
    task = UpsertWithSizingOperator(
        task_id="load",
        base_path=str(tmp_path / "t"),
        table_name="t",
        record_key="id",
        source_path=landed(tmp_path, 10),
        spark_conn_id="with_path",
    )
    with pytest.raises(HudiTaskRefusedError, match="'with_path' has no valid address") as raised:
        task.execute(context())
    assert CANARY not in str(raised.value)


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"deploy_mode": "cluster"}, "Remove deploy_mode"),
        ({"spark_binary": "/opt/spark-submit"}, "Remove spark_binary"),
        ({"post_submit_commands": ["true"]}, "no spark-submit runs"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_arguments_of_spark_submit_are_refused(
    arguments: dict[str, Any], message: str, tmp_path: Path
) -> None:
    task = UpsertWithSizingOperator(
        task_id="load",
        base_path=str(tmp_path / "t"),
        table_name="t",
        record_key="id",
        source_path=landed(tmp_path, 10),
        **arguments,
    )
    with pytest.raises(HudiTaskRefusedError, match=message):
        task.execute(context())
