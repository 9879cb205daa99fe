"""Several processes write the same keys to one table at the same time, while another process runs the table services.

At the end, for each key, the table contains the row with the greatest ordering value that a job reported as written.
The table contains only rows of batches that jobs reported as written. If the table has a metadata table, all indexes
describe the files. ``LOOP_SECONDS`` sets the duration of the loop. If this variable is set, or if ``TEST_DEPTH`` is
``all`` or ``exhaustive``, the tests use more tables and more writers.
"""

import logging
import os
import sys
import time
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from e2e.job_processes import REPOSITORY, SOURCES, JobProcess, environment, spark_settings
from e2e.looping_process import Signals, batch_of, seed_rows
from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.recovery import RepairOrphansRequest
from hudi_table_services.contract.result import Outcome
from hudi_table_services.errors import CommitConflictError, CommitStateUnknownError, HudiTableServiceError
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.recovery.repair_orphans import repair_orphan_files
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from judges.hudi_rs import read_snapshot
from judges.metadata_check import assert_describes_the_table
from judges.rows import META_COLUMNS
from judges.table_files import data_files, files_below, instant_of
from support.depth import IS_ALL, number_from

_LOG = logging.getLogger(__name__)

SECONDS = number_from("LOOP_SECONDS", 6, 20)
INDEXES = {
    "6": "files,column_stats,bloom_filters,record_index",
    "9": "files,column_stats,partition_stats,bloom_filters,record_index",
}
EVERY_CASE = [(2, "6", ""), (4, "9", ""), (3, "6", INDEXES["6"]), (4, "9", INDEXES["9"])]
CASES = EVERY_CASE if IS_ALL or "LOOP_SECONDS" in os.environ else [(2, "9", INDEXES["9"])]
"""Number of writers, table version, and indexes of the metadata table. Each writer needs a JVM, so ``make test``
starts only two writers."""

EXTRA_SECONDS = 90.0
"""Maximum of additional seconds on slow machines, in which the services and writers can complete their first work."""
SCRIPT = Path(__file__).with_name("looping_process.py")

Row = dict[str, object]


def names_of(error: type[HudiTableServiceError]) -> set[str]:
    """Names of the error class and of all its subclasses."""
    return {error.__name__}.union(*(names_of(kind) for kind in error.__subclasses__()))


EXPECTED_REFUSALS = names_of(CommitConflictError) | names_of(CommitStateUnknownError)


class Loop:
    """The processes of one run, and their reports."""

    def __init__(self, folder: Path, writers: int, version: str, indexes: str) -> None:
        self.base_path, self._folder, self._writers = folder / "t", folder, writers
        settings = spark_settings(folder / "conf", spark__master="local[1]", spark__driver__memory="700m")
        path = os.pathsep.join((str(SOURCES), str(REPOSITORY / "tests")))
        self._variables = environment(
            settings, PYTHONPATH=path, LOOP_TABLE_VERSION=version, LOOP_INDEXES=indexes
        )

    def run(self, seconds: float) -> None:
        """Start all processes, let them begin their work at the same time, and stop them.

        Stop them when this number of seconds has passed and each process has done some work.
        """
        assert (seed := self._start("seed").wait()).exit_code == 0, seed.log
        names = [("writer", str(i), str(self._writers)) for i in range(self._writers)]
        started = [self._start(*arguments) for arguments in (*names, ("services",))]
        try:
            for process, signals in zip(started, [*self._writer_signals, self._service_signals], strict=True):
                process.wait_for("session", lambda signals=signals: signals.is_ready or None)
            (self._folder / "go").touch()
            time.sleep(seconds)
            patient_until = time.monotonic() + EXTRA_SECONDS
            while time.monotonic() < patient_until and not self._has_run_everything:
                time.sleep(0.1)
            (self._folder / "stop").touch()
            ended = [process.wait() for process in started]
        finally:
            for process in started:
                process.kill()
        assert [each.exit_code for each in ended] == [0] * len(ended), "\n".join(e.log[-4000:] for e in ended)

    def _start(self, *arguments: str) -> JobProcess:
        command = [sys.executable, SCRIPT, self._folder, *arguments]
        return JobProcess(command, self._variables, self._folder / "-".join(arguments))

    @property
    def _has_run_everything(self) -> bool:
        return self.done >= {"execute", "clean", "archive", "health"} and all(self.batches)

    @property
    def _writer_signals(self) -> list[Signals]:
        return [Signals(self._folder, f"writer-{i}") for i in range(self._writers)]

    @property
    def _service_signals(self) -> Signals:
        return Signals(self._folder, "services")

    @property
    def batches(self) -> list[list[int]]:
        """Numbers of the batches that jobs of each writer reported as written."""
        return [
            [int(str(line["number"])) for line in signals.reported if "refused" not in line]
            for signals in self._writer_signals
        ]

    @property
    def refusals(self) -> list[Row]:
        """Reports of refused writes of all writers."""
        return [line for signals in self._writer_signals for line in signals.reported if "refused" in line]

    @property
    def served(self) -> list[Row]:
        return self._service_signals.reported

    @property
    def done(self) -> set[str]:
        """Services that have completed at least once."""
        return {str(line["service"]) for line in self.served if line.get("outcome") == "completed"}

    @property
    def model(self) -> dict[str, Row]:
        """For each key, the row with the greatest ordering value in the batches that jobs reported as written."""
        rows = seed_rows()
        for writer, numbers in enumerate(self.batches):
            for number in numbers:
                rows += batch_of(writer, number, self._writers)
        rows.sort(key=lambda row: int(str(row["ts"])))
        return {str(row["k"]): row for row in rows}

    @property
    def figures(self) -> str:
        """A one-line summary of the run."""
        refused = Counter(str(line["refused"]) for line in self.refusals)
        services = Counter(
            f"{line['service']} {line.get('refused') or line['outcome']}" for line in self.served
        )
        files = sum(int(str(line.get("files", 0))) for line in self.served)
        commits = sum(int(str(line.get("commits", 0))) for line in self.served)
        return (
            f"{[len(numbers) for numbers in self.batches]} batches, refused {dict(refused)}; "
            f"{dict(sorted(services.items()))}; {files} files cleaned, {commits} commits archived"
        )


