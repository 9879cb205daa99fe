"""Real Hudi and the engine write to one table on S3 at the same time, under Hudi's storage-based lock.

Hudi uses its own `StorageBasedLockProvider`, and a lock client of the tests (`S3StorageLockClient.java`). The engine
addresses the table as `s3://`, and Hudi addresses it as `s3a://`. ``S3_LOOP_SECONDS`` sets the duration of the loop.
"""

import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psutil
import pyarrow as pa
import pytest
from hudi import HudiReadOptions, HudiTable
from pyspark.sql import SparkSession

from hudi_table_services.hudi_format.lock_file import StorageLockFile, decode_lock_file, encode_lock_file
from hudi_table_services.options.locks import STORAGE_BASED_PROVIDER
from hudi_table_services.storage.locks.storage_based_lock import LOCK_PATH, StorageBasedLock
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage
from judges.concurrent_jobs import EXTRA_SECONDS, LOCKED, PARTITIONS, UPDATED_KEYS, HudiWriter, OurWriter
from judges.engine import Engine
from judges.hudi_judge import HudiJudge
from judges.oracle import V6, V9, Oracle
from judges.rows import META_COLUMNS, PLAIN, Model, as_table, assert_rows_equal, merged, some_rows
from s3.s3_server import S3
from support.depth import number_from

_LOG = logging.getLogger(__name__)

SECONDS = number_from("S3_LOOP_SECONDS", 20, 60)
OURS = {
    **LOCKED,
    "hoodie.write.lock.provider": STORAGE_BASED_PROVIDER,
    "hoodie.metadata.enable": "true",
    "hoodie.parquet.small.file.limit": "0",
}
OF_THE_ENGINE = "conformance"
"""The request ids of the engine start with this word, and the owner of a lock of the engine contains the request id."""
NEW = as_table(some_rows([700], 6, PLAIN, PARTITIONS), PLAIN)
EXPIRES_AFTER_S = 20.0
UNHINDERED_S = 5.0
"""Seconds for which a test checks that a writer waits for a lock; longer than the critical section of a commit."""


class Shared:
    """A new table that Hudi and the engine write to, with the rows that it must contain."""

    def __init__(self, engine: Engine, judge: HudiJudge, s3: S3, oracle: Oracle) -> None:
        self.engine, self.judge, self._s3, self._oracle = engine, judge, s3, oracle
        self.uri = s3.new_table()
        self.uri_of_hudi = self.uri.replace("s3://", "s3a://")
        self.storage: Storage = open_storage(self.uri, s3.options)
        self.options = {
            **oracle.options("t", metadata__enable="true"),
            **LOCKED,
            "hoodie.write.lock.provider": STORAGE_BASED_PROVIDER,
            "hoodie.aws.access.key": s3.options["aws_access_key_id"],
            "hoodie.aws.secret.key": s3.options["aws_secret_access_key"],
        }
        self.model: Model = {}

    @property
    def version(self) -> int:
        return self._oracle.table_version

    def write(self, number: int, *, by_hudi: bool) -> None:
        """Update the stored rows and insert a new row."""
        rows = some_rows([*range(UPDATED_KEYS), 500 + number], number, PLAIN, PARTITIONS)
        if by_hudi:
            self.judge.write(self.uri_of_hudi, as_table(rows, PLAIN), self.options)
        else:
            self.engine.write(self.uri, as_table(rows, PLAIN), version=self.version, options=OURS)
        self.model = merged(self.model, rows)

    def check(self) -> None:
        """Compare the rows that Hudi and hudi-rs read with the model. Both readers fail if a key occurs twice."""
        for listed_by in ("true", "false"):
            found = self.judge.read(self.uri_of_hudi, {"hoodie.metadata.enable": listed_by})
            assert_rows_equal(found, self.model, f"Hudi, with metadata table: {listed_by}")
        batches = HudiTable(self.uri, self._s3.options).read(HudiReadOptions())
        found = pa.Table.from_batches([pa.record_batch(batch) for batch in batches]).drop_columns(
            META_COLUMNS
        )
        assert_rows_equal(found, self.model, "hudi-rs")

    def lock(self) -> StorageLockFile:
        return decode_lock_file(self.storage.read(LOCK_PATH))


