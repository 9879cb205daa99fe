"""Arrow selects the same rows as Spark."""

from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.execution.reading.row_conditions import fulfilling, mask_of
from hudi_table_services.model.reading.predicate import ColumnPredicate, Comparison, Predicate
from support.reading.spark_semantics import TYPE_NAMES, arrow_column, columns_of, conditions, holds


@pytest.mark.parametrize("type_name", TYPE_NAMES)
@given(data=st.data())
def test_a_row_is_selected_if_its_value_fulfils_the_condition(type_name: str, data: st.DataObject) -> None:
    values = data.draw(columns_of(type_name))
    predicate = data.draw(conditions(type_name))
    rows = pa.table({"c": arrow_column(type_name, values)})
    found = mask_of(rows, [predicate])
    assert found is not None
    assert found.to_pylist() == [holds(predicate, value) for value in values]


def test_all_conditions_must_hold() -> None:
    rows = pa.table({"a": pa.array([1, 2, 3], pa.int64()), "b": pa.array(["x", "y", "y"])})
    first = ColumnPredicate(Predicate("a", Comparison.GREATER, (1,)), "long", (1,))
    second = ColumnPredicate(Predicate("b", Comparison.EQUAL, ("y",)), "string", ("y",))
    third = ColumnPredicate(Predicate("a", Comparison.LESS, (3,)), "long", (3,))
    assert fulfilling(rows, [first, second, third]).to_pylist() == [{"a": 2, "b": "y"}]
    assert fulfilling(rows, []) is rows


def test_decimals_of_different_scales_are_compared_exactly() -> None:
    column = pa.chunked_array([pa.array([Decimal("1.10"), Decimal("1.11")], pa.decimal128(38, 2))])
    value = Decimal("1.105")
    greater = ColumnPredicate(Predicate("c", Comparison.GREATER, (value,)), "decimal", (value,))
    assert fulfilling(pa.table({"c": column}), [greater])["c"].to_pylist() == [Decimal("1.11")]


def test_nested_columns_are_only_compared_with_null() -> None:
    rows = pa.table({"c": pa.array([{"x": 1}, None], pa.struct([("x", pa.int64())]))})
    is_null = ColumnPredicate(Predicate("c", Comparison.IS_NULL), "nested")
    assert fulfilling(rows, [is_null]).to_pylist() == [{"c": None}]
