"""DELETE blocks: records are read as they were written, by this project or by real Hudi, and damage is an error."""

import struct
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_table_services.errors import (
    CorruptTableError,
    InvalidDataError,
    MalformedMetadataError,
    UnsupportedTableError,
)
from hudi_table_services.hudi_format.delete_block import (
    DeleteRecord,
    decode_delete_block,
    encode_delete_block,
)
from hudi_table_services.hudi_format.log_blocks import BlockType, decode_blocks
from hudi_table_services.hudi_format.ordering_values import (
    SINGLE,
    UNCONDITIONAL,
    OrderingValue,
    Wrapper,
    wrapper_of,
)
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
    DataType,
    DecimalType,
)
from hudi_table_services.model.table_version import TableVersion
from support.depth import by_depth
from support.log_golden import log_table, table_names

INTS = st.integers(-(2**31), 2**31 - 1)
LONGS = st.integers(-(2**63), 2**63 - 1)
DECIMALS = st.integers(-(10**30) + 1, 10**30 - 1).map(
    lambda n: Decimal(n).scaleb(-15) if abs(n) < 10**27 else None
)
VALUES: dict[Wrapper, st.SearchStrategy[object]] = {
    Wrapper.BOOLEAN: st.booleans(),
    Wrapper.INT: INTS,
    Wrapper.LONG: LONGS,
    Wrapper.FLOAT: st.floats(width=32, allow_nan=False),
    Wrapper.DOUBLE: st.floats(allow_nan=False),
    Wrapper.BYTES: st.binary(max_size=9),
    Wrapper.STRING: st.text(max_size=9),
    Wrapper.DATE: INTS,
    Wrapper.DECIMAL: DECIMALS.filter(lambda value: value is not None),
    Wrapper.TIME_MICROS: LONGS,
    Wrapper.TIMESTAMP_MICROS: LONGS,
}
COLUMNS: dict[str, tuple[DataType, Wrapper, object]] = {
    "flag": (BOOLEAN, Wrapper.BOOLEAN, True),
    "count": (INT, Wrapper.INT, -7),
    "total": (LONG, Wrapper.LONG, 2**40),
    "weight": (FLOAT, Wrapper.FLOAT, 1.25),
    "fare": (DOUBLE, Wrapper.DOUBLE, -0.5),
    "name": (STRING, Wrapper.STRING, "näme"),
    "day": (DATE, Wrapper.DATE, 19_782),
    "price": (DecimalType(20, 2), Wrapper.DECIMAL, Decimal("-12345.67")),
    "at": (TIMESTAMP, Wrapper.LONG, 1_709_175_845_678_901),
}
"""Ordering columns of the golden tables `ordered_by_…`: type, wrapper, and the value of the deleted row."""
DATES = (TableVersion.V9, "day")
"""Release 1.2.0 fails to write the delete of a row whose ordering column is a date."""
RECORDS = tuple(DeleteRecord(f"key{n}", "p=1", OrderingValue(Wrapper.LONG, n**5)) for n in range(4))
WHOLE = encode_delete_block(RECORDS)


@st.composite
def blocks(draw: st.DrawFn) -> list[DeleteRecord]:
    """Records with ordering values of one type, or of one list of types."""
    wrappers = draw(st.lists(st.sampled_from(SINGLE), min_size=1, max_size=3))

    def ordering() -> OrderingValue:
        values = tuple(OrderingValue(w, draw(VALUES[w])) for w in wrappers)  # type: ignore[arg-type]
        return values[0] if len(values) == 1 else OrderingValue(Wrapper.ARRAY, values)

    keys = draw(st.lists(st.text(max_size=9), max_size=5))
    return [DeleteRecord(key, draw(st.none() | st.text(max_size=5)), ordering()) for key in keys]


@settings(max_examples=by_depth(25, 200), deadline=None)
@given(records=blocks())
def test_records_are_read_as_written(records: list[DeleteRecord]) -> None:
    assert list(decode_delete_block(encode_delete_block(records), "block")) == records


def test_an_unconditional_delete_has_the_bytes_of_hudi() -> None:
    content = encode_delete_block([DeleteRecord("k1", "p", UNCONDITIONAL)])
    assert content == bytes.fromhex("00000003 0000000b 02 02046b31 020270 0400 00")


@pytest.mark.parametrize(
    ("version", "column"),
    [(v, column) for v in (TableVersion.V6, TableVersion.V9) for column in COLUMNS if (v, column) != DATES],
)
def test_the_wrapper_of_a_column_is_that_of_hudi(version: TableVersion, column: str) -> None:
    data_type, wrapper, value = COLUMNS[column]
    ((content),) = log_table(version, f"ordered_by_{column}").log_files().values()
    (block,) = decode_blocks(content)
    assert block.block_type == BlockType.DELETE
    expected = DeleteRecord("a", "north", OrderingValue(wrapper, value))  # type: ignore[arg-type]
    assert decode_delete_block(block.content, "block") == (expected,)
    assert encode_delete_block([expected]) == block.content
    assert wrapper_of(column, data_type, version) is wrapper


def test_several_ordering_fields_are_one_array() -> None:
    ((content),) = log_table(TableVersion.V9, "ordered_by_name_and_total").log_files().values()
    (block,) = decode_blocks(content)
    (record,) = decode_delete_block(block.content, "block")
    members = (OrderingValue(Wrapper.STRING, "näme"), OrderingValue(Wrapper.LONG, 2**40))
    assert record.ordering == OrderingValue(Wrapper.ARRAY, members)
    assert encode_delete_block([record]) == block.content


