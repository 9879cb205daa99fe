"""A damaged or hostile HFile is refused with an error of the table, with little work, and never read wrongly."""

import gzip
import struct
import time
import tracemalloc
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.errors import CorruptTableError, MalformedMetadataError, UnsupportedTableError
from hudi_table_services.hudi_format.hfile.blocks import HEADER, BlockType, Compression, encode_block
from hudi_table_services.hudi_format.hfile.cells import Entry
from hudi_table_services.hudi_format.hfile.index import BlockLocation, encode_root_index
from hudi_table_services.hudi_format.hfile.reader import HFileReader, open_hfile
from hudi_table_services.hudi_format.hfile.trailer import (
    TRAILER_BYTES,
    Flavour,
    Trailer,
    encode_file_info,
    encode_trailer,
)
from hudi_table_services.hudi_format.hfile.writer import HFileOptions, encode_hfile

ENTRIES = [(f"key-{n:03d}".encode(), f"value {n}".encode() * (n % 4)) for n in range(0, 30, 3)]
REFUSED = (CorruptTableError, UnsupportedTableError)
MIB = 1 << 20
BOTH = pytest.mark.parametrize("compression", Compression)


def file_of(compression: Compression, flavour: Flavour = Flavour.NATIVE) -> bytes:
    options = HFileOptions(
        schema='{"type":"string"}',
        flavour=flavour,
        is_base_file=True,
        compression=compression,
        block_bytes=200,
    )
    return encode_hfile(ENTRIES, options)


def read_all(data: bytes) -> tuple[list[Entry], str]:
    reader = open_hfile(data, "damaged")
    return list(reader.entries()), reader.schema


def read_some(data: bytes) -> list[list[Entry]]:
    reader = open_hfile(data, "damaged")
    return [list(reader.find([b"key-006", b"key-021", b"none"])), list(reader.find_prefixes([b"key-01"]))]


def refused_or_equal(read: Callable[[bytes], object], data: bytes, expected: object) -> None:
    try:
        found = read(data)
    except REFUSED:
        return
    assert found == expected


@BOTH
@pytest.mark.parametrize("flavour", Flavour)
def test_no_flipped_byte_is_read_as_another_value(compression: Compression, flavour: Flavour) -> None:
    data = file_of(compression, flavour)
    expected, some = read_all(data), read_some(data)
    # The trailer has no checksum, so the test flips each of its bits, except in the zeros before its last four bytes.
    trailer = range(len(data) - TRAILER_BYTES, len(data) - TRAILER_BYTES + 130)
    for place in (*range(trailer.stop), *range(len(data) - 4, len(data))):
        one_bit = range(8) if place in trailer else (place % 8,)
        for bits in (*(1 << bit for bit in one_bit), 0xFF):
            damaged = bytearray(data)
            damaged[place] ^= bits
            refused_or_equal(read_all, bytes(damaged), expected)
            refused_or_equal(read_some, bytes(damaged), some)


@BOTH
def test_no_truncated_file_is_read(compression: Compression) -> None:
    data = file_of(compression)
    for length in range(len(data)):
        with pytest.raises(MalformedMetadataError):
            read_all(data[:length])


@given(data=st.binary(max_size=5000))
def test_arbitrary_bytes_are_refused(data: bytes) -> None:
    for candidate in (data, data + file_of(Compression.NONE)[-TRAILER_BYTES:]):
        with pytest.raises(REFUSED):
            read_all(candidate)


@BOTH
@given(
    pieces=st.lists(
        st.tuples(st.integers(0, 1 << 20), st.integers(0, 40), st.binary(max_size=40)), min_size=1
    )
)
def test_replaced_pieces_are_never_read_as_other_values(
    compression: Compression, pieces: list[tuple[int, int, bytes]]
) -> None:
    original = file_of(compression)
    data = bytearray(original)
    for place, length, piece in pieces:
        data[place % len(data) : place % len(data) + length] = piece
    refused_or_equal(read_all, bytes(data), read_all(original))


