"""`local_frame` returns exact values of all flat types, whatever the settings of the session are."""

import datetime as dt
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as st
from pyspark.sql.functions import unix_micros

from hudi_table_services.execution.reading.local_rows import FLAT_TYPES, local_frame

UTC = dt.timezone.utc
COLUMNS: dict[str, tuple[st.DataType, tuple[Any, Any]]] = {
    "string": (st.StringType(), ("a'\\n\\${x}\\\n\"`\0é\U0001f600", "")),
    "binary": (st.BinaryType(), (b"\0\xff'", b"")),
    "boolean": (st.BooleanType(), (True, False)),
    "byte": (st.ByteType(), (-128, 127)),
    "short": (st.ShortType(), (-(1 << 15), (1 << 15) - 1)),
    "integer": (st.IntegerType(), (-(1 << 31), (1 << 31) - 1)),
    "long": (st.LongType(), (-(1 << 63), (1 << 63) - 1)),
    "decimal": (st.DecimalType(38, 10), (Decimal("1E-10"), Decimal("-" + "9" * 28 + "." + "9" * 10))),
    "narrow ${decimal}": (st.DecimalType(5, 2), (Decimal("0.00"), Decimal("-999.99"))),
    "double": (st.DoubleType(), (5e-324, -1.7976931348623157e308)),
    "float": (st.FloatType(), (0.10000000149011612, 3.4028234663852886e38)),
    "date": (st.DateType(), (dt.date(1, 1, 1), dt.date(9999, 12, 31))),
    "timestamp": (
        st.TimestampType(),
        (dt.datetime(1900, 1, 1, 0, 0, 0, 1, UTC), dt.datetime(9999, 12, 30, 23, 59, 59, 999_999, UTC)),
    ),
    "timestamp_ntz": (
        st.TimestampNTZType(),
        (dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999_999)),
    ),
}
COMMENT = {"comment": "a comment"}
SCHEMA = st.StructType([st.StructField(name, kind, metadata=COMMENT) for name, (kind, _) in COLUMNS.items()])


SETTINGS = {
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
}


@pytest.fixture(params=[{}, SETTINGS], ids=["usual", "unusual"])
def session(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    settings = {"spark.sql.session.timeZone": "Asia/Kolkata", **request.param}
    before = {key: spark.conf.get(key) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    yield spark
    for key, value in before.items():
        spark.conf.set(key, value or "")


def rows_of(spark: SparkSession, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Collect the rows, with times as microseconds, because PySpark returns them in the time zone of the process."""
    frame = local_frame(spark, rows, SCHEMA)
    assert frame.schema == SCHEMA
    return [tuple(row) for row in frame.withColumn("timestamp", unix_micros("timestamp")).collect()]


def as_collected(value: Any) -> Any:
    if isinstance(value, dt.datetime) and value.tzinfo:
        return (value - dt.datetime(1970, 1, 1, tzinfo=UTC)) // dt.timedelta(microseconds=1)
    return bytearray(value) if isinstance(value, bytes) else value


def test_values_and_types_are_exact(session: SparkSession) -> None:
    assert {field.dataType.typeName() for field in SCHEMA} == FLAT_TYPES
    rows = [tuple(values[place] for _, values in COLUMNS.values()) for place in (0, 1)]
    rows.append((None,) * len(SCHEMA))
    assert rows_of(session, rows) == [tuple(map(as_collected, row)) for row in rows]
    assert rows_of(session, rows[2:]) == rows[2:]


def test_numbers_that_are_not_finite_and_the_sign_of_zero_are_kept(spark: SparkSession) -> None:
    schema = st.StructType([st.StructField("d", st.DoubleType()), st.StructField("f", st.FloatType())])
    values = [float("nan"), float("inf"), float("-inf"), -0.0]
    found = local_frame(spark, [(value, value) for value in values], schema).collect()
    assert [[repr(value) for value in row] for row in found] == [[repr(value)] * 2 for value in values]
    assert math.copysign(1, found[3]["f"]) == -1


def test_no_rows_have_all_types(spark: SparkSession) -> None:
    nested = st.ArrayType(st.StructType([st.StructField("a b", st.MapType(st.StringType(), st.LongType()))]))
    schema = st.StructType([*SCHEMA, st.StructField("nested", nested)])
    frame = local_frame(spark, [], schema)
    assert frame.schema == schema
    assert frame.collect() == []


@pytest.mark.parametrize(("rows", "relation"), [([(1,), (2,)], "LocalRelation"), ([], "Range")])
def test_no_python_worker_runs(spark: SparkSession, rows: list[tuple[int]], relation: str) -> None:
    frame = local_frame(spark, rows, st.StructType([st.StructField("n", st.LongType())]))
    plan = frame._jdf.queryExecution().optimizedPlan().toString()
    assert relation in plan
    assert "RDD" not in plan
