"""Jobs that import the engine from an archive in ``--py-files``, and cannot import it from another place."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from e2e.job_processes import (
    REPOSITORY,
    SCRIPT,
    SPARK_CLASS,
    SPARK_SUBMIT,
    JobProcess,
    run,
    spark_settings,
    without_checkout,
)
from e2e.orders import orders, stored, table_flags, write_parquet

MASTER_CLASS = "org.apache.spark.deploy.master.Master"
WORKER_CLASS = "org.apache.spark.deploy.worker.Worker"
ROWS = orders(range(2000), regions=8)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("dist") / "hudi_table_services.zip"
    builder = REPOSITORY / "scripts" / "build_archive.py"
    subprocess.run([sys.executable, builder, target], check=True, capture_output=True)
    return target


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A copy of the script outside the checkout. In the checkout, the script would import the package beside it."""
    return Path(shutil.copy(SCRIPT, tmp_path))


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    return without_checkout(spark_settings(tmp_path / "conf"))


def submit(master: str, archive: Path, script: Path) -> list[str | Path]:
    return [SPARK_SUBMIT, "--master", master, "--py-files", archive, script]


def test_without_the_archive_the_script_cannot_import_the_engine(
    script: Path, variables: dict[str, str], tmp_path: Path
) -> None:
    """Negative control: if this script could import the engine, the tests below would prove nothing."""
    ended = run([sys.executable, script, "--help"], variables, tmp_path)
    assert ended.exit_code != 0
    assert "No module named 'hudi_table_services'" in ended.log


def test_spark_submit_needs_only_the_script_and_the_archive(
    archive: Path, script: Path, variables: dict[str, str], tmp_path: Path
) -> None:
    source, base_path = write_parquet(ROWS, tmp_path / "landing" / "orders.parquet"), tmp_path / "table"
    flags = table_flags(base_path, source_path=str(source))
    ended = run([*submit("local[2]", archive, script), *flags], variables, tmp_path / "run")
    assert ended.exit_code == 0, ended.log
    assert ended.result.rows.inserted == len(ROWS)
    assert stored(base_path) == ROWS


@contextmanager
def standalone_cluster(variables: dict[str, str], folder: Path) -> Iterator[str]:
    """Start a master and two workers with one core each on free ports, and yield the master's address."""
    own = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
    processes = [JobProcess([SPARK_CLASS, MASTER_CLASS, *own], variables, folder / "master")]
    try:
        address = processes[0].wait_for("master", lambda: address_in(processes[0].log))
        for name in ("worker-1", "worker-2"):
            size = ["--cores", "1", "--memory", "1g", "--work-dir", folder / name / "work"]
            command = [SPARK_CLASS, WORKER_CLASS, *own, *size, address]
            processes.append(JobProcess(command, variables, folder / name))
        for worker in processes[1:]:
            worker.wait_for("registered worker", lambda w=worker: "Successfully registered" in w.log or None)
        yield address
    finally:
        for process in reversed(processes):
            process.kill()


def address_in(log: str) -> str | None:
    """The address of the master in its log, or None until the master accepts workers."""
    if "I have been elected leader" not in log:
        return None
    return next(word for word in log.split() if word.startswith("spark://127.0.0.1:")).rstrip(".")


def test_executors_of_a_standalone_cluster_write_files_with_the_archive(
    archive: Path, script: Path, variables: dict[str, str], tmp_path: Path
) -> None:
    source, base_path = write_parquet(ROWS, tmp_path / "landing" / "orders.parquet"), tmp_path / "table"
    flags = table_flags(base_path, source_path=str(source))
    with standalone_cluster(variables, tmp_path) as master:
        sizes = ["--conf", "spark.executor.memory=512m", "--conf", "spark.executor.cores=1"]
        # Without this setting, the application could start before both executors are registered.
        sizes += ["--conf", "spark.scheduler.minRegisteredResourcesRatio=1.0"]
        command = submit(master, archive, script)
        ended = run([command[0], *sizes, *command[1:], *flags], variables, tmp_path / "run")
    assert ended.exit_code == 0, ended.log
    assert stored(base_path) == ROWS
    executors = sorted(path.parent for path in tmp_path.glob("worker-*/work/app-*/*/stderr"))
    assert len(executors) == 2
    for executor in executors:
        assert (executor / archive.name).read_bytes() == archive.read_bytes()
        assert "Running task" in (executor / "stderr").read_text(encoding="utf-8")
