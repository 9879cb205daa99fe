"""Sources that a job reads through a Spark Connect server: every type, the order of rows, and nanoseconds."""

import sys
from collections.abc import Mapping
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow_stack.connect_server import ConnectServer
from pyspark.sql import DataFrame

from e2e.job_processes import SCRIPT, Ended, run, worker_daemons
from judges.hudi_rs import read_snapshot

FIRST_MOMENT = datetime(2024, 2, 29, 23, 59, 59, 999999, tzinfo=timezone.utc)
TYPES = {
    "id": pa.int64(),
    "ts": pa.int32(),
    "flag": pa.bool_(),
    "price": pa.decimal128(20, 4),
    "day": pa.date32(),
    "moment": pa.timestamp("us", "UTC"),
    "local": pa.timestamp("us"),
    "text": pa.string(),
    "data": pa.binary(),
    "list": pa.list_(pa.int32()),
    "map": pa.map_(pa.string(), pa.float64()),
    "struct": pa.struct([("a", pa.int32()), ("b", pa.string())]),
}


def row(number: int, version: int) -> dict[str, Any]:
    moment = FIRST_MOMENT + timedelta(hours=number)
    return {
        "id": number,
        "ts": 1,
        "flag": number % 2 == 0,
        "price": Decimal(number) / 10000,
        "day": date(2024, 2, 29) + timedelta(days=number % 400),
        "moment": moment,
        "local": moment.replace(tzinfo=None),
        "text": None if number % 7 == 0 else f"{number}/{version} ü",
        "data": bytes([number % 256, version]),
        "list": [number, version] if number % 3 else [],
        "map": {"version": float(version)} if number % 5 else None,
        "struct": {"a": version, "b": None},
    }


def load(table: pa.Table, base_path: Path, variables: Mapping[str, str], folder: Path, *flags: str) -> Ended:
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "source.parquet"
    pq.write_table(table, source, row_group_size=500)
    words = [
        f"--base-path={base_path}",
        "--table-name=t",
        "--record-key=id",
        "--ordering-field=ts",
        f"--source-path={source}",
    ]
    return run([sys.executable, SCRIPT, *words, *flags], variables, folder / "run")


def assert_holds(base_path: Path, rows: list[dict[str, Any]]) -> None:
    found = read_snapshot(base_path).select(list(TYPES)).sort_by("id")
    expected = pa.Table.from_pylist(rows, schema=pa.schema(list(TYPES.items())))
    for name in TYPES:
        # hudi-rs adds a time zone to local times.
        assert found[name].cast(TYPES[name]).to_pylist() == expected[name].to_pylist(), name


@pytest.mark.parametrize("count", [300, 3000])
def test_the_last_row_of_a_key_wins_and_every_type_is_kept_without_a_python_worker(
    count: int, server: ConnectServer, base_path: Path, variables: Mapping[str, str], tmp_path: Path
) -> None:
    rows = [row(number, version) for version in range(3) for number in range(count // 3)]
    table = pa.Table.from_pylist(rows, schema=pa.schema(list(TYPES.items())))
    before = worker_daemons(server.pid)
    ended = load(table, base_path, variables, tmp_path)
    assert ended.exit_code == 0, ended.log
    assert_holds(base_path, [row(number, 2) for number in range(count // 3)])
    # With Spark 3.5, clients cannot fetch rows as Arrow, so the server's workers write all loads.
    assert set(worker_daemons(server.pid)) <= set(before) or not hasattr(DataFrame, "toArrow"), (
        "the server started Python workers for a small load"
    )


@pytest.mark.thorough
def test_the_result_of_a_query_that_exchanges_rows_is_loaded(
    base_path: Path, variables: Mapping[str, str], tmp_path: Path
) -> None:
    rows = [row(number, 0) for number in range(1200)]
    table = pa.Table.from_pylist(rows, schema=pa.schema(list(TYPES.items())))
    sql = "--source-sql=SELECT a.* FROM source a JOIN source b ON a.id = b.id + 1 DISTRIBUTE BY a.day"
    ended = load(table, base_path, variables, tmp_path, sql)
    assert ended.exit_code == 0, ended.log
    assert_holds(base_path, rows[1:])


def test_nanoseconds_are_floored_to_microseconds(
    base_path: Path, variables: Mapping[str, str], tmp_path: Path
) -> None:
    nanoseconds = pa.array([1_700_000_000_123_456_789, -1, None], pa.int64())
    table = pa.table(
        {"id": [1, 2, 3], "ts": [1, 1, 1], "moment": nanoseconds.cast(pa.timestamp("ns", "UTC"))}
    )
    ended = load(table, base_path, variables, tmp_path)
    assert ended.exit_code == 0, ended.log
    found = read_snapshot(base_path).sort_by("id")["moment"].cast(pa.timestamp("us", "UTC"))
    assert found.cast(pa.int64()).to_pylist() == [1_700_000_000_123_456, -1, None]