def test_a_range_that_is_read_incompletely_is_an_error() -> None:
    data = file_of(Compression.GZIP)
    reader = HFileReader(lambda offset, length: data[offset : offset + length], len(data), "file")
    reader._read = lambda offset, length: data[offset : offset + length - 1]
    with pytest.raises(MalformedMetadataError, match="cut short"):
        list(reader.entries())


def hfile(
    data_blocks: bytes,
    locations: list[BlockLocation],
    *,
    compression: Compression = Compression.NONE,
    **trailer: int,
) -> bytes:
    """A file with an index and a trailer of any content."""
    index = encode_root_index(locations, with_suffix=False)
    root = encode_block(BlockType.ROOT_INDEX, index, compression) + encode_block(
        BlockType.ROOT_INDEX, b"", compression
    )
    info = encode_block(
        BlockType.FILE_INFO,
        encode_file_info({"KEY_VALUE_VERSION": struct.pack(">i", 1), "schema": b"{}"}),
        compression,
    )
    numbers = {
        "file_info_offset": len(data_blocks) + len(root),
        "load_on_open_offset": len(data_blocks),
        "data_index_bytes": len(index),
        "content_bytes": 0,
        "data_index_count": len(locations),
        "entry_count": 1,
        "last_data_offset": locations[-1].offset if locations else 0,
    }
    encoded = encode_trailer(Trailer(**{**numbers, **trailer}, compression=compression), Flavour.NATIVE)
    return data_blocks + root + info + encoded


def block_of(content: bytes, declared: int, compression: Compression) -> bytes:
    """A data block without checksums whose header declares any length of the content."""
    with_header = HEADER.size + len(content)
    return HEADER.pack(b"DATABLK*", len(content), declared, -1, 0, 16384, with_header) + content


def cell(
    key: bytes, value: bytes, *, suffix: bytes = b"\0\x7f" + b"\xff" * 7 + b"\x04", mvcc: bytes = b"\0"
) -> bytes:
    full = struct.pack(">h", len(key)) + key + suffix
    return struct.pack(">ii", len(full), len(value)) + full + value + mvcc


def one_block(content: bytes, first_key: bytes = b"a", **trailer: int) -> bytes:
    block = encode_block(BlockType.DATA, content, Compression.NONE)
    return hfile(block, [BlockLocation(0, len(block), first_key)], **trailer)


DELETED = b"\0" + b"\x7f" + b"\xff" * 7 + b"\x08"
LONG_VALUE = cell(b"a", b"")[:4] + struct.pack(">i", 2**31 - 1) + cell(b"a", b"")[8:]
BAD_FILES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "keys in descending order": ("not greater", lambda: one_block(cell(b"b", b"") + cell(b"a", b""), entry_count=2)),
    "a key twice": ("not greater", lambda: one_block(cell(b"a", b"") + cell(b"a", b""), entry_count=2)),
    "a key before the index key": ("not where the index", lambda: one_block(cell(b"a", b""), first_key=b"b")),
    "a deleted cell": ("unknown form", lambda: one_block(cell(b"a", b"", suffix=DELETED))),
    "a cell of a later version": ("version other than 0", lambda: one_block(cell(b"a", b"", mvcc=b"\x05"))),
    "a negative value length": ("expected", lambda: one_block(struct.pack(">ii", 13, -1) + cell(b"a", b"")[8:])),
    "a value beyond the block": ("expected", lambda: one_block(LONG_VALUE)),
    "too few entries": ("entries is 1, but the trailer declares 2", lambda: one_block(cell(b"a", b""), entry_count=2)),
    "an empty block": ("no entry", lambda: one_block(b"")),
    "more index entries than there are": ("expected", lambda: one_block(cell(b"a", b""), data_index_count=2**40)),
    "no entry in the trailer": ("0 entries", lambda: one_block(cell(b"a", b""), entry_count=0)),
    "fewer index entries": ("after the 0 entries", lambda: one_block(cell(b"a", b""), data_index_count=0)),
    "no block in the index": ("no block", lambda: hfile(b"", [])),
    "another last block": ("different set of blocks", lambda: one_block(cell(b"a", b""), last_data_offset=7)),
    "an index of many levels": ("levels", lambda: one_block(cell(b"a", b""), data_index_levels=9)),
    "a leaf index that is a data block": ("IDXLEAF2", lambda: one_block(cell(b"a", b""), data_index_levels=2)),
    "an index outside the file": ("trailer", lambda: one_block(cell(b"a", b""), load_on_open_offset=2**62)),
    "a file info outside the file": ("trailer", lambda: one_block(cell(b"a", b""), file_info_offset=2**62)),
}  # fmt: skip


