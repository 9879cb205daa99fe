"""Create merge-on-read tables with log files, compact them, and read them, with each system."""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pyspark.sql import SparkSession

from bench.protocol import Job
from bench.scenarios import SHIP_YEAR, Operation, System
from bench.writers import Writer

_NO_METADATA = {"hoodie.metadata.enable": "false"}
_AT_ONCE = {"hoodie.compact.inline.max.delta.commits": "1"}


def log_options(system: System) -> Mapping[str, str]:
    """Return the options of a write to a merge-on-read table. By default, batch writes of Hudi also compact."""
    if system is System.HUDI:
        return {"hoodie.datasource.write.table.type": "MERGE_ON_READ", "hoodie.compact.inline": "false"}
    return {"hoodie.table.type": "MERGE_ON_READ"}


def create_log_table(writer: Writer, job: Job, inputs: Sequence[str]) -> None:
    """Insert the first input, and upsert each other input. Each upsert adds one log file to each file slice."""
    first, *updates = inputs
    writer.write(job.inputs / first, job.table, Operation.INSERT, SHIP_YEAR)
    for name in updates:
        writer.write(job.inputs / name, job.table, Operation.UPSERT, SHIP_YEAR)


def compact(system: System, spark: SparkSession, table: Path, cores: int) -> float:
    """Schedule and execute a compaction of all slices with log files; return the duration in seconds."""
    started = time.perf_counter()
    if system is System.HUDI:
        settings = {**_NO_METADATA, **_AT_ONCE, "hoodie.parquet.compression.codec": "zstd"}
        options = ",".join(f"{key}={value}" for key, value in settings.items())
        for step in ("schedule", "execute"):
            spark.sql(
                f"CALL run_compaction(op => '{step}', path => '{table}', options => '{options}')"
            ).collect()
    else:
        _compact_with_engine(spark, table)
    return time.perf_counter() - started


def _compact_with_engine(spark: SparkSession, table: Path) -> None:
    from hudi_table_services.contract.compaction.compaction import CompactionRequest
    from hudi_table_services.jobs.compaction.run import run_compaction

    request = CompactionRequest(
        base_path=str(table),
        ignore_trigger=True,
        options={"hoodie.parquet.compression.codec": "zstd"},
    )
    result = run_compaction(spark, request)
    if result.instant_time is None:
        raise RuntimeError(f"The engine compacted nothing: {result.reason}")


def read_snapshot(system: System, spark: SparkSession, table: Path, cores: int) -> float:
    """Read all columns of all rows, merged with the log files, and drop them; return the duration in seconds.

    Hudi reads on Spark. The engine reads in one process, one partition per core at a time.
    """
    started = time.perf_counter()
    if system is System.HUDI:
        spark.read.format("hudi").options(**_NO_METADATA).load(str(table)).write.format("noop").mode(
            "overwrite"
        ).save()
    else:
        _read_with_engine(table, cores)
    return time.perf_counter() - started


def _read_with_engine(table: Path, cores: int) -> None:
    from hudi_table_services.storage.stores.local import LocalStorage
    from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
    from hudi_table_services.tables.views.table_rows import read_table_rows

    storage = LocalStorage(str(table))
    with ThreadPoolExecutor(cores) as pool:
        for count in pool.map(
            lambda path: read_table_rows(storage, (path,)).num_rows, load_snapshot(storage).partitions
        ):
            if not count:
                raise RuntimeError("A partition has no rows.")
