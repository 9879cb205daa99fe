"""Upserts that leave out rows that equal the stored rows."""

import datetime
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hudi import HudiTable
from pyspark.sql import SparkSession

from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.execution.writing import unchanged_rows
from hudi_table_services.jobs.writing.upsert import upsert
from judges.hudi_rs import read_snapshot

COLUMNS = (
    "id long, city string, price double, amount decimal(12,2), at timestamp, tags array<string>, "
    "inner struct<x: double>, counts map<string, int>, raw binary"
)


def row(number: int, **changes: Any) -> tuple[Any, ...]:
    values = {
        "id": number,
        "city": f"city{number % 2}",
        "price": math.nan if number == 3 else number / 2,
        "amount": Decimal("1.50"),
        "at": datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc),
        "tags": ["a", None] if number == -1 else ["a"],
        "inner": {"x": 1.5} if number % 3 else None,
        "counts": {"a": 1},
        "raw": b"\x00" if number % 2 else None,
    }
    return tuple({**values, **changes}.values())


def write(spark: SparkSession, folder: Path, rows: list[tuple[Any, ...]], **fields: Any) -> JobResult:
    request = UpsertRequest(
        base_path=str(folder / "t"),
        table_name="t",
        record_key=("id",),
        partition_by=("city",),
        **{"skip_unchanged": True, **fields},
    )
    return upsert(spark, request, source=spark.createDataFrame(rows, COLUMNS))


def commits(folder: Path) -> int:
    return len(list((folder / "t" / ".hoodie").glob("*.commit")))


def commit_times(folder: Path) -> dict[int, str]:
    rows = pa.Table.from_batches([pa.record_batch(batch) for batch in HudiTable(str(folder / "t")).read()])
    return {each["id"]: each["_hoodie_commit_time"] for each in rows.to_pylist()}


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Path:
    write(spark, tmp_path, [row(number) for number in range(60)])
    return tmp_path


def test_a_batch_without_a_change_makes_no_commit(spark: SparkSession, table: Path) -> None:
    result = write(spark, table, [row(number) for number in range(60)])
    assert (result.outcome, result.rows.unchanged, result.rows.updated) == (Outcome.NOTHING_TO_DO, 60, 0)
    assert commits(table) == 1


def test_only_changed_rows_are_written(spark: SparkSession, table: Path) -> None:
    before = commit_times(table)
    result = write(
        spark, table, [row(number, **({"price": 9.0} if number == 7 else {})) for number in range(62)]
    )
    assert (result.rows.updated, result.rows.inserted, result.rows.unchanged) == (1, 2, 59)
    after = commit_times(table)
    assert {number for number in before if before[number] != after[number]} == {7}
    assert len(after) == 62


def test_a_partition_without_a_change_keeps_its_file(spark: SparkSession, table: Path) -> None:
    result = write(
        spark, table, [row(number, **({"price": 9.0} if number == 7 else {})) for number in range(60)]
    )
    assert [each.partition_path for each in result.partitions] == ["city1"]


@pytest.mark.parametrize(
    "change",
    [
        {"price": None},
        {"amount": Decimal("1.51")},
        {"tags": ["a", "b"]},
        {"tags": None},
        {"inner": {"x": 2.5}},
        {"inner": {"x": None}},
        {"counts": {"a": 2}},
        {"raw": b""},
        {"at": datetime.datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=datetime.timezone.utc)},
    ],
)
def test_a_change_in_any_column_is_written(spark: SparkSession, table: Path, change: dict[str, Any]) -> None:
    result = write(spark, table, [row(4, **change), row(5)])
    assert (result.rows.updated, result.rows.unchanged) == (1, 1)


def test_large_files_are_compared_in_parts(
    spark: SparkSession, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path,) = (table / "t" / "city1").glob("*.parquet")
    rows = pq.read_table(path, partitioning=None)
    schema = pa.schema([field for field in rows.schema if not field.name.startswith("_hoodie")])
    base_rows = np.array([0, 7, 8, 29])
    incoming = rows.select(schema.names).take(pa.array(base_rows))
    changed = incoming.set_column(2, "price", pa.array([9.0, *incoming["price"].to_pylist()[1:]]))
    monkeypatch.setattr(unchanged_rows, "rows_per_batch", lambda _: 8)
    with pq.ParquetFile(path) as file:
        assert unchanged_rows._equal_rows(file, schema, changed, base_rows).tolist() == [
            False,
            True,
            True,
            True,
        ]


def test_a_dry_run_counts_unchanged_rows(spark: SparkSession, table: Path) -> None:
    result = write(spark, table, [row(1), row(2, price=9.0)], dry_run=True)
    assert (result.rows.unchanged, result.rows.updated) == (1, 1)


def test_of_several_rows_with_one_key_the_last_one_decides(spark: SparkSession, table: Path) -> None:
    options = {"hoodie.combine.before.upsert": "false"}
    write(spark, table, [row(4, price=9.0), row(4)], options=options)
    prices = {each["id"]: each["price"] for each in read_snapshot(table / "t").to_pylist()}
    assert prices[4] == 2.0


def test_an_insert_refuses_the_setting(spark: SparkSession, table: Path) -> None:
    with pytest.raises(InvalidRequestError, match="insert does not look for unchanged rows"):
        write(spark, table, [row(1)], operation="insert")
