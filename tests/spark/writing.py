"""A table under test: writes through the job, reads through hudi-rs, and a dictionary that knows what must be there."""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
from hudi import HudiReadOptions, HudiTable
from pyspark.sql import SparkSession

from hudi_table_services.contract.job_request import UpsertRequest
from hudi_table_services.contract.job_result import JobResult
from hudi_table_services.jobs.upsert import upsert
from judges.hudi_rs import read_snapshot

Row = tuple[str, int, str, float | None]
"""Key, ordering value, partition, payload."""

SCHEMA = "k string, ts bigint, p string, v double"
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
        rows: Sequence[Row],
        operation: str = "upsert",
        *,
        options: Mapping[str, str] | None = None,
        ordering_field: str = "ts",
        request_id: str | None = None,
        dry_run: bool = False,
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
        return upsert(self._spark, request, self._spark.createDataFrame(list(rows), SCHEMA))

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
