"""The blocks of a log file are found without reading their contents; only an incomplete last block is skipped."""

import itertools
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.errors import CorruptTableError, MalformedMetadataError
from hudi_table_services.hudi_format.log_blocks import (
    BlockType,
    HeaderKey,
    LogBlock,
    decode_blocks,
    encode_block,
)
from hudi_table_services.hudi_format.log_headers import ScannedLog, scan_log
from hudi_table_services.model.table_version import TableVersion
from support.log_golden import ARCHIVES, log_table

INSTANT = "20260101000000000"
HEADERS: dict[int, str] = {HeaderKey.INSTANT_TIME: INSTANT, HeaderKey.SCHEMA: "schéma"}
BLOCKS = tuple(
    encode_block(LogBlock(block_type=kind, headers=HEADERS, content=bytes([kind]) * size))
    for kind, size in ((BlockType.AVRO_DATA, 90), (BlockType.DELETE, 30), (BlockType.COMMAND, 0))
)
WHOLE = b"".join(BLOCKS)
STARTS = tuple(itertools.accumulate(map(len, BLOCKS), initial=0))[:-1]


class Ranges:
    """A file that counts the bytes that are read."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.read_bytes = self.reads = 0

    def __call__(self, offset: int, length: int) -> bytes:
        assert offset >= 0
        assert length >= 0
        assert offset + length <= len(self.data)
        self.reads += 1
        self.read_bytes += length
        return self.data[offset : offset + length]


def scan(data: bytes) -> ScannedLog:
    return scan_log(Ranges(data), len(data))


def contents(data: bytes) -> list[LogBlock]:
    """Blocks that are assembled from the found positions."""
    return [
        LogBlock(
            block_type=head.block_type,
            headers=head.headers,
            content=data[head.content_position : head.content_position + head.content_bytes],
        )
        for head in scan(data).heads
    ]


def test_the_found_blocks_are_those_of_the_decoder() -> None:
    assert contents(WHOLE) == list(decode_blocks(WHOLE))
    assert [head.position for head in scan(WHOLE).heads] == list(STARTS)
    assert scan(b"") == ScannedLog((), None)


@pytest.mark.parametrize("version", ARCHIVES, ids=lambda version: f"v{version.value}")
@pytest.mark.parametrize("name", ["updates", "compacted_logs"])
def test_blocks_of_real_hudi_are_found(version: TableVersion, name: str) -> None:
    files = log_table(version, name).log_files()
    assert files
    for data in files.values():
        assert scan(data).incomplete_at is None
        assert contents(data) == [without_positions(block) for block in decode_blocks(data)]


def without_positions(block: LogBlock) -> LogBlock:
    headers = {key: text for key, text in block.headers.items() if key != HeaderKey.RECORD_POSITIONS}
    return LogBlock(block_type=block.block_type, headers=headers, content=block.content)


def test_long_contents_and_positions_are_not_read() -> None:
    headers = {**HEADERS, HeaderKey.RECORD_POSITIONS: "A" * 5_000_000}
    block = encode_block(LogBlock(block_type=BlockType.AVRO_DATA, headers=headers, content=bytes(9_000_000)))
    file = Ranges(block * 3)
    found = scan_log(file, len(file.data))
    assert [head.content_bytes for head in found.heads] == [9_000_000] * 3
    assert all(head.headers == HEADERS for head in found.heads)
    assert file.read_bytes < 1_000_000
    assert file.reads < 16


@pytest.mark.parametrize("end", range(1, len(WHOLE)))
def test_only_the_incomplete_last_block_is_skipped(end: int) -> None:
    found = scan(WHOLE[:end])
    complete = [start for start, block in zip(STARTS, BLOCKS, strict=True) if start + len(block) <= end]
    assert [head.position for head in found.heads] == complete
    at_end = end in (*STARTS, len(WHOLE))
    assert found.incomplete_at == (None if at_end else max(start for start in STARTS if start < end))


def test_an_incomplete_block_before_other_blocks_is_an_error() -> None:
    """A writer can append to such a file in table version 6. Hudi skips the rows of the incomplete block."""
    torn = BLOCKS[0] + BLOCKS[1][:-20] + BLOCKS[2]
    with pytest.raises(MalformedMetadataError, match=f"at position {STARTS[1]} "):
        scan(torn)


def test_a_magic_in_the_content_of_an_incomplete_block_is_no_block() -> None:
    block = encode_block(
        LogBlock(block_type=3, headers=HEADERS, content=b"#HUDI#" * 9 + bytes(30) + b"#HUDI#")
    )
    for end in range(len(block) - 1, len(block) - 60, -7):
        assert scan(BLOCKS[0] + block[:end]).incomplete_at == len(BLOCKS[0])


def patched(position: int, data: bytes) -> bytes:
    return WHOLE[:position] + data + WHOLE[position + len(data) :]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"x" + WHOLE, "position 0 does not begin with #HUDI#"),
        (BLOCKS[0] + b"\0" * 40, f"position {STARTS[1]} does not begin"),
        (BLOCKS[0] + b"#X", f"position {STARTS[1]} does not begin"),
        (patched(STARTS[1] + 6, struct.pack(">q", -1)), "size of -1"),
        (patched(STARTS[1] + 6, struct.pack(">q", 60)), "does not end with its size"),
        (patched(STARTS[1] + 6, struct.pack(">q", 2**40)), "a block follows at position"),
        (patched(STARTS[1] + 14, struct.pack(">i", 2)), "unknown format version 2"),
        (patched(STARTS[1] + 22, struct.pack(">i", 2**30)), "headers"),
        (patched(STARTS[1] + 22, struct.pack(">i", -1)), "has -1 headers"),
        (patched(STARTS[1] + 30, struct.pack(">i", 2**30)), "headers after its end"),
        (patched(STARTS[1] + 34, b"\xff"), "not UTF-8"),
    ],
)
def test_damage_names_the_position(data: bytes, reason: str) -> None:
    with pytest.raises(MalformedMetadataError, match=reason):
        scan(data)


@given(place=st.integers(0, len(WHOLE) - 1), bits=st.integers(1, 255))
def test_a_flipped_byte_is_an_error_or_changes_one_block(place: int, bits: int) -> None:
    damaged = bytearray(WHOLE)
    damaged[place] ^= bits
    try:
        found = contents(bytes(damaged))
    except CorruptTableError:
        return
    expected = contents(WHOLE)
    # A last block whose size is damaged looks incomplete.
    assert len(found) == len(expected) or (place >= STARTS[-1] and len(found) == len(expected) - 1)
    assert sum(a != b for a, b in zip(found, expected, strict=False)) <= 1


@given(data=st.binary(max_size=80), prefix=st.sampled_from([b"", b"#HUDI#", *BLOCKS]))
def test_any_bytes_are_scanned_or_refused(data: bytes, prefix: bytes) -> None:
    try:
        scan(prefix + data)
    except CorruptTableError:
        return
