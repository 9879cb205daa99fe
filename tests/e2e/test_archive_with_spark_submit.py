"""Jobs and reads that import the engine from an archive in ``--py-files``, and cannot import it from another place."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.job_processes import (
    LONGEST_JOB_S,
    REPOSITORY,
    SCRIPT,
    SPARK_SUBMIT,
    JobProcess,
    run,
    spark_settings,
    without_checkout,
)
from e2e.orders import orders, stored, table_flags, write_parquet
from e2e.standalone import standalone_cluster
from support.spark.log_tables import new_log_table

ROWS = orders(range(2000), regions=8)
ON_BOTH_WORKERS = (
    "spark.executor.memory=512m",
    "spark.executor.cores=1",
    # Without this setting, the application could start before both executors are registered.
    "spark.scheduler.minRegisteredResourcesRatio=1.0",
)
READS = """
import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from hudi_table_services.reading.read_table import read_table, register_data_source

path, since, target = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
register_data_source(spark)
window = {
    "hoodie.datasource.query.type": "incremental",
    "hoodie.datasource.read.begin.instanttime": since,
}
stream = spark.readStream.format("hudi_native").load(path).writeStream.format("memory").queryName("stream")
stream.trigger(availableNow=True).start().awaitTermination()
frames = {
    "read_table": read_table(spark, path),
    "changes": read_table(spark, path, window),
    "hudi_native": spark.read.format("hudi_native").load(path),
    "stream": spark.table("stream"),
}
found = {name: sorted(map(list, frame.select("k", "ts", "p", "v").collect())) for name, frame in frames.items()}
Path(target).write_text(json.dumps(found), encoding="utf-8")
"""
"""A script of a user. It reads a table in each way, and writes the rows as JSON."""


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


def submit(master: str, archive: Path, script: Path, *settings: str) -> list[str | Path]:
    options = [part for setting in settings for part in ("--conf", setting)]
    return [SPARK_SUBMIT, "--master", master, *options, "--py-files", archive, script]


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
        command = submit(cluster.master, archive, script, *ON_BOTH_WORKERS)
        ended = run([*command, *flags], variables, tmp_path / "run")
    assert ended.exit_code == 0, ended.log
    assert stored(base_path) == ROWS
    check_executors(tmp_path, archive)


@pytest.mark.thorough
def test_executors_of_a_standalone_cluster_read_tables_with_the_archive(
    archive: Path, variables: dict[str, str], tmp_path: Path
) -> None:
    table = new_log_table(tmp_path / "table", 9, hoodie__table__type="MERGE_ON_READ")
    first = [(f"k{number:02}", 1, f"p{number % 4}", "first") for number in range(40)]
    changed = [(f"k{number:02}", 2, f"p{number % 4}", "changed") for number in range(0, 40, 3)]
    table.write(first)
    since = table.newest()[0].visible_from
    table.write(changed)
    script, target = tmp_path / "reads.py", tmp_path / "found.json"
    script.write_text(READS, encoding="utf-8")
    with standalone_cluster(variables, tmp_path) as cluster:
        command = submit(cluster.master, archive, script, *ON_BOTH_WORKERS)
        process = JobProcess([*command, table.base_path, since, target], variables, tmp_path / "run")
        ended = process.wait(2 * LONGEST_JOB_S)
    assert ended.exit_code == 0, ended.log
    latest = sorted(map(list, {row[0]: row for row in (*first, *changed)}.values()))
    assert json.loads(target.read_text(encoding="utf-8")) == {
        "read_table": latest,
        "changes": sorted(map(list, changed)),
        "hudi_native": latest,
        "stream": latest,
    }
    check_executors(tmp_path, archive)


def check_executors(folder: Path, archive: Path) -> None:
    """Check that both executors have run tasks with the archive."""
    executors = sorted(path.parent for path in folder.glob("worker-*/work/app-*/*/stderr"))
    assert len(executors) == 2
    for executor in executors:
        assert (executor / archive.name).read_bytes() == archive.read_bytes()
        assert "Running task" in (executor / "stderr").read_text(encoding="utf-8")
