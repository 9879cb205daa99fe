"""What Spark answers for conditions on values, and strategies for such conditions."""

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from hudi_table_services.model.metadata_table import FileColumnRange
from hudi_table_services.model.reading.predicate import ColumnPredicate, Comparison, Predicate

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "int": st.integers(-3, 3),
    "long": st.integers(-3, 3) | st.sampled_from([-(1 << 63), (1 << 63) - 1]),
    "double": st.sampled_from([-math.inf, -1.0, -0.0, 0.0, 0.5, 1.0, math.inf, math.nan]),
    "float": st.sampled_from([-math.inf, -1.0, 0.0, 0.5, 1.0, math.inf, math.nan]),
    "string": st.sampled_from(["", "a", "ab", "b", "é", "z", "\uffff", "\U0001f600"]),
    "bytes": st.sampled_from([b"", b"a", b"b", b"\xff"]),
    "decimal": st.sampled_from([Decimal("-1.50"), Decimal("0"), Decimal("0.25"), Decimal("1.50")]),
    "date": st.integers(-3, 3),
    "timestamp": st.integers(-3, 3),
    "timestamp_ntz": st.integers(-3, 3),
}
"""Values of each type, in the form of `FileColumnRange`. There are few values, so that many comparisons are true."""

ARROW_TYPES: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "double": pa.float64(),
    "float": pa.float32(),
    "string": pa.string(),
    "bytes": pa.binary(),
    "decimal": pa.decimal128(6, 2),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
TYPE_NAMES = sorted(VALUES)


@st.composite
def conditions(draw: st.DrawFn, type_name: str, column: str = "c") -> ColumnPredicate:
    """A condition on a column."""
    comparison = draw(st.sampled_from(Comparison))
    count = comparison.value_count
    least, most = (0, 3) if count is None else (count, count)
    values = tuple(draw(st.lists(VALUES[type_name], min_size=least, max_size=most)))
    return ColumnPredicate(Predicate(column, comparison, values), type_name, values)


def columns_of(type_name: str) -> st.SearchStrategy[list[Any]]:
    """Values and nulls of a column."""
    return st.lists(st.none() | VALUES[type_name], max_size=6)


def holds(predicate: ColumnPredicate, value: Any) -> bool:
    """Whether a value fulfils the condition: null fulfils no comparison, and NaN is the greatest number."""
    comparison = predicate.comparison
    if comparison is Comparison.IS_NULL:
        return value is None
    if value is None:
        return False
    if comparison is Comparison.IS_NOT_NULL:
        return True
    given, wanted = _order(value), [_order(each) for each in predicate.values]
    match comparison:
        case Comparison.EQUAL | Comparison.IN:
            return given in wanted
        case Comparison.NOT_EQUAL | Comparison.NOT_IN:
            return given not in wanted
        case Comparison.LESS:
            return given < wanted[0]
        case Comparison.LESS_OR_EQUAL:
            return given <= wanted[0]
        case Comparison.GREATER:
            return given > wanted[0]
        case _:
            return given >= wanted[0]


def _order(value: Any) -> tuple[bool, Any]:
    is_nan = isinstance(value, float) and math.isnan(value)
    return (is_nan, 0) if is_nan else (False, value)


def range_of(values: Sequence[Any], *, column: str = "c", knows_nan: bool = False) -> FileColumnRange:
    """The statistics of a column as a footer has them: NaN is not part of the bounds."""
    numbers = [value for value in values if value is not None and not _order(value)[0]]
    has_nan = any(value is not None and _order(value)[0] for value in values)
    return FileColumnRange(
        column=column,
        min_value=min(numbers, default=None),
        max_value=max(numbers, default=None),
        value_count=len(values),
        null_count=sum(value is None for value in values),
        total_size_bytes=0,
        total_uncompressed_bytes=0,
        has_nan=has_nan if knows_nan else None,
    )


def arrow_column(type_name: str, values: Sequence[Any]) -> pa.ChunkedArray:
    """The values as an Arrow column."""
    wanted = ARROW_TYPES[type_name]
    if type_name == "date":
        return pa.chunked_array([pa.array(values, pa.int32()).cast(wanted)])
    if type_name.startswith("timestamp"):
        return pa.chunked_array([pa.array(values, pa.int64()).cast(wanted)])
    return pa.chunked_array([pa.array(values, wanted)])
