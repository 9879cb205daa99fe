"""Protobuf messages in an HFile. Their fields are integers or byte strings.

A decoded message is a list of pairs: field number and value. The list contains unknown fields too. A field of any other
wire type is an error.
"""

from collections.abc import Iterable

from hudi_table_services.hudi_format.hfile.byte_reader import ByteReader, varint_bytes

_VARINT, _BYTES = 0, 2

Field = tuple[int, int | bytes]


def encode_message(fields: Iterable[Field]) -> bytes:
    """Encode a message, without its length. Integers must be 0 or greater."""
    return b"".join(_encode_field(number, value) for number, value in fields)


def decode_message(data: bytes, what: str) -> list[Field]:
    """Return the fields of a message, in their order.

    Raises:
        MalformedMetadataError: the bytes are not a message with fields of these types.
    """
    reader, fields = ByteReader(data, what), list[Field]()
    while reader.left:
        tag = reader.varint()
        if tag & 7 == _VARINT:
            fields.append((tag >> 3, reader.varint()))
        elif tag & 7 == _BYTES:
            fields.append((tag >> 3, reader.take(reader.varint())))
        else:
            raise reader.error(f"a field has the unknown wire type {tag & 7}")
    return fields


def encode_delimited(fields: Iterable[Field]) -> bytes:
    """Encode a message, preceded by its length."""
    message = encode_message(fields)
    return varint_bytes(len(message)) + message


def decode_delimited(reader: ByteReader, what: str) -> list[Field]:
    """Return the fields of a message that is preceded by its length."""
    return decode_message(reader.take(reader.varint()), what)


def _encode_field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, bytes):
        return varint_bytes(number << 3 | _BYTES) + varint_bytes(len(value)) + value
    return varint_bytes(number << 3 | _VARINT) + varint_bytes(value)
