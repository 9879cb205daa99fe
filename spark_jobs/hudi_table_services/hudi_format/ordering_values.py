"""Ordering values of delete records: an Avro record that wraps a value of one type (HoodieAvroWrapperUtils, Hudi 1.2).

Only records whose wrapper has the type of the ordering column can be compared with rows: Hudi 1.2 fails on every read
of a `LongWrapper` next to an ordering column of strings. The exception is `UNCONDITIONAL`, the integer 0: in every
release, a delete with this value deletes the row, whatever the row's ordering value is. A null has the same meaning,
but Hudi 0.15 cannot read a null.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any, TypeAlias

from hudi_table_services.errors import InvalidDataError, MalformedMetadataError, UnsupportedTableError
from hudi_table_services.model.schema import DataType, DecimalType
from hudi_table_services.model.table_version import TableVersion

NAMESPACE = "org.apache.hudi.avro.model"
DECIMAL_SCALE = 15
DECIMAL_PRECISION = 30
_MOST_DECIMAL_BYTES = 16

Scalar: TypeAlias = bool | int | float | bytes | str | Decimal
"""A value that is not an array. A date is days since 1970, a time is microseconds since midnight, and a timestamp is
microseconds since 1970."""


class Wrapper(Enum):
    """Name of the Avro record around an ordering value. The members have the order of the branches after null."""

    BOOLEAN = "BooleanWrapper"
    INT = "IntWrapper"
    LONG = "LongWrapper"
    FLOAT = "FloatWrapper"
    DOUBLE = "DoubleWrapper"
    BYTES = "BytesWrapper"
    STRING = "StringWrapper"
    DATE = "DateWrapper"
    DECIMAL = "DecimalWrapper"
    TIME_MICROS = "TimeMicrosWrapper"
    TIMESTAMP_MICROS = "TimestampMicrosWrapper"
    ARRAY = "ArrayWrapper"
    LOCAL_DATE = "LocalDateWrapper"


SINGLE = tuple(wrapper for wrapper in Wrapper if wrapper not in (Wrapper.ARRAY, Wrapper.LOCAL_DATE))
"""Wrappers that all releases from 0.14 on know as branches of the ordering value of a delete record."""
IN_ARRAYS = (*SINGLE, Wrapper.LOCAL_DATE)
"""Wrappers of the values inside an `ArrayWrapper`, which Hudi 1.1 and later write for several ordering fields."""

_AVRO_TYPES: Mapping[Wrapper, str] = {
    Wrapper.BOOLEAN: "boolean",
    Wrapper.INT: "int",
    Wrapper.LONG: "long",
    Wrapper.FLOAT: "float",
    Wrapper.DOUBLE: "double",
    Wrapper.BYTES: "bytes",
    Wrapper.STRING: "string",
    Wrapper.DATE: "int",
    Wrapper.DECIMAL: "bytes",
    Wrapper.TIME_MICROS: "long",
    Wrapper.TIMESTAMP_MICROS: "long",
    Wrapper.LOCAL_DATE: "int",
}
_LONG = (-(2**63), 2**63 - 1)
_BOUNDS = {"int": (-(2**31), 2**31 - 1), "long": _LONG}
_PYTHON_TYPES: Mapping[str, type] = {
    "boolean": bool, "int": int, "long": int, "float": float, "double": float, "bytes": bytes, "string": str,
}  # fmt: skip
_BY_NAME = {f"{NAMESPACE}.{wrapper.value}": wrapper for wrapper in Wrapper}


@dataclass(frozen=True, slots=True)
class OrderingValue:
    """A wrapped ordering value.

    Attributes:
        value: for `Wrapper.ARRAY`, the wrapped values of all ordering fields, where None stands for null; otherwise a
            scalar.
    """

    wrapper: Wrapper
    value: "Scalar | tuple[OrderingValue | None, ...]"

    @property
    def is_unconditional(self) -> bool:
        """Whether a delete with this value always deletes, as Hudi's `delete` operation does."""
        return self == UNCONDITIONAL

    @property
    def type_name(self) -> str:
        """Return the names of all wrappers in the value. All values in one delete block must have equal names."""
        if isinstance(self.value, tuple):
            return f"{self.wrapper.value}({', '.join(v.type_name if v else 'null' for v in self.value)})"
        return self.wrapper.value


UNCONDITIONAL = OrderingValue(Wrapper.INT, 0)
"""Ordering value of a delete that ignores the ordering value of the row."""


def wrapper_of(column: str, data_type: DataType, version: TableVersion) -> Wrapper:
    """Return the wrapper that Hudi writes for the values of an ordering column.

    Timestamps are wrapped as numbers, without their logical type. For `bytes`, Hudi 1.2 writes deletes, but then fails
    on every read of the table. For dates, Hudi 1.2 fails to write deletes.

    Raises:
        UnsupportedTableError: Hudi cannot write or read deletes with an ordering value of this type.
    """
    wrapper = Wrapper.DECIMAL if isinstance(data_type, DecimalType) else _OF_COLUMN_TYPES.get(str(data_type))
    if wrapper is None or (wrapper is Wrapper.DATE and version >= TableVersion.V8):
        raise UnsupportedTableError(
            f"The ordering column {column!r} has the type {data_type}, whose values cannot be stored in deletes "
            f"of table version {version.value}.",
            hint="Use unconditional deletes, or an ordering column of another type.",
        )
    return wrapper


