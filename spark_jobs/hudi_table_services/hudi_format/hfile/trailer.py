"""The end of an HFile: file info and trailer (HFileInfo, HFileTrailer of Hudi 1.2).

The trailer has a fixed length. It locates the section that readers load when they open the file: the root of the data
index, the index of meta blocks, and the file info.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from hudi_table_services.errors import MalformedMetadataError, UnsupportedTableError
from hudi_table_services.hudi_format.hfile.blocks import MAX_DISK_BYTES, Compression, parse_compression
from hudi_table_services.hudi_format.hfile.byte_reader import ByteReader
from hudi_table_services.hudi_format.hfile.protobuf import (
    Field,
    decode_delimited,
    decode_message,
    encode_delimited,
    encode_message,
)
from hudi_table_services.model.table_version import TableVersion

TRAILER_BYTES = 4096
NO_BLOCK = (1 << 64) - 1
"""Offset of the first and of the last data block in a file without entries: -1, as an unsigned number."""

_MAGIC = b'TRABLK"$'
_VERSION_BYTES = 4
_MAJOR_VERSION = 3
_MAX_INDEX_LEVELS = 8
_COMPARATOR = b"org.apache.hudi.io.storage.HoodieHBaseKVComparator"
_INFO_MAGIC = b"PBUF"
_PAIR, _KEY, _VALUE = 1, 1, 2


class Flavour(IntEnum):
    """Form of the keys in index and file info. The values are the minor versions of the files.

    Hudi up to 1.0 writes HBASE, and every release reads HBASE. Hudi's own writer, from 1.1 on, writes NATIVE, which
    Hudi 0.15 cannot read.
    """

    NATIVE = 0
    HBASE = 3


def flavour_of(version: TableVersion) -> Flavour:
    """Return the form that the first release with this table version writes."""
    return Flavour.NATIVE if version >= TableVersion.V9 else Flavour.HBASE


@dataclass(frozen=True, slots=True, kw_only=True)
class Trailer:
    """The values that a reader needs to open a file. Offsets and sizes are in bytes.

    Attributes:
        load_on_open_offset: start of the root index.
        data_index_count: number of entries of the root index.
        data_index_levels: 1 if the root index locates data blocks, more if it locates other index blocks.
        first_data_offset, last_data_offset: offsets of the first and the last data block; readers ignore them in a
            file without entries.
    """

    file_info_offset: int
    load_on_open_offset: int
    data_index_bytes: int
    content_bytes: int
    data_index_count: int
    meta_index_count: int = 0
    entry_count: int
    data_index_levels: int = 1
    first_data_offset: int = 0
    last_data_offset: int
    compression: Compression


def encode_trailer(trailer: Trailer, flavour: Flavour) -> bytes:
    """Return the last 4096 bytes of a file."""
    numbers = (
        trailer.file_info_offset,
        trailer.load_on_open_offset,
        trailer.data_index_bytes,
        trailer.content_bytes,
        trailer.data_index_count,
        trailer.meta_index_count,
        trailer.entry_count,
        trailer.data_index_levels,
        trailer.first_data_offset,
        trailer.last_data_offset,
    )
    fields: list[Field] = [*enumerate(numbers, start=1), (11, _COMPARATOR), (12, int(trailer.compression))]
    start = _MAGIC + encode_delimited(fields)
    version = bytes([flavour]) + _MAJOR_VERSION.to_bytes(3, "big")
    return start.ljust(TRAILER_BYTES - _VERSION_BYTES, b"\x00") + version


def decode_trailer(data: bytes, file_bytes: int, what: str) -> Trailer:
    """Read the last 4096 bytes of a file of `file_bytes` bytes.

    Raises:
        MalformedMetadataError: the bytes are not the end of an HFile, or they contain offsets outside the file.
        UnsupportedTableError: the file has a major version or a compression that Hudi does not write.
    """
    if len(data) != TRAILER_BYTES or not data.startswith(_MAGIC):
        raise MalformedMetadataError(
            f"{what}: there is no HFile trailer at the end of the {file_bytes} bytes."
        )
    major = int.from_bytes(data[-3:], "big")
    if major != _MAJOR_VERSION:
        raise UnsupportedTableError(
            f"{what}: the HFile has major version {major}; supported: {_MAJOR_VERSION}."
        )
    reader = ByteReader(data[: TRAILER_BYTES - _VERSION_BYTES], f"{what}: trailer")
    reader.take(len(_MAGIC))
    numbers = {n: v for n, v in decode_delimited(reader, f"{what}: trailer") if isinstance(v, int)}
    trailer = Trailer(
        file_info_offset=numbers.get(1, 0),
        load_on_open_offset=numbers.get(2, 0),
        data_index_bytes=numbers.get(3, 0),
        content_bytes=numbers.get(4, 0),
        data_index_count=numbers.get(5, 0),
        meta_index_count=numbers.get(6, 0),
        entry_count=numbers.get(7, 0),
        data_index_levels=numbers.get(8, 0),
        first_data_offset=numbers.get(9, 0),
        last_data_offset=numbers.get(10, 0),
        compression=parse_compression(numbers.get(12, Compression.NONE)),
    )
    _check(trailer, file_bytes - TRAILER_BYTES, what)
    return trailer


def _check(trailer: Trailer, end: int, what: str) -> None:
    if not trailer.load_on_open_offset <= trailer.file_info_offset < end:
        raise MalformedMetadataError(
            f"{what}: the trailer locates the index at {trailer.load_on_open_offset} and the file info at "
            f"{trailer.file_info_offset}; they must follow each other before the trailer, which starts at {end}."
        )
    size = end - trailer.load_on_open_offset
    if size > MAX_DISK_BYTES:
        raise MalformedMetadataError(
            f"{what}: index and file info have {size} bytes; the limit is {MAX_DISK_BYTES} bytes."
        )
    if trailer.entry_count and not 1 <= trailer.data_index_levels <= _MAX_INDEX_LEVELS:
        raise MalformedMetadataError(
            f"{what}: the trailer declares an index of {trailer.data_index_levels} levels; "
            f"supported: 1 to {_MAX_INDEX_LEVELS}."
        )


def encode_file_info(pairs: Mapping[str, bytes]) -> bytes:
    """Encode the file info block. The pairs are in the order of their keys."""
    fields: list[Field] = [
        (_PAIR, encode_message([(_KEY, key.encode()), (_VALUE, value)]))
        for key, value in sorted(pairs.items())
    ]
    return _INFO_MAGIC + encode_delimited(fields)


def decode_file_info(content: bytes, what: str) -> dict[str, bytes]:
    """Return the key-value pairs of the file info block.

    Raises:
        MalformedMetadataError: the block is damaged.
    """
    reader = ByteReader(content, what)
    if reader.take(len(_INFO_MAGIC)) != _INFO_MAGIC:
        raise reader.error("the file info does not start with PBUF")
    pairs = {}
    for number, message in decode_delimited(reader, what):
        if number != _PAIR or not isinstance(message, bytes):
            continue
        pair = dict(decode_message(message, what))
        key, value = pair.get(_KEY, b""), pair.get(_VALUE, b"")
        if not isinstance(key, bytes) or not isinstance(value, bytes):
            raise reader.error("the key or the value of a pair in the file info is not a byte string")
        pairs[key.decode("utf-8", "replace")] = value
    return pairs
