"""Jobs that import the engine from an archive in ``--py-files``, and cannot import it from another place."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.job_processes import (
    REPOSITORY,
    SCRIPT,
    SPARK_SUBMIT,
    run,
    spark_settings,
    without_checkout,
)
from e2e.orders import orders, stored, table_flags, write_parquet
from e2e.standalone import standalone_cluster

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


@pytest.mark.thorough
def test_executors_of_a_standalone_cluster_write_files_with_the_archive(
    archive: Path, script: Path, variables: dict[str, str], tmp_path: Path
) -> None:
    source, base_path = write_parquet(ROWS, tmp_path / "landing" / "orders.parquet"), tmp_path / "table"
    flags = table_flags(base_path, source_path=str(source))
    with standalone_cluster(variables, tmp_path) as cluster:
        sizes = ["--conf", "spark.executor.memory=512m", "--conf", "spark.executor.cores=1"]
        # Without this setting, the application could start before both executors are registered.
        sizes += ["--conf", "spark.scheduler.minRegisteredResourcesRatio=1.0"]
        command = submit(cluster.master, archive, script)
        ended = run([command[0], *sizes, *command[1:], *flags], variables, tmp_path / "run")
    assert ended.exit_code == 0, ended.log
    assert stored(base_path) == ROWS
    executors = sorted(path.parent for path in tmp_path.glob("worker-*/work/app-*/*/stderr"))
    assert len(executors) == 2
    for executor in executors:
        assert (executor / archive.name).read_bytes() == archive.read_bytes()
        assert "Running task" in (executor / "stderr").read_text(encoding="utf-8")
