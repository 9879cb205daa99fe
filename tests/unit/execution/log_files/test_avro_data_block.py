"""Avro blocks: rows are read as they were written, with the same result as the Avro library."""

import json
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pytest
from avro_columns import COLUMNS, FLAT, QUICK, encoded_by_library, one_column, schema_of
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.errors import InvalidDataError, MalformedMetadataError
from hudi_table_services.execution.arrow_schema import arrow_schema
from hudi_table_services.execution.log_files.avro_data_block import AvroDataBlock
from hudi_table_services.execution.log_files.avro_encoder import encode_avro_block
from hudi_table_services.hudi_format.avro_schema import to_avro_json
from hudi_table_services.hudi_format.log_blocks import decode_records, encode_records
from hudi_table_services.model.schema import META_COLUMNS, DataType

META = {name: st.text(max_size=12) for name in META_COLUMNS}


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
