"""Real Hudi writes while our table services run in a loop. At the end, the table contains exactly the rows of Hudi.

Hudi upserts small batches in its own process. At the same time, this process schedules and executes clusterings, and
every second clustering sorts the rows. After each clustering, this process cleans and archives. The test repeats failed
operations of both sides. An upsert of Hudi fails if it updates rows in files of a pending plan, or if Hudi finds a
conflict when it commits. A clustering fails if Hudi has changed all files of the plan. ``CLUSTERING_LOOP_SECONDS`` sets
the duration of the loop.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.errors import CommitConflictError, InvalidRequestError
from hudi_table_services.jobs.archival.archive import archive
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.storage.snapshot_loader import load_snapshot
from hudi_table_services.storage.stores.local import LocalStorage
from judges.clusterings import BLOOM, NO_PADDING, assert_all_read
from judges.engine import Engine
from judges.hudi_judge import HudiJudge, HudiRefusedError
from judges.oracle import ONLY_NEWEST_SAMPLED, ONLY_OLDEST_SAMPLED, Oracle
from judges.rows import META_COLUMNS, PLAIN, Model, Row, as_table, assert_rows_equal, merged, some_rows
from judges.table_files import timeline_folder
from support.depth import number_from

_LOG = logging.getLogger(__name__)

SECONDS = number_from("CLUSTERING_LOOP_SECONDS", 8, 30)
EXTRA_SECONDS = 400.0
"""Additional seconds for slow machines. An abandoned lock expires in less time.

Hudi 0.15 sometimes leaves an empty lock file on the local disk.
"""

PARTITIONS = ("a", "b", "c", "d")
UPDATED_KEYS = 24
HISTORY = 5
"""Number of commits before the loop. Without them, the first round could not clean and archive.

If Hudi refuses a write during the loop, cleaning and archival wait for two minutes, until the heartbeat of the write
expires.
"""

LOCKED = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.cleaner.policy.failed.writes": "LAZY",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
    "hoodie.write.lock.wait_time_ms_between_retry": "200",
    "hoodie.write.lock.num_retries": "100",
}
# Cleaning deletes outdated files immediately.
CLEANING = {"hoodie.airflow.clean.floor.hours": "0"}
ARCHIVING = {"hoodie.clean.commits.retained": "3"}
CONFLICTS = (
    "HoodieClusteringUpdateException",
    "HoodieWriteConflictException",
    "Could not read commit details",
)
"""Errors of Hudi. A write that fails with one of these errors has changed no row, so the test repeats the write.

