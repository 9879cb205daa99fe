"""Copy records of the metadata table without decoding them; only the name of their file changes.

A record begins with its five meta fields, whose types are unions of null and string. The last meta field is the name of
the file, and the other four are null. So the bytes after the name of the file are the same in every file with the same
schema.
"""

import json

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.hudi_format.metadata_table.record_schema import META_FIELDS

_NULLS = bytes(len(META_FIELDS) - 1)
_NAME_AT = len(_NULLS)
_NULL, _TEXT = 0, 2
"""Avro encodings of the branch numbers of the union of null and string."""


def begins_with_meta_fields(schema: str) -> bool:
    """Whether records with this Avro schema begin with the meta fields, each of which is null or a string."""
    try:
        fields = json.loads(schema)["fields"][: len(META_FIELDS)]
        return [(field["name"], _is_optional_text(field["type"])) for field in fields] == [
            (name, True) for name in META_FIELDS
        ]
    except (ValueError, KeyError, TypeError):
        return False


def _is_optional_text(avro_type: object) -> bool:
    if not (isinstance(avro_type, list) and len(avro_type) == 2):
        return False
    text = avro_type[1]
    name: object = text.get("type") if isinstance(text, dict) else text
    return avro_type[0] == "null" and name == "string"


def meta_fields(file_name: str) -> bytes:
    """Return the bytes with which each record of a file with this name begins."""
    name = file_name.encode()
    return _NULLS + bytes([_TEXT]) + _long(len(name)) + name


def with_meta_fields(value: bytes, start: bytes) -> bytes:
    """Return the record with other meta fields.

    Args:
        value: a record whose schema `begins_with_meta_fields`.
        start: the result of `meta_fields`.

    Raises:
        MalformedMetadataError: a meta field other than the name of the file has a value, or the record ends too early.
    """
    if not value.startswith(_NULLS) or len(value) <= _NAME_AT:
        raise _damaged(value)
    branch = value[_NAME_AT]
    if branch == _NULL:
        return start + value[_NAME_AT + 1 :]
    if branch != _TEXT:
        raise _damaged(value)
    length, position = _read_long(value, _NAME_AT + 1)
    if length < 0 or position + length >= len(value):
        raise _damaged(value)
    return start + value[position + length :]


def _long(number: int) -> bytes:
    """Return the Avro encoding of a number that is not negative."""
    left, out = number << 1, bytearray()
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*out, left])


def _read_long(value: bytes, position: int) -> tuple[int, int]:
    """Return the number, and the position after it."""
    number = shift = 0
    while position < len(value) and shift < 64:
        byte = value[position]
        position += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), position
    raise _damaged(value)


def _damaged(value: bytes) -> MalformedMetadataError:
    return MalformedMetadataError(
        f"A metadata table record of {len(value)} bytes begins with {value[:16].hex()}: its meta fields cannot be read."
    )
