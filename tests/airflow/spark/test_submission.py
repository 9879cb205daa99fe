"""The submission of jobs to Spark, and the end of their processes after a kill."""

import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from airflow_hudi_provider.exceptions import HudiTaskError, HudiTaskRefusedError
from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator
from support.airflow.task_context import context

ON_KILL_LIMIT_S = 5.0


def test_the_script_and_the_engine_are_submitted_and_secrets_are_not_shown(
    operator: Callable[..., UpsertWithSizingOperator],
    connections: Callable[..., None],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    canary = "canary-3f9a"
    connections("store", conn_type="aws", login="key", password=canary)
    seen = tmp_path / "seen.json"
    body = (
        f"json.dump([arguments, os.stat(uri).st_mode & 0o777], open({str(seen)!r}, 'w')); "
        "commit(); result(outcome='completed')"
    )
    document = operator(body, storage_conn_id="store").execute(context())
    arguments, mode = json.loads(seen.read_text())
    (archive,) = [a for a in arguments if a.endswith(".zip")]
    assert os.path.exists(archive)
    assert any(a.endswith("upsert_with_sizing.py") for a in arguments)
    assert mode == 0o600
    assert canary not in json.dumps([arguments, document]) + caplog.text + "".join(capfd.readouterr())


def test_the_engine_archive_is_the_same_every_time(tmp_path: Path) -> None:
    import zipfile

    from airflow_hudi_provider.spark.engine_files import engine_archive

    first = engine_archive(tmp_path)
    before = first.stat().st_mtime_ns
    assert engine_archive(tmp_path) == first
    assert first.stat().st_mtime_ns == before
    names = zipfile.ZipFile(first).namelist()
    assert "hudi_table_services/cli.py" in names
    assert not [name for name in names if "__pycache__" in name]


def test_cluster_mode_exchanges_documents_through_the_result_folder(
    operator: Callable[..., UpsertWithSizingOperator], connections: Callable[..., None], tmp_path: Path
) -> None:
    connections("yarn", conn_type="spark", host="yarn")
    made = operator(spark_conn_id="yarn", deploy_mode="cluster", result_base_path=str(tmp_path / "results"))
    # Airflow's own default, durable=True without YARN's REST API, would raise an error.
    made.execute(context())
    folder = tmp_path / "results" / "d" / "run%201" / "load"
    assert [path.name for path in folder.iterdir()] == ["result.json"], "the request may contain credentials"


def test_cluster_mode_does_not_use_the_result_of_an_earlier_try(
    operator: Callable[..., UpsertWithSizingOperator], connections: Callable[..., None], tmp_path: Path
) -> None:
    connections("yarn", conn_type="spark", host="yarn")

    def attempt(body: str) -> None:
        made = operator(
            body, spark_conn_id="yarn", deploy_mode="cluster", result_base_path=str(tmp_path / "results")
        )
        made.execute(context())

    with pytest.raises(HudiTaskRefusedError, match="InvalidDataError"):
        attempt("failed('InvalidDataError', False); sys.exit(65)")
    with pytest.raises(HudiTaskError, match="wrote no result document"):
        attempt("sys.exit(1)")


def test_a_kill_in_cluster_mode_ends_the_driver(
    operator: Callable[..., UpsertWithSizingOperator],
    connections: Callable[..., None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Airflow's hook kills the application only while spark-submit runs."""
    yarn = tmp_path / "bin" / "yarn"
    yarn.parent.mkdir()
    yarn.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/yarn_arguments\n')
    yarn.chmod(0o755)
    monkeypatch.setenv("PATH", f"{yarn.parent}:{os.environ['PATH']}")
    connections("yarn", conn_type="spark", host="yarn")
    body = (
        "import time; print('INFO Client: Submitted application application_1700000000000_0001', flush=True); "
        f"time.sleep(0.5); open({str(tmp_path / 'table.child')!r}, 'w').write('1'); time.sleep(60)"
    )
    made = operator(
        body, spark_conn_id="yarn", deploy_mode="cluster", result_base_path=str(tmp_path / "results")
    )
    with ThreadPoolExecutor(1) as pool:
        ending = pool.submit(made.execute, context())
        while not (tmp_path / "table.child").exists():
            assert not ending.done(), ending.exception()
            time.sleep(0.05)
        made.on_kill()
        assert isinstance(ending.exception(10), HudiTaskError)
    assert (tmp_path / "yarn_arguments").read_text().split() == [
        "application",
        "-kill",
        "application_1700000000000_0001",
    ]
    assert "may still run" in caplog.text + "".join(capfd.readouterr())


# Kills

IGNORES_SIGTERM = """
import signal, subprocess, time
child = subprocess.Popen([sys.executable, "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(60)"],
    stdout=subprocess.PIPE)
child.stdout.readline()
open(base_path + ".child", "w").write(str(child.pid))
time.sleep(60)
"""


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize(
    ("before", "message"),
    [
        ("", "Killed before the write began"),
        ("begin()", "was pending: readers see the table as it was before. Clear the task"),
        ("commit()", "was completed: the rows are in the table"),
    ],
    ids=["nothing", "pending", "committed"],
)
def test_a_kill_ends_all_processes_in_time_and_logs_the_state_of_the_table(
    operator: Callable[..., UpsertWithSizingOperator],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    before: str,
    message: str,
) -> None:
    made = operator(f"{before}\n{IGNORES_SIGTERM}")
    child = tmp_path / "table.child"
    with ThreadPoolExecutor(1) as pool:
        ending = pool.submit(made.execute, context())
        while not child.exists() or not child.read_text():
            assert not ending.done(), ending.exception()
            time.sleep(0.05)
        started = time.monotonic()
        made.on_kill()
        assert time.monotonic() - started < ON_KILL_LIMIT_S
        assert not is_running(int(child.read_text()))
        ended = ending.exception(10)
    assert (ended is None) == (before == "commit()")
    assert message in caplog.text + "".join(capfd.readouterr())