def read_by_us(base_path: Path) -> list[Row]:
    """The rows of the base files that our planners find."""
    slices = load_snapshot(LocalStorage(str(base_path))).all_slices
    tables = [pq.read_table(base_path / str(s.base_file_path), partitioning=None) for s in slices]
    return pa.concat_tables(tables).drop_columns(META_COLUMNS).to_pylist()


def assert_rows(found: list[Row], model: dict[str, Row]) -> None:
    assert sorted(found, key=lambda row: str(row["k"])) == [model[key] for key in sorted(model)]


def assert_nothing_left(base_path: Path) -> None:
    """Check that there are no pending instants, no temporary files of writes, and no uncommitted data files."""
    storage = LocalStorage(str(base_path))
    config = read_table_config(storage)
    timeline = TimelineStore(storage, config, SystemClock()).load()
    assert not timeline.pending
    archived = {each.instant.requested_time for each in ArchivedTimeline(storage, config).writes()}
    committed = archived | {i.requested_time for i in timeline.completed_writes}
    assert [path for path in data_files(base_path) if instant_of(path) not in committed] == []
    hoodie = base_path / ".hoodie"
    for place in (".temp", ".heartbeat", ".aux/staging"):
        assert files_below(hoodie / place) == []
    assert not (hoodie / "lock").exists()
    assert [path for path in files_below(base_path) if path.name.startswith(".tmp-")] == []


@pytest.mark.parametrize(("writers", "version", "indexes"), CASES)
def test_the_table_contains_exactly_the_rows_that_the_jobs_reported(
    tmp_path: Path, writers: int, version: str, indexes: str
) -> None:
    version = os.environ.get("LOOP_TABLE_VERSION", version)
    loop = Loop(tmp_path, writers, version, indexes and INDEXES[version])
    loop.run(SECONDS)
    figures = loop.figures
    _LOG.warning("%d writers, version %s, indexes %r: %s", writers, version, indexes, figures)
    if indexes:
        assert_describes_the_table(loop.base_path)
    model = loop.model
    assert_rows(read_snapshot(loop.base_path).to_pylist(), model)
    assert_rows(read_by_us(loop.base_path), model)

    assert {str(line["refused"]) for line in loop.refusals} <= EXPECTED_REFUSALS, figures
    assert all(line["message"] for line in loop.refusals)
    assert all(loop.batches), figures
    assert loop.done >= {"schedule", "execute", "clean", "archive", "health"}, figures
    assert not [line for line in loop.served if line["service"] == "health" and "refused" in line]

    request = {"base_path": str(loop.base_path)}
    clean(CleanRequest(**request, commits_retained=3, options={"hoodie.airflow.clean.floor.hours": "0"}))
    repair_orphan_files(RepairOrphansRequest(**request, execute=True, older_than_hours=0))
    again = repair_orphan_files(RepairOrphansRequest(**request, older_than_hours=0))
    assert again.outcome is Outcome.NOTHING_TO_DO
    assert_nothing_left(loop.base_path)
    if indexes:
        assert_describes_the_table(loop.base_path)
    assert_rows(read_snapshot(loop.base_path).to_pylist(), model)
