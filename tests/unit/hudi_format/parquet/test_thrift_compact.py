"""Structures in Thrift's compact protocol are read and written without a loss, also with unknown fields."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.hudi_format.parquet.thrift_compact import (
    BINARY,
    BYTE,
    DOUBLE,
    FALSE,
    I16,
    I32,
    I64,
    LIST,
    STRUCT,
    TRUE,
    Field,
    List,
    Struct,
    decode_struct,
    encode_struct,
)

INTEGERS = st.integers(-(2**63), 2**63 - 1)
VALUES: dict[int, st.SearchStrategy[Any]] = {
    BYTE: st.integers(0, 255),
    I16: st.integers(-(2**15), 2**15 - 1),
    I32: st.integers(-(2**31), 2**31 - 1),
    I64: INTEGERS,
    DOUBLE: st.floats(allow_nan=False),
    BINARY: st.binary(max_size=200),
}


def values_of(structs: st.SearchStrategy[Struct]) -> dict[int, st.SearchStrategy[Any]]:
    scalars = {**VALUES, STRUCT: structs}
    lists = st.one_of(
        *(
            st.lists(each, max_size=20).map(lambda found, code=code: List(code, found))
            for code, each in scalars.items()
        ),
        st.lists(st.booleans(), max_size=20).map(lambda found: List(TRUE, found)),
    )
    return {**scalars, LIST: lists}


def structs_of(inner: st.SearchStrategy[Struct]) -> st.SearchStrategy[Struct]:
    flags = st.booleans().map(lambda flag: Field(TRUE if flag else FALSE, flag))
    fields = [
        each.map(lambda found, code=code: Field(code, found)) for code, each in values_of(inner).items()
    ]
    return st.dictionaries(st.integers(1, 2**15 - 1), st.one_of(flags, *fields), max_size=8)


STRUCTS = st.recursive(st.just({}), structs_of, max_leaves=10)


@given(STRUCTS)
def test_a_structure_is_the_same_after_it_was_written_and_read(value: Struct) -> None:
    assert decode_struct(encode_struct(value)) == value


@given(STRUCTS)
def test_each_missing_or_additional_byte_is_an_error(value: Struct) -> None:
    data = encode_struct(value)
    with pytest.raises(MalformedMetadataError):
        decode_struct(data + b"\0")
    for size in range(len(data)):
        with pytest.raises(MalformedMetadataError):
            decode_struct(data[:size])


@given(st.binary(max_size=100))
def test_any_bytes_are_a_structure_or_an_error(data: bytes) -> None:
    try:
        decode_struct(data)
    except MalformedMetadataError:
        return


def test_the_encoding_is_that_of_the_specification() -> None:
    value: Struct = {
        1: Field(I32, -1),
        2: Field(TRUE, True),
        20: Field(BINARY, b"ab"),
        21: Field(LIST, List(I64, [1, 64])),
    }
    assert encode_struct(value) == bytes(
        [0x15, 0x01, 0x11, 0x08, 0x28, 2, 97, 98, 0x19, 0x26, 0x02, 0x80, 1, 0]
    )


def test_a_map_is_refused() -> None:
    with pytest.raises(MalformedMetadataError, match="unknown type 11"):
        decode_struct(bytes([0x1B, 0, 0]))


def test_levels_without_end_are_refused() -> None:
    with pytest.raises(MalformedMetadataError, match="too many levels"):
        decode_struct(b"\x1c" * 10_000)
