"""Which record keys a read wants."""

from typing import Any

import pytest

from hudi_table_services.model.reading.predicate import ColumnPredicate, Comparison, Predicate
from hudi_table_services.planning.reading.record_keys import MOST_KEYS, wanted_keys


def condition(
    column: str, comparison: Comparison, *values: Any, type_name: str = "string"
) -> ColumnPredicate:
    return ColumnPredicate(Predicate(column, comparison, values), type_name, values)


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        (condition("_hoodie_record_key", Comparison.EQUAL, "a"), {"a"}),
        (condition("_hoodie_record_key", Comparison.IN, "a", "b"), {"a", "b"}),
        (condition("k", Comparison.EQUAL, "a"), {"a", "k:a"}),
        (condition("k", Comparison.EQUAL, 7, type_name="long"), {"7", "k:7"}),
        (condition("k", Comparison.EQUAL, ""), {"__empty__", "k:__empty__"}),
        (condition("k", Comparison.IN), set()),
        (condition("k", Comparison.GREATER, "a"), None),
        (condition("k", Comparison.NOT_EQUAL, "a"), None),
        (condition("k", Comparison.EQUAL, 0.5, type_name="double"), None),
        (condition("other", Comparison.EQUAL, "a"), None),
        (condition("k", Comparison.IN, *map(str, range(MOST_KEYS + 1))), None),
    ],
    ids=str,
)
def test_conditions_that_name_record_keys_give_the_wanted_keys(
    predicate: ColumnPredicate, expected: set[str] | None
) -> None:
    other = condition("v", Comparison.EQUAL, 1, type_name="long")
    assert wanted_keys([other, predicate], ["k"]) == expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (("a",), (1,), {"k:a,n:1"}),
        (("", "b"), (1, 2), {"k:__empty__,n:1", "k:__empty__,n:2", "k:b,n:1", "k:b,n:2"}),
        (("a",), (), set()),
        (tuple(map(str, range(101))), tuple(range(100)), None),
    ],
    ids=["one key", "two values of each column", "no value", "too many keys"],
)
def test_conditions_on_all_key_columns_give_the_keys_of_several_columns(
    first: tuple[str, ...], second: tuple[int, ...], expected: set[str] | None
) -> None:
    conditions = [
        condition("n", Comparison.IN, *second, type_name="long"),
        condition("k", Comparison.IN, *first),
    ]
    assert wanted_keys(conditions, ["k", "n"]) == expected


def test_a_condition_on_one_of_two_key_columns_does_not_limit_the_keys() -> None:
    assert wanted_keys([condition("k", Comparison.EQUAL, "a")], ["k", "n"]) is None


def test_if_the_text_of_keys_is_not_known_only_the_meta_column_counts() -> None:
    assert wanted_keys([condition("k", Comparison.EQUAL, "a")], []) is None
    assert wanted_keys([condition("_hoodie_record_key", Comparison.EQUAL, "a:1,b:2")], []) == {"a:1,b:2"}
