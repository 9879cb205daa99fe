"""Avro blocks: rows are read as written, like the Avro library reads them; damage is an error of the project."""

import datetime
import io
import json
import struct
import tracemalloc
from decimal import Decimal
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
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
from hudi_table_services.hudi_format.log_blocks import decode_records, encode_records
from hudi_table_services.model.schema import (
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    META_COLUMNS,
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
REFUSED = (CorruptTableError, UnsupportedTableError, InvalidDataError, InvalidRequestError)
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
META = {name: st.text(max_size=12) for name in META_COLUMNS}


def schema_of(
    columns: dict[str, tuple[DataType, Any]], *, required: frozenset[str] = frozenset()
) -> StructType:
    return StructType(tuple(Field(name, t, name not in required) for name, (t, _) in columns.items()))


@st.composite
def tables(draw: st.DrawFn, columns: dict[str, tuple[DataType, Any]]) -> tuple[pa.Table, str]:
    """Rows with meta columns, and their Avro schema. Some columns are not nullable."""
    chosen = draw(st.lists(st.sampled_from(sorted(columns)), min_size=1, max_size=5, unique=True))
    required = frozenset(draw(st.lists(st.sampled_from(chosen), max_size=2)))
    schema = schema_of({name: columns[name] for name in chosen}, required=required)
    target = arrow_schema(schema, with_meta_fields=True)
    count = draw(st.integers(0, 6))
    arrays = []
    for field in target:
        values = META[field.name] if field.name in META else columns[field.name][1]
        optional = st.none() | values if field.name in chosen and field.nullable else values
        arrays.append(array_of(draw(st.lists(optional, min_size=count, max_size=count)), field))
    return pa.Table.from_arrays(arrays, schema=target), to_avro_json(schema, "t", with_meta_fields=True)


def array_of(values: list[Any], field: pa.Field) -> pa.Array:
    """Numbers stand for dates and timestamps, because Python's types have smaller ranges."""
    if pa.types.is_date32(field.type):
        return pa.array(values, pa.int32()).view(field.type)
    if pa.types.is_timestamp(field.type):
        return pa.array(values, pa.int64()).view(field.type)
    if field.name == "moments":
        whole = pa.array(values, pa.list_(pa.field("element", pa.int64(), nullable=False)))
        inner = whole.values.view(field.type.value_type)
        return pa.Array.from_buffers(
            field.type, len(whole), whole.buffers()[:2], whole.null_count, 0, [inner]
        )
    return pa.array(values, field.type)


@QUICK
@given(made=tables(COLUMNS), order=st.randoms(use_true_random=False))
def test_rows_are_read_as_written(made: tuple[pa.Table, str], order: Any) -> None:
    table, schema = made
    block = AvroDataBlock(encode_avro_block(table, schema), schema, "block")
    assert block.row_count == table.num_rows
    assert block.column_names == tuple(table.column_names)
    assert block.read(table.schema).equals(table)
    rows = order.choices(range(table.num_rows), k=4) if table.num_rows else []
    names = order.sample(table.column_names, k=2)
    some = pa.schema([table.schema.field(name) for name in names])
    assert block.read(some, np.array(rows, np.int64)).equals(
        table.select(names).take(pa.array(rows, pa.int64()))
    )


@QUICK
@given(made=tables({name: COLUMNS[name] for name in COLUMNS if name not in ("day", "at", "local")}))
def test_the_bytes_are_those_of_the_avro_library(made: tuple[pa.Table, str]) -> None:
    table, schema = made
    parsed = fastavro.parse_schema(json.loads(schema))
    rows = [with_maps(row) for row in table.to_pylist()]
    encoded = [encoded_by_library(row, parsed) for row in rows]
    assert encode_avro_block(table, schema) == encode_records(encoded)


def with_maps(row: dict[str, Any]) -> dict[str, Any]:
    return {n: dict(v) if n in ("sizes", "prices") and v is not None else v for n, v in row.items()}


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


def test_missing_columns_are_null_and_extra_columns_are_left_out() -> None:
    block = one_column("long", [1, 2])
    target = pa.schema([("new", pa.list_(pa.string())), ("c", pa.int64())])
    assert block.read(target).to_pydict() == {"new": [None, None], "c": [1, 2]}
    assert block.read(pa.schema([("new", pa.int32())])).to_pydict() == {"new": [None, None]}
    with_extra = block.read(target, extra_columns=["before", "c", "unknown"])
    assert with_extra.column_names == ["new", "c", "before"]
    assert with_extra["before"].to_pylist() == ["", None]
    with pytest.raises(InvalidDataError, match="not nullable"):
        block.read(pa.schema([pa.field("new", pa.int32(), nullable=False)]))


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
def test_types_that_cannot_be_read_are_refused_by_name(avro_type: Any) -> None:
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


def test_numbers_of_every_length_are_read() -> None:
    numbers = [sign * (2**bits + more) for bits in range(63) for more in (-1, 0) for sign in (1, -1)]
    numbers += [2**63 - 1, -(2**63)]
    block = one_column("long", numbers)
    assert block.read(pa.schema([("c", pa.int64())]))["c"].to_pylist() == numbers


def test_rows_of_many_batches_are_written_and_read() -> None:
    schema = to_avro_json(schema_of({"total": FLAT["total"]}), "t", with_meta_fields=True)
    numbers = pa.array(np.arange(40_000) ** 3)
    meta = {name: pa.array([name] * len(numbers)) for name in META_COLUMNS}
    table = pa.table({**meta, "total": pa.chunked_array([numbers[:7], numbers[7:]])})
    content = encode_avro_block(table, schema)
    assert len(decode_records(content)) == len(numbers)
    found = AvroDataBlock(content, schema, "b").read(pa.schema([("total", pa.int64())]))
    assert found["total"].combine_chunks().equals(numbers)


@pytest.mark.parametrize("name", META_COLUMNS)
def test_rows_without_a_meta_column_are_not_written(name: str) -> None:
    schema = schema_of({"total": FLAT["total"]})
    target = arrow_schema(schema, with_meta_fields=True)
    row = {**dict.fromkeys(META_COLUMNS, "x"), "total": 1, name: None}
    with pytest.raises(InvalidDataError, match=f"meta column {name} is null in 1 rows"):
        encode_avro_block(
            pa.Table.from_pylist([row], target), to_avro_json(schema, "t", with_meta_fields=True)
        )


def test_a_schema_without_meta_columns_is_not_written() -> None:
    schema = schema_of({"total": FLAT["total"]})
    text = to_avro_json(schema, "t", with_meta_fields=False)
    with pytest.raises(MalformedMetadataError, match="no column _hoodie_commit_time"):
        encode_avro_block(pa.table({"total": [1]}), text)


def test_a_null_in_a_required_column_is_not_written() -> None:
    schema = schema_of({"total": FLAT["total"]}, required=frozenset({"total"}))
    text = to_avro_json(schema, "t", with_meta_fields=True)
    meta = {name: ["x"] for name in META_COLUMNS}
    with pytest.raises(InvalidDataError, match="'total' is not nullable"):
        encode_avro_block(pa.table({**meta, "total": pa.array([None], pa.int64())}), text)
