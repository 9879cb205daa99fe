"""Real Hudi and the engine write to one table on HDFS, first in turns and then at the same time, under Hudi's lock."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from hudi_table_services.errors import CommitConflictError
from hudi_table_services.storage.stores.factory import open_storage
from judges.concurrent_jobs import LOCKED
from judges.engine import Engine
from judges.hudi_judge import HudiJudge, HudiRefusedError
from judges.oracle import V6, V6_OLD, V9, Oracle
from judges.rows import PLAIN, Model, Row, as_table, assert_rows_equal, merged, some_rows
from support.depth import number_from

SECONDS = number_from("HDFS_LOOP_SECONDS", 20, 20)
MOST_SECONDS = 300.0
"""Seconds within which each side must write twice, even on a busy machine."""
CONFLICTS = ("HoodieWriteConflictException", "Could not read commit details")
OURS, THEIRS = range(100, 104), range(4)
"""Keys that only the engine writes, and keys that only Hudi writes, while both write at the same time.

If both wrote the same keys, the result would depend on the order of the writes.
"""


@pytest.fixture(scope="module")
def engine(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return Engine(spark, tmp_path_factory.mktemp("engine"))


@pytest.fixture
def judge(oracle: Oracle, tmp_path: Path) -> Iterator[HudiJudge]:
    started = HudiJudge(oracle.release, tmp_path / "judge")
    yield started
    started.stop()


class Ours:
    """Upserts of the engine until `stop`; `model` has the rows."""

    def __init__(self, write: Callable[[pa.Table], object]) -> None:
        self._write = write
        self._stop = threading.Event()
        self.model: Model = {}
        self.upserts = 0
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Ours":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                batch = some_rows(OURS, 10 + self.upserts, PLAIN)
                try:
                    self._write(as_table(batch, PLAIN))
                except CommitConflictError:
                    continue
                self.model = merged(self.model, batch)
                self.upserts += 1
        except BaseException as error:
            self.failure = error


# Hudi 0.15.0 cannot read a metadata table on HDFS with the Hadoop of Spark 3.5: its HFile reader needs Hadoop 2.
@pytest.mark.parametrize(("oracle", "metadata"), [(V6_OLD, "false"), (V6, "true"), (V9, "true")], ids=str)
def test_hudi_and_we_write_one_table_on_hdfs(
    engine: Engine, judge: HudiJudge, oracle: Oracle, metadata: str, new_table: Callable[[], str]
) -> None:
    base_path = new_table()
    options = {**oracle.options("t", metadata__enable=metadata), **LOCKED}

    our_options = {**LOCKED, "hoodie.metadata.enable": metadata}

    def write_by_us(rows: pa.Table) -> None:
        engine.write(
            base_path,
            rows,
            version=oracle.table_version,
            has_default_metadata_table=True,
            options=our_options,
        )

    model: Model = {}
    for number in range(3):
        ours, theirs = (
            some_rows([*OURS, *THEIRS], 2 * number, PLAIN),
            some_rows(THEIRS, 2 * number + 1, PLAIN),
        )
        write_by_us(as_table(ours, PLAIN))
        judge.write(base_path, as_table(theirs, PLAIN), options)
        model = merged(merged(model, ours), theirs)
    assert_rows_equal(judge.read(base_path, {"hoodie.metadata.enable": metadata}), model, "Hudi, after turns")

    started = time.monotonic()
    upserts = 0
    with Ours(write_by_us) as running:
        while running.failure is None and (
            (passed := time.monotonic() - started) < SECONDS
            or (passed < MOST_SECONDS and min(upserts, running.upserts) < 2)
        ):
            batch: list[Row] = some_rows(THEIRS, 10 + upserts, PLAIN)
            try:
                judge.write(base_path, as_table(batch, PLAIN), options)
            except HudiRefusedError as refusal:
                if not any(each in f"{refusal}{refusal.trace}" for each in CONFLICTS):
                    raise
                continue
            upserts += 1
            model = merged(model, batch)
    assert running.failure is None
    assert min(upserts, running.upserts) >= 2, "Hudi and the engine did not write at the same time"
    expected = {**model, **running.model}
    for listed_by in {metadata, "false"}:
        found = judge.read(base_path, {"hoodie.metadata.enable": listed_by})
        assert_rows_equal(found, expected, f"Hudi, with metadata table: {listed_by}")
    assert not open_storage(base_path).exists(".hoodie/lock")
