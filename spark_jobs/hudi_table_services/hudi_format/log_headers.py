"""Find the blocks of a log file from their headers, without reading their contents (HoodieLogFileReader, Hudi 1.2).

A writer that dies leaves an incomplete block at the end of its file. This module reports and skips such a block, as
Hudi does. Any other damage is an error, as in hudi-rs. Hudi instead continues with the next block that it can read, so
the rows of the damaged block are missing without a message.
"""

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.hudi_format.log_blocks import FORMAT_VERSION, MAGIC, HeaderKey

ReadRange = Callable[[int, int], bytes]
"""Function that reads a range of a file. Its arguments are offset and length; it returns exactly `length` bytes."""

_SIZE, _COUNT, _PAIR = struct.Struct(">q"), struct.Struct(">i"), struct.Struct(">ii")
_PREFIX = len(MAGIC) + _SIZE.size
_WINDOW_BYTES = 64 << 10
"""Bytes per read: the end of one block and, usually, all headers of the next block."""
_SEARCH_BYTES = 4 << 20
_MOST_HEADERS = 64
_SKIPPED = frozenset({HeaderKey.RECORD_POSITIONS})
"""Headers that this project does not use and that can be long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockHead:
    """Headers and position of one block.

    Attributes:
        position: position of the block in its file.
        headers: maps the ordinal of each header key to the value of the header.
        content_position: position of the content in the file.
        content_bytes: length of the content.
    """

    position: int
    block_type: int
    headers: Mapping[int, str] = field(default_factory=dict)
    content_position: int
    content_bytes: int


@dataclass(frozen=True, slots=True)
class ScannedLog:
    """Complete blocks of a log file in their order.

    Attributes:
        incomplete_at: position of the incomplete block at the end of the file; None if the file ends with a complete
            block.
    """

    heads: tuple[BlockHead, ...]
    incomplete_at: int | None


def scan_log(read: ReadRange, file_bytes: int) -> ScannedLog:
    """Find the blocks of a file.

    The function needs memory for a few ranges of 64 KiB, and for the headers.

    Raises:
        MalformedMetadataError: a block before the end of the file is damaged; the message names its position.
    """
    window = _Window(read, file_bytes)
    heads: list[BlockHead] = []
    position = 0
    while position < file_bytes:
        end = _end_of_block(window, position)
        if end is None:
            return ScannedLog(tuple(heads), position)
        heads.append(_head(window, position, end))
        position = end
    return ScannedLog(tuple(heads), None)


class _Window:
    """Reads small pieces of a file, in ascending order, from larger ranges."""

    def __init__(self, read: ReadRange, file_bytes: int) -> None:
        self._read = read
        self.file_bytes = file_bytes
        self._start = 0
        self._bytes = b""

    def at(self, position: int, length: int) -> bytes:
        """Return `length` bytes of the file, or fewer at the end of the file."""
        length = min(length, self.file_bytes - position)
        offset = position - self._start
        if offset < 0 or offset + length > len(self._bytes):
            self._start, offset = position, 0
            wanted = min(max(length, _WINDOW_BYTES), self.file_bytes - position)
            self._bytes = self._read(position, wanted)
        return self._bytes[offset : offset + length]


def _end_of_block(window: _Window, position: int) -> int | None:
    """Return the position after the block; None if the block is incomplete and no complete block follows it."""
    prefix = window.at(position, _PREFIX)
    if len(prefix) < _PREFIX:
        if MAGIC.startswith(prefix[: len(MAGIC)]):
            return None
        raise _damaged(position, "does not begin with #HUDI#")
    if not prefix.startswith(MAGIC):
        raise _damaged(position, "does not begin with #HUDI#")
    size: int = _SIZE.unpack_from(prefix, len(MAGIC))[0]
    end = position + _PREFIX + size
    if size < _SIZE.size:
        raise _damaged(position, f"has a size of {size} bytes")
    if end > window.file_bytes:
        following = _complete_block_after(window, position)
        if following is not None:
            raise _damaged(
                position, f"ends after the end of the file, although a block follows at position {following}"
            )
        return None
    if not _is_complete(window, position, end):
        raise _damaged(position, "does not end with its size")
    return end


def _is_complete(window: _Window, position: int, end: int) -> bool:
    (reverse,) = _SIZE.unpack(window.at(end - _SIZE.size, _SIZE.size))
    return bool(reverse == end - _SIZE.size - position)


def _complete_block_after(window: _Window, position: int) -> int | None:
    """Return the position of the next complete block after an incomplete block; None if there is none."""
    start = position + 1
    while start < window.file_bytes:
        piece = window.at(start, _SEARCH_BYTES)
        found = piece.find(MAGIC)
        while found >= 0:
            candidate = start + found
            prefix = window.at(candidate, _PREFIX)
            if len(prefix) == _PREFIX:
                end = candidate + _PREFIX + _SIZE.unpack_from(prefix, len(MAGIC))[0]
                fits = candidate + _PREFIX + _SIZE.size <= end <= window.file_bytes
                if fits and _is_complete(window, candidate, end):
                    return candidate
            found = piece.find(MAGIC, found + 1)
        start += max(1, len(piece) - len(MAGIC) + 1)
    return None


def _head(window: _Window, position: int, end: int) -> BlockHead:
    """Read type, headers and location of the content of a complete block."""
    last = end - _SIZE.size

    def take(at: int, layout: struct.Struct) -> tuple[int, ...]:
        if at + layout.size > last:
            raise _damaged(position, "has headers after its end")
        return layout.unpack(window.at(at, layout.size))

    at = position + _PREFIX
    version, block_type = take(at, _PAIR)
    if version != FORMAT_VERSION:
        raise _damaged(position, f"has the unknown format version {version}")
    (count,) = take(at + _PAIR.size, _COUNT)
    if not 0 <= count <= _MOST_HEADERS:
        raise _damaged(position, f"has {count} headers")
    at += _PAIR.size + _COUNT.size
    headers: dict[int, str] = {}
    for _ in range(count):
        key, length = take(at, _PAIR)
        at += _PAIR.size
        if length < 0 or at + length > last:
            raise _damaged(position, "has headers after its end")
        if key not in _SKIPPED:
            headers[key] = _text(window.at(at, length), position)
        at += length
    (content_bytes,) = take(at, _SIZE)
    at += _SIZE.size
    if content_bytes < 0 or at + content_bytes + _COUNT.size > last:
        raise _damaged(position, f"declares content of {content_bytes} bytes, but has {last - at}")
    return BlockHead(
        position=position,
        block_type=block_type,
        headers=headers,
        content_position=at,
        content_bytes=content_bytes,
    )


def _text(data: bytes, position: int) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise _damaged(position, "has a header that is not UTF-8") from None


def _damaged(position: int, what: str) -> MalformedMetadataError:
    return MalformedMetadataError(
        f"The log block at position {position} {what}.",
        hint="Restore the file from a backup, or let Hudi compact the table, which skips the rows of this block.",
    )