@pytest.mark.parametrize(
    ("data_type", "version"),
    [
        (BYTES, TableVersion.V6),
        (TIMESTAMP_NTZ, TableVersion.V9),
        (DATE, TableVersion.V8),
        (DATE, TableVersion.V9),
    ],
)
def test_ordering_columns_whose_deletes_hudi_cannot_handle_are_refused(
    data_type: DataType, version: TableVersion
) -> None:
    with pytest.raises(UnsupportedTableError, match=f"'c' has the type .* version {version.value}"):
        wrapper_of("c", data_type, version)


def test_hudi_fails_to_write_deletes_ordered_by_dates() -> None:
    version, column = DATES
    assert f"ordered_by_{column}" in table_names(TableVersion.V6)
    assert f"ordered_by_{column}" not in table_names(version)


def test_a_null_ordering_value_is_read_but_never_written() -> None:
    content = b"\0\0\0\3\0\0\0\7\2\2\2k\0\0\0"
    (record,) = decode_delete_block(content, "block")
    assert record == DeleteRecord("k", None, None)
    with pytest.raises(InvalidDataError, match="'k' has no ordering value"):
        encode_delete_block([record])


@pytest.mark.parametrize(
    "other",
    [
        UNCONDITIONAL,
        OrderingValue(Wrapper.STRING, "x"),
        OrderingValue(Wrapper.ARRAY, (OrderingValue(Wrapper.LONG, 1),)),
    ],
)
def test_several_types_in_one_block_are_refused(other: OrderingValue) -> None:
    with pytest.raises(MalformedMetadataError, match="ordering values of several types"):
        encode_delete_block([*RECORDS, DeleteRecord("other", None, other)])


def test_only_the_integer_0_is_unconditional() -> None:
    assert UNCONDITIONAL.is_unconditional
    assert not OrderingValue(Wrapper.LONG, 0).is_unconditional
    assert not OrderingValue(Wrapper.INT, 1).is_unconditional


@pytest.mark.parametrize(
    "ordering",
    [
        OrderingValue(Wrapper.INT, 2**31),
        OrderingValue(Wrapper.INT, True),
        OrderingValue(Wrapper.LONG, -(2**63) - 1),
        OrderingValue(Wrapper.LONG, 1.0),
        OrderingValue(Wrapper.STRING, b"x"),
        OrderingValue(Wrapper.DECIMAL, Decimal("1e-16")),
        OrderingValue(Wrapper.DECIMAL, Decimal(10**15)),
        OrderingValue(Wrapper.DECIMAL, Decimal("NaN")),
        OrderingValue(Wrapper.LONG, (UNCONDITIONAL,)),
        OrderingValue(Wrapper.ARRAY, 1),
        OrderingValue(Wrapper.ARRAY, (None,)),
        OrderingValue(Wrapper.ARRAY, (OrderingValue(Wrapper.ARRAY, ()),)),
        OrderingValue(Wrapper.LOCAL_DATE, "x"),
    ],
    ids=str,
)
def test_values_that_do_not_fit_their_wrapper_are_refused(ordering: OrderingValue) -> None:
    with pytest.raises(InvalidDataError, match="cannot be stored"):
        encode_delete_block([DeleteRecord("k", None, ordering)])


@pytest.mark.parametrize("version", [1, 2])
def test_java_objects_of_old_releases_are_refused(version: int) -> None:
    with pytest.raises(UnsupportedTableError, match=f"version {version}.*Compact the table"):
        decode_delete_block(struct.pack(">ii", version, 4) + b"\1\2\3\4", "log: block at position 7")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\0\0\0\4\0\0\0\1\0", "unknown version 4"),
        (b"\0\0\0\3\0\0\0\2\0", "declares 2 bytes"),
        (b"\0\0\0\3\0\0\0\5\2\0\0\0\0", "key in a DELETE block is null"),
        (b"\0\0\0", "3 bytes"),
        (b"\0\0\0\3\0\0\0\7\2\2\2k\0\x20\0", "cannot be read"),
        (b"\0\0\0\3\0\0\0\x08\2\2\2k\0\x12\0\0", "decimal in a delete record has 0 bytes"),
    ],
)
def test_damaged_content_is_refused(content: bytes, reason: str) -> None:
    with pytest.raises(MalformedMetadataError, match=f"name: .*{reason}"):
        decode_delete_block(content, "name")


@pytest.mark.parametrize("end", range(len(WHOLE)))
def test_a_truncated_block_is_an_error(end: int) -> None:
    with pytest.raises(MalformedMetadataError):
        decode_delete_block(WHOLE[:end], "block")


@given(place=st.integers(0, len(WHOLE) - 1), bits=st.integers(1, 255))
def test_a_flipped_byte_is_an_error_or_changes_values(place: int, bits: int) -> None:
    damaged = bytearray(WHOLE)
    damaged[place] ^= bits
    try:
        decode_delete_block(bytes(damaged), "block")
    except (CorruptTableError, UnsupportedTableError):
        return


@given(content=st.binary(max_size=60))
def test_any_bytes_are_decoded_or_refused(content: bytes) -> None:
    for data in (content, struct.pack(">ii", 3, len(content)) + content):
        try:
            decode_delete_block(data, "block")
        except (CorruptTableError, UnsupportedTableError):
            continue