@pytest.mark.parametrize(("reason", "make"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_file_that_contradicts_itself_is_refused_with_the_reason(
    reason: str, make: Callable[[], bytes]
) -> None:
    with pytest.raises(MalformedMetadataError, match=reason):
        read_all(make())


def test_a_well_formed_file_of_these_helpers_is_read() -> None:
    assert read_all(one_block(cell(b"a", b"v")))[0] == [(b"a", b"v")]


def bomb(declared: int, actual: int) -> bytes:
    block = block_of(gzip.compress(bytes(actual), 9), declared, Compression.GZIP)
    return hfile(block, [BlockLocation(0, len(block), b"a")], compression=Compression.GZIP)


HOSTILE: dict[str, Callable[[], bytes]] = {
    "a block of 256 MiB in 256 KiB": lambda: bomb(256 * MIB, 256 * MIB),
    "256 MiB declared as 1 MiB": lambda: bomb(MIB, 256 * MIB),
    "1 MiB declared as 60 MiB": lambda: bomb(60 * MIB, MIB),
    "a negative length": lambda: bomb(-1, MIB),
}


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_compressed_blocks_of_unbounded_cost_are_refused(make: Callable[[], bytes]) -> None:
    data = make()
    tracemalloc.start()
    begun = time.monotonic()
    try:
        with pytest.raises(MalformedMetadataError):
            read_all(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * MIB
    assert time.monotonic() - begun < 5


def test_a_damaged_offset_does_not_make_the_reader_fetch_a_large_file() -> None:
    """The reader gets a file that seems to have 1 TiB: only the file's end exists, and a large read fails the test."""
    data, whole = one_block(cell(b"a", b""), load_on_open_offset=5, file_info_offset=2**39), 1 << 40

    def read(offset: int, length: int) -> bytes:
        assert length < MIB
        tail = data[max(0, len(data) - (whole - offset)) :]
        return tail.rjust(length, b"\0")[:length]

    with pytest.raises(MalformedMetadataError, match="the limit is"):
        HFileReader(read, whole, "file")


def test_a_block_of_the_index_that_is_too_large_is_not_fetched() -> None:
    data = hfile(b"", [BlockLocation(0, 2**31 - 1, b"a")])
    with pytest.raises(MalformedMetadataError, match="2147483647 bytes at 0"):
        read_all(data)


@pytest.mark.parametrize(("place", "value"), [(-1, 2), (-1, 4)])
def test_the_error_about_another_version_of_the_format_names_its_number(place: int, value: int) -> None:
    data = bytearray(file_of(Compression.GZIP))
    data[place] = value
    with pytest.raises(UnsupportedTableError, match=f"major version {value}"):
        read_all(bytes(data))


def test_the_error_about_another_compression_names_its_number() -> None:
    block = encode_block(BlockType.DATA, cell(b"a", b""), Compression.NONE)
    data = hfile(block, [BlockLocation(0, len(block), b"a")])
    snappy = data[:-TRAILER_BYTES] + data[-TRAILER_BYTES:].replace(b"\x60\x02", b"\x60\x03", 1)
    with pytest.raises(UnsupportedTableError, match="compression codec 3"):
        read_all(snappy)
