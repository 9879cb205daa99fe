"""Ranges of columns exclude conditions only if no value can fulfil them."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.model.reading.predicate import ColumnPredicate, Comparison, Predicate
from hudi_table_services.model.reading.range_checks import excludes, only_nulls, only_value, range_in_type
from support.reading.spark_semantics import TYPE_NAMES, columns_of, conditions, holds, range_of


def condition(comparison: Comparison, *values: Any, type_name: str = "long") -> ColumnPredicate:
    return ColumnPredicate(Predicate("c", comparison, values), type_name, values)


@pytest.mark.parametrize("type_name", TYPE_NAMES)
@given(data=st.data())
def test_no_value_of_an_excluded_range_fulfils_the_condition(type_name: str, data: st.DataObject) -> None:
    values = data.draw(columns_of(type_name))
    predicate = data.draw(conditions(type_name))
    found = range_of(values, knows_nan=data.draw(st.booleans()))
    if excludes(predicate, found):
        assert not any(holds(predicate, value) for value in values)


@pytest.mark.parametrize(
    ("predicate", "values"),
    [
        (condition(Comparison.EQUAL, 5), [1, 4]),
        (condition(Comparison.IN, 0, 5), [1, 4]),
        (condition(Comparison.IN), [1]),
        (condition(Comparison.NOT_EQUAL, 1), [1, 1, None]),
        (condition(Comparison.NOT_IN, 0, 1), [1, 1]),
        (condition(Comparison.LESS, 1), [1, 4]),
        (condition(Comparison.LESS_OR_EQUAL, 0), [1, 4]),
        (condition(Comparison.GREATER, 4), [1, 4]),
        (condition(Comparison.GREATER_OR_EQUAL, 5), [1, 4]),
        (condition(Comparison.IS_NULL), [1, 4]),
        (condition(Comparison.IS_NOT_NULL), [None, None]),
        (condition(Comparison.EQUAL, 1), [None]),
        (condition(Comparison.EQUAL, 2.0, type_name="double"), [0.0, 1.0, float("nan")]),
        (condition(Comparison.GREATER, float("nan"), type_name="double"), [1.0, float("nan")]),
    ],
    ids=str,
)
def test_a_range_excludes_a_condition_that_none_of_its_values_fulfils(
    predicate: ColumnPredicate, values: list[Any]
) -> None:
    assert excludes(predicate, range_of(values))


def test_bounds_without_a_count_of_nan_do_not_exclude_greater_numbers() -> None:
    greater = condition(Comparison.GREATER, 2.0, type_name="double")
    assert not excludes(greater, range_of([0.0, 1.0]))
    assert excludes(greater, range_of([0.0, 1.0], knows_nan=True))


def test_an_unknown_count_of_nulls_excludes_no_condition_about_nulls() -> None:
    from dataclasses import replace

    unknown = replace(range_of([1, 4]), null_count=None)
    assert not excludes(condition(Comparison.IS_NULL), unknown)
    assert not excludes(condition(Comparison.IS_NOT_NULL), unknown)
    assert excludes(condition(Comparison.EQUAL, 5), unknown)


def test_a_column_that_a_file_lacks_has_only_nulls() -> None:
    assert excludes(condition(Comparison.EQUAL, 5), only_nulls("c", 3))
    assert not excludes(condition(Comparison.IS_NULL), only_nulls("c", 3))


def test_bounds_of_another_type_prove_nothing_unless_the_order_is_the_same() -> None:
    numbers = range_of([1, 9])
    assert range_in_type("string", numbers) is None  # the column was widened from int to string: "10" < "9"
    assert not excludes(condition(Comparison.EQUAL, "95", type_name="string"), numbers)
    assert excludes(condition(Comparison.EQUAL, 10.0, type_name="double"), numbers)
    assert not excludes(condition(Comparison.EQUAL, True, type_name="boolean"), numbers)
    assert not excludes(condition(Comparison.EQUAL, Decimal(20), type_name="decimal"), numbers)


def test_a_whole_number_is_compared_as_the_float_that_readers_get() -> None:
    widened = only_value("c", 16_777_217)
    assert not excludes(condition(Comparison.EQUAL, 16_777_216.0, type_name="float"), widened)
    assert excludes(condition(Comparison.EQUAL, 16_777_218.0, type_name="float"), widened)
