"""Blocks of Hudi's log format (HoodieLogFormatWriter, HoodieLogFileReader; Hudi 0.15 and 1.2).

::

    "#HUDI#" | size | format version | type | headers | content length | content | footers | size of all preceding parts

A file is a sequence of blocks. If a writer dies, its last block can be incomplete. On storage that supports append,
further blocks may follow an incomplete block. As in Hudi, the decoder skips an incomplete block up to the next
``#HUDI#``.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from hudi_table_services.errors import MalformedMetadataError

MAGIC = b"#HUDI#"
FORMAT_VERSION = 1
_SIZE, _COUNT, _PAIR, _REVERSE = struct.Struct(">q"), struct.Struct(">i"), struct.Struct(">ii"), 8
_RECORDS_VERSION = 3


class BlockType(IntEnum):
    """Kind of content of a block; the numbers are the ordinals in real files."""

    COMMAND = 0
    DELETE = 1
    CORRUPT = 2
    AVRO_DATA = 3
    HFILE_DATA = 4
    PARQUET_DATA = 5
    CDC_DATA = 6


class HeaderKey(IntEnum):
    """Keys of a block's header that this project uses."""

    INSTANT_TIME = 0
    TARGET_INSTANT_TIME = 1
    SCHEMA = 2
    COMMAND_BLOCK_TYPE = 3
    COMPACTED_BLOCK_TIMES = 4
    RECORD_POSITIONS = 5
    IS_PARTIAL = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class LogBlock:
    """One block. The keys of its headers are ordinals."""

    block_type: int
    headers: Mapping[int, str] = field(default_factory=dict)
    content: bytes = b""


def encode_block(block: LogBlock) -> bytes:
    """Encode a block as Hudi does, without footers."""
    headers = _COUNT.pack(len(block.headers)) + b"".join(
        _PAIR.pack(key, len(text)) + text
        for key, text in ((key, value.encode()) for key, value in sorted(block.headers.items()))
    )
    body = (
        _PAIR.pack(FORMAT_VERSION, block.block_type)
        + headers
        + _SIZE.pack(len(block.content))
        + block.content
        + _COUNT.pack(0)
    )
    before = MAGIC + _SIZE.pack(len(body) + _REVERSE) + body
    return before + _SIZE.pack(len(before))


def decode_blocks(data: bytes, *, skips_incomplete: bool = True) -> Iterator[LogBlock]:
    """Yield the complete blocks of a file in order.

    Args:
        skips_incomplete: whether to skip blocks that a dying writer left incomplete, as Hudi does. If False, an
            incomplete block is an error, because a damaged block looks like an incomplete block.

    Raises:
        MalformedMetadataError: a block is complete according to its sizes, but its content is inconsistent; or there
            are bytes outside complete blocks, and `skips_incomplete` is False.
    """
    position = 0
    while position < len(data):
        end = _end_of_complete_block(data, position) if data.startswith(MAGIC, position) else None
        if end is not None:
            yield _decoded(data[position:end])
            position = end
            continue
        if not skips_incomplete:
            raise MalformedMetadataError(
                f"A log file of {len(data)} bytes has no complete block at position {position}."
            )
        following = data.find(MAGIC, position + 1)
        position = following if following >= 0 else len(data)


def _end_of_complete_block(data: bytes, start: int) -> int | None:
    """Return the position of the block's end, or None if the block is incomplete."""
    body_start = start + len(MAGIC) + _SIZE.size
    if body_start > len(data):
        return None
    (size,) = _SIZE.unpack_from(data, start + len(MAGIC))
    end = body_start + size
    if size < _REVERSE or end > len(data):
        return None
    (reverse,) = _SIZE.unpack_from(data, end - _REVERSE)
    return end if reverse == end - _REVERSE - start else None


def _decoded(block: bytes) -> LogBlock:
    try:
        version, block_type = _PAIR.unpack_from(block, len(MAGIC) + _SIZE.size)
        if version != FORMAT_VERSION:
            raise MalformedMetadataError(
                f"A log block has the unknown format version {version}; this release reads {FORMAT_VERSION}."
            )
        position = len(MAGIC) + _SIZE.size + _PAIR.size
        (count,) = _COUNT.unpack_from(block, position)
        position += _COUNT.size
        headers: dict[int, str] = {}
        for _ in range(count):
            key, length = _PAIR.unpack_from(block, position)
            position += _PAIR.size
            headers[key] = block[position : position + length].decode()
            position += length
        (length,) = _SIZE.unpack_from(block, position)
        position += _SIZE.size
    except (struct.error, UnicodeDecodeError) as error:
        raise MalformedMetadataError(f"A log block of {len(block)} bytes cannot be read: {error}.") from error
    if length < 0 or position + length > len(block):
        raise MalformedMetadataError(f"A log block of {len(block)} bytes declares content of {length} bytes.")
    return LogBlock(block_type=block_type, headers=headers, content=block[position : position + length])


def encode_records(records: list[bytes]) -> bytes:
    """Encode the content of an Avro data block: encoded records, each preceded by its length."""
    framed = b"".join(_COUNT.pack(len(record)) + record for record in records)
    return records_header(len(records)) + framed


def records_header(count: int) -> bytes:
    """Encode the start of the content of an Avro data block with `count` records."""
    return _PAIR.pack(_RECORDS_VERSION, count)


def decode_records(content: bytes) -> list[bytes]:
    """Return the encoded records of an Avro data block.

    Raises:
        MalformedMetadataError: the content has another version, or is cut short.
    """
    try:
        version, count = _PAIR.unpack_from(content, 0)
        if version not in (2, _RECORDS_VERSION):
            raise MalformedMetadataError(
                f"The content of an Avro data block has the unknown version {version}; this release reads 2 and 3."
            )
        records, position = [], _PAIR.size
        for _ in range(count):
            (length,) = _COUNT.unpack_from(content, position)
            position += _COUNT.size
            if length < 0 or position + length > len(content):
                raise MalformedMetadataError("An Avro data block contains a record that is cut short.")
            records.append(content[position : position + length])
            position += length
    except struct.error as error:
        raise MalformedMetadataError(f"An Avro data block is cut short: {error}.") from error
    return records
