"""Compactions on a Spark session, with many slices, a failing slice or a large slice. hudi-rs reads the tables."""

import logging
from pathlib import Path
from uuid import UUID

import pyarrow as pa
import pytest
from hudi import HudiReadOptions, HudiTable
from pyspark.sql import SparkSession

from hudi_table_services.contract.compaction.compaction import (
    CompactionRequest,
    ExecuteCompactionRequest,
    ScheduleCompactionRequest,
)
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.errors import CorruptTableError
from hudi_table_services.hudi_format.metadata_table.file_groups import FILES, RECORD_INDEX
from hudi_table_services.jobs.compaction.execute import execute_compaction
from hudi_table_services.jobs.compaction.run import run_compaction
from hudi_table_services.jobs.compaction.schedule import schedule_compaction
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import InstantState
from hudi_table_services.model.schema import STRING, Field, StructType
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.compaction.indexed_table import build_metadata_table
from support.compaction.jobs_here import report_of
from support.compaction.written_table import SCHEMA, Deleted, Row, WrittenTable, a_row
from support.jobs_on_tables import later
from support.log_golden import ARCHIVES
from support.metadata_table.built_tables import records_in

VERSIONS = pytest.mark.parametrize("version", list(ARCHIVES), ids=lambda version: f"v{version.value}")
GROUPS = [FileGroupId("ab"[number % 2], f"{UUID(int=number + 8 << 124)}-0") for number in range(8)]
WITH_CITY = StructType((*SCHEMA.fields, Field("city", STRING)))


def row_of(group: FileGroupId, number: int, ts: int) -> Row:
    return a_row(f"{group.file_id}-{number}", ts, city=group.partition_path)


def a_table(folder: Path, version: TableVersion = TableVersion.V9) -> WrittenTable:
    table = WrittenTable(LocalStorage(str(folder / "t")), version, clock=later(0), schema=WITH_CITY)
    table.insert({group: [row_of(group, n, 1) for n in range(5)] for group in GROUPS})
    table.log({group: [row_of(group, 0, 2), Deleted(f"{group.file_id}-1")] for group in GROUPS})
    table.log({group: [row_of(group, 2, 3)] for group in GROUPS}, as_parquet=True)
    return table


def expected() -> list[tuple[str, int]]:
    stamps = {0: 2, 2: 3, 3: 1, 4: 1}
    return sorted((f"{group.file_id}-{n}", ts) for group in GROUPS for n, ts in stamps.items())


def rows(table: WrittenTable) -> list[tuple[str, int]]:
    return [(row["_hoodie_record_key"], row["ts"]) for row in table.base_rows()]


def rows_by_hudi_rs(table: WrittenTable) -> list[tuple[str, int]]:
    batches = HudiTable(table.storage.base_path).read(HudiReadOptions())
    return sorted((row["id"], row["ts"]) for batch in batches for row in pa.record_batch(batch).to_pylist())


def execute(spark: SparkSession, table: WrittenTable, **fields: str) -> JobResult:
    request = ExecuteCompactionRequest(base_path=table.storage.base_path, **fields)  # type: ignore[arg-type]
    return execute_compaction(spark, request, storage=table.storage, clock=later(1))


def schedule(table: WrittenTable) -> JobResult:
    request = ScheduleCompactionRequest(base_path=table.storage.base_path, ignore_trigger=True)
    return schedule_compaction(request, storage=table.storage, clock=later(1))


@VERSIONS
def test_one_job_schedules_and_executes_a_compaction(
    spark: SparkSession, tmp_path: Path, version: TableVersion
) -> None:
    table = a_table(tmp_path, version)
    request = CompactionRequest(base_path=table.storage.base_path, request_id="same", ignore_trigger=True)
    assert rows_by_hudi_rs(table) == expected()
    result = run_compaction(spark, request)
    assert result.outcome is Outcome.COMPLETED
    assert rows(table) == expected()
    assert rows_by_hudi_rs(table) == expected()
    report = report_of(result)
    assert [(p.partition_path, p.slices, p.rows) for p in report.plans[0].partitions] == [
        ("a", 4, 16),
        ("b", 4, 16),
    ]
    assert report.trigger
    assert report.before is not None
    assert report.before.log_files == 16
    assert result.spark_application_id == spark.sparkContext.applicationId
    again = run_compaction(spark, request)
    assert (again.outcome, again.reused) == (Outcome.COMPLETED, True)


def test_the_steps_of_the_job_are_in_the_log(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = a_table(tmp_path)
    caplog.set_level(logging.INFO)
    time = schedule(table).instant_time
    execute(spark, table)
    assert f"Merge the log files of 8 file slices for compaction {time} of trips" in caplog.text
    assert "merged 16 log files into 8 base files of 32 rows" in caplog.text


@VERSIONS
def test_one_failed_slice_does_not_lose_the_work_of_other_tasks(
    spark: SparkSession, tmp_path: Path, version: TableVersion
) -> None:
    table = a_table(tmp_path, version)
    schedule(table)
    path = next(f.path for f in table.storage.list_files("a") if f".{GROUPS[4].file_id}_" in f.path)
    content = table.storage.read(path)
    table.storage.write(path, content[:40] + bytes([content[40] ^ 0xFF]) + content[41:])
    with pytest.raises(CorruptTableError, match="1 of 8 file slices"):
        execute(spark, table, request_id="same")
    (pending,) = table.timeline_store.load().pending
    assert pending.state is InstantState.INFLIGHT
    table.storage.write(path, content)
    result = execute(spark, table, request_id="same")
    assert sum(p.reused_files or 0 for p in report_of(result).plans[0].partitions) == 7
    assert rows(table) == expected()
    assert rows_by_hudi_rs(table) == expected()


def test_a_slice_above_the_memory_limit_is_merged_correctly(spark: SparkSession, tmp_path: Path) -> None:
    table = WrittenTable(LocalStorage(str(tmp_path / "t")), clock=later(0))
    group = GROUPS[0]
    text = "x" * 400
    table.insert({group: [a_row(f"k{n:05}", 1, text) for n in range(6000)]})
    table.log({group: [a_row(f"k{n:05}", 2, text) for n in range(0, 6000, 2)]})
    table.log({group: [a_row(f"k{n:05}", 3, text) for n in range(0, 6000, 3)]}, as_parquet=True)
    request = CompactionRequest(
        base_path=table.storage.base_path,
        ignore_trigger=True,
        options={"hoodie.airflow.compaction.task.memory.bytes": str(1 << 20)},
    )
    run_compaction(spark, request)
    assert rows(table) == [(f"k{n:05}", 3 if n % 3 == 0 else 2 if n % 2 == 0 else 1) for n in range(6000)]


@VERSIONS
def test_a_compaction_does_not_change_the_record_index(
    spark: SparkSession, tmp_path: Path, version: TableVersion
) -> None:
    table = WrittenTable(LocalStorage(str(tmp_path / "t")), version, clock=later(0))
    table.insert({group: [a_row(f"{group.file_id}-{n}", 1) for n in range(5)] for group in GROUPS})
    build_metadata_table(table, (FILES, RECORD_INDEX), spark)
    table.log({group: [a_row(f"{group.file_id}-0", 2)] for group in GROUPS})
    before = records_in(table.storage, RECORD_INDEX)
    schedule(table)
    execute(spark, table)
    assert records_in(table.storage, RECORD_INDEX) == before
    assert load_snapshot(table.storage).is_from_metadata_table
    assert len(rows(table)) == 5 * len(GROUPS)