@pytest.fixture(scope="module")
def engine(spark: SparkSession, moto: S3, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return Engine(spark, tmp_path_factory.mktemp("engine"), moto.options)


@pytest.fixture(params=[V6, V9], ids=str)
def table(request: pytest.FixtureRequest, judge: HudiJudge, engine: Engine, moto: S3) -> Shared:
    return Shared(engine, judge, moto, request.param)


class Owners:
    """Notes the owners that the lock has, until the end of the block."""

    def __init__(self, table: Shared) -> None:
        self._table = table
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.seen: set[str] = set()

    def __enter__(self) -> "Owners":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(0.1):
            lock = self._table.lock()
            self.seen.add("engine" if OF_THE_ENGINE in lock.owner else "Hudi")


def test_no_row_is_lost_or_doubled_if_hudi_and_we_write_at_the_same_time(table: Shared) -> None:
    # These rows have smaller ordering values than the rows of the loop, which begin at 1.
    for number, by_hudi in ((-3, False), (-2, True), (-1, False), (0, True)):
        table.write(number, by_hudi=by_hudi)
    table.check()

    hudis = HudiWriter(
        table.judge,
        table.uri_of_hudi,
        table.options,
        dict(table.model),
        time.monotonic() + SECONDS,
    )
    ours = OurWriter(table.engine, table.uri, table.version, OURS)
    hudis.must_continue = lambda: not running.done() and ours.upserts < 2
    with Owners(table) as owners, ThreadPoolExecutor(1) as pool:
        running = pool.submit(ours.run)
        try:
            hudis.run()
        finally:
            ours.stop()
        running.result()
    figures = (
        f"Hudi: {hudis.upserts} upserts, refused {dict(hudis.conflicts)}; we: {ours.upserts} upserts, refused "
        f"{dict(ours.conflicts)}"
    )
    _LOG.warning("%s: %s", table.uri, figures)
    assert hudis.upserts >= 2, figures
    assert ours.upserts >= 2, figures
    assert owners.seen == {"engine", "Hudi"}, figures
    table.model = merged(hudis.model, list(ours.model.values()))
    table.check()
    assert table.lock().is_released

    # The next writes find each stored row, and roll back the files of refused writes.
    for number, by_hudi in ((998, False), (999, True)):
        table.write(number, by_hudi=by_hudi)
        table.check()


def test_each_writer_waits_while_the_other_writer_holds_the_lock(table: Shared) -> None:
    table.write(0, by_hudi=False)
    table.write(1, by_hudi=True)
    with ThreadPoolExecutor(1) as pool:
        began = time.monotonic()
        table.write(2, by_hudi=True)
        usual_s = time.monotonic() - began
        with StorageBasedLock(table.storage, request_id=f"{OF_THE_ENGINE} of this test"):
            writing = pool.submit(table.write, 3, by_hudi=True)
            assert_waits(writing, usual_s + UNHINDERED_S)
        writing.result()
        assert OF_THE_ENGINE not in table.lock().owner, "Hudi used another lock"

        began = time.monotonic()
        table.write(4, by_hudi=False)
        usual_s = time.monotonic() - began
        hudi = Stopped(table)
        hudis = pool.submit(table.write, 5, by_hudi=True)
        with hudi.while_it_holds_the_lock(), ThreadPoolExecutor(1) as other:
            writing = other.submit(table.engine.write, table.uri, NEW, version=table.version, options=OURS)
            try:
                assert_waits(writing, usual_s + UNHINDERED_S)
            finally:
                hudi.resume()
            writing.result()
        hudis.result()
    table.model = merged(table.model, NEW.to_pylist())
    table.check()


@pytest.mark.parametrize("by_hudi", [False, True], ids=["engine", "Hudi"])
def test_the_lock_of_a_dead_writer_is_taken_over_after_its_expiry(table: Shared, by_hudi: bool) -> None:
    table.write(0, by_hudi=not by_hudi)
    expiry_ms = int(time.time() * 1000) + int(EXPIRES_AFTER_S * 1000)
    dead = StorageLockFile(is_released=False, valid_until_ms=expiry_ms, owner="00000000-dead")
    table.storage.write(LOCK_PATH, encode_lock_file(dead))
    table.write(1, by_hudi=by_hudi)
    assert time.time() * 1000 > expiry_ms, "the writer did not wait for the lock"
    assert table.lock().is_released
    table.check()


def assert_waits(writing: "Future[Any]", seconds: float) -> None:
    """Fail if the write ends, with or without an error, within these seconds."""
    time.sleep(seconds)
    assert not writing.done(), "the write did not wait for the lock"


class Stopped:
    """Stops the JVM of Hudi while Hudi holds the lock."""

    def __init__(self, table: Shared) -> None:
        self._table = table
        process = psutil.Process(table.judge.ping()["pid"])
        (self._jvm,) = [each for each in process.children(recursive=True) if each.name() == "java"]

    @contextmanager
    def while_it_holds_the_lock(self) -> Iterator[None]:
        """Stop the JVM when it holds the lock. `resume`, or the end of the block, continues it."""
        deadline = time.monotonic() + EXTRA_SECONDS
        try:
            while not self._is_stopped_with_the_lock():
                assert time.monotonic() < deadline, "Hudi did not take the lock"
                self.resume()
                time.sleep(0.01)
            yield
        finally:
            self.resume()

    def resume(self) -> None:
        self._jvm.resume()

    def _is_stopped_with_the_lock(self) -> bool:
        if not self._is_held_by_hudi():
            return False
        self._jvm.suspend()
        return self._is_held_by_hudi()

    def _is_held_by_hudi(self) -> bool:
        lock = self._table.lock()
        return not lock.is_released and OF_THE_ENGINE not in lock.owner
