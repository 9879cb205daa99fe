"""docker-compose.yaml runs: Airflow on PostgreSQL, a Spark cluster with Spark Connect, tables on an S3 server.

The test builds the images of Airflow and Spark on a base of Debian packages instead of ``python:3.11-slim-bookworm``.
It replaces the published images of PostgreSQL and versitygw by images with Debian's PostgreSQL and with a versitygw of
the same release, built from source.
"""

import json
import os
import shutil
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from airflow_stack.api import AirflowApi, ApiError, wait_until
from airflow_stack.stack import free_ports
from demo_support.flights import FIRST_DAY, REVISION, load_flights, na_as_null, rows_of
from demo_support.reading import check_rows
from hudi import HudiReadOptions, HudiTable
from make_env_file import write_env_file
from obstore.store import S3Store

from compose.docker_stack import ROOT, ComposeStack, DockerDaemon, DockerError, network_state

DAYS = 3
WORKERS = ("spark-worker-1", "spark-worker-2")
YEAR_KEYS = ["date", "carrier", "flight", "origin", "copy"]
COPIES = 12
SEVERAL_YEARS = (
    f"SELECT source.*, copies.id AS copy, rand(1) AS noise FROM source CROSS JOIN range({COPIES}) AS copies"
)
"""The random numbers cannot be compressed. Without them, the files of all copies are so small (27 MiB) that the process
of the job writes them."""
HERE = Path(__file__).parent
OVERRIDE = """
services:
  postgres:
    image: hudi-test-postgres:0
    build: {{context: {context}, dockerfile: postgres.Dockerfile, args: {{BASE: {base}}}, network: host}}
  s3:
    image: hudi-test-s3:0
    build: {{context: {context}, dockerfile: s3.Dockerfile, args: {{BASE: {base}}}, network: host}}
  airflow-init:
    build: {{network: host}}
  spark-master:
    build: {{network: host}}
"""


