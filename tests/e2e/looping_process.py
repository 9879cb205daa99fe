"""A process that works on one table until a test stops it: a writer, or a process that runs the table services in turn.

Usage: ``python looping_process.py <folder> seed|services`` or ``… writer <number> <writers>``. The table is ``t`` in
that folder, which also contains the files of `Signals`. ``LOOP_TABLE_VERSION`` is the version of the table that
``seed`` creates. If ``LOOP_INDEXES`` is not empty, the table has a metadata table with these indexes, and every second
writer finds stored keys in its record index.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.clustering import (
    CancelClusteringRequest,
    ExecuteClusteringRequest,
    ScheduleClusteringRequest,
)
from hudi_table_services.contract.health import HealthRequest
from hudi_table_services.contract.metadata_table import RebuildMetadataTableRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.errors import CommitConflictError, CommitStateUnknownError, HudiTableServiceError
from hudi_table_services.execution.sessions.session import SessionSettings, start_session
from hudi_table_services.jobs.archival.archive import archive
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.clustering.cancel import cancel_clustering
from hudi_table_services.jobs.clustering.execute import execute_clustering
from hudi_table_services.jobs.clustering.schedule import schedule_clustering
from hudi_table_services.jobs.health.table_health import table_health
from hudi_table_services.jobs.metadata_table.rebuild import rebuild_metadata_table
from hudi_table_services.jobs.writing.upsert import upsert

INDEXES = os.environ.get("LOOP_INDEXES", "")
FEW_GROUPS = {
    "hoodie.metadata.record.index.min.filegroup.count": "2",
    "hoodie.metadata.record.index.max.filegroup.count": "2",
}
SHARED_KEYS = 40
HISTORY = 7
"""Number of commits before the first writer starts, so that the first services can clean and archive."""

SCHEMA = pa.schema([("k", pa.string()), ("p", pa.string()), ("ts", pa.int64()), ("v", pa.string())])
CLEANING = {"hoodie.airflow.clean.floor.hours": "0"}
ARCHIVING = {"hoodie.clean.commits.retained": "3"}


def a_row(key: str, order: int, who: str) -> dict[str, object]:
    """A row whose partition depends only on its key; `order` is the ordering value of the batch."""
    return {"k": key, "p": "abcd"[sum(key.encode()) % 4], "ts": order, "v": f"{who} {order}"}


def seed_rows() -> list[dict[str, object]]:
    """The rows of the table before the first writer starts; all writers update these rows."""
    return [a_row(f"shared-{i}", 0, "seed") for i in range(SHARED_KEYS)]


def is_of_new_keys(number: int) -> bool:
    """Whether the batches with this number contain only new keys. In such batches, all writers use the same keys."""
    return number % 3 == 2


def batch_of(writer: int, number: int, writers: int) -> list[dict[str, object]]:
    """Rows with some of the shared keys, a new key that only this writer uses, and usually an older key of this writer.

    Every third batch contains only new keys that all writers insert. In such a batch, only these keys can conflict.
    """
    order = number * writers + writer + 1
    if is_of_new_keys(number):
        return [a_row(f"new-{number}-{i}", order, f"writer {writer}") for i in range(4)]
    shared = {(number * 5 + writer * 3 + i * 7) % SHARED_KEYS for i in range(4)}
    own = {number, number // 2}
    keys = [f"shared-{i}" for i in sorted(shared)] + [f"own-{writer}-{i}" for i in sorted(own)]
    return [a_row(key, order, f"writer {writer}") for key in keys]


def write(
    spark: SparkSession, base_path: str, request_id: str, rows: list[dict[str, object]], **options: str
) -> JobResult:
    """Upsert rows into the table; the names of ``options`` have ``__`` instead of dots."""
    request = UpsertRequest(
        base_path=base_path,
        request_id=request_id,
        table_name="t",
        record_key=("k",),
        partition_by=("p",),
        ordering_field="ts",
        options={
            "hoodie.parquet.small.file.limit": "0",
            "hoodie.metadata.compact.max.delta.commits": "4",
            **{key.replace("__", "."): value for key, value in options.items()},
        },
    )
    return upsert(spark, request, spark.createDataFrame(pa.Table.from_pylist(rows, schema=SCHEMA)))


class Signals:
    """Files through which the processes communicate.

    The files are ``<name>.ready``, ``go``, ``<name>.at-<number>``, ``stop`` and the report ``<name>.jsonl``. A process
    adds a line of JSON to its report after each job.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name

    def wait_for_go(self) -> None:
        """Report that this process is ready, and wait until the test starts all processes."""
        self._file("ready").touch()
        while not (self._folder / "go").exists():
            time.sleep(0.02)

    @property
    def is_running(self) -> bool:
        return not (self._folder / "stop").exists()

    def meet(self, number: int, writers: int) -> None:
        """Wait until every writer is ready to write its batch with this number, or the test stops the processes."""
        self._file(f"at-{number}").touch()
        others = [self._folder / f"writer-{i}.at-{number}" for i in range(writers)]
        while self.is_running and not all(other.exists() for other in others):
            time.sleep(0.02)

    @property
    def is_ready(self) -> bool:
        return self._file("ready").exists()

    def report(self, **fields: object) -> None:
        with self._file("jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(fields) + "\n")

    @property
    def reported(self) -> list[dict[str, object]]:
        """All complete lines of the report; the process may be writing another line."""
        file = self._file("jsonl")
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True) if file.exists() else []
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def _file(self, kind: str) -> Path:
        return self._folder / f"{self._name}.{kind}"


