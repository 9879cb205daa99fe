"""Comparisons of ordering values: nulls, special numbers, several fields."""

import datetime
import decimal
import math
from typing import Any

import pyarrow as pa
import pytest

from hudi_table_services.execution.ordering_columns import is_smaller, ranks

INF = float("inf")
FIELDS = [("o0", pa.int64()), ("o1", pa.float64())]
# Values of one type, from the smallest to the largest.
SORTED: dict[str, tuple[pa.DataType, list[Any]]] = {
    "int": (pa.int32(), [None, -(2**31), -1, 0, 2**31 - 1]),
    "long": (pa.int64(), [None, -(2**63), -1, 0, 2**63 - 1]),
    "double": (pa.float64(), [None, -INF, -2.0, -5e-324, -0.0, 0.0, 5e-324, 1.5, INF, math.nan]),
    "float": (pa.float32(), [None, -INF, -2.0, -0.0, 0.0, 1.5, INF, math.nan]),
    "string": (pa.string(), [None, "", "A", "a", "a ", "b", "é"]),
    "date": (pa.date32(), [None, datetime.date(1969, 1, 1), datetime.date(2024, 1, 1)]),
    "timestamp": (
        pa.timestamp("us"),
        [None, datetime.datetime(1969, 1, 1), datetime.datetime(2024, 1, 1, 0, 0, 0, 1)],
    ),
    "decimal": (
        pa.decimal128(20, 2),
        [None, decimal.Decimal("-10.00"), decimal.Decimal("9.99"), decimal.Decimal("10")],
    ),
    "boolean": (pa.bool_(), [None, False, True]),
}


def chunked(values: list[Any], kind: pa.DataType) -> pa.ChunkedArray:
    """Return the values in two chunks, like a column of several batches."""
    return pa.chunked_array([pa.array(values[:1], kind), pa.array(values[1:], kind)])


@pytest.mark.parametrize("name", SORTED)
def test_values_are_ordered_as_in_java(name: str) -> None:
    kind, values = SORTED[name]
    pairs = [(left, right) for left in range(len(values)) for right in range(len(values))]
    left = pa.table({"o": chunked([values[n] for n, _ in pairs], kind)})
    right = pa.table({"o": chunked([values[n] for _, n in pairs], kind)})
    assert is_smaller(left, right).tolist() == [a < b for a, b in pairs]
    backwards = pa.table({"o": chunked([*reversed(values), *values], kind)})
    numbers = list(range(1, len(values) + 1))
    assert ranks(backwards).tolist() == [*reversed(numbers), *numbers]


def test_every_nan_is_equal() -> None:
    negative = math.copysign(math.nan, -1)
    column = pa.table({"o": chunked([math.nan, negative, INF], pa.float64())})
    assert ranks(column).tolist() == [2, 2, 1]


def test_several_fields_are_compared_as_a_tuple() -> None:
    tuples = [(None, 9.0), (5, None), (5, 1.0), (5, 2.0), (6, -1.0)]
    pairs = [(left, right) for left in range(5) for right in range(5)]

    def table(rows: list[int]) -> pa.Table:
        return pa.table(
            {name: chunked([tuples[n][k] for n in rows], kind) for k, (name, kind) in enumerate(FIELDS)}
        )

    assert is_smaller(table([a for a, _ in pairs]), table([b for _, b in pairs])).tolist() == [
        a < b for a, b in pairs
    ]
    assert ranks(table([4, 0, 3, 1, 2, 3])).tolist() == [5, 1, 4, 2, 3, 4]


def test_a_table_without_rows_has_no_ranks() -> None:
    assert ranks(pa.table({"o": pa.array([], pa.int64())})).tolist() == []
