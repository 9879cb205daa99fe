"""Jobs whose driver runs on YARN (cluster mode), with the source, the table and the result on HDFS."""

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from resource_manager import Yarn

from e2e.job_processes import (
    IN_EVERY_PYTHON,
    SCRIPT,
    SOURCES,
    SPARK_HOME,
    SPARK_SUBMIT,
    JobProcess,
    environment,
)
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.services.registry import read_result
from hudi_table_services.storage.stores.factory import open_storage
from support.spark.table_elsewhere import Row, rows_of_copy

LONGEST_S = 900.0
TABLE_FLAGS = ("--table-name=t", "--record-key=k", "--partition-by=p", "--ordering-field=ts")


class OnYarn:
    """Submits jobs for one table. The executors can import the engine from the archive only, not from the checkout."""

    def __init__(self, yarn: Yarn, archive: Path, folder: Path) -> None:
        self._yarn, self._archive, self._folder = yarn, archive, folder
        self._place = f"/lake/{uuid4().hex}"
        self._files = open_storage(yarn.hdfs.uri(self._place))
        self.table = open_storage(self.uri)
        self.model: dict[str, Row] = {}
        self._jobs: list[JobProcess] = []

    def end_jobs(self) -> None:
        for job in self._jobs:
            job.kill()

    @property
    def uri(self) -> str:
        return self._yarn.hdfs.uri(f"{self._place}/table")

    def source(self, name: str, rows: list[Row]) -> str:
        """Write rows into a file on HDFS, and return its URI."""
        columns = dict(zip(("k", "ts", "p"), map(list, zip(*rows, strict=True)), strict=True))
        pq.write_table(pa.table(columns), self._folder / name)
        self._files.write(f"landing/{name}", (self._folder / name).read_bytes())
        return self._yarn.hdfs.uri(f"{self._place}/landing/{name}")

    def start(self, name: str, script: Path, *flags: str) -> JobProcess:
        """Submit a job; `name` is the name of its result document."""
        settings = {
            "spark.yarn.jars": f"local:{SPARK_HOME}/jars/*",
            "spark.yarn.maxAppAttempts": "1",
            "spark.yarn.submit.waitAppCompletion": "true",
            "spark.driver.memory": "768m",
            "spark.executor.memory": "768m",
            "spark.executor.instances": "1",
            "spark.sql.shuffle.partitions": "2",
        }
        for variable, value in {
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "HADOOP_CONF_DIR": str(self._yarn.hdfs.conf_dir),
            "PYTHONPATH": str(IN_EVERY_PYTHON),
            "E2E_HIDDEN_FOLDER": str(SOURCES),
        }.items():
            settings[f"spark.yarn.appMasterEnv.{variable}"] = settings[f"spark.executorEnv.{variable}"] = (
                value
            )
        properties = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
        copied = Path(
            shutil.copy(script, self._folder)
        )  # in the checkout, the script would import the engine beside it
        command = [
            *(SPARK_SUBMIT, "--master", "yarn", "--deploy-mode", "cluster", *properties),
            *("--py-files", self._archive, copied, f"--base-path={self.uri}"),
            *(f"--result-path={self._yarn.hdfs.uri(f'{self._place}/results/{name}.json')}", *flags),
        ]
        variables = environment({}, HADOOP_CONF_DIR=str(self._yarn.hdfs.conf_dir))
        self._jobs.append(JobProcess(command, variables, self._folder / name))
        return self._jobs[-1]

    def run(self, name: str, script: Path, *flags: str) -> JobResult:
        ended = self.start(name, script, *flags).wait(LONGEST_S)
        application = self._yarn.applications()[-1]
        assert ended.exit_code == 0, f"{ended.log}\n{self._yarn.output(application['id'])}"
        assert application["finalStatus"] == "SUCCEEDED"
        return self.result(name)

    def result(self, name: str) -> JobResult:
        return read_result(self._files.read(f"results/{name}.json").decode())

    def check(self) -> None:
        assert sorted(rows_of_copy(self.table, self._folder / "copy")) == sorted(self.model.values())


@pytest.fixture
def on_yarn(yarn: Yarn, archive: Path, tmp_path: Path) -> Iterator[OnYarn]:
    jobs = OnYarn(yarn, archive, tmp_path)
    yield jobs
    jobs.end_jobs()


def rows(numbers: range, ts: int) -> list[Row]:
    return [(f"k{number}", ts, f"p{number % 8}") for number in numbers]


def test_a_table_on_hdfs_is_loaded_clustered_and_cleaned_by_drivers_on_yarn(on_yarn: OnYarn) -> None:
    for ts, numbers in enumerate((range(3000), range(2500, 3500))):
        batch = rows(numbers, ts)
        flags = [*TABLE_FLAGS, f"--source-path={on_yarn.source(f'{ts}.parquet', batch)}"]
        loaded = on_yarn.run(f"load-{ts}", SCRIPT, *flags)
        assert loaded.outcome is Outcome.COMPLETED
        assert (loaded.spark_application_id or "").startswith("application_")
        on_yarn.model |= {row[0]: row for row in batch}
        on_yarn.check()
    clustered = on_yarn.run("cluster", SOURCES / "run_clustering.py", "--sort-columns=k")
    assert clustered.outcome is Outcome.COMPLETED
    on_yarn.check()


def test_the_next_run_of_a_killed_application_completes_the_load(on_yarn: OnYarn, yarn: Yarn) -> None:
    batch = rows(range(400_000), 1)
    flags = [*TABLE_FLAGS, f"--source-path={on_yarn.source('large.parquet', batch)}", "--request-id=same"]
    job = on_yarn.start("killed", SCRIPT, *flags)
    job.wait_for("data file", has_data_file(on_yarn), LONGEST_S)
    application = yarn.applications()[-1]["id"]
    yarn.kill(application)
    assert job.wait(LONGEST_S).exit_code != 0
    wait_for_state(yarn, application, "KILLED")
    ended = on_yarn.run("again", SCRIPT, *flags)
    assert not ended.reused, "the kill came too late"
    on_yarn.model = {row[0]: row for row in batch}
    on_yarn.check()


def has_data_file(on_yarn: OnYarn) -> Callable[[], bool | None]:
    def look() -> bool | None:
        paths = (each.path for each in on_yarn.table.list_files())
        return any(path.endswith(".parquet") and not path.startswith(".hoodie") for path in paths) or None

    return look


def wait_for_state(yarn: Yarn, application: str, state: str) -> None:
    deadline = time.monotonic() + 60
    while {each["id"]: each["state"] for each in yarn.applications()}[application] != state:
        assert time.monotonic() < deadline
        time.sleep(0.5)
