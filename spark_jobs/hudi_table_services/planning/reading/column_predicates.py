"""Check conditions of a read against the schema of the table, and convert their values for comparisons with ranges."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

from hudi_table_services.contract.text import similar_column
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.metadata_table import RangeValue
from hudi_table_services.model.reading.predicate import ColumnPredicate, Comparison, Literal, Predicate
from hudi_table_services.model.schema import (
    DataType,
    DecimalType,
    PrimitiveType,
    StructType,
    with_meta_columns,
)

NESTED, DECIMAL = "nested", "decimal"
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a wall clock without zone
_EPOCH_UTC = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)
_LIMIT = 1 << 63
_MOST_DIGITS = 38


def column_predicates(predicates: Iterable[Predicate], schema: StructType) -> tuple[ColumnPredicate, ...]:
    """Check each condition against the type of its column.

    Args:
        schema: columns of the table, with or without meta columns.

    Raises:
        InvalidRequestError: the table has no such column, or a value does not have the type of the column. The message
            names the condition and the type.
    """
    columns = with_meta_columns(schema)
    return tuple(_checked(predicate, columns) for predicate in predicates)


def parse_predicates(items: Iterable[object]) -> tuple[Predicate, ...]:
    """Convert the conditions that a user passes: triples ``(column, comparison, value)``, joined by AND.

    ``==`` means ``=``. The comparisons ``is null`` and ``is not null`` need no value. ``in`` and ``not in`` need a
    list, a tuple or a set.

    Raises:
        InvalidRequestError: an item is not such a triple.
    """
    return tuple(_parsed(item) for item in items)


def _parsed(item: object) -> Predicate:
    if isinstance(item, Predicate):
        return item
    if not isinstance(item, tuple | list) or len(item) not in (2, 3) or not isinstance(item[0], str):
        raise _malformed(item)
    column, name, *rest = item
    comparison = _comparison(str(name), item)
    if comparison.value_count == 0:
        if rest and rest[0] is not None:
            raise _malformed(item)
        return Predicate(column, comparison)
    if not rest:
        raise _malformed(item)
    if comparison.value_count == 1:
        return Predicate(column, comparison, (rest[0],))
    if not isinstance(rest[0], list | tuple | set | frozenset):
        raise _malformed(item)
    return Predicate(column, comparison, tuple(rest[0]))


def _comparison(name: str, item: object) -> Comparison:
    text = " ".join(name.lower().split())
    with suppress(ValueError):
        return Comparison("=" if text == "==" else text)
    raise _malformed(item)


def _malformed(item: object) -> InvalidRequestError:
    return InvalidRequestError(
        f"{item!r:.200} is not a filter.",
        hint="A filter is a triple such as ('price', '>', 10) or ('id', 'in', ['a', 'b']). The comparisons are: "
        f"{', '.join(each.value for each in Comparison)}.",
    )


def _checked(predicate: Predicate, columns: StructType) -> ColumnPredicate:
    found = columns.find(predicate.column)
    if found is None:
        advice = similar_column(predicate.column, columns.names)
        raise InvalidRequestError(
            f"The table has no column {predicate.column!r}, which the filter {predicate} names.",
            hint=f"{advice} To compare a member of a struct, filter the DataFrame.",
        )
    type_name = type_name_of(found.type)
    if type_name == NESTED and predicate.values:
        raise InvalidRequestError(
            f"The filter {predicate} compares a column of type {found.type}.",
            hint="Filter the DataFrame instead, or use 'is null' or 'is not null'.",
        )
    values = tuple(_converted(predicate, value, found.type) for value in predicate.values)
    return ColumnPredicate(predicate, type_name, values)


def type_name_of(data_type: DataType) -> str:
    """Return the name of a primitive type, `DECIMAL`, or `NESTED`."""
    match data_type:
        case PrimitiveType():
            return data_type.name
        case DecimalType():
            return DECIMAL
        case _:
            return NESTED


def _converted(predicate: Predicate, value: Literal, data_type: DataType) -> RangeValue:
    convert = _CONVERSIONS[type_name_of(data_type)]
    converted = convert(value)
    if converted is None:
        raise InvalidRequestError(
            f"The filter {predicate} compares a column of type {data_type} with {value!r:.100}, a "
            f"{type(value).__name__}.",
            hint=f"Pass {_WANTED[type_name_of(data_type)]}.",
        )
    return converted


def _bool(value: Literal) -> RangeValue | None:
    return value if isinstance(value, bool) else None


def _whole(value: Literal) -> RangeValue | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if -_LIMIT <= value < _LIMIT else None


def _double(value: Literal) -> RangeValue | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    with suppress(OverflowError):
        return float(value)
    return None


def _text(value: Literal) -> RangeValue | None:
    return value if isinstance(value, str) else None


def _bytes(value: Literal) -> RangeValue | None:
    return bytes(value) if isinstance(value, bytes | bytearray) else None


def _decimal(value: Literal) -> RangeValue | None:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    number = Decimal(value)
    fits = number.is_finite() and len(number.as_tuple().digits) <= _MOST_DIGITS
    return number if fits and abs(int(number.as_tuple().exponent)) <= _MOST_DIGITS else None


def _days(value: Literal) -> RangeValue | None:
    if not isinstance(value, date) or isinstance(value, datetime):
        return None
    return value.toordinal() - _EPOCH_DAY


def _microseconds(value: Literal) -> RangeValue | None:
    if not isinstance(value, datetime) or value.tzinfo is None:
        return None
    return (value - _EPOCH_UTC) // _MICROSECOND


def _wall_clock(value: Literal) -> RangeValue | None:
    if not isinstance(value, datetime) or value.tzinfo is not None:
        return None
    return (value - _EPOCH) // _MICROSECOND


_CONVERSIONS: Mapping[str, Callable[[Literal], RangeValue | None]] = {
    "boolean": _bool,
    "int": _whole,
    "long": _whole,
    "float": _double,
    "double": _double,
    "string": _text,
    "bytes": _bytes,
    "date": _days,
    "timestamp": _microseconds,
    "timestamp_ntz": _wall_clock,
    DECIMAL: _decimal,
}
_WANTED: Mapping[str, str] = {
    "boolean": "True or False",
    "int": "an int of at most 64 bits",
    "long": "an int of at most 64 bits",
    "float": "an int or a float",
    "double": "an int or a float",
    "string": "a str",
    "bytes": "bytes",
    "date": "a datetime.date",
    "timestamp": "a datetime.datetime with a time zone",
    "timestamp_ntz": "a datetime.datetime without a time zone",
    DECIMAL: "a decimal.Decimal or an int of at most 38 digits",
}