def write_in_a_loop(spark: SparkSession, base_path: str, signals: Signals, writer: int, writers: int) -> None:
    """Write batches until the test stops this process; repeat the request of a batch that a job refuses."""
    number = 0
    options = {"hoodie__index__type": "RECORD_INDEX"} if INDEXES and writer % 2 else {}
    while signals.is_running:
        if is_of_new_keys(number):
            signals.meet(number, writers)
        try:
            rows = batch_of(writer, number, writers)
            done = write(spark, base_path, f"{writer}-{number}", rows, **options)
        except (CommitConflictError, CommitStateUnknownError) as error:
            signals.report(number=number, refused=error.kind, message=str(error))
            continue
        signals.report(number=number, instant=done.instant_time, reused=done.reused)
        number += 1


def run_services_in_a_loop(spark: SparkSession, base_path: str, signals: Signals) -> None:
    """Run the table services in turn until the test stops this process; the next round repeats failed services."""
    sort_columns: tuple[str, ...] = ()
    while signals.is_running:
        sort_columns = () if sort_columns else ("v",)
        plan = ScheduleClusteringRequest(base_path=base_path, sort_columns=sort_columns)
        services: dict[str, Callable[[], JobResult]] = {
            "schedule": partial(schedule_clustering, plan),
            "execute": lambda: execute_clustering(spark, ExecuteClusteringRequest(base_path=base_path)),
            "clean": lambda: clean(CleanRequest(base_path=base_path, commits_retained=3, options=CLEANING)),
            "archive": lambda: archive(
                ArchiveRequest(base_path=base_path, min_commits=5, max_commits=8, options=ARCHIVING)
            ),
            "health": lambda: table_health(HealthRequest(base_path=base_path)),
        }
        for name, service in services.items():
            try:
                signals.report(service=name, **_figures(name, service()))
            except HudiTableServiceError as error:
                signals.report(service=name, refused=error.kind, message=str(error))
                if name == "execute":
                    _cancel(base_path, signals)


def _cancel(base_path: str, signals: Signals) -> None:
    """Cancel the pending plan: writers changed all its files, so another execution would fail as well."""
    try:
        cancel_clustering(CancelClusteringRequest(base_path=base_path, older_than_minutes=0))
    except CommitConflictError as error:  # a writer is rolling back the same clustering
        signals.report(service="cancel", refused=error.kind, message=str(error))


def _figures(name: str, result: JobResult) -> dict[str, object]:
    if name == "clean" and result.report is not None:
        return {"outcome": result.outcome.value, "files": result.report.file_count}
    if name == "archive" and result.report is not None:
        return {"outcome": result.outcome.value, "commits": result.report.archived_commits}
    return {"outcome": result.outcome.value, "instant": result.instant_time}


def main(folder: str, role: str, *numbers: str) -> None:
    base_path, signals = f"{folder}/t", Signals(Path(folder), "-".join((role, *numbers[:1])))
    spark = start_session(SessionSettings(application_name=role))
    if role == "seed":
        version = os.environ["LOOP_TABLE_VERSION"]
        for number in range(HISTORY):
            # See `support/metadata_table/without_metadata_table.py`, which this process cannot import.
            options = {"hoodie__write__table__version": version}
            if not (INDEXES and number):
                options["hoodie__metadata__enable"] = "false"
            write(spark, base_path, f"seed-{number}", seed_rows(), **options)
            if INDEXES and not number:
                build = RebuildMetadataTableRequest(
                    base_path=base_path, partitions=tuple(INDEXES.split(",")), options=FEW_GROUPS
                )
                rebuild_metadata_table(build, spark=spark)
    else:
        spark.createDataFrame(
            pa.Table.from_pylist(seed_rows(), schema=SCHEMA)
        ).count()  # loads classes before the loop begins
        signals.wait_for_go()
        if role == "services":
            run_services_in_a_loop(spark, base_path, signals)
        else:
            writer, writers = map(int, numbers)
            write_in_a_loop(spark, base_path, signals, writer, writers)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
