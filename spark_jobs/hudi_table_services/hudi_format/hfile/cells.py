"""Entries of a data block, and the form of their keys (KeyValue of Hudi 1.2 and HBase 2.4).

::

    cell: size of the key (int32) | size of the value (int32) | key | value | MVCC number (Hadoop integer, 0)
    key:  length of the row (int16) | row | length of the family (byte, 0) | timestamp (int64) | type (byte)

The row is Hudi's key. Hudi always writes the greatest timestamp and the type Put.
"""

import struct
from collections.abc import Iterator

from hudi_table_services.hudi_format.hfile.byte_reader import ByteReader

Entry = tuple[bytes, bytes]
"""Key and value."""

MAX_KEY_BYTES = 0x7FFF
KEY_SUFFIX = b"\x00" + b"\x7f" + b"\xff" * 7 + b"\x04"
_FAMILY_AND_TIMESTAMP = KEY_SUFFIX[:-1]
_SIZES = struct.Struct(">ii")
_ROW_LENGTH = struct.Struct(">h")
_MVCC = b"\x00"


def encode_key(row: bytes, *, with_suffix: bool = True) -> bytes:
    """The key of a cell, or of an index entry without family, timestamp and type."""
    return _ROW_LENGTH.pack(len(row)) + row + (KEY_SUFFIX if with_suffix else b"")


def decode_index_key(key: bytes, what: str) -> bytes:
    """The row of a key in an index, with or without family, timestamp and type.

    HBase also writes keys that lie between the last key of a block and the first key of the next block. Their type is
    not Put.
    """
    reader = ByteReader(key, what)
    row = reader.take(reader.int16())
    if reader.left and (
        reader.left != len(KEY_SUFFIX) or key[-len(KEY_SUFFIX) : -1] != _FAMILY_AND_TIMESTAMP
    ):
        raise reader.error("a key of unknown form")
    return row


def encode_cell(entry: Entry) -> bytes:
    """One entry of a data block."""
    key = encode_key(entry[0])
    return _SIZES.pack(len(key), len(entry[1])) + key + entry[1] + _MVCC


def decode_cells(content: bytes, what: str) -> Iterator[Entry]:
    """Yield the entries of a data block in order.

    Raises:
        MalformedMetadataError: the block is damaged, or its keys are not strictly ascending.
    """
    reader, previous = ByteReader(content, what), None
    while reader.left:
        key_bytes, value_bytes = reader.int32(), reader.int32()
        row = reader.take(reader.int16())
        if key_bytes != _ROW_LENGTH.size + len(row) + len(KEY_SUFFIX) or reader.take(10) != KEY_SUFFIX:
            raise reader.error("a key of unknown form")
        value = reader.take(value_bytes)
        if reader.vlong():
            raise reader.error("an entry of another version than 0")
        if previous is not None and row <= previous:
            raise reader.error("a key that is not greater than the key before it")
        previous = row
        yield row, value