def script(name: str) -> str:
    done = subprocess.run([ROOT / "scripts" / name], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        pytest.skip(f"scripts/{name} failed: Docker needs root and Debian's packages.")
    return done.stdout.strip()


class Lake:
    """The running services, their settings, and the tables on the S3 server."""

    def __init__(self, daemon: DockerDaemon, compose: ComposeStack, settings: dict[str, str]) -> None:
        self.docker, self.compose, self._settings = daemon.docker, compose, settings
        self.api = AirflowApi(f"http://127.0.0.1:{settings['AIRFLOW_PORT']}")
        self._options = {
            "aws_endpoint": f"http://127.0.0.1:{settings['S3_PORT']}",
            "aws_region": "us-east-1",
            "aws_access_key_id": settings["LAKE_ACCESS_KEY"],
            "aws_secret_access_key": settings["LAKE_SECRET_KEY"],
            "aws_allow_http": "true",
        }

    def log_in(self) -> None:
        def is_up() -> bool:
            try:
                self.api.log_in("admin", self._settings["AIRFLOW_ADMIN_PASSWORD"])
            except (ApiError, OSError):
                return False
            return True

        wait_until(is_up, 300, lambda: self.compose("logs", "--tail=100", "airflow-api-server"))

    def rows(self, table: str) -> pa.Table:
        batches = HudiTable(f"s3://lake/{table}", self._options).read(HudiReadOptions())
        return pa.Table.from_batches([pa.record_batch(batch) for batch in batches])

    def has_inflight_commit(self, table: str) -> bool:
        options = {name.removeprefix("aws_"): value for name, value in self._options.items()}
        del options["allow_http"]
        store = S3Store("lake", **options, client_options={"allow_http": True})
        listed = store.list_with_delimiter(f"{table}/.hoodie")["objects"]
        return any(each["path"].endswith(".inflight") for each in listed)

    def spark(self, path: str) -> Any:
        """Call the REST API of the Spark Connect server's only application."""
        url = f"http://127.0.0.1:{self._settings['SPARK_UI_PORT']}/api/v1/applications"
        with urllib.request.urlopen(url, timeout=60) as response:
            application = json.load(response)[0]["id"]
        with urllib.request.urlopen(f"{url}/{application}/{path}", timeout=60) as response:
            return json.load(response)

    def busy_worker(self, hosts: dict[str, str]) -> str | None:
        """Return a Spark worker whose executor runs a task now. `hosts` maps addresses to names of workers."""
        for executor in self.spark("executors"):
            worker = hosts.get(executor["hostPort"].partition(":")[0])
            if worker is not None and executor["activeTasks"]:
                return worker
        return None


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    if os.getuid():
        pytest.skip("Docker's daemon needs root.")
    script("ensure_docker.sh")
    base, versitygw = Path(script("ensure_docker_base.sh")), script("ensure_versitygw.sh")
    if not versitygw:
        pytest.skip("versitygw needs Go.")
    folder = tmp_path_factory.mktemp("compose")
    context = folder / "context"
    shutil.copytree(HERE, context)
    shutil.copy(versitygw, context / "versitygw")
    override = folder / "override.yaml"
    write_env_file(folder / "env")
    names = ("AIRFLOW_PORT", "S3_PORT", "SPARK_MASTER_UI_PORT", "SPARK_UI_PORT")
    ports = dict(zip(names, map(str, free_ports(18080, 17070, 18090, 14040)), strict=True))
    lines = [line for line in (folder / "env").read_text().splitlines() if "=" in line and line[0] != "#"]
    settings = {**dict(line.split("=", 1) for line in lines), **ports}
    before = network_state()
    with ExitStack() as stack:
        try:
            daemon = stack.enter_context(DockerDaemon())
        except DockerError as error:
            pytest.skip(f"{error}")
        base_image = daemon.import_base(base)
        override.write_text(OVERRIDE.format(context=context, base=base_image))
        compose = ComposeStack(daemon, folder / "env", override, {"BASE_IMAGE": base_image, **ports})
        try:
            compose("down", "--volumes", "--remove-orphans")  # an earlier run may have been killed
            compose("build")
            _start(compose)
            yield Lake(daemon, compose, settings)
        finally:
            compose("down", "--volumes", "--remove-orphans")
    assert network_state() == before, "a bridge or a firewall rule was left"


def _start(compose: ComposeStack) -> None:
    try:
        compose("up", "--detach")
    except DockerError as error:
        raise DockerError(f"{error}\n{compose('logs', '--tail=50')}") from None


def test_a_backfill_writes_every_flight_to_the_bucket(lake: Lake) -> None:
    lake.log_in()
    lake.api.wait_for_dag("flights_daily")
    last = FIRST_DAY + timedelta(days=DAYS - 1)
    lake.api.backfill("flights_daily", f"{FIRST_DAY}", f"{last}", max_active_runs=2)

    def states() -> list[str]:
        return [run["state"] for run in lake.api.runs("flights_daily")]

    wait_until(
        lambda: len(states()) == DAYS and set(states()) <= {"success", "failed"}, 900, lambda: f"{states()}"
    )
    assert states() == ["success"] * DAYS, failed_logs(lake.api)
    expected = na_as_null(rows_of(load_flights(), FIRST_DAY, last).drop_columns([REVISION]))
    days = check_rows(lake.rows("flights"), expected)
    assert [(day.is_equal, day.source_count) for day in days] == [(True, day.table_count) for day in days]
    assert len(days) == DAYS


def test_the_page_shows_the_table_in_the_bucket(lake: Lake) -> None:
    lake.log_in()
    tables = {each["base_path"]: each for each in lake.api.get("/hudi/api/tables")}
    found = tables["s3://lake/flights"]
    assert "flights_daily" in json.dumps(found["writers"])
    overview = lake.api.get(f"/hudi/api/tables/{found['id']}/overview")
    last = FIRST_DAY + timedelta(days=DAYS - 1)
    assert overview["rows"] == rows_of(load_flights(), FIRST_DAY, last).num_rows
    assert overview["last_commit"]["by"]["dag_id"] == "flights_daily"
    for view in ("health", "history", "partitions", "schema", "settings"):
        lake.api.get(f"/hudi/api/tables/{found['id']}/{view}")


def test_a_write_completes_although_a_worker_of_spark_is_killed(lake: Lake) -> None:
    """One of two workers dies while it runs a task of the write.

    The job's own process writes the files of small loads, so the rows are several copies of the year.
    """
    hosts = {
        address: worker
        for worker in WORKERS
        for address in lake.compose("exec", "-T", worker, "hostname", "--all-ip-addresses").split()
    }
    containers = {worker: lake.compose("ps", "-q", worker).strip() for worker in WORKERS}
    job = lake.compose.start(
        *("exec", "-T", "airflow-scheduler", "hudi-services", "upsert", "s3://lake/year"),
        *("--table-name", "year", "--source-path", "/landing/landing", "--source-sql", SEVERAL_YEARS),
        *("--remote", "sc://spark-connect:15002"),
        *("--record-key", ",".join(YEAR_KEYS), "--partition-by", "month", "--request-id", "year"),
    )
    log: list[str] = []
    reader = threading.Thread(target=log.extend, args=(job.stdout,))
    reader.start()
    killed, has_begun = None, False
    # Docker may deliver the output late, so the files of the table show that the job has begun to write.
    while killed is None and job.poll() is None:
        has_begun = has_begun or lake.has_inflight_commit("year")
        if has_begun and (killed := lake.busy_worker(hosts)):
            lake.docker("kill", containers[killed])
        time.sleep(0.05)
    assert job.wait(300) == 0, "".join(log)
    reader.join()
    assert killed is not None, "".join(log)
    lost = {
        hosts[each["hostPort"].partition(":")[0]]
        for each in lake.spark("allexecutors")
        if not each["isActive"]
    }
    assert lost == {killed}
    assert sum(stage["numFailedTasks"] for stage in lake.spark("stages")) > 0, "the killed worker ran no task"
    rows = lake.rows("year").select(YEAR_KEYS)
    assert rows.num_rows == COPIES * load_flights().num_rows
    assert len(set(keys_of(rows))) == rows.num_rows, "a row was written twice"


def failed_logs(api: AirflowApi) -> str:
    runs = [run["dag_run_id"] for run in api.runs("flights_daily") if run["state"] == "failed"]
    return "\n".join(
        f"{run_id} {name}:\n{api.log('flights_daily', run_id, name, task['try_number'])[-3000:]}"
        for run_id in runs[:1]
        for name, task in api.task_instances("flights_daily", run_id).items()
        if task["state"] == "failed"
    )


def keys_of(rows: pa.Table) -> list[tuple[object, ...]]:
    return sorted(zip(*(map(str, rows[name].to_pylist()) for name in rows.column_names), strict=True))
