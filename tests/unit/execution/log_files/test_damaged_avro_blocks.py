"""Avro blocks: damage is an error of the project."""

import datetime
import json
import struct
import tracemalloc
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from avro_columns import COLUMNS, MOMENT, QUICK, UTC, schema_of
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_table_services.errors import (
    CorruptTableError,
    InvalidDataError,
    InvalidRequestError,
    MalformedMetadataError,
    UnsupportedTableError,
)
from hudi_table_services.execution.arrow_schema import arrow_schema
from hudi_table_services.execution.log_files.avro_data_block import AvroDataBlock
from hudi_table_services.execution.log_files.avro_encoder import encode_avro_block
from hudi_table_services.execution.log_files.block_schema import parse_block_schema
from hudi_table_services.hudi_format.avro_schema import to_avro_json
from hudi_table_services.hudi_format.log_blocks import encode_records
from hudi_table_services.model.schema import META_COLUMNS
from support.depth import by_depth

REFUSED = (CorruptTableError, UnsupportedTableError, InvalidDataError, InvalidRequestError)


LONG_SCHEMA = json.dumps({"type": "record", "name": "r", "fields": [{"name": "c", "type": ["null", "long"]}]})
TEXT_SCHEMA = json.dumps({"type": "record", "name": "r", "fields": [{"name": "c", "type": "string"}]})
FLAG_SCHEMA = json.dumps({"type": "record", "name": "r", "fields": [{"name": "c", "type": "boolean"}]})
INT_SCHEMA = json.dumps({"type": "record", "name": "r", "fields": [{"name": "c", "type": "int"}]})
DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 0}
DECIMAL_SCHEMA = json.dumps({"type": "record", "name": "r", "fields": [{"name": "c", "type": DECIMAL}]})
LIST_SCHEMA = json.dumps(
    {"type": "record", "name": "r", "fields": [{"name": "c", "type": {"type": "array", "items": "int"}}]}
)


@pytest.mark.parametrize(
    ("schema", "record", "reason"),
    [
        (LONG_SCHEMA, b"", "cut short"),
        (LONG_SCHEMA, b"\x02", "cut short"),
        (LONG_SCHEMA, b"\x04\x02", "branch"),
        (LONG_SCHEMA, b"\x02" + b"\xff" * 5, "cut short"),
        (LONG_SCHEMA, b"\x02" + b"\xff" * 9 + b"\x02", "more than 64 bits"),
        (LONG_SCHEMA, b"\x02\x02\x02", "after its last column"),
        (TEXT_SCHEMA, b"\x01", "negative length"),
        (TEXT_SCHEMA, b"\x04x", "cut short"),
        (TEXT_SCHEMA, b"\xff" * 8 + b"\xfe\x01" + b"x", "negative length"),
        (TEXT_SCHEMA, b"\x02\xff", "UTF-8"),
        (FLAG_SCHEMA, b"\x02", "neither 0 nor 1"),
        (INT_SCHEMA, b"\x80\x80\x80\x80\x20", "32 bits"),
        (DECIMAL_SCHEMA, b"\x00", "0 to 0 bytes"),
        (DECIMAL_SCHEMA, b"\x22" + bytes(17), "17 to 17 bytes"),
        (DECIMAL_SCHEMA, b"\x02\x64", "more digits"),
        (LIST_SCHEMA, b"\x04\x02", "cannot be read"),
    ],
)
def test_damaged_records_are_refused(schema: str, record: bytes, reason: str) -> None:
    block = AvroDataBlock(encode_records([record]), schema, "the block")
    with pytest.raises(MalformedMetadataError, match=f"the block: .*({reason})"):
        block.read(parse_block_schema(schema).arrow)


