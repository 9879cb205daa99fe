"""Jobs on a standalone cluster of two workers, with tables on S3: every kind of job, a killed worker, speculation."""

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import psutil
import pytest
from hudi import HudiReadOptions, HudiTable

from e2e.job_processes import REPOSITORY, SCRIPT, SOURCES, JobProcess, environment, spark_settings
from e2e.orders import Order, orders, write_parquet
from e2e.standalone import Standalone, standalone_cluster
from hudi_table_services.contract.health import HealthRequest
from hudi_table_services.contract.writing import SourceSpec, UpsertRequest
from hudi_table_services.jobs.health.table_health import table_health
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage
from s3.s3_server import S3

REGIONS = 24
LONGEST_S = 900.0
SPECULATES = {
    "spark__speculation": "true",
    "spark__speculation__interval": "200ms",
    "spark__speculation__multiplier": "1.5",
    "spark__speculation__quantile": "0.3",
}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Standalone]:
    with standalone_cluster(environment(spark_settings(tmp_path / "cluster-conf")), tmp_path) as running:
        yield running


def on_cluster(cluster: Standalone, folder: Path, **settings: str) -> dict[str, str]:
    """Environment of a job whose tasks run on the cluster."""
    named = {
        "spark__master": cluster.master,
        "spark__executor__memory": "512m",
        "spark__executor__cores": "1",
        "spark__scheduler__minRegisteredResourcesRatio": "1.0",
        **SPECULATES,
        **settings,
    }
    return environment(spark_settings(folder / "conf", **named))


@pytest.mark.parametrize("version", ["6", "9"])
def test_every_kind_of_job_runs_on_both_workers(
    cluster: Standalone, s3: S3, version: str, tmp_path: Path
) -> None:
    program = Path(__file__).with_name("every_job_on_cluster.py")
    path = {"PYTHONPATH": f"{SOURCES}:{REPOSITORY / 'tests'}"}
    variables = {**on_cluster(cluster, tmp_path), **path}
    command = [sys.executable, program, s3.new_table(), version, json.dumps(s3.options)]
    ended = JobProcess(command, variables, tmp_path / "job").wait(LONGEST_S)
    assert ended.exit_code == 0, ended.log
    assert len(executors_that_ran_tasks(tmp_path)) == 2


class Load:
    """A load of orders into a table on S3."""

    def __init__(self, s3: S3, version: str, folder: Path) -> None:
        self.uri = s3.new_table()
        self.storage: Storage = open_storage(self.uri, s3.options)
        self._s3, self._version, self._folder = s3, version, folder
        self._jobs: list[JobProcess] = []

    def __enter__(self) -> "Load":
        return self

    def __exit__(self, *error: object) -> None:
        for job in self._jobs:
            job.kill()

    def start(self, rows: list[Order], request_id: str, variables: Mapping[str, str]) -> JobProcess:
        request = self._folder / f"{request_id}.json"
        request.write_text(
            UpsertRequest(
                base_path=self.uri,
                table_name="orders",
                record_key=("id",),
                partition_by=("region",),
                ordering_field="version",
                source=SourceSpec(path=str(write_parquet(rows, self._folder / f"{request_id}.parquet"))),
                storage_options=self._s3.options,
                request_id=request_id,
                options={"hoodie.write.table.version": self._version},
            ).to_json()
        )
        command = [sys.executable, SCRIPT, "--request", request]
        self._jobs.append(JobProcess(command, variables, self._folder / request_id))
        return self._jobs[-1]

    def data_files(self) -> list[str]:
        return [each.path for each in self.storage.list_files() if is_data_file(each.path)]

    def new_files(self, known: int, wanted: int) -> bool | None:
        return len(self.data_files()) >= known + wanted or None

    def check(self, rows: list[Order], commits: int) -> None:
        """Check the rows, and that each commit has written one file for each partition."""
        batches = HudiTable(self.uri, self._s3.options).read(HudiReadOptions())
        found = [row for batch in batches for row in batch.to_pylist()]
        assert sorted((r["id"], r["region"], r["amount"], r["version"]) for r in found) == sorted(rows)
        doubled = {group: n for group, n in Counter(map(slice_of, self.data_files())).items() if n > 1}
        assert not doubled, f"files of one file slice: {doubled}"
        assert len(self.data_files()) == commits * REGIONS
        report = table_health(HealthRequest(base_path=self.uri, storage_options=self._s3.options)).report
        assert report is not None
        assert (report.pending, report.measures["leftover_files"]) == ((), 0)


def is_data_file(path: str) -> bool:
    return path.endswith(".parquet") and not path.startswith(".hoodie/")


def slice_of(path: str) -> tuple[str, str]:
    """File id and instant of a base file, whose name is ``<file id>_<token>_<instant>.parquet``."""
    file_id, _, instant = Path(path).stem.rsplit("_", 2)
    return file_id, instant


@pytest.mark.parametrize("version", ["6", "9"])
def test_a_worker_killed_during_a_write_leaves_no_doubled_file_and_no_lost_row(
    cluster: Standalone, s3: S3, version: str, tmp_path: Path
) -> None:
    variables = on_cluster(cluster, tmp_path)
    second = orders(range(48_000), regions=REGIONS, version=2)
    with Load(s3, version, tmp_path) as load:
        ended = load.start(orders(range(240), regions=REGIONS), "first", variables).wait(LONGEST_S)
        assert ended.exit_code == 0, ended.log
        job = load.start(second, "second", variables)
        job.wait_for("uncommitted files", partial(load.new_files, REGIONS, 3), LONGEST_S)
        assert len(load.data_files()) < 2 * REGIONS, "the kill comes too late"
        cluster.workers[0].kill()
        ended = job.wait(LONGEST_S)
        assert ended.exit_code == 0, ended.log
        load.check(second, commits=2)


@pytest.mark.parametrize("version", ["6", "9"])
def test_a_speculative_copy_of_a_stopped_task_leaves_no_doubled_file(
    cluster: Standalone, s3: S3, version: str, tmp_path: Path
) -> None:
    """A Python worker is stopped in the middle of a task, so Spark runs a copy of this task on the other executor.

    The stopped process continues after the job, like a process on a machine that did not respond for a while.
    """
    rows = orders(range(240_000), regions=REGIONS)
    with Load(s3, version, tmp_path) as load:
        job = load.start(rows, "only", on_cluster(cluster, tmp_path))
        job.wait_for("uncommitted files", partial(load.new_files, 0, 2), LONGEST_S)
        stopped = job.wait_for("Python worker", partial(busy_python_worker, cluster.workers), LONGEST_S)
        stopped.suspend()
        try:
            ended = job.wait(LONGEST_S)
        finally:
            if stopped.is_running():
                stopped.resume()
        assert ended.exit_code == 0, ended.log
        time.sleep(3)  # the continued process may now try to write
        load.check(rows, commits=1)


def busy_python_worker(workers: Sequence[JobProcess]) -> psutil.Process | None:
    """A Python worker that is running code at the moment, in an executor of one of these worker processes."""
    executors = (psutil.Process(worker.process.pid) for worker in workers)
    for process in (child for executor in executors for child in executor.children(recursive=True)):
        try:
            is_forked = process.name().startswith("python") and process.parent().name().startswith("python")
            if is_forked and process.status() == psutil.STATUS_RUNNING:
                return process
        except (psutil.NoSuchProcess, AttributeError):
            continue
    return None


def executors_that_ran_tasks(folder: Path) -> list[Path]:
    logs = folder.glob("worker-*/work/app-*/*/stderr")
    return [log for log in logs if "Running task" in log.read_text(encoding="utf-8", errors="replace")]