_OF_COLUMN_TYPES: Mapping[str, Wrapper] = {
    "boolean": Wrapper.BOOLEAN,
    "int": Wrapper.INT,
    "long": Wrapper.LONG,
    "float": Wrapper.FLOAT,
    "double": Wrapper.DOUBLE,
    "string": Wrapper.STRING,
    "date": Wrapper.DATE,
    "timestamp": Wrapper.LONG,
}


def union_schema() -> list[Any]:
    """Return the Avro type of ordering values in delete records (HoodieDeleteRecord, Hudi 1.2): a union of wrappers."""
    items = ["null", *(wrapper.value for wrapper in SINGLE), _wrapper_schema(Wrapper.LOCAL_DATE)]
    array = {
        "type": "record",
        "name": Wrapper.ARRAY.value,
        "fields": [{"name": "wrappedValues", "type": ["null", {"type": "array", "items": items}]}],
    }
    return ["null", *map(_wrapper_schema, SINGLE), array]


def _wrapper_schema(wrapper: Wrapper) -> dict[str, Any]:
    fields = [{"name": "value", "type": _AVRO_TYPES[wrapper]}]
    return {"type": "record", "name": wrapper.value, "fields": fields}


def to_avro(ordering: OrderingValue) -> tuple[str, dict[str, Any]]:
    """Return the name of the branch in the Avro union, and the branch's record.

    Raises:
        InvalidDataError: the value does not fit its wrapper, or is null.
    """
    name = f"{NAMESPACE}.{ordering.wrapper.value}"
    if ordering.wrapper is not Wrapper.ARRAY:
        return name, {"value": _checked(ordering)}
    if not isinstance(ordering.value, tuple):
        raise _unfit(ordering)
    members = []
    for member in ordering.value:
        if member is None or member.wrapper not in IN_ARRAYS:
            raise _unfit(ordering)
        members.append(to_avro(member))
    return name, {"wrappedValues": members}


def _checked(ordering: OrderingValue) -> Scalar:
    value, avro_type = ordering.value, _AVRO_TYPES[ordering.wrapper]
    if ordering.wrapper is Wrapper.DECIMAL:
        return _decimal_bytes(ordering)
    if isinstance(value, tuple) or type(value) is not _PYTHON_TYPES[avro_type]:
        raise _unfit(ordering)
    least, greatest = _BOUNDS.get(avro_type, _LONG)
    if isinstance(value, int) and not least <= value <= greatest:
        raise _unfit(ordering)
    return value


def _decimal_bytes(ordering: OrderingValue) -> bytes:
    """Return the unscaled value for the fixed scale, in the fewest bytes, as Java's BigInteger writes it."""
    value = ordering.value
    if not isinstance(value, Decimal) or not value.is_finite():
        raise _unfit(ordering)
    sign, digits, exponent = value.as_tuple()
    shift = int(exponent) + DECIMAL_SCALE
    if shift < 0 or len(digits) + shift > DECIMAL_PRECISION:
        raise _unfit(ordering)
    unscaled: int = int("".join(map(str, digits))) * 10**shift * (-1 if sign else 1)
    bits = (unscaled if unscaled >= 0 else ~unscaled).bit_length()
    return unscaled.to_bytes(bits // 8 + 1, "big", signed=True)


def _unfit(ordering: OrderingValue) -> InvalidDataError:
    return InvalidDataError(
        f"The ordering value {ordering.value!r:.80} of a delete cannot be stored in a {ordering.wrapper.value}.",
        hint="Correct the ordering column of this row, or delete the row unconditionally.",
    )


def from_avro(branch: Any) -> OrderingValue | None:
    """Return the value of a branch that the Avro library decoded; null becomes None.

    Raises:
        MalformedMetadataError: a decimal is too long.
    """
    if branch is None:
        return None
    name, record = branch
    wrapper = _BY_NAME[name]
    if wrapper is Wrapper.ARRAY:
        return OrderingValue(wrapper, tuple(from_avro(member) for member in record["wrappedValues"] or ()))
    value = record["value"]
    if wrapper is Wrapper.DECIMAL:
        return OrderingValue(wrapper, _decimal(value))
    return OrderingValue(wrapper, value)


def _decimal(data: bytes) -> Decimal:
    if not 1 <= len(data) <= _MOST_DECIMAL_BYTES:
        raise MalformedMetadataError(f"A decimal in a delete record has {len(data)} bytes.")
    unscaled = int.from_bytes(data, "big", signed=True)
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -DECIMAL_SCALE))
