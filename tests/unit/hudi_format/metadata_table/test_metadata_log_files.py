"""Log files of the metadata table: blocks are read as written, and damage is an error."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.errors import CorruptTableError, MalformedMetadataError, UnsupportedTableError
from hudi_table_services.hudi_format.hfile.trailer import Flavour
from hudi_table_services.hudi_format.hfile.writer import HFileOptions
from hudi_table_services.hudi_format.log_blocks import BlockType, HeaderKey, LogBlock, encode_block
from hudi_table_services.hudi_format.metadata_table.deleted_keys import (
    decode_deleted_keys,
    encode_deleted_keys,
)
from hudi_table_services.hudi_format.metadata_table.log_file import (
    DeletedKeysBlock,
    RecordsBlock,
    RollbackBlock,
    decode_log_file,
    encode_deleted_keys_block,
    encode_first_block,
    encode_records_block,
    encode_rollback_block,
)

INSTANT = "20260101000000000"
OPTIONS = HFileOptions(schema='{"type":"string"}', flavour=Flavour.NATIVE, is_base_file=False)
ENTRIES = [(b"a", b"1"), (b"b", b"2")]
WHOLE = (
    encode_first_block("00000000000000010")
    + encode_records_block(ENTRIES, INSTANT, OPTIONS)
    + encode_deleted_keys_block(["k1", "k2"], "record_index", INSTANT, OPTIONS.schema)
    + encode_rollback_block("20260101000000001006", INSTANT)
)


def read(data: bytes) -> list[object]:
    return [
        (block.instant_time, list(block.records.entries()), block.records.schema)
        if isinstance(block, RecordsBlock)
        else block
        for block in decode_log_file(data, "log")
    ]


def test_blocks_are_read_in_their_order() -> None:
    assert read(WHOLE) == [
        DeletedKeysBlock("00000000000000010", ()),
        (INSTANT, ENTRIES, OPTIONS.schema),
        DeletedKeysBlock(INSTANT, ("k1", "k2")),
        RollbackBlock("20260101000000001006", INSTANT),
    ]


def test_the_first_block_of_a_file_group_has_80_bytes() -> None:
    assert len(encode_first_block("00000000000000000")) == 80


@given(keys=st.lists(st.text(max_size=10), max_size=8), partition=st.text(max_size=10))
def test_deleted_keys_are_read_as_written(keys: list[str], partition: str) -> None:
    assert decode_deleted_keys(encode_deleted_keys(keys, partition), "block") == tuple(keys)


@given(place=st.integers(0, len(WHOLE) - 1), bits=st.integers(1, 255))
def test_a_flipped_byte_is_an_error_or_visible_in_one_value(place: int, bits: int) -> None:
    """Headers and deleted keys have no checksum, so a flipped byte may change one character there, but nothing else."""
    damaged = bytearray(WHOLE)
    damaged[place] ^= bits
    try:
        found = read(bytes(damaged))
    except (CorruptTableError, UnsupportedTableError):
        return
    expected = read(WHOLE)
    assert len(found) == len(expected)
    assert sum(a != b for a, b in zip(found, expected, strict=True)) <= 1
    assert isinstance(found[1], tuple)
    assert found[1][1] == ENTRIES


def test_a_truncated_file_is_an_error_unless_whole_blocks_are_missing() -> None:
    whole, ends = read(WHOLE), block_ends()
    for length in range(1, len(WHOLE)):
        if length in ends:
            assert read(WHOLE[:length]) == whole[: ends.index(length) + 1]
        else:
            with pytest.raises(MalformedMetadataError):
                read(WHOLE[:length])


def block_ends() -> list[int]:
    ends, end = [], 0
    while end < len(WHOLE):
        end = WHOLE.find(b"#HUDI#", end + 1)
        end = len(WHOLE) if end < 0 else end
        ends.append(end)
    return ends


def test_incomplete_blocks_are_skipped_only_on_request() -> None:
    damaged = WHOLE[:80] + b"#HUDI#\0\0\0" + WHOLE[80:]
    with pytest.raises(MalformedMetadataError, match="no complete block at position 80"):
        read(damaged)
    assert len(list(decode_log_file(damaged, "log", skips_incomplete=True))) == 4


def block(block_type: int, content: bytes = b"", **headers: str) -> bytes:
    named: dict[int, str] = {HeaderKey[name]: value for name, value in headers.items()}
    return encode_block(LogBlock(block_type=block_type, headers=named, content=content))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (block(BlockType.AVRO_DATA, INSTANT_TIME=INSTANT), "block type 3"),
        (block(BlockType.COMMAND, INSTANT_TIME=INSTANT, COMMAND_BLOCK_TYPE="1"), "not a rollback"),
        (block(BlockType.COMMAND, INSTANT_TIME=INSTANT, COMMAND_BLOCK_TYPE="0"), "no header TARGET_INSTANT_TIME"),
        (block(BlockType.DELETE, b"\0\0\0\3\0\0\0\1\0"), "no header INSTANT_TIME"),
        (block(BlockType.DELETE, b"\0\0\0\2\0\0\0\1\0", INSTANT_TIME=INSTANT), "version 2"),
        (block(BlockType.DELETE, b"\0\0\0\3\0\0\0\2\0", INSTANT_TIME=INSTANT), "declares 2 bytes"),
        (block(BlockType.DELETE, b"\0\0\0\3\0\0\0\2\0\0", INSTANT_TIME=INSTANT), "after its keys"),
        (block(BlockType.DELETE, b"\0\0\0\3\0\0\0\5\2\0\0\0\0", INSTANT_TIME=INSTANT), "null"),
        (block(BlockType.DELETE, b"\0\0\0\3\0\0\0\1\x02", INSTANT_TIME=INSTANT), "cannot be read"),
        (block(BlockType.DELETE, b"\0\0\0", INSTANT_TIME=INSTANT), "3 bytes"),
        (block(BlockType.HFILE_DATA, b"x" * 5000, INSTANT_TIME=INSTANT), "no HFile trailer"),
        (b"x" + WHOLE, "no complete block at position 0"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_blocks_that_do_not_occur_in_metadata_tables_are_refused(data: bytes, reason: str) -> None:
    with pytest.raises((MalformedMetadataError, UnsupportedTableError), match=reason):
        read(data)
