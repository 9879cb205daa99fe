"""Columns of every type with strategies for their values, and Avro blocks of the Avro library."""

import datetime
import io
import json
from decimal import Decimal
from typing import Any

import fastavro
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from hudi_table_services.execution.log_files.avro_data_block import AvroDataBlock
from hudi_table_services.hudi_format.log_blocks import encode_records
from hudi_table_services.model.schema import (
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    ArrayType,
    DataType,
    DecimalType,
    Field,
    MapType,
    StructType,
)
from support.depth import by_depth

DAYS = st.integers(-(2**31), 2**31 - 1)
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.integers(-200, 200)
MOMENTS = st.integers(-62_000_000_000_000_000, 250_000_000_000_000_000)
QUICK = settings(max_examples=by_depth(25, 200), deadline=None, suppress_health_check=[HealthCheck.too_slow])


def decimals(digits: int, scale: int) -> st.SearchStrategy[Decimal]:
    return st.integers(-(10**digits) + 1, 10**digits - 1).map(
        lambda n: Decimal((int(n < 0), digits_of(n), -scale))
    )


def digits_of(number: int) -> tuple[int, ...]:
    return tuple(map(int, str(abs(number))))


def pairs(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[tuple[str, Any]]]:
    return st.dictionaries(st.text(max_size=4), values, max_size=3).map(lambda found: list(found.items()))


DEEP = StructType((Field("price", DecimalType(9, 3)), Field("on", DATE)))
FLAT: dict[str, tuple[DataType, st.SearchStrategy[Any]]] = {
    "flag": (BOOLEAN, st.booleans()),
    "count": (INT, st.integers(-(2**31), 2**31 - 1)),
    "total": (LONG, NUMBERS),
    "weight": (FLOAT, st.floats(width=32, allow_nan=False)),
    "fare": (DOUBLE, st.floats(allow_nan=False)),
    "name": (STRING, st.text(max_size=20)),
    "raw": (BYTES, st.binary(max_size=200)),
    "day": (DATE, DAYS),
    "at": (TIMESTAMP, NUMBERS),
    "local": (TIMESTAMP_NTZ, NUMBERS),
    "price": (DecimalType(20, 2), decimals(20, 2)),
    "huge": (DecimalType(38, 10), decimals(38, 10)),
    "tiny": (DecimalType(1, 0), decimals(1, 0)),
}
NESTED: dict[str, tuple[DataType, st.SearchStrategy[Any]]] = {
    "place": (
        StructType((Field("x", INT), Field("deep", DEEP))),
        st.fixed_dictionaries(
            {
                "x": st.none() | st.integers(-5, 5),
                "deep": st.none()
                | st.fixed_dictionaries(
                    {"price": st.none() | decimals(9, 3), "on": st.none() | st.dates()},
                ),
            }
        ),
    ),
    "tags": (ArrayType(STRING), st.lists(st.none() | st.text(max_size=5), max_size=4)),
    "moments": (ArrayType(TIMESTAMP, contains_null=False), st.lists(MOMENTS, max_size=3)),
    "sizes": (MapType(LONG), pairs(st.none() | NUMBERS)),
    "prices": (
        MapType(ArrayType(DecimalType(12, 4))),
        pairs(st.none() | st.lists(st.none() | decimals(12, 4), max_size=2)),
    ),
}  # fmt: skip
COLUMNS = FLAT | NESTED


def schema_of(
    columns: dict[str, tuple[DataType, Any]], *, required: frozenset[str] = frozenset()
) -> StructType:
    return StructType(tuple(Field(name, t, name not in required) for name, (t, _) in columns.items()))


def encoded_by_library(row: dict[str, Any], schema: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, schema, row)
    return out.getvalue()


def one_column(avro_type: Any, values: list[Any], more: list[dict[str, Any]] | None = None) -> AvroDataBlock:
    """A block that the Avro library writes; its schema can be one that this project never writes."""
    fields = [{"name": "before", "type": ["null", "string"]}, {"name": "c", "type": avro_type}, *(more or [])]
    schema = {"type": "record", "name": "r", "namespace": "other.space", "fields": fields}
    parsed = fastavro.parse_schema(json.loads(json.dumps(schema)))
    rows = [{"before": None if n % 2 else "x" * n, "c": value, "after": n} for n, value in enumerate(values)]
    return AvroDataBlock(
        encode_records([encoded_by_library(row, parsed) for row in rows]), json.dumps(schema), "b"
    )


UTC = datetime.timezone.utc
MOMENT = datetime.datetime(1969, 12, 31, 23, 59, 59, 123000)
