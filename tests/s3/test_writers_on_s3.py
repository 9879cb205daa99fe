"""Several writers on one table on S3, and writers that are killed. hudi-rs reads each row exactly once."""

import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from hudi import HudiReadOptions, HudiTable

from e2e.job_processes import SCRIPT, JobProcess, environment
from e2e.orders import Order, orders, write_parquet
from hudi_table_services.contract.writing import SourceSpec, UpsertRequest
from s3_server import S3
from support.depth import number_from
from support.spark.connect_server import ConnectServer

KILLS = int(number_from("KILLS", 4, 4))
SEED = int(os.environ.get("KILL_SEED", "7"))
LONGEST_S = 3.0
"""Duration of a load on a warm server. The test kills a load at a random point in time within this duration."""

pytestmark = pytest.mark.thorough
VERSIONS = pytest.mark.parametrize("version", ["6", "9"])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    with ConnectServer(tmp_path_factory.mktemp("connect"), environment({})) as server:
        yield server


class Loads:
    """Jobs that write to one table, each in a process of its own."""

    def __init__(self, s3: S3, server: ConnectServer, folder: Path, version: str) -> None:
        self.uri, self._s3, self._folder, self._version = s3.new_table(), s3, folder, version
        self._variables = environment({}, SPARK_REMOTE=server.address)

    def start(self, rows: list[Order], request_id: str) -> JobProcess:
        source = write_parquet(rows, self._folder / f"{request_id}.parquet")
        request = self._folder / f"{request_id}.json"
        request.write_text(
            UpsertRequest(
                base_path=self.uri,
                table_name="orders",
                record_key=("id",),
                partition_by=("region",),
                ordering_field="version",
                source=SourceSpec(path=str(source)),
                storage_options=self._s3.options,
                request_id=request_id,
                options={
                    "hoodie.write.table.version": self._version,
                    "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
                    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.StorageBasedLockProvider",
                    "hoodie.write.num.retries.on.conflict.failures": "20",
                },
            ).to_json()
        )
        command = [sys.executable, SCRIPT, "--request", str(request)]
        return JobProcess(command, self._variables, self._folder / request_id)

    def complete(self, rows: list[Order], request_id: str) -> None:
        ended = self.start(rows, request_id).wait()
        assert ended.exit_code == 0, ended.log

    def rows(self) -> list[Order]:
        batches = HudiTable(self.uri, self._s3.options).read(HudiReadOptions())
        found = [row for batch in batches for row in batch.to_pylist()]
        return sorted((row["id"], row["region"], row["amount"], row["version"]) for row in found)


def has_session(job: JobProcess) -> bool | None:
    return True if "Spark Connect server" in job.log else None


@VERSIONS
def test_the_next_run_completes_a_load_that_was_killed(
    version: str, s3: S3, server: ConnectServer, tmp_path: Path
) -> None:
    loads, chance = Loads(s3, server, tmp_path, version), random.Random(SEED)
    loads.complete(orders(range(100)), "first")
    model = {row[0]: row for row in orders(range(100))}
    for number in range(KILLS):
        rows = orders(range(number * 10, 110 + number * 10), version=number + 2)
        job = loads.start(rows, f"load-{number}")
        job.wait_for("session", partial(has_session, job))
        time.sleep(chance.uniform(0, LONGEST_S))
        job.process.send_signal(signal.SIGKILL)
        job.process.wait()
        before = loads.rows()
        model_after = model | {row[0]: row for row in rows}
        assert before in (sorted(model.values()), sorted(model_after.values()))
        loads.complete(rows, f"load-{number}")
        model = model_after
        assert loads.rows() == sorted(model.values())


@VERSIONS
def test_two_writers_at_the_same_time_lose_no_row(
    version: str, s3: S3, server: ConnectServer, tmp_path: Path
) -> None:
    loads = Loads(s3, server, tmp_path, version)
    loads.complete(orders(range(100)), "first")
    model = {row[0]: row for row in orders(range(100))}
    for turn in range(4):
        batches = [
            orders(range(start, start + 60), version=turn + 2) for start in (turn * 10, 200 + turn * 10)
        ]
        jobs = [loads.start(rows, f"turn-{turn}-{number}") for number, rows in enumerate(batches)]
        for job, rows in zip(jobs, batches, strict=True):
            ended = job.wait()
            assert ended.exit_code == 0, ended.log
            model |= {row[0]: row for row in rows}
        assert loads.rows() == sorted(model.values())
