"""Decide from the range of a column whether any row can fulfil a condition.

A read must not lose a row, so the functions exclude a range only if certainly no row fulfils the condition. As in
Spark, NaN is equal to NaN and greater than all numbers. The smallest and greatest value of a range ignore NaN.
Therefore, the greatest value of a floating-point column is an upper bound of its rows only if the column certainly has
no NaN.
"""

import math
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from typing import Any

from hudi_table_services.model.metadata_table import FileColumnRange, RangeValue
from hudi_table_services.model.reading.predicate import ColumnPredicate, Comparison

_FLOAT = struct.Struct("<f")


def excludes(predicate: ColumnPredicate, found: FileColumnRange) -> bool:
    """Return whether no row with a value in this range fulfils the condition.

    Args:
        found: statistics of the condition's column, in any type that the column had when the statistics were written.
    """
    comparison = predicate.comparison
    if comparison is Comparison.IS_NULL:
        return found.null_count == 0
    if found.null_count is not None and found.has_only_nulls:
        return True
    if comparison is Comparison.IS_NOT_NULL:
        return False
    in_type = range_in_type(predicate.type_name, found)
    return in_type is not None and _EXCLUDES[comparison](predicate, in_type)


def range_in_type(type_name: str, found: FileColumnRange) -> FileColumnRange | None:
    """Convert a range to the type that the column has today; None if the values may have another order in that type.

    The type of the column may have been widened since the file was written. Numbers keep their order in a wider number
    type, but not as strings.
    """
    convert = _CONVERSIONS.get(type_name)
    if convert is None:
        return None
    bounds = []
    for value in (found.min_value, found.max_value):
        converted = None if value is None else convert(value)
        if converted is None and value is not None:
            return None
        bounds.append(converted)
    return replace(found, min_value=bounds[0], max_value=bounds[1])


def only_nulls(column: str, row_count: int) -> FileColumnRange:
    """Return the range of a column that is missing in a file. Readers fill such a column with null."""
    return FileColumnRange(
        column=column,
        min_value=None,
        max_value=None,
        value_count=row_count,
        null_count=row_count,
        total_size_bytes=0,
        total_uncompressed_bytes=0,
    )


def only_value(column: str, value: RangeValue) -> FileColumnRange:
    """Return the range of a column that has this value in all rows."""
    return FileColumnRange(
        column=column,
        min_value=value,
        max_value=value,
        value_count=1,
        null_count=0,
        total_size_bytes=0,
        total_uncompressed_bytes=0,
    )


def _may_have_nan(predicate: ColumnPredicate, found: FileColumnRange) -> bool:
    return predicate.is_floating and found.has_nan is not False


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _is_below(found: FileColumnRange, value: Any) -> bool:
    """Whether the value is smaller than all values of the range."""
    return found.min_value is not None and value < found.min_value


def _is_above(found: FileColumnRange, value: Any) -> bool:
    """Whether the value is greater than all values of the range."""
    return found.max_value is not None and value > found.max_value


def _not_equal_to(found: FileColumnRange, value: Any) -> bool:
    return not _is_nan(value) and (_is_below(found, value) or _is_above(found, value))


def _has_only(found: FileColumnRange, value: Any) -> bool:
    return found.min_value is not None and found.min_value == value == found.max_value


def _equal(predicate: ColumnPredicate, found: FileColumnRange) -> bool:
    return all(_not_equal_to(found, value) for value in predicate.values)


def _different(predicate: ColumnPredicate, found: FileColumnRange) -> bool:
    if _may_have_nan(predicate, found):
        return False
    return any(_has_only(found, value) for value in predicate.values)


def _less(predicate: ColumnPredicate, found: FileColumnRange) -> bool:
    value: Any = predicate.values[0]
    return not _is_nan(value) and found.min_value is not None and value <= found.min_value


def _less_or_equal(predicate: ColumnPredicate, found: FileColumnRange) -> bool:
    value: Any = predicate.values[0]
    return not _is_nan(value) and _is_below(found, value)


def _greater(predicate: ColumnPredicate, found: FileColumnRange) -> bool:
    value: Any = predicate.values[0]
    if _is_nan(value):
        return True
    return not _may_have_nan(predicate, found) and found.max_value is not None and value >= found.max_value


def _greater_or_equal(predicate: ColumnPredicate, found: FileColumnRange) -> bool:
    value: Any = predicate.values[0]
    if _may_have_nan(predicate, found):
        return False
    return _is_nan(value) or _is_above(found, value)


_EXCLUDES: Mapping[Comparison, Callable[[ColumnPredicate, FileColumnRange], bool]] = {
    Comparison.EQUAL: _equal,
    Comparison.IN: _equal,
    Comparison.NOT_EQUAL: _different,
    Comparison.NOT_IN: _different,
    Comparison.LESS: _less,
    Comparison.LESS_OR_EQUAL: _less_or_equal,
    Comparison.GREATER: _greater,
    Comparison.GREATER_OR_EQUAL: _greater_or_equal,
}


def _as(*types: type) -> Callable[[RangeValue], RangeValue | None]:
    def convert(value: RangeValue) -> RangeValue | None:
        is_flag = isinstance(value, bool)
        return value if isinstance(value, types) and is_flag == (bool in types) else None

    return convert


def _as_float(value: RangeValue) -> RangeValue | None:
    number = _as_double(value)
    return None if number is None else _as_float32(float(number))


def _as_float32(value: float) -> float:
    """Return the float of 32 bits that is nearest to a value."""
    if not math.isfinite(value):
        return value
    with suppress(OverflowError):
        return float(_FLOAT.unpack(_FLOAT.pack(value))[0])
    return math.copysign(math.inf, value)


def _as_double(value: RangeValue) -> RangeValue | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    number = float(value)
    return None if math.isnan(number) else number


def _as_decimal(value: RangeValue) -> RangeValue | None:
    return value if isinstance(value, Decimal) else None


_CONVERSIONS: Mapping[str, Callable[[RangeValue], RangeValue | None]] = {
    "boolean": _as(bool),
    "int": _as(int),
    "long": _as(int),
    "date": _as(int),
    "timestamp": _as(int),
    "timestamp_ntz": _as(int),
    "float": _as_float,
    "double": _as_double,
    "decimal": _as_decimal,
    "string": _as(str),
    "bytes": _as(bytes),
}
