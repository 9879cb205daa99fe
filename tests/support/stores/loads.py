"""Loads into one table on an object store, each in a process of its own: killed loads, and two loads at the same time.

hudi-rs reads the table. The Spark tasks run on a Spark Connect server that the loads share.
"""

import random
import signal
import sys
import time
from collections.abc import Mapping
from functools import partial
from itertools import count
from pathlib import Path

from airflow_stack.connect_server import ConnectServer
from hudi import HudiReadOptions, HudiTable

from e2e.job_processes import SCRIPT, JobProcess, environment
from e2e.orders import Order, orders, write_parquet
from hudi_table_services.contract.writing import SourceSpec, UpsertRequest
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot

MOMENTS = (".commit.requested", ".inflight", ".parquet", ".hoodie/metadata/")
"""Parts of paths: a job is killed as soon as a new file has such a path."""

COMMIT_MOMENT = MOMENTS[-1]
"""As soon as a file has a path with this part, a job may commit before the kill arrives."""

TRIES = 4
"""Number of loads that are killed at a moment, until a kill interrupts a commit."""


class Loads:
    """Jobs that write to one table, each in a process of its own.

    Attributes:
        model: the rows that the table must contain, by key.
    """

    def __init__(
        self, uri: str, options: Mapping[str, str], server: ConnectServer, folder: Path, version: str
    ) -> None:
        self.uri, self._options, self._folder, self._version = uri, dict(options), folder, version
        self._variables = environment({}, SPARK_REMOTE=server.address)
        self.model: dict[int, Order] = {}

    @property
    def storage(self) -> Storage:
        return open_storage(self.uri, self._options)

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
                storage_options=self._options,
                request_id=request_id,
                options={
                    "hoodie.write.table.version": self._version,
                    "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
                    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.StorageBasedLockProvider",
                    "hoodie.write.num.retries.on.conflict.failures": "20",
                    # A killed load may hold the lock. By default, the next load would wait for this lock for five
                    # minutes.
                    "hoodie.write.lock.storage.validity.timeout.secs": "20",
                    "hoodie.write.lock.storage.renew.interval.secs": "2",
                },
            ).to_json()
        )
        command = [sys.executable, SCRIPT, "--request", str(request)]
        return JobProcess(command, self._variables, self._folder / request_id)

    def complete(self, rows: list[Order], request_id: str) -> JobProcess:
        """Run a load until it has succeeded, and check the rows of the table."""
        job = self.start(rows, request_id)
        self.wait(job, rows)
        assert self.rows() == sorted(self.model.values())
        return job

    def wait(self, job: JobProcess, rows: list[Order]) -> None:
        ended = job.wait()
        assert ended.exit_code == 0, ended.log
        self.model |= {row[0]: row for row in rows}

    def rows(self) -> list[Order]:
        batches = HudiTable(self.uri, self._options).read(HudiReadOptions())
        found = [row for batch in batches for row in batch.to_pylist()]
        return sorted((row["id"], row["region"], row["amount"], row["version"]) for row in found)

    def check_after_kill(self, job: JobProcess, rows: list[Order], request_id: str) -> None:
        """Check that readers see the rows from before or after a killed load, and that a retry completes the load."""
        assert job.process.wait() == -signal.SIGKILL
        after = self.model | {row[0]: row for row in rows}
        assert self.rows() in (sorted(self.model.values()), sorted(after.values()))
        self.complete(rows, request_id)


def kill_loads_in_their_commit(loads: Loads) -> None:
    """Kill a load at each moment of its commit; the next run completes the load."""
    loads.complete(orders(range(100)), "first")
    numbers = count()
    for moment in MOMENTS:
        assert any(_is_interrupted(loads, moment, next(numbers)) for _ in range(TRIES)), (
            f"no kill after {moment} interrupted a commit"
        )


def _is_interrupted(loads: Loads, moment: str, number: int) -> bool:
    """Kill a load, and complete it. Return whether the kill interrupted the commit.

    On a slow store, the load can commit, or even end, between the request that lists the new file and the kill. At
    `COMMIT_MOMENT`, it is enough that the load had not ended.
    """
    rows, request_id = _rows(number), f"at-a-moment-{number}"
    job = loads.start(rows, request_id)
    if not kill_when_written(loads.storage, moment, job):
        loads.wait(job, rows)
        return False
    is_interrupted = moment == COMMIT_MOMENT or bool(load_snapshot(loads.storage).timeline.pending)
    loads.check_after_kill(job, rows, request_id)
    return is_interrupted


def kill_loads_at_random(loads: Loads, kills: int, seed: int) -> None:
    """Kill loads while they run, each at a random point in time; the next run completes the load.

    A load that ends before its kill does not count.
    """
    chance, hits = random.Random(seed), 0
    job = loads.complete(orders(range(100)), "warm")
    longest_s = 3.0
    for number in range(5 * kills):
        rows, request_id = _rows(number), f"at-random-{number}"
        job = loads.start(rows, request_id)
        job.wait_for("session", partial(_has_session, job))
        began = time.monotonic()
        time.sleep(chance.uniform(0, longest_s))
        job.process.send_signal(signal.SIGKILL)
        if job.process.wait() != -signal.SIGKILL:
            longest_s = min(longest_s, time.monotonic() - began)
            loads.wait(job, rows)
            continue
        hits += 1
        loads.check_after_kill(job, rows, request_id)
        if hits == kills:
            return
    raise AssertionError(f"Only {hits} of {5 * kills} loads ran when the kill arrived.")


def write_at_the_same_time(loads: Loads, turns: int) -> None:
    """In each turn, start two loads at the same time. The loads change common keys of the table."""
    loads.complete(orders(range(100)), "first")
    for turn in range(turns):
        batches = [
            orders(range(start, start + 60), version=turn + 2) for start in (turn * 10, 200 + turn * 10)
        ]
        jobs = [loads.start(rows, f"turn-{turn}-{number}") for number, rows in enumerate(batches)]
        for job, rows in zip(jobs, batches, strict=True):
            loads.wait(job, rows)
        assert loads.rows() == sorted(loads.model.values())


def kill_when_written(storage: Storage, part: str, job: JobProcess) -> bool:
    """Kill a job as soon as the table has a new file whose path contains `part`.

    Return False if the job had ended before the kill.
    """
    known = {each.path for each in storage.list_files()}

    def new_file() -> str | None:
        paths = (each.path for each in storage.list_files())
        return next((path for path in paths if part in path and path not in known), None)

    job.wait_for(f"new file {part}", new_file)
    job.kill()
    return job.process.returncode == -signal.SIGKILL


def _rows(number: int) -> list[Order]:
    return orders(range(number * 10, 110 + number * 10), version=number + 2)


def _has_session(job: JobProcess) -> bool | None:
    return True if "Spark Connect server" in job.log else None
