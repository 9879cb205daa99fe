"""Avro blocks of other writers: their types are read, or refused with an error that names the column."""

import datetime
import json
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from avro_columns import MOMENT, UTC, encoded_by_library, one_column

from hudi_table_services.errors import MalformedMetadataError, UnsupportedTableError
from hudi_table_services.execution.log_files.avro_data_block import AvroDataBlock
from hudi_table_services.execution.log_files.block_schema import parse_block_schema
from hudi_table_services.hudi_format.log_blocks import encode_records

FOREIGN: dict[str, tuple[Any, list[Any], pa.DataType]] = {
    "null last": (["long", "null"], [1, None, -(2**63)], pa.int64()),
    "time in milliseconds": (
        {"type": "int", "logicalType": "time-millis"},
        [datetime.time(1, 2, 3, 4000)],
        pa.time32("ms"),
    ),
    "time in microseconds": (
        ["null", {"type": "long", "logicalType": "time-micros"}],
        [None, datetime.time(1, 2, 3, 4)],
        pa.time64("us"),
    ),
    "timestamp in milliseconds": (
        {"type": "long", "logicalType": "timestamp-millis"},
        [MOMENT.replace(tzinfo=UTC)],
        pa.timestamp("us", "UTC"),
    ),
    "local timestamp in milliseconds": (
        [{"type": "long", "logicalType": "local-timestamp-millis"}, "null"],
        [MOMENT, None],
        pa.timestamp("us"),
    ),
    "decimal in bytes": (
        ["null", {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 15}],
        [
            Decimal(0),
            None,
            Decimal("-1.5"),
            Decimal(10**14),
            Decimal(-(10**14)),
            Decimal("1e-15"),
            Decimal("-1e-15"),
        ],
        pa.decimal128(30, 15),
    ),
    "decimal in a longer fixed": (
        {"type": "fixed", "name": "f", "size": 16, "logicalType": "decimal", "precision": 5, "scale": 1},
        [Decimal("-1234.5"), Decimal("9999.9")],
        pa.decimal128(5, 1),
    ),
    "fixed": ({"type": "fixed", "name": "f", "size": 3}, [b"abc", b"\0\1\2"], pa.binary()),
    "int becomes long": ("int", [1, -1], pa.int64()),
    "float becomes double": ("float", [1.5], pa.float64()),
    "text with a Java class": ({"type": "string", "avro.java.string": "String"}, ["é"], pa.string()),
    "record with null last": (
        [{"type": "record", "name": "i", "fields": [{"name": "x", "type": ["int", "null"]}]}, "null"],
        [{"x": 1}, None, {"x": None}],
        pa.struct([("x", pa.int32())]),
    ),
}


@pytest.mark.parametrize(("avro_type", "values", "arrow"), FOREIGN.values(), ids=FOREIGN)
def test_types_of_other_writers_are_read(avro_type: Any, values: list[Any], arrow: pa.DataType) -> None:
    block = one_column(avro_type, values, [{"name": "after", "type": "int"}])
    found = block.read(pa.schema([("c", arrow), ("after", pa.int32())]))
    assert found["c"].to_pylist() == values
    assert found["after"].to_pylist() == list(range(len(values)))
    skipped = block.read(pa.schema([("after", pa.int32())]))
    assert skipped["after"].to_pylist() == list(range(len(values)))


def test_a_named_type_can_be_used_again() -> None:
    fixed = {"type": "fixed", "name": "f", "size": 2, "logicalType": "decimal", "precision": 4, "scale": 0}
    schema = {
        "type": "record",
        "name": "r",
        "fields": [
            {"name": "a", "type": fixed},
            {"name": "b", "type": ["null", {"type": "array", "items": "f"}]},
            {"name": "after", "type": "int"},
        ],
    }
    parsed = fastavro.parse_schema(json.loads(json.dumps(schema)))
    row = {"a": Decimal(-5), "b": [Decimal(7), Decimal(-999)], "after": 3}
    block = AvroDataBlock(encode_records([encoded_by_library(row, parsed)]), json.dumps(schema), "b")
    whole = pa.schema(
        [("a", pa.decimal128(4, 0)), ("b", pa.list_(pa.decimal128(4, 0))), ("after", pa.int32())]
    )
    assert block.read(whole).to_pylist() == [row]


@pytest.mark.parametrize(
    "avro_type",
    [
        ["null", "int", "string"],
        ["int"],
        {"type": "enum", "name": "e", "symbols": ["A"]},
        "null",
        {"type": "fixed", "name": "f", "size": 20, "logicalType": "decimal", "precision": 45, "scale": 0},
        {"type": "bytes", "logicalType": "decimal", "precision": "x"},
        {"type": "fixed", "name": "f", "size": 2**40},
    ],
)
def test_the_error_about_a_type_that_cannot_be_read_names_the_column(avro_type: Any) -> None:
    schema = {
        "type": "record",
        "name": "r",
        "fields": [{"name": "a", "type": {"type": "map", "values": avro_type}}],
    }
    with pytest.raises(UnsupportedTableError, match="the column 'a' with the Avro type"):
        parse_block_schema(json.dumps(schema))


RECORD = '{"type":"record","name":"r","fields":[%s]}'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        '"int"',
        RECORD % '{"name":"a"}',
        RECORD % '{"name":"a","type":"int"},{"name":"a","type":"int"}',
        RECORD % '{"name":"a","type":["null","r"]}',
        '{"type":"array","items":' * 90,
    ],
)
def test_a_string_that_is_no_schema_of_rows_is_malformed(text: str) -> None:
    with pytest.raises(MalformedMetadataError, match="Avro schema of a log block"):
        parse_block_schema(text)
