"""Create tables and load batches of one kind into them, on Spark."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.jobs.writing.upsert import upsert
from scale.calibration import Batch


@dataclass(frozen=True, slots=True)
class TableLoads:
    """Tables with one base file in each of `groups` partitions, and batches that have rows for each partition.

    Attributes:
        operation: write operation of the batches.
    """

    spark: SparkSession
    batch: Batch
    groups: int
    operation: str = "upsert"
    storage_options: Mapping[str, str] = field(default_factory=dict)

    def create(self, table: str, rows: int) -> None:
        self._write("bulk_insert", table, 0, rows)

    def load(self, table: str, table_rows: int, batch_rows: int) -> dict[str, float]:
        """Load a batch into a table with `table_rows` rows, and return the seconds of the phases."""
        first = 0 if self.batch.changes_rows else table_rows
        return self._write(self.operation, table, first, first + batch_rows)

    def _write(self, operation: str, table: str, first: int, last: int) -> dict[str, float]:
        is_filling = self.batch is Batch.SMALL_FILES
        table_type = "MERGE_ON_READ" if self.batch is Batch.LOGS else "COPY_ON_WRITE"
        request = UpsertRequest(
            base_path=table,
            table_name="load",
            operation=operation,
            record_key=("id",),
            partition_by=("day",),
            options={
                "hoodie.datasource.write.table.type": table_type,
                "hoodie.parquet.max.file.size": str(1 << 40),
                "hoodie.parquet.small.file.limit": str(1 << 39) if is_filling else "0",
            },
            storage_options=self.storage_options,
        )
        return dict(upsert(self.spark, request, source=self._rows(first, last)).timings_s)

    def _rows(self, first: int, last: int) -> DataFrame:
        key = f.format_string("key-%012d", f.col("id"))
        return self.spark.range(first, last).select(
            key.alias("id"),
            f.format_string("day-%03d", f.col("id") % self.groups).alias("day"),
            f.sha2(key, 256).alias("note"),
            (f.col("id") * 0.01).alias("amount"),
        )
