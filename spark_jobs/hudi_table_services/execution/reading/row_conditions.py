"""Select the rows of Arrow tables that fulfil the conditions of a read, as Spark evaluates the conditions.

A comparison with null is never true. NaN is equal to NaN and greater than all numbers.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hudi_table_services.model.reading.predicate import ColumnPredicate, Comparison

_DECIMAL_DIGITS = 76


def fulfilling(table: pa.Table, predicates: Iterable[ColumnPredicate]) -> pa.Table:
    """Return the rows that fulfil all conditions. The table must have the columns of the conditions."""
    mask = mask_of(table, predicates)
    return table if mask is None else table.filter(mask)


def mask_of(table: pa.Table, predicates: Iterable[ColumnPredicate]) -> pa.ChunkedArray | None:
    """Return whether each row fulfils all conditions, without nulls; None if there are no conditions."""
    masks = [_mask(table[each.column], each) for each in predicates]
    return reduce(pc.and_, masks) if masks else None


def _mask(column: pa.ChunkedArray, predicate: ColumnPredicate) -> pa.ChunkedArray:
    comparison = predicate.comparison
    if comparison is Comparison.IS_NULL:
        return pc.is_null(column)
    if comparison is Comparison.IS_NOT_NULL:
        return pc.is_valid(column)
    if comparison in (Comparison.NOT_EQUAL, Comparison.NOT_IN):
        return pc.and_(pc.is_valid(column), pc.invert(_equals_any(column, predicate)))
    if comparison in (Comparison.EQUAL, Comparison.IN):
        return _equals_any(column, predicate)
    compare = _FLOATING if predicate.is_floating else _ORDERED
    compared, values = _comparable(column, predicate)
    return pc.fill_null(compare[comparison](compared, values[0]), False)


def _equals_any(column: pa.ChunkedArray, predicate: ColumnPredicate) -> pa.ChunkedArray:
    if not predicate.values:
        return pa.chunked_array([pa.repeat(pa.scalar(False), len(column))])
    compared, values = _comparable(column, predicate)
    if len(values) > 1 and not predicate.is_floating:
        # Rows with null are not in the set, because the set contains no null.
        return pc.is_in(compared, value_set=pa.array([value.as_py() for value in values], compared.type))
    masks = [pc.fill_null(_equals(compared, value), False) for value in values]
    return reduce(pc.or_, masks)


def _equals(column: pa.ChunkedArray, value: pa.Scalar) -> pa.ChunkedArray:
    return pc.is_nan(column) if _is_nan(value) else pc.equal(column, value)


def _comparable(
    column: pa.ChunkedArray, predicate: ColumnPredicate
) -> tuple[pa.ChunkedArray, Sequence[pa.Scalar]]:
    """Return the column and the values in a common type that represents all of them exactly."""
    values = predicate.values
    match predicate.type_name:
        case "decimal":
            wide = pa.decimal256(_DECIMAL_DIGITS, max(column.type.scale, *map(_scale, values)))
            return column.cast(wide), [pa.scalar(value, wide) for value in values]
        case "date":
            return column.cast(pa.int32()).cast(pa.int64()), [
                pa.scalar(value, pa.int64()) for value in values
            ]
        case "timestamp" | "timestamp_ntz" | "int" | "long":
            return column.cast(pa.int64()), [pa.scalar(value, pa.int64()) for value in values]
        case "float" | "double":
            return column.cast(pa.float64()), [pa.scalar(value, pa.float64()) for value in values]
        case "string":
            return column, [pa.scalar(value, pa.string()) for value in values]
        case "bytes":
            return column, [pa.scalar(value, pa.binary()) for value in values]
        case _:
            return column, [pa.scalar(value) for value in values]


def _scale(value: object) -> int:
    return max(0, -int(value.as_tuple().exponent)) if isinstance(value, Decimal) else 0


def _is_nan(value: pa.Scalar) -> bool:
    number = value.as_py()
    return isinstance(number, float) and math.isnan(number)


def _not_nan(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.invert(pc.is_nan(column))


def _less(column: pa.ChunkedArray, value: pa.Scalar) -> pa.ChunkedArray:
    return _not_nan(column) if _is_nan(value) else pc.less(column, value)


def _less_or_equal(column: pa.ChunkedArray, value: pa.Scalar) -> pa.ChunkedArray:
    return pc.is_valid(column) if _is_nan(value) else pc.less_equal(column, value)


def _greater(column: pa.ChunkedArray, value: pa.Scalar) -> pa.ChunkedArray:
    # Every comparison with NaN is False in Arrow, as is "greater than NaN" in Spark.
    return (
        pc.greater(column, value) if _is_nan(value) else pc.or_(pc.greater(column, value), pc.is_nan(column))
    )


def _greater_or_equal(column: pa.ChunkedArray, value: pa.Scalar) -> pa.ChunkedArray:
    return pc.or_(pc.greater_equal(column, value), pc.is_nan(column))


_Compare = Callable[[pa.ChunkedArray, Any], pa.ChunkedArray]
_FLOATING: Mapping[Comparison, _Compare] = {
    Comparison.LESS: _less,
    Comparison.LESS_OR_EQUAL: _less_or_equal,
    Comparison.GREATER: _greater,
    Comparison.GREATER_OR_EQUAL: _greater_or_equal,
}
_ORDERED: Mapping[Comparison, _Compare] = {
    Comparison.LESS: pc.less,
    Comparison.LESS_OR_EQUAL: pc.less_equal,
    Comparison.GREATER: pc.greater,
    Comparison.GREATER_OR_EQUAL: pc.greater_equal,
}
