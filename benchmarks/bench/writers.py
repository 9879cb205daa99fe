"""Write one prepared input into a table with each system."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from pyspark.sql import SparkSession

from bench.other_formats import DeltaTables, IcebergTables
from bench.scenarios import KEY_COLUMNS, Operation, System

TABLE_NAME = "lineitem"
KEY_OPTION = ",".join(KEY_COLUMNS)


class Writer(Protocol):
    """Writes parquet inputs into one kind of table."""

    def write(self, source: Path, table: Path, operation: Operation, partition_by: str | None) -> None:
        """Write the rows of ``source`` into the table at ``table``; create the table if it does not exist."""


class HudiWriter:
    """Writes with real Apache Hudi: default options, zstd, no metadata table, and no inline table services.

    Inline cleaning and archiving are off, because the other systems do not clean or archive.

    Args:
        options: options that are added to the options above, or replace them.
    """

    def __init__(self, spark: SparkSession, options: Mapping[str, str]) -> None:
        self._spark = spark
        self._options = options

    def write(self, source: Path, table: Path, operation: Operation, partition_by: str | None) -> None:
        options = {
            "hoodie.table.name": TABLE_NAME,
            "hoodie.datasource.write.operation": operation.value,
            "hoodie.datasource.write.recordkey.field": KEY_OPTION,
            "hoodie.datasource.write.partitionpath.field": partition_by or "",
            "hoodie.parquet.compression.codec": "zstd",
            "hoodie.metadata.enable": "false",
            "hoodie.clean.automatic": "false",
            "hoodie.archive.automatic": "false",
            **self._options,
        }
        rows = self._spark.read.parquet(str(source))
        rows.write.format("hudi").options(**options).mode("append").save(str(table))


class SparkWriter:
    """Writes with Spark's own parquet writer, without keys or shuffle."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def write(self, source: Path, table: Path, operation: Operation, partition_by: str | None) -> None:
        writer = self._spark.read.parquet(str(source)).write.mode("append")
        if partition_by is not None:
            writer = writer.partitionBy(partition_by)
        writer.parquet(str(table))


class OurWriter:
    """Writes with this repository's upsert job, called in process on the warm session.

    Args:
        options: options that are added to the default options (zstd, no metadata table), or replace them.
    """

    def __init__(self, spark: SparkSession, options: Mapping[str, str]) -> None:
        self._spark = spark
        self._options = {
            "hoodie.parquet.compression.codec": "zstd",
            "hoodie.metadata.enable": "false",
            **options,
        }

    def write(self, source: Path, table: Path, operation: Operation, partition_by: str | None) -> None:
        from hudi_table_services.contract.writing import SourceSpec, UpsertRequest
        from hudi_table_services.jobs.writing.upsert import upsert

        request = UpsertRequest(
            request_id=f"bench-{table.name}-{source.name}-{operation.value}",
            base_path=str(table),
            table_name=TABLE_NAME,
            source=SourceSpec(path=str(source), format="parquet"),
            operation=operation.value,
            record_key=KEY_COLUMNS,
            partition_by=(partition_by,) if partition_by else (),
            options=self._options,
        )
        upsert(self._spark, request)


def open_writer(system: System, spark: SparkSession, options: Mapping[str, str]) -> Writer:
    """Return the writer of a system. Only the writers of Hudi's format have options."""
    match system:
        case System.OURS:
            return OurWriter(spark, options)
        case System.HUDI:
            return HudiWriter(spark, options)
        case System.DELTA:
            return DeltaTables(spark)
        case System.ICEBERG:
            return IcebergTables(spark)
        case System.SPARK:
            return SparkWriter(spark)
