"""Read and write structures in Thrift's compact protocol, without their definitions.

Unknown fields keep their values, so a structure that is read and written again loses nothing, also if a newer writer
added fields. Format: Apache Thrift, "Thrift Compact protocol encoding".
"""

import struct
from dataclasses import dataclass
from typing import Any, TypeAlias

from hudi_table_services.errors import MalformedMetadataError

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
"""Codes of types. A Boolean field has no value: its type, `TRUE` or `FALSE`, is the value."""

_INTEGERS = (I16, I32, I64)
_LONG_FORM = 15
_MOST_DEPTH = 64
_DOUBLE = struct.Struct("<d")


@dataclass(slots=True)
class Field:
    """A field of a structure. The type of `value` depends on `type_code`.

    `value` is a bool for `TRUE` and `FALSE`, an int for integers and `BYTE`, a float, bytes for `BINARY`, a `List`, or
    a `Struct`.
    """

    type_code: int
    value: Any


@dataclass(slots=True)
class List:
    """A list or a set. The type code of Boolean elements is `TRUE`."""

    type_code: int
    values: list[Any]


Struct: TypeAlias = dict[int, Field]
"""Fields by their ids."""


def decode_struct(data: bytes) -> Struct:
    """Decode a structure that fills the bytes completely.

    Raises:
        MalformedMetadataError: the bytes are not exactly one structure, or contain a map.
    """
    reader = _Reader(data)
    try:
        found = reader.struct(0)
    except (IndexError, struct.error) as error:
        raise MalformedMetadataError(f"Thrift structure: the bytes end too early ({error}).") from None
    if reader.position != len(data):
        raise MalformedMetadataError(f"Thrift structure: {len(data) - reader.position} bytes follow its end.")
    return found


def encode_struct(value: Struct) -> bytes:
    """Encode a structure, with its fields in the order of their ids."""
    out = bytearray()
    _write_struct(out, value)
    return bytes(out)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self.position = 0

    def struct(self, depth: int) -> Struct:
        if depth > _MOST_DEPTH:
            raise MalformedMetadataError("Thrift structure: too many levels.")
        fields: Struct = {}
        field_id = 0
        while header := self._byte():
            type_code, delta = header & 0x0F, header >> 4
            field_id = field_id + delta if delta else self._zigzag()
            if type_code in (TRUE, FALSE):
                fields[field_id] = Field(type_code, type_code == TRUE)
            else:
                fields[field_id] = Field(type_code, self._value(type_code, depth))
        return fields

    def _value(self, type_code: int, depth: int) -> Any:
        if type_code in _INTEGERS:
            return self._zigzag()
        if type_code == BINARY:
            return self._bytes(self._varint())
        if type_code == STRUCT:
            return self.struct(depth + 1)
        if type_code in (LIST, SET):
            return self._list(depth)
        if type_code == BYTE:
            return self._byte()
        if type_code == DOUBLE:
            return _DOUBLE.unpack(self._bytes(_DOUBLE.size))[0]
        raise MalformedMetadataError(f"Thrift structure: unknown type {type_code}.")

    def _list(self, depth: int) -> List:
        header = self._byte()
        type_code, size = header & 0x0F, header >> 4
        if size == _LONG_FORM:
            size = self._varint()
        if size > len(self._data) - self.position:
            raise MalformedMetadataError(f"Thrift structure: a list of {size} elements exceeds the bytes.")
        if type_code in (TRUE, FALSE):
            return List(TRUE, [self._byte() == TRUE for _ in range(size)])
        return List(type_code, [self._value(type_code, depth) for _ in range(size)])

    def _byte(self) -> int:
        value = self._data[self.position]
        self.position += 1
        return value

    def _bytes(self, size: int) -> bytes:
        start, self.position = self.position, self.position + size
        if self.position > len(self._data):
            raise MalformedMetadataError("Thrift structure: the bytes end too early.")
        return self._data[start : self.position]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)


def _write_struct(out: bytearray, value: Struct) -> None:
    last = 0
    for field_id in sorted(value):
        field = value[field_id]
        delta = field_id - last
        if 0 < delta < 16:
            out.append(delta << 4 | field.type_code)
        else:
            out.append(field.type_code)
            _write_varint(out, _zigzag(field_id))
        last = field_id
        if field.type_code not in (TRUE, FALSE):
            _write_value(out, field.type_code, field.value)
    out.append(0)


def _write_value(out: bytearray, type_code: int, value: Any) -> None:
    if type_code in _INTEGERS:
        _write_varint(out, _zigzag(value))
    elif type_code == BINARY:
        _write_varint(out, len(value))
        out += value
    elif type_code == STRUCT:
        _write_struct(out, value)
    elif type_code in (LIST, SET):
        _write_list(out, value)
    elif type_code == BYTE:
        out.append(value)
    else:
        out += _DOUBLE.pack(value)


def _write_list(out: bytearray, value: List) -> None:
    size = len(value.values)
    if size < _LONG_FORM:
        out.append(size << 4 | value.type_code)
    else:
        out.append(_LONG_FORM << 4 | value.type_code)
        _write_varint(out, size)
    for each in value.values:
        if value.type_code == TRUE:
            out.append(TRUE if each else FALSE)
        else:
            _write_value(out, value.type_code, each)


def _zigzag(value: int) -> int:
    return value << 1 if value >= 0 else (-value << 1) - 1


def _write_varint(out: bytearray, value: int) -> None:
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
