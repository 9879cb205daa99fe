"""A table under test: the jobs of this project write it, and hudi-rs reads it."""

import itertools
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
from hudi import HudiReadOptions, HudiTable
from pyspark.sql import SparkSession

from hudi_table_services.contract.clustering import (
    CancelClusteringRequest,
    ExecuteClusteringRequest,
    ScheduleClusteringRequest,
)
from hudi_table_services.contract.result import JobResult
from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.jobs.clustering.cancel import cancel_clustering
from hudi_table_services.jobs.clustering.execute import execute_clustering
from hudi_table_services.jobs.clustering.schedule import schedule_clustering
from hudi_table_services.jobs.writing.upsert import upsert
from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.storage.clock import Clock, SystemClock
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from judges.engine import COPIES_EVERY_ROW_GROUP
from judges.hudi_rs import read_snapshot
from judges.table_files import files_below
from support.metadata_table.without_metadata_table import options_of_new_table

Row = tuple[str, int, str, float | None]
"""Record key, ordering value, partition path and payload."""

SCHEMA = "k string, ts bigint, p string, v double"
COMPLETED = (".commit", ".deltacommit", ".replacecommit")
_numbers = itertools.count(1)


class TableUnderTest:
    """One table of rows like `Row`, partitioned by `p` unless a test sets `is_partitioned` to False.

    The first write creates no metadata table unless a test sets `has_default_metadata_table` to True.
    """

    def __init__(self, spark: SparkSession, base_path: Path, **options: str) -> None:
        self._spark = spark
        self.base_path = base_path
        self.options = {key.replace("__", "."): value for key, value in options.items()}
        self.is_partitioned = True
        self.has_default_metadata_table = False

    def write(
        self,
        rows: Sequence[tuple[object, ...]],
        operation: str = "upsert",
        *,
        options: Mapping[str, str] | None = None,
        ordering_field: str = "ts",
        schema: str = SCHEMA,
        request_id: str | None = None,
        dry_run: bool = False,
        storage: Storage | None = None,
        clock: Clock | None = None,
    ) -> JobResult:
        request = UpsertRequest(
            base_path=str(self.base_path),
            request_id=request_id or f"request-{next(_numbers)}",
            table_name="t",
            operation=operation,
            record_key=("k",),
            partition_by=("p",) if self.is_partitioned else (),
            ordering_field=ordering_field,
            options={**COPIES_EVERY_ROW_GROUP, **self._creation(), **self.options, **(options or {})},
            dry_run=dry_run,
        )
        frame = self._spark.createDataFrame(list(rows), schema)
        return upsert(self._spark, request, frame, storage=storage, clock=clock)

    def _creation(self) -> Mapping[str, str]:
        return {} if self.has_default_metadata_table else options_of_new_table(self.base_path)

    def schedule(self, **fields: object) -> JobResult:
        """Schedule a clustering. `fields` are fields of the request; `storage` and `clock` are for the job."""
        own = {name: fields.pop(name) for name in ("storage", "clock") if name in fields}
        request = ScheduleClusteringRequest(base_path=str(self.base_path), **fields)
        return schedule_clustering(request, **own)

    def execute(self, *instants: str, **fields: object) -> JobResult:
        """Execute the given plans, or all pending plans if no plan is given."""
        own = {name: fields.pop(name) for name in ("storage", "clock") if name in fields}
        request = ExecuteClusteringRequest(base_path=str(self.base_path), instants=instants, **fields)
        return execute_clustering(self._spark, request, **own)

    def cancel(self, *instants: str, **fields: object) -> JobResult:
        own = {name: fields.pop(name) for name in ("storage", "clock") if name in fields}
        request = CancelClusteringRequest(base_path=str(self.base_path), instants=instants, **fields)
        return cancel_clustering(request, **own)

    def timeline_store(self) -> TimelineStore:
        storage = LocalStorage(str(self.base_path))
        return TimelineStore(storage, read_table_config(storage), SystemClock())

    def live_files(self) -> dict[str, list[Path]]:
        """Base files that readers see, by partition."""
        slices = load_snapshot(LocalStorage(str(self.base_path))).file_slices
        return {
            p: [self.base_path / (s.base_file_path or "") for s in slices[p]] for p in slices if slices[p]
        }

    def rows(self) -> list[Row]:
        """All rows that hudi-rs reads, sorted, including duplicates."""
        table = read_snapshot(self.base_path)
        return sorted((r["k"], r["ts"], r["p"], r["v"]) for r in table.to_pylist())

    def records(self) -> list[dict[str, object]]:
        """All rows with their meta columns."""
        batches = HudiTable(str(self.base_path)).read(HudiReadOptions())
        return pa.Table.from_batches([pa.record_batch(batch) for batch in batches]).to_pylist()

    def files(self) -> set[str]:
        return {str(path.relative_to(self.base_path)) for path in files_below(self.base_path)}

    def copied_to(self, base_path: Path) -> "TableUnderTest":
        """Copy the table to another base path."""
        shutil.copytree(self.base_path, base_path)
        copy = TableUnderTest(self._spark, base_path)
        copy.options, copy.is_partitioned = self.options, self.is_partitioned
        copy.has_default_metadata_table = self.has_default_metadata_table
        return copy

    def leftovers(self) -> set[str]:
        """Files that only a running write may have: staged rows, markers, heartbeats and uncommitted data files.

        The lock is not included, because the next writer takes over the lock of a dead writer.
        """
        own = (".hoodie/.temp/", ".hoodie/.aux/staging/", ".hoodie/.heartbeat/")
        committed = {p.name for p in files_below(self.base_path / ".hoodie") if p.name.endswith(COMPLETED)}
        times = {name.split(".")[0].split("_")[0] for name in committed}
        return {
            name
            for name in self.files()
            if name.startswith(own) or (name.endswith(".parquet") and _instant_of(name) not in times)
        }


def _instant_of(path: str) -> str:
    return BaseFile.from_file_name(Path(path).name).instant_time
