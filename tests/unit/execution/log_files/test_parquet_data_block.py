"""Parquet blocks: rows are read as written, and damage is an error of the project."""

import io
import struct

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_table_services.errors import CorruptTableError, InvalidDataError, MalformedMetadataError
from hudi_table_services.execution.arrow_schema import arrow_schema
from hudi_table_services.execution.log_files.parquet_data_block import ParquetDataBlock, encode_parquet_block
from hudi_table_services.execution.parquet_format import ParquetFormat
from hudi_table_services.hudi_format.avro_schema import to_avro_json
from hudi_table_services.model.schema import LONG, META_COLUMNS, STRING, ArrayType, Field, StructType
from support.depth import by_depth

SCHEMA = StructType((Field("total", LONG), Field("name", STRING), Field("tags", ArrayType(STRING))))
TEXT = to_avro_json(SCHEMA, "t", with_meta_fields=True)
TARGET = arrow_schema(SCHEMA, with_meta_fields=True)
META = dict.fromkeys(META_COLUMNS, "meta")
ROWS = pa.Table.from_pylist(
    [{**META, "total": n, "name": None if n % 2 else f"n{n}", "tags": ["a"] * n} for n in range(5)], TARGET
)
CONTENT = encode_parquet_block(ROWS, TEXT, ParquetFormat())


def test_rows_are_read_as_written() -> None:
    block = ParquetDataBlock(CONTENT, "block")
    assert block.row_count == 5
    assert set(block.column_names) == set(TARGET.names)
    assert block.read(TARGET).equals(ROWS)
    assert pq.ParquetFile(io.BytesIO(CONTENT)).metadata.metadata[b"parquet.avro.schema"] == TEXT.encode()


def test_chosen_rows_and_columns_are_read() -> None:
    block = ParquetDataBlock(CONTENT, "block")
    wanted = pa.schema([("new", pa.int32()), ("total", pa.int64())])
    assert block.read(wanted, np.array([4, 0, 4])).to_pydict() == {"new": [None] * 3, "total": [4, 0, 4]}
    assert block.read(pa.schema([("new", pa.int32())]), np.array([1, 2])).to_pydict() == {"new": [None] * 2}
    assert block.read(wanted, extra_columns=["name", "total", "unknown"]).column_names == [
        "new",
        "total",
        "name",
    ]


def test_a_changed_byte_of_the_footer_loses_no_row() -> None:
    """Without a check, a footer that counts no rows gives an empty table."""
    (footer_bytes,) = struct.unpack("<I", CONTENT[-8:-4])
    refused = 0
    for place in range(len(CONTENT) - 8 - footer_bytes, len(CONTENT) - 8):
        changed = bytearray(CONTENT)
        changed[place] ^= 10  # the footer encodes the number of rows, 5, as 10
        try:
            rows = ParquetDataBlock(bytes(changed), "block").read(TARGET)
        except (CorruptTableError, InvalidDataError):
            refused += 1
        else:
            assert rows.num_rows == 5, place
    assert refused > 100


@pytest.mark.parametrize("name", META_COLUMNS)
def test_rows_without_a_meta_column_are_not_written(name: str) -> None:
    nulls = ROWS.set_column(ROWS.column_names.index(name), name, pa.nulls(5, pa.string()))
    for rows in (ROWS.drop_columns([name]), nulls):
        with pytest.raises(InvalidDataError, match=f"meta column {name}"):
            encode_parquet_block(rows, TEXT, ParquetFormat())


@pytest.mark.parametrize("content", [b"", b"PAR1", b"x" * 100, CONTENT[:-1]])
def test_content_that_is_no_parquet_file_is_refused(content: bytes) -> None:
    with pytest.raises(MalformedMetadataError, match="the block: the Parquet content cannot be read"):
        ParquetDataBlock(content, "the block")


def test_a_file_that_only_repeats_a_row_is_refused() -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"c": pa.nulls(5_000_000, pa.int8())}), sink)
    with pytest.raises(MalformedMetadataError, match="cannot contain 5000000 rows"):
        ParquetDataBlock(sink.getvalue(), "block")


def decode_or_refuse(content: bytes) -> None:
    try:
        ParquetDataBlock(content, "block").read(TARGET).validate(full=True)
    except (CorruptTableError, InvalidDataError):
        return


def test_a_truncated_file_is_an_error() -> None:
    for end in range(0, len(CONTENT), 7):
        with pytest.raises(MalformedMetadataError):
            ParquetDataBlock(CONTENT[:end], "block").read(TARGET)


@settings(max_examples=by_depth(25, 500), deadline=None)
@given(place=st.integers(0, len(CONTENT) - 1), bits=st.integers(1, 255))
def test_a_flipped_byte_is_an_error_or_changes_values(place: int, bits: int) -> None:
    damaged = bytearray(CONTENT)
    damaged[place] ^= bits
    decode_or_refuse(bytes(damaged))


@given(data=st.binary(max_size=60))
def test_any_bytes_are_refused(data: bytes) -> None:
    for content in (data, b"PAR1" + data + struct.pack("<i", len(data)) + b"PAR1"):
        decode_or_refuse(content)