def test_a_value_does_not_reach_into_the_next_record() -> None:
    for schema, records in (
        (TEXT_SCHEMA, [b"\x08x", b"\x02y"]),
        (LIST_SCHEMA, [b"\x04\x02", b"\x02\x02\x00"]),
    ):
        block = AvroDataBlock(encode_records(records), schema, "b")
        with pytest.raises(MalformedMetadataError, match="cut short|32 bits"):
            block.read(parse_block_schema(schema).arrow)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\0\0\0", "3 bytes"),
        (struct.pack(">ii", 1, 0), "version 1"),
        (struct.pack(">ii", 3, 2**31 - 1), "lengths of its 2147483647 records"),
        (struct.pack(">ii", 3, -1), "lengths"),
        (struct.pack(">iii", 3, 1, 5) + b"abc", "lengths"),
        (struct.pack(">iii", 3, 1, -5) + b"abc", "lengths"),
        (struct.pack(">ii", 3, 0) + b"abc", "lengths"),
    ],
)
def test_damaged_frames_are_refused(content: bytes, reason: str) -> None:
    with pytest.raises(MalformedMetadataError, match=f"the block: .*{reason}"):
        AvroDataBlock(content, LONG_SCHEMA, "the block")


def sample() -> tuple[bytes, str, pa.Schema]:
    """A block with all types."""
    schema = schema_of(COLUMNS)
    rows: list[dict[str, Any]] = [
        {
            **dict.fromkeys(META_COLUMNS, "meta"),
            **dict.fromkeys(COLUMNS),
            "count": -5,
            "total": 2**60,
            "name": "näme" * n,
            "raw": b"ab",
            "fare": 1.5,
            "flag": True,
            "price": Decimal("1.23"),
            "place": {"x": 1, "deep": {"price": Decimal("1.234"), "on": datetime.date(2024, 1, 1)}},
            "tags": ["a", None],
            "moments": [MOMENT.replace(tzinfo=UTC)],
            "sizes": [("k", 1)],
            "prices": [("k", [Decimal("1.2345"), None])],
        }
        for n in range(3)
    ]
    target = arrow_schema(schema, with_meta_fields=True)
    text = to_avro_json(schema, "t", with_meta_fields=True)
    return encode_avro_block(pa.Table.from_pylist(rows, target), text), text, target


CONTENT, SCHEMA, TARGET = sample()


def decode_or_refuse(content: bytes, schema: str = SCHEMA, target: pa.Schema = TARGET) -> pa.Table | None:
    try:
        table = AvroDataBlock(content, schema, "b").read(target)
    except REFUSED:
        return None
    table.validate(full=True)
    return table


def test_truncated_content_is_an_error() -> None:
    assert decode_or_refuse(CONTENT) is not None
    assert [end for end in range(len(CONTENT)) if decode_or_refuse(CONTENT[:end]) is not None] == []


@settings(QUICK, max_examples=by_depth(40, 1000))
@given(place=st.integers(0, len(CONTENT) - 1), bits=st.integers(1, 255))
def test_a_flipped_byte_is_an_error_or_changes_one_row(place: int, bits: int) -> None:
    damaged = bytearray(CONTENT)
    damaged[place] ^= bits
    found = decode_or_refuse(bytes(damaged))
    if found is None:
        return
    expected = decode_or_refuse(CONTENT)
    assert expected is not None
    same = [found.slice(n, 1).equals(expected.slice(n, 1)) for n in range(3)]
    assert found.num_rows == 3
    assert sum(same) >= 2


@settings(QUICK, max_examples=by_depth(40, 1000))
@given(records=st.lists(st.binary(max_size=40), max_size=3))
def test_any_records_are_decoded_or_refused(records: list[bytes]) -> None:
    decode_or_refuse(encode_records(records))
    for schema in (LONG_SCHEMA, TEXT_SCHEMA, DECIMAL_SCHEMA, LIST_SCHEMA):
        decode_or_refuse(encode_records(records), schema, parse_block_schema(schema).arrow)


@pytest.mark.parametrize("schema", [TEXT_SCHEMA, LIST_SCHEMA])
def test_a_length_beyond_all_memory_is_refused_at_once(schema: str) -> None:
    block = AvroDataBlock(encode_records([b"\xfe\xff\xff\xff\xff\xff\xff\x7f"]), schema, "b")
    tracemalloc.start()
    try:
        with pytest.raises(MalformedMetadataError):
            block.read(parse_block_schema(schema).arrow)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
