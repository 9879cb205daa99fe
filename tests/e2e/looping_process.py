"""A process that works on one table beside others until it must stop: a writer, or the table's services in turn.

Run with plain python: ``looping_process.py <folder> seed|services`` or ``… writer <number> <writers>``. The table is
``t`` in that folder, `Signals` are the files beside it. ``LOOP_TABLE_VERSION`` is the version of the seeded table.
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

from hudi_table_services.cli import spark_session
from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.clustering import (
    CancelClusteringRequest,
    ExecuteClusteringRequest,
    ScheduleClusteringRequest,
)
from hudi_table_services.contract.health import HealthRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.errors import CommitConflictError, CommitStateUnknownError, HudiTableServiceError
from hudi_table_services.jobs.archival.archive import archive
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.clustering.cancel import cancel_clustering
from hudi_table_services.jobs.clustering.execute import execute_clustering
from hudi_table_services.jobs.clustering.schedule import schedule_clustering
from hudi_table_services.jobs.health.table_health import table_health
from hudi_table_services.jobs.writing.upsert import upsert

SHARED_KEYS = 40
HISTORY = 7
"""Commits before the first writer, so that there is something to clean and archive soon."""

SCHEMA = pa.schema([("k", pa.string()), ("p", pa.string()), ("ts", pa.int64()), ("v", pa.string())])
CLEANING = {"hoodie.airflow.clean.floor.hours": "0"}
ARCHIVING = {"hoodie.clean.commits.retained": "3"}


def a_row(key: str, order: int, who: str) -> dict[str, object]:
    """A row that never changes its partition; no other row has this `order`."""
    return {"k": key, "p": "abcd"[sum(key.encode()) % 4], "ts": order, "v": f"{who} {order}"}


def seed_rows() -> list[dict[str, object]]:
    """What is there before the first writer: the keys that all of them change."""
    return [a_row(f"shared-{i}", 0, "seed") for i in range(SHARED_KEYS)]


def is_of_new_keys(number: int) -> bool:
    """Whether batches of this number have the same new keys, and no other keys, from every writer."""
    return number % 3 == 2


def batch_of(writer: int, number: int, writers: int) -> list[dict[str, object]]:
    """Some of the shared keys, another choice each time; an older key of the writer's own; and a new one.

    Every third batch has new keys only, which all writers bring, so that nothing but these keys is in the way.
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
    """One upsert of plain rows into the table; options with ``__`` for dots."""
    request = UpsertRequest(
        base_path=base_path,
        request_id=request_id,
        table_name="t",
        record_key=("k",),
        partition_by=("p",),
        ordering_field="ts",
        options={
            "hoodie.parquet.small.file.limit": "0",
            **{key.replace("__", "."): value for key, value in options.items()},
        },
    )
    return upsert(spark, request, spark.createDataFrame(pa.Table.from_pylist(rows, schema=SCHEMA)))


class Signals:
    """Messages between the processes: ``<name>.ready``, ``go``, ``<name>.at-<number>``, ``stop``, ``<name>.jsonl``.

    The report has a line of JSON per job, written after the job said how it ended.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name

    def wait_for_go(self) -> None:
        """Say that this process can begin, and begin with the others."""
        self._file("ready").touch()
        while not (self._folder / "go").exists():
            time.sleep(0.02)

    @property
    def may_go_on(self) -> bool:
        return not (self._folder / "stop").exists()

    def meet(self, number: int, writers: int) -> None:
        """Wait until every writer is about to write its batch of this number, or it is time to stop."""
        self._file(f"at-{number}").touch()
        others = [self._folder / f"writer-{i}.at-{number}" for i in range(writers)]
        while self.may_go_on and not all(other.exists() for other in others):
            time.sleep(0.02)

    @property
    def is_ready(self) -> bool:
        return self._file("ready").exists()

    def report(self, **fields: object) -> None:
        with self._file("jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(fields) + "\n")

    @property
    def reported(self) -> list[dict[str, object]]:
        """Whole lines only: the process may be writing the next one."""
        file = self._file("jsonl")
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True) if file.exists() else []
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def _file(self, kind: str) -> Path:
        return self._folder / f"{self._name}.{kind}"


def write_again_and_again(
    spark: SparkSession, base_path: str, signals: Signals, writer: int, writers: int
) -> None:
    """Batch after batch. One that is refused is sent again as the same request until it is time to stop."""
    number = 0
    while signals.may_go_on:
        if is_of_new_keys(number):
            signals.meet(number, writers)
        try:
            done = write(spark, base_path, f"{writer}-{number}", batch_of(writer, number, writers))
        except (CommitConflictError, CommitStateUnknownError) as error:
            signals.report(number=number, refused=error.kind, message=str(error))
            continue
        signals.report(number=number, instant=done.instant_time, reused=done.reused)
        number += 1


def serve_again_and_again(spark: SparkSession, base_path: str, signals: Signals) -> None:
    """One service after the other, and each again. What lost to a writer comes again in the next round."""
    sort_columns: tuple[str, ...] = ()
    while signals.may_go_on:
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
    """Everything that the plan was made of was changed by writers: it would be so the next time, too."""
    try:
        cancel_clustering(CancelClusteringRequest(base_path=base_path, older_than_minutes=0))
    except CommitConflictError as error:  # a writer is rolling the same clustering back
        signals.report(service="cancel", refused=error.kind, message=str(error))


def _figures(name: str, result: JobResult) -> dict[str, object]:
    if name == "clean" and result.report is not None:
        return {"outcome": result.outcome.value, "files": result.report.file_count}
    if name == "archive" and result.report is not None:
        return {"outcome": result.outcome.value, "commits": result.report.archived_commits}
    return {"outcome": result.outcome.value, "instant": result.instant_time}


def main(folder: str, role: str, *numbers: str) -> None:
    base_path, signals = f"{folder}/t", Signals(Path(folder), "-".join((role, *numbers[:1])))
    spark = spark_session(role)
    if role == "seed":
        version = os.environ["LOOP_TABLE_VERSION"]
        for number in range(HISTORY):
            write(spark, base_path, f"seed-{number}", seed_rows(), hoodie__write__table__version=version)
    else:
        spark.createDataFrame(
            pa.Table.from_pylist(seed_rows(), schema=SCHEMA)
        ).count()  # loads what comes late
        signals.wait_for_go()
        if role == "services":
            serve_again_and_again(spark, base_path, signals)
        else:
            writer, writers = map(int, numbers)
            write_again_and_again(spark, base_path, signals, writer, writers)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
