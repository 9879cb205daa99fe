"""Checksums of HFile blocks: one for each chunk of a block's header and content (ChecksumType of Hudi 1.2)."""

import zlib
from enum import IntEnum
from functools import cache

from hudi_table_services.errors import MalformedMetadataError

BYTES_PER_CHECKSUM = 16384
CHECKSUM_BYTES = 4
_CASTAGNOLI = 0x82F63B78


class ChecksumType(IntEnum):
    """Kind of checksum. The values are the codes in block headers. With NONE, readers ignore the checksum bytes."""

    NONE = 0
    CRC32 = 1
    CRC32C = 2


def block_checksums(data: bytes, kind: ChecksumType, chunk_bytes: int = BYTES_PER_CHECKSUM) -> bytes:
    """Return the checksums of a block.

    Args:
        data: header and content of the block.
        chunk_bytes: length of a chunk; the last chunk may be shorter.
    """
    chunks = (data[start : start + chunk_bytes] for start in range(0, len(data), chunk_bytes))
    return b"".join(_checksum(chunk, kind).to_bytes(CHECKSUM_BYTES, "big") for chunk in chunks)


def checksum_type(code: int, what: str) -> ChecksumType:
    """Return the type that a code in a block header names. Raises MalformedMetadataError for an unknown code."""
    try:
        return ChecksumType(code)
    except ValueError:
        raise MalformedMetadataError(f"{what}: unknown checksum type {code}.") from None


def _checksum(chunk: bytes, kind: ChecksumType) -> int:
    if kind is ChecksumType.NONE:
        return 0
    return zlib.crc32(chunk) if kind is ChecksumType.CRC32 else crc32c(chunk)


def crc32c(data: bytes) -> int:
    """Return the CRC-32C (Castagnoli). This function is slow: about 10 MB per second."""
    table, value = _table(), 0xFFFFFFFF
    for byte in data:
        value = table[(value ^ byte) & 0xFF] ^ value >> 8
    return value ^ 0xFFFFFFFF


@cache
def _table() -> tuple[int, ...]:
    values = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (_CASTAGNOLI if value & 1 else 0)
        values.append(value)
    return tuple(values)
