"""Real Hudi and the table services of the engine, working on one table at the same time until a deadline."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.errors import CommitConflictError, InvalidRequestError
from hudi_table_services.jobs.archival.archive import archive
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from judges.engine import Engine
from judges.hudi_judge import HudiJudge, HudiRefusedError
from judges.rows import META_COLUMNS, PLAIN, Model, Row, as_table, merged, some_rows
from judges.table_files import timeline_folder

EXTRA_SECONDS = 400.0
"""Additional seconds for slow machines. An abandoned lock expires in less time.

Hudi 0.15 sometimes leaves an empty lock file on the local disk.
"""

PARTITIONS = ("a", "b", "c", "d")
UPDATED_KEYS = 24
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
    "java.util.NoSuchElementException: FileID ",
    "Latest pending compaction instant time must be earlier than this instant time",
    "FileAlreadyExistsException",
)
"""Errors of Hudi. A write that fails with one of these errors has changed no row, so the test repeats the write.

Hudi reads the timeline without the lock, which explains the errors from the third on. After Hudi has listed the
timeline, an archival may remove a commit whose file Hudi has not read. After Hudi has found the file groups of its
rows, a clustering may replace one of these file groups. The loop archives after each clustering. Tables in production
are archived much less often. After Hudi 0.15 has chosen the time of its write, another process may schedule a
compaction, or may request an instant with the same time and the same action.
"""


FAILURE_OF_HUDI = "ArrayIndexOutOfBoundsException"
"""Hudi 1.2.0 fails in this way when it compacts a metadata table, even if no other writer changes the table. The write
succeeds when it is repeated."""


PAUSE_S = 4.0
"""Seconds between two writes of Hudi after the end of the loop, so that the engine can complete its writes."""


class HudiWriter:
    """Lets real Hudi upsert batches until a deadline and repeats refused upserts; `model` has the expected rows.

    Args:
        base_path: folder of the table, or the URI of a table elsewhere. The writer records clusterings only if
            `base_path` is a folder.
    """

    def __init__(
        self,
        judge: HudiJudge,
        base_path: Path | str,
        options: Mapping[str, str],
        model: Model,
        until: float,
    ) -> None:
        self._judge, self._base_path, self._options, self._until = judge, base_path, options, until
        self.model = model
        self.upserts = 0
        self.clusterings_seen: set[str] = set()
        self.conflicts: Counter[str] = Counter()
        self.must_continue: Callable[[], bool] = lambda: False

    def run(self) -> None:
        while time.monotonic() < self._until or self._continues_after_the_deadline():
            if time.monotonic() > self._until:
                time.sleep(
                    PAUSE_S
                )  # on a busy machine, the writes of the engine may have lost every conflict
            batch = self._batch(self.upserts + 1)
            self._write(as_table(batch, PLAIN))
            self.model = merged(self.model, batch)
            self.upserts += 1
            if isinstance(self._base_path, Path):
                self.clusterings_seen |= clusterings_within_writes(self._base_path)

    def _continues_after_the_deadline(self) -> bool:
        """Whether the loop must continue after its deadline, for example because no clustering ended during a write."""
        is_patient = time.monotonic() < self._until + EXTRA_SECONDS
        lacks_clusterings = isinstance(self._base_path, Path) and not self.clusterings_seen
        return is_patient and (self.upserts < 2 or lacks_clusterings or self.must_continue())

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
                text = f"{refusal}{refusal.trace}"
                kind = next((name for name in (*CONFLICTS, FAILURE_OF_HUDI) if name in text), None)
                if kind is None or time.monotonic() > self._until + 2 * EXTRA_SECONDS:
                    raise
                self.conflicts[kind] += 1


class OurWriter:
    """Lets the engine upsert batches with keys of its own until `stop`, and repeats writes that lost a conflict."""

    FIRST_KEY = 1000

    def __init__(
        self, engine: Engine, base_path: Path | str, version: int, options: Mapping[str, str]
    ) -> None:
        self._engine, self._base_path, self._version, self._options = engine, base_path, version, options
        self._stop = threading.Event()
        self.model: Model = {}
        self.upserts = 0
        self.conflicts: Counter[str] = Counter()

    def stop(self) -> None:
        self._stop.set()

    def run(self) -> None:
        while not self._stop.is_set():
            batch = self._batch(self.upserts + 1)
            try:
                self._engine.write(
                    self._base_path, as_table(batch, PLAIN), version=self._version, options=self._options
                )
            except CommitConflictError as error:
                self.conflicts[type(error).__name__] += 1
                continue
            self.model = merged(self.model, batch)
            self.upserts += 1

    def _batch(self, number: int) -> list[Row]:
        """Two new rows, and every second time updates of two stored rows."""
        new = [self.FIRST_KEY + 2 * number, self.FIRST_KEY + 2 * number + 1]
        stored = [self.FIRST_KEY + number, self.FIRST_KEY + number + 1] if number > 2 and number % 2 else []
        return some_rows(sorted({*new, *stored}), number, PLAIN, PARTITIONS)


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
