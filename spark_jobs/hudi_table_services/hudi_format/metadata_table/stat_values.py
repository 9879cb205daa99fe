"""Smallest and greatest values of columns in Avro form (HoodieMetadataColumnStats, Hudi 1.2).

Avro stores such a value as null or as a record that wraps the value. In this module, the Avro form is None or a pair:
the full name of the record type, and the fields of the record.
"""

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.hudi_format.metadata_table.record_schema import NAMESPACE
from hudi_table_services.model.metadata_table import StatKind, StatValue

AvroValue = tuple[str, Mapping[str, Any]]

_FIELD, _ARRAY_FIELD = "value", "wrappedValues"
_TYPES: Mapping[StatKind, type] = {
    StatKind.BOOLEAN: bool,
    StatKind.FLOAT: float,
    StatKind.DOUBLE: float,
    StatKind.BYTES: bytes,
    StatKind.STRING: str,
    StatKind.DECIMAL: bytes,
}
_DECIMAL_WRAPPER_SCALE = 15


def to_avro(value: StatValue | None) -> AvroValue | None:
    """Return the Avro form of a value."""
    if value is None:
        return None
    name = f"{NAMESPACE}.{value.kind.value}"
    if isinstance(value.value, tuple):
        return name, {_ARRAY_FIELD: [to_avro(item) for item in value.value]}
    return name, {_FIELD: value.value}


def from_avro(value: object, what: str) -> StatValue | None:
    """Return the value that an Avro form contains.

    Raises:
        MalformedMetadataError: the Avro form is not a record that wraps a value, or the value has a wrong type.
    """
    if value is None:
        return None
    if not isinstance(value, tuple) or len(value) != 2 or not isinstance(value[1], Mapping):
        raise MalformedMetadataError(f"{what}: a wrapped value is expected, not a {type(value).__name__}.")
    kind, fields = _kind(str(value[0]), what), value[1]
    if kind is StatKind.ARRAY:
        items = fields.get(_ARRAY_FIELD) or ()
        if not isinstance(items, list | tuple):
            raise MalformedMetadataError(f"{what}: the array of a wrapped value is a {type(items).__name__}.")
        return StatValue(kind, tuple(from_avro(item, what) for item in items))
    return StatValue(kind, _plain(fields.get(_FIELD), kind, what))


def decimal_bytes(value: Decimal, scale: int) -> bytes:
    """Return the unscaled value of a decimal in the shortest two's complement, big-endian.

    Raises:
        ValueError: the decimal has more digits after the point than the scale.
    """
    exact: Fraction = Fraction(value) * 10**scale
    if exact.denominator != 1:
        raise ValueError(f"{value} has more than {scale} digits after the point.")
    number: int = exact.numerator
    bits = (number if number >= 0 else ~number).bit_length() + 1
    return number.to_bytes(-(-bits // 8), "big", signed=True)


def decimal_of_bytes(unscaled: bytes, scale: int) -> Decimal:
    """Return the decimal of an unscaled value; the inverse of `decimal_bytes`."""
    number = int.from_bytes(unscaled, "big", signed=True)
    digits = tuple(int(digit) for digit in str(abs(number)))
    return Decimal((int(number < 0), digits, -scale))


def decimal_wrapper(value: Decimal) -> StatValue:
    """Return a decimal in the form of index version V1, which has 15 digits after the point for every column."""
    return StatValue(StatKind.DECIMAL, decimal_bytes(value, _DECIMAL_WRAPPER_SCALE))


def _plain(stored: Any, kind: StatKind, what: str) -> Any:
    expected = _TYPES.get(kind, int)
    # In Python a boolean is also an int. In Hudi's records a boolean is not an integer.
    if not isinstance(stored, expected) or (expected is int and isinstance(stored, bool)):
        raise MalformedMetadataError(f"{what}: a {kind.value} contains a {type(stored).__name__}.")
    return stored


def _kind(name: str, what: str) -> StatKind:
    try:
        return StatKind(name.rpartition(".")[2])
    except ValueError:
        raise MalformedMetadataError(f"{what}: unknown kind of value {name!r}.") from None
