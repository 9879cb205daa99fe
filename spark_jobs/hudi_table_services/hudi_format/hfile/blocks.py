"""Blocks of an HFile: header, content that may be compressed, checksums.

::

    magic (8) | size on disk without header | size of the content | offset of the previous block of this type (int64)
    | checksum type (byte) | bytes per checksum | size on disk with header, without checksums | content | checksums

Every number for which this layout gives no type is an int32. Format: HFileBlock of Hudi 1.2 and of HBase 2.4.
"""

import gzip
import struct
import zlib
from dataclasses import dataclass
from enum import Enum, IntEnum

from hudi_table_services.errors import MalformedMetadataError, UnsupportedTableError
from hudi_table_services.hudi_format.hfile.checksums import (
    BYTES_PER_CHECKSUM,
    CHECKSUM_BYTES,
    ChecksumType,
    block_checksums,
    checksum_type,
)

MAX_CONTENT_BYTES = 64 << 20
"""Maximum length of a block's content. Hudi's blocks have about 1 MiB, or one entry if the entry is larger."""
MAX_DISK_BYTES = MAX_CONTENT_BYTES + (1 << 20)
"""Maximum length of a block in the file: content, header, checksums, and the bytes that compression can add."""

HEADER = struct.Struct(">8siiqBii")
NO_PREVIOUS = -1
_GZIP_WINDOW = 31
_GZIP_LEVEL = 6


class BlockType(Enum):
    """Kinds of blocks, with their magic bytes. Readers of this project ignore other kinds."""

    DATA = b"DATABLK*"
    ROOT_INDEX = b"IDXROOT2"
    LEAF_INDEX = b"IDXLEAF2"
    INTERMEDIATE_INDEX = b"IDXINTE2"
    FILE_INFO = b"FILEINF2"


class Compression(IntEnum):
    """Compression of the blocks of a file. The values are the codes in trailers. Hudi writes GZIP."""

    GZIP = 1
    NONE = 2


@dataclass(frozen=True, slots=True)
class Block:
    """A decoded block.

    Attributes:
        disk_bytes: length of the block in the file, with header and checksums.
    """

    block_type: BlockType
    content: bytes
    disk_bytes: int


def parse_compression(code: int) -> Compression:
    """Return the compression that a code in a trailer names. Raises UnsupportedTableError for an unknown code."""
    try:
        return Compression(code)
    except ValueError:
        raise UnsupportedTableError(
            f"The HFile has compression codec {code}; supported: 1 (gzip) and 2 (none)."
        ) from None


def encode_block(
    block_type: BlockType,
    content: bytes,
    compression: Compression,
    previous_offset: int = NO_PREVIOUS,
) -> bytes:
    """Encode a block with CRC-32 checksums. Equal contents give equal bytes.

    Args:
        previous_offset: offset of the previous block of the same type; -1 if there is none.

    Raises:
        MalformedMetadataError: the content is larger than readers accept.
    """
    if len(content) > MAX_CONTENT_BYTES:
        raise MalformedMetadataError(
            f"A block of {len(content)} bytes is too large for an HFile; the limit is {MAX_CONTENT_BYTES} bytes."
        )
    stored = gzip.compress(content, _GZIP_LEVEL, mtime=0) if compression is Compression.GZIP else content
    covered_bytes = HEADER.size + len(stored)
    checksum_bytes = _checksum_bytes(covered_bytes, BYTES_PER_CHECKSUM)
    header = HEADER.pack(
        block_type.value,
        len(stored) + checksum_bytes,
        len(content),
        previous_offset,
        ChecksumType.CRC32,
        BYTES_PER_CHECKSUM,
        covered_bytes,
    )
    return header + stored + block_checksums(header + stored, ChecksumType.CRC32)


def decode_block(data: bytes, expected: BlockType, compression: Compression, what: str) -> Block:
    """Decode the block at the start of the data. The data may contain more bytes after the block.

    Raises:
        MalformedMetadataError: the data start with a block of a different type, the block is damaged, or its content is
            larger than 64 MiB.
    """
    if len(data) < HEADER.size:
        raise MalformedMetadataError(f"{what}: {len(data)} bytes are too few for a block.")
    magic, bytes_after_header, content_bytes, _, checksum_code, chunk_bytes, covered_bytes = (
        HEADER.unpack_from(data)
    )
    if magic != expected.value:
        raise MalformedMetadataError(
            f"{what}: the block starts with {magic!r} instead of {expected.value!r}."
        )
    disk_bytes = HEADER.size + bytes_after_header
    if not HEADER.size <= covered_bytes <= disk_bytes <= len(data) or content_bytes < 0:
        raise MalformedMetadataError(
            f"{what}: the block's header declares impossible sizes ({disk_bytes} bytes with checksums, "
            f"{covered_bytes} bytes without checksums, {content_bytes} bytes of content). At most {len(data)} bytes "
            "can belong to the block."
        )
    kind = checksum_type(checksum_code, what)
    # CRC-32C is slow in Python, so a gzip block with CRC-32C is verified only by the checksum inside the gzip data.
    if kind is ChecksumType.CRC32 or (kind is ChecksumType.CRC32C and compression is Compression.NONE):
        _verify_checksums(data[:disk_bytes], covered_bytes, chunk_bytes, kind, what)
    content = _content(data[HEADER.size : covered_bytes], content_bytes, compression, what)
    return Block(expected, content, disk_bytes)


def _verify_checksums(
    block: bytes, covered_bytes: int, chunk_bytes: int, kind: ChecksumType, what: str
) -> None:
    sums = block[covered_bytes:]
    if chunk_bytes < 1 or len(sums) != _checksum_bytes(covered_bytes, chunk_bytes):
        raise MalformedMetadataError(
            f"{what}: the block has {len(sums)} bytes of checksums, which is wrong for {covered_bytes} bytes in chunks "
            f"of {chunk_bytes}."
        )
    if sums != block_checksums(block[:covered_bytes], kind, chunk_bytes):
        raise MalformedMetadataError(
            f"{what}: the {kind.name} checksum does not match: the block is damaged."
        )


def _content(stored: bytes, size: int, compression: Compression, what: str) -> bytes:
    if size > MAX_CONTENT_BYTES:
        raise MalformedMetadataError(
            f"{what}: the block declares content of {size} bytes; the limit is {MAX_CONTENT_BYTES} bytes."
        )
    content = stored if compression is Compression.NONE else _inflated(stored, size, what)
    if len(content) != size:
        raise MalformedMetadataError(
            f"{what}: the content of the block has {len(content)} bytes, but the header declares {size}."
        )
    return content


def _inflated(stored: bytes, size: int, what: str) -> bytes:
    """Decompress at most one byte more than the header declares, so that a hostile file cannot use up the memory."""
    inflater = zlib.decompressobj(_GZIP_WINDOW)
    try:
        content = inflater.decompress(stored, size + 1)
    except zlib.error as error:
        raise MalformedMetadataError(f"{what}: the block cannot be decompressed: {error}.") from None
    if len(content) <= size and (not inflater.eof or inflater.unused_data):
        raise MalformedMetadataError(f"{what}: the compressed block does not end where its header says.")
    return content


def _checksum_bytes(covered: int, chunk_bytes: int) -> int:
    return CHECKSUM_BYTES * -(-covered // chunk_bytes)
