"""A table under test: writes through the job, reads through hudi-rs, and a dictionary that knows what must be there."""

import itertools
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
from hudi import HudiReadOptions, HudiTable
from pyspark.sql import SparkSession

from hudi_table_services.contract.job_request import UpsertRequest
from hudi_table_services.contract.job_result import JobResult
from hudi_table_services.jobs.upsert import upsert
from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.storage import Storage
from judges.hudi_rs import read_snapshot

Row = tuple[str, int, str, float | None]
"""Key, ordering value, partition, payload."""

SCHEMA = "k string, ts bigint, p string, v double"
COMPLETED = (".commit", ".replacecommit")
_numbers = itertools.count(1)


class TableUnderTest:
    """One table of rows like `Row`, partitioned by `p` unless said otherwise."""

    def __init__(self, spark: SparkSession, base_path: Path, **options: str) -> None:
        self._spark = spark
        self.base_path = base_path
        self.options = {key.replace("__", "."): value for key, value in options.items()}
        self.is_partitioned = True

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
            options={**self.options, **(options or {})},
            dry_run=dry_run,
        )
        frame = self._spark.createDataFrame(list(rows), schema)
        return upsert(self._spark, request, frame, storage=storage, clock=clock)

    def rows(self) -> list[Row]:
        """All rows as hudi-rs reads them, sorted, duplicates included."""
        table = read_snapshot(self.base_path)
        return sorted((r["k"], r["ts"], r["p"], r["v"]) for r in table.to_pylist())

    def records(self) -> list[dict[str, object]]:
        """All rows with their meta columns."""
        batches = HudiTable(str(self.base_path)).read(HudiReadOptions())
        return pa.Table.from_batches([pa.record_batch(batch) for batch in batches]).to_pylist()

    def files(self) -> set[str]:
        return {str(p.relative_to(self.base_path)) for p in self.base_path.rglob("*") if p.is_file()}

    def copied_to(self, base_path: Path) -> "TableUnderTest":
        """The same table at another place."""
        shutil.copytree(self.base_path, base_path)
        copy = TableUnderTest(self._spark, base_path)
        copy.options, copy.is_partitioned = self.options, self.is_partitioned
        return copy

    def leftovers(self) -> set[str]:
        """What only a running write may keep: staged rows, markers, heartbeats, uncommitted data.

        Not the lock: that of a dead writer goes when the next one wants it.
        """
        own = (".hoodie/.temp/", ".hoodie/.aux/staging/", ".hoodie/.heartbeat/")
        committed = {p.name for p in (self.base_path / ".hoodie").rglob("*") if p.name.endswith(COMPLETED)}
        times = {name.split(".")[0].split("_")[0] for name in committed}
        return {
            name
            for name in self.files()
            if name.startswith(own) or (name.endswith(".parquet") and _instant_of(name) not in times)
        }


def _instant_of(path: str) -> str:
    return BaseFile.from_file_name(Path(path).name).instant_time
