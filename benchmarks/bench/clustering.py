"""Create tables with many small files, and cluster them with each system."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from bench.scenarios import KEY_COLUMNS, SHIP_YEAR, Clustering, System

TABLE_NAME = "lineitem"
_STRATEGY = "hoodie.clustering.plan.strategy."


def write_small_files(spark: SparkSession, source: Path, table: Path, tasks: int) -> None:
    """Write the rows with real Hudi so that every Spark task creates a separate file in every partition."""
    options = {
        "hoodie.table.name": TABLE_NAME,
        "hoodie.datasource.write.operation": "bulk_insert",
        "hoodie.bulkinsert.sort.mode": "NONE",
        "hoodie.bulkinsert.shuffle.parallelism": str(tasks),
        "hoodie.datasource.write.recordkey.field": ",".join(KEY_COLUMNS),
        "hoodie.datasource.write.partitionpath.field": SHIP_YEAR,
        "hoodie.parquet.compression.codec": "zstd",
        "hoodie.metadata.enable": "false",
        "hoodie.clean.automatic": "false",
        "hoodie.archive.automatic": "false",
    }
    rows = spark.read.parquet(str(source)).repartition(tasks)
    rows.write.format("hudi").options(**options).mode("append").save(str(table))


def cluster(system: System, spark: SparkSession, table: Path, clustering: Clustering) -> float:
    """Schedule and execute a clustering, or only schedule it; return the duration in seconds."""
    started = time.perf_counter()
    if system is System.HUDI:
        _with_hudi(spark, table, clustering)
    else:
        _with_engine(spark, table, clustering)
    return time.perf_counter() - started


def _sizes(clustering: Clustering) -> dict[str, str]:
    if clustering.target_bytes is None:
        return {}
    return {
        f"{_STRATEGY}target.file.max.bytes": str(clustering.target_bytes),
        f"{_STRATEGY}small.file.limit": str(clustering.target_bytes),
    }


def _with_hudi(spark: SparkSession, table: Path, clustering: Clustering) -> None:
    settings = {
        "hoodie.metadata.enable": "false",
        "hoodie.parquet.compression.codec": "zstd",
        **_sizes(clustering),
    }
    options = ",".join(f"{key}={value}" for key, value in settings.items())
    arguments = [f"path => '{table}'", f"options => '{options}'"]
    if clustering.columns:
        arguments.append(f"order => '{','.join(clustering.columns)}'")
        arguments.append(f"order_strategy => '{clustering.strategy}'")
    if clustering.schedules_only:
        arguments.append("op => 'schedule'")
    spark.sql(f"CALL run_clustering({', '.join(arguments)})").collect()


def _with_engine(spark: SparkSession, table: Path, clustering: Clustering) -> None:
    from hudi_table_services.contract.clustering import ClusteringRequest, ScheduleClusteringRequest
    from hudi_table_services.jobs.clustering.run import run_clustering
    from hudi_table_services.jobs.clustering.schedule import schedule_clustering

    fields: dict[str, Any] = {
        "base_path": str(table),
        "sort_columns": clustering.columns,
        "layout": clustering.strategy.replace("-", "") if clustering.columns else "",
        "options": {"hoodie.metadata.enable": "false", **_sizes(clustering)},
    }
    if clustering.schedules_only:
        schedule_clustering(ScheduleClusteringRequest(**fields))
    else:
        run_clustering(spark, ClusteringRequest(**fields))


@dataclass(frozen=True, slots=True)
class _Range:
    rows: int
    low: Any
    high: Any


def rows_read(files: Sequence[Path], columns: Sequence[str]) -> float | None:
    """Return the mean number of rows that a query for one value must read, according to the value ranges of the files.

    The mean is taken over columns and values. The values are evenly spaced between the smallest and the largest value,
    so columns must be numeric. The function assumes that a query reads whole files. Smaller units cannot be compared,
    because the systems choose different sizes for pages and row groups.
    """
    if not columns:
        return None
    per_column = [_mean_rows([_range(path, column) for path in files]) for column in columns]
    return sum(per_column) / len(per_column)


def _range(path: Path, column: str) -> _Range:
    metadata = pq.read_metadata(path)
    place = metadata.schema.names.index(column)
    statistics = [metadata.row_group(i).column(place).statistics for i in range(metadata.num_row_groups)]
    return _Range(metadata.num_rows, min(s.min for s in statistics), max(s.max for s in statistics))


def _mean_rows(ranges: Sequence[_Range]) -> float:
    low, high = min(r.low for r in ranges), max(r.high for r in ranges)
    steps = [low + (high - low) * i / 200 for i in range(201)]
    return sum(sum(r.rows for r in ranges if r.low <= value <= r.high) for value in steps) / len(steps)