Hudi raises the last error because it lists the timeline without the lock: after the listing, an archival of a job or of
Hudi may remove a commit whose file Hudi has not read. The loop archives after each clustering. Tables in production are
archived much less often.
"""


class HudiWriter:
    """Lets real Hudi upsert batches until a deadline and repeats refused upserts; `model` has the expected rows."""

    def __init__(
        self, judge: HudiJudge, base_path: Path, options: Mapping[str, str], model: Model, until: float
    ) -> None:
        self._judge, self._base_path, self._options, self._until = judge, base_path, options, until
        self.model = model
        self.upserts = 0
        self.clusterings_seen: set[str] = set()
        self.conflicts: Counter[str] = Counter()
        self.must_continue: Callable[[], bool] = lambda: False

    def run(self) -> None:
        while time.monotonic() < self._until or self._continues_after_the_deadline():
            batch = self._batch(self.upserts + 1)
            self._write(as_table(batch, PLAIN))
            self.model = merged(self.model, batch)
            self.upserts += 1
            self.clusterings_seen |= clusterings_within_writes(self._base_path)

    def _continues_after_the_deadline(self) -> bool:
        """Whether the loop must continue after its deadline, for example because no clustering ended during a write."""
        is_patient = time.monotonic() < self._until + EXTRA_SECONDS
        return is_patient and (self.upserts < 2 or not self.clusterings_seen or self.must_continue())

    @staticmethod
    def _batch(number: int) -> list[Row]:
        """New rows in two partitions, where they make small files. Every second batch also updates a third partition.

        Hudi refuses the updates while a plan contains their files. Batches without updates do not conflict with a plan.
        """
        new = {UPDATED_KEYS + 4 * number + (number + i) % 4 for i in (1, 2)}
        updated = {number % 4 + 4 * ((number * 3 + i) % (UPDATED_KEYS // 4)) for i in range(3)}
        return some_rows(sorted(new | updated if number % 2 else new), number, PLAIN, PARTITIONS)

    def _write(self, batch: pa.Table) -> None:
        while True:
            try:
                self._judge.write(self._base_path, batch, self._options)
                return
            except HudiRefusedError as refusal:
                kind = next((name for name in CONFLICTS if name in str(refusal)), None)
                if kind is None or time.monotonic() > self._until + 2 * EXTRA_SECONDS:
                    raise
                self.conflicts[kind] += 1


class Services:
    """Clusters, cleans and archives until `stop`; cancels and replaces plans that conflict with writes of Hudi."""

    def __init__(self, engine: Engine, base_path: Path) -> None:
        self._engine, self._base_path = engine, base_path
        self._stop = threading.Event()
        self.completed: list[str] = []
        self.lost: Counter[str] = Counter()
        self.cleaned: list[int] = []
        self.archived: list[int] = []

    def stop(self) -> None:
        self._stop.set()

    @property
    def has_done_all(self) -> bool:
        return len(self.completed) >= 2 and bool(self.cleaned) and bool(self.archived)

    def run(self) -> None:
        while not self._stop.is_set():
            try:
                self._cluster(sort_columns=("double",) if len(self.completed) % 2 else ())
            except (CommitConflictError, InvalidRequestError) as error:
                self.lost[type(error).__name__] += 1
                self._engine.cancel_clustering(self._base_path)
            self._clean_and_archive()

    def _clean_and_archive(self) -> None:
        base_path = str(self._base_path)
        try:
            cleaned = clean(CleanRequest(base_path=base_path, commits_retained=3, options=CLEANING))
            archived = archive(
                ArchiveRequest(base_path=base_path, min_commits=4, max_commits=5, options=ARCHIVING)
            )
        except CommitConflictError as error:
            self.lost[type(error).__name__] += 1
            return
        if cleaned.report is not None and cleaned.report.file_count:
            self.cleaned.append(cleaned.report.file_count)
        if archived.report is not None and archived.report.archived_commits:
            self.archived.append(archived.report.archived_commits)

    def _cluster(self, sort_columns: tuple[str, ...]) -> None:
        scheduled = self._engine.schedule_clustering(self._base_path, sort_columns=sort_columns)
        if scheduled.instant_time is None:  # nothing to do until Hudi's next commit
            self._stop.wait(0.05)
            return
        executed = self._engine.execute_clustering(self._base_path)
        if executed.instant_time is not None:
            self.completed.append(executed.instant_time)


def read_by_us(base_path: Path) -> pa.Table:
    """The rows of the base files that our planners find, without the meta columns."""
    slices = load_snapshot(LocalStorage(str(base_path))).all_slices
    tables = [pq.read_table(base_path / str(s.base_file_path), partitioning=None) for s in slices]
    return pa.concat_tables(tables).drop_columns(META_COLUMNS)


def clusterings_within_writes(base_path: Path) -> set[str]:
    """Clusterings that completed during a write, according to the modification times of the files in the timeline."""
    files: list[tuple[str, float]] = []
    for path in timeline_folder(base_path).iterdir():
        with suppress(FileNotFoundError):  # an archival has removed the file
            files.append((path.name, path.stat().st_mtime))
    requested = {name.partition(".")[0]: when for name, when in files if name.endswith(".commit.requested")}
    writes = [
        (requested.get(name.partition(".")[0].partition("_")[0], when), when)
        for name, when in files
        if name.endswith(".commit") and not name.startswith(".")
    ]
    return {
        name.partition(".")[0]
        for name, when in files
        if name.endswith(".replacecommit") and not name.startswith(".")
        if any(start < when < end for start, end in writes)
    }


@pytest.mark.parametrize("oracle", ONLY_NEWEST_SAMPLED)
def test_no_rows_are_lost_or_duplicated_if_hudi_writes_during_our_table_services(
    hudi, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), tmp_path / "t"
    options = {**oracle.options("t", **BLOOM), **LOCKED}
    rows = some_rows(range(UPDATED_KEYS), 0, PLAIN, PARTITIONS)
    engine.write(base_path, as_table(rows, PLAIN), version=oracle.table_version, options=NO_PADDING)
    for _ in range(HISTORY):
        engine.write(base_path, as_table(rows, PLAIN), version=oracle.table_version, options=NO_PADDING)
        # In its first write, Hudi loads classes for several seconds.
    judge.write(base_path, as_table(rows, PLAIN), options)
    writer = HudiWriter(judge, base_path, options, merged({}, rows), time.monotonic() + SECONDS)
    services = Services(engine, base_path)
    writer.must_continue = lambda: not (running.done() or services.has_done_all)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(services.run)
        try:
            writer.run()
        finally:
            services.stop()
        running.result()

    figures = (
        f"{writer.upserts} upserts, {len(writer.model)} rows, refused: {dict(writer.conflicts)}; "
        f"{len(services.completed)} clusterings, {len(writer.clusterings_seen)} during a write; "
        f"lost: {dict(services.lost)}; "
        f"{len(services.cleaned)} cleans of {sum(services.cleaned)} files, "
        f"{len(services.archived)} archivals of {sum(services.archived)} commits"
    )
    _LOG.info("%s: %s", oracle, figures)
    assert_all_read(judge, base_path, writer.model, oracle)
    assert_rows_equal(read_by_us(base_path), writer.model, "our reader")
    assert writer.upserts >= 2, figures
    assert len(services.completed) >= 2, figures
    assert writer.clusterings_seen, figures
    assert services.cleaned, figures
    assert services.archived, figures

    # Our next write rolls back Hudi's refused writes; all other rows stay.
    last = some_rows(range(UPDATED_KEYS), 999, PLAIN, PARTITIONS)
    engine.write(base_path, as_table(last, PLAIN), version=oracle.table_version, options=NO_PADDING)
    assert_all_read(judge, base_path, merged(writer.model, last), oracle)


@pytest.mark.parametrize("oracle", ONLY_OLDEST_SAMPLED)
def test_hudi_finds_a_conflict_with_a_clustering_that_ran_while_hudi_searched_for_keys(
    hudi, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    """Until Hudi's write is inflight, no other job knows which files the write will change.

    Therefore Hudi must find the conflict.
    """
    judge, base_path = hudi(oracle.release), tmp_path / "t"
    options = {**oracle.options("t", **BLOOM), **LOCKED}
    model: Model = {}
    for numbers in (range(8), range(8, 16)):
        rows = some_rows(numbers, 0, PLAIN)
        engine.write(base_path, as_table(rows, PLAIN), version=oracle.table_version, options=NO_PADDING)
        model = merged(model, rows)
    # Hudi needs some seconds to search for 20,000 new keys. The files of the plan contain none of these keys.
    new = [{**row, "key": f"new-{i}", "part": "c"} for i, row in enumerate(some_rows([0] * 20_000, 1, PLAIN))]
    batch = some_rows(range(16), 1, PLAIN) + new
    with ThreadPoolExecutor(1) as pool:
        write = pool.submit(judge.write, base_path, as_table(batch, PLAIN), options)
        begun = _wait_for_request(base_path)
        engine.schedule_clustering(base_path)
        engine.execute_clustering(base_path)
        assert not list(timeline_folder(base_path).glob(f"{begun}.inflight")), (
            "Hudi's write was already inflight, so this test proves nothing"
        )
        with pytest.raises(HudiRefusedError, match="HoodieWriteConflictException"):
            write.result()
    assert_all_read(judge, base_path, model, oracle)
    judge.write(base_path, as_table(batch, PLAIN), options)
    assert_all_read(judge, base_path, merged(model, batch), oracle)


def _wait_for_request(base_path: Path) -> str:
    """Wait until the third commit is requested and Hudi has read the timeline; return the requested time."""
    deadline = time.monotonic() + EXTRA_SECONDS
    while time.monotonic() < deadline:
        requested = sorted(path.name for path in timeline_folder(base_path).glob("*.commit.requested"))
        if len(requested) == 3:
            time.sleep(0.3)
            return requested[-1].partition(".")[0]
        time.sleep(0.01)
    raise AssertionError("Hudi did not begin to write")
