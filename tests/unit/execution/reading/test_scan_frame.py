"""DataFrames of scans: their types, their tasks, and what the tasks receive. Tests with Spark are in `tests/spark`."""

import pickle
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from hudi_table_services.execution.arrow_schema import arrow_schema, schema_from_spark_json
from hudi_table_services.execution.reading.slice_parts import SlicePart
from hudi_table_services.execution.reading.slice_rows import result_schema
from hudi_table_services.reading.read_table import explain_read, open_read, read_table
from hudi_table_services.reading.scan_columns import spark_columns
from hudi_table_services.tables.reading.planned_reads import plan_read, slice_reader
from judges.rows import ALL_TYPES, LOCAL_TIME
from support.reading.read_here import AS_OF, READ_OPTIMIZED, read, rows_of, values, window
from support.spark.in_driver import DriverSession
from support.spark.log_tables import LogTable, new_log_table

NAMES = ("k", "ts", "p", "v")
TIME = "20260101000000000"


@pytest.fixture(params=["COPY_ON_WRITE", "MERGE_ON_READ"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> LogTable:
    found = new_log_table(tmp_path / "t", 9, hoodie__table__type=request.param)
    found.write([(f"k{i}", 1, f"p{i % 2}", f"v{i}") for i in range(6)])
    found.write([("k0", 2, "p0", "w0"), ("k1", 2, "p1", "w1")])
    return found


def rows_by_session(
    table: LogTable, options: dict[str, str] | None = None, **fields: Any
) -> list[dict[str, Any]]:
    frame: Any = read_table(DriverSession(), str(table.base_path), options, **fields)  # type: ignore[arg-type]
    found: list[dict[str, Any]] = frame.toArrow().to_pylist()
    return found


def test_the_types_of_a_frame_are_exactly_those_of_the_rows() -> None:
    schema = schema_from_spark_json(from_arrow_schema(ALL_TYPES.append(LOCAL_TIME)).jsonValue())
    rows = result_schema(arrow_schema(schema, with_meta_fields=False), None)
    assert to_arrow_schema(spark_columns(schema), timezone="UTC").equals(rows)
    assert all(field.nullable for field in spark_columns(schema).fields)
    assert spark_columns(schema, ["ts", "key"]).fieldNames() == ["ts", "key"]


def test_a_frame_has_the_rows_of_a_read(table: LogTable) -> None:
    first = table.timeline_store.load().completed_writes[0]
    for options in ({}, READ_OPTIMIZED, {AS_OF: first.requested_time}, window(first.visible_from)):
        found = values(rows_by_session(table, options), *NAMES)
        assert found == values(read(table.storage, options), *NAMES), options


def test_a_frame_has_the_wanted_columns_of_the_rows_that_fulfil_the_filters(table: LogTable) -> None:
    found = rows_by_session(table, columns=["v", "k"], filters=[("ts", "=", 2), ("p", "=", "p1")])
    assert found == [{"v": "w1", "k": "k1"}]
    assert rows_by_session(table, columns=["k"], filters=[("p", "=", "none")]) == []
    plan = explain_read(str(table.base_path), filters=[("p", ">", "p0")])
    assert "the partition path excludes p > 'p0'" in plan


def test_consecutive_windows_return_each_change_once(table: LogTable) -> None:
    begin, seen = "earliest", []
    for number in range(3):
        changes: Any = open_read(DriverSession(), str(table.base_path), window(begin))  # type: ignore[arg-type]
        seen += [(row["k"], row["ts"]) for row in changes.frame.toArrow().to_pylist()]
        begin = changes.until
        assert changes.plan.startswith("Reads the changes of ")
        table.write([(f"new{number}", 5, "p0", "v")])
    assert sorted(seen) == sorted(
        [("k0", 2), ("k1", 2), *((f"k{i}", 1) for i in range(2, 6)), ("new0", 5), ("new1", 5)]
    )


def test_a_scan_keeps_its_state_when_it_is_sent_to_tasks(table: LogTable) -> None:
    scan = plan_read(table.storage, {})
    before = values(rows_of(table.storage, scan), *NAMES)
    reader = pickle.loads(pickle.dumps(slice_reader(table.storage, scan)))
    table.write([("k0", 9, "p0", "later"), ("k9", 9, "p1", "later")])
    rows = [
        row
        for each in scan.plan.slices
        for found in reader.rows(SlicePart(each))
        for row in found.to_pylist()
    ]
    assert values(rows, *NAMES) == before
