"""Filters of users become checked conditions, or errors that name the filter and the type."""

from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pytest

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.reading.predicate import Comparison, Predicate
from hudi_table_services.model.schema import (
    ArrayType,
    DecimalType,
    Field,
    PrimitiveType,
    StructType,
)
from hudi_table_services.planning.reading.column_predicates import column_predicates, parse_predicates

SCHEMA = StructType(
    (
        *(Field(name, PrimitiveType(name)) for name in ("boolean", "int", "long", "float", "double")),
        *(
            Field(name, PrimitiveType(name))
            for name in ("string", "bytes", "date", "timestamp", "timestamp_ntz")
        ),
        Field("decimal", DecimalType(6, 2)),
        Field("list", ArrayType(PrimitiveType("int"))),
    )
)


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (("a", "=", 1), Predicate("a", Comparison.EQUAL, (1,))),
        (["a", "==", 1], Predicate("a", Comparison.EQUAL, (1,))),
        (("a", "IN", ["x", "y"]), Predicate("a", Comparison.IN, ("x", "y"))),
        (("a", "not  in", {"x"}), Predicate("a", Comparison.NOT_IN, ("x",))),
        (("a", "is null"), Predicate("a", Comparison.IS_NULL)),
        (("a", "is not null", None), Predicate("a", Comparison.IS_NOT_NULL)),
    ],
    ids=str,
)
def test_filters_are_triples(item: object, expected: Predicate) -> None:
    assert parse_predicates([item]) == (expected,)


@pytest.mark.parametrize(
    "item",
    [
        "a = 1",
        ("a", "=", 1, 2),
        ("a", "=~", 1),
        ("a", "="),
        ("a", "in", "abc"),
        (1, "=", 1),
        ("a", "is null", 1),
    ],
)
def test_other_filters_are_refused(item: object) -> None:
    with pytest.raises(InvalidRequestError, match="is not a filter"):
        parse_predicates([item])


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        ("boolean", True, True),
        ("int", 3, 3),
        ("long", 1 << 40, 1 << 40),
        ("float", 1, 1.0),
        ("double", 0.5, 0.5),
        ("string", "x", "x"),
        ("bytes", b"x", b"x"),
        ("date", date(1970, 1, 3), 2),
        ("timestamp", datetime(1970, 1, 1, 0, 0, 1, tzinfo=timezone.utc), 1_000_000),
        ("timestamp_ntz", datetime(1970, 1, 1, 0, 0, 1), 1_000_000),
        ("decimal", Decimal("1.5"), Decimal("1.5")),
        ("decimal", 2, Decimal(2)),
        ("_hoodie_record_key", "k", "k"),
    ],
)
def test_values_are_converted_to_the_form_of_statistics(column: str, value: Any, expected: Any) -> None:
    (found,) = column_predicates(parse_predicates([(column, "=", value)]), SCHEMA)
    assert found.values == (expected,)
    assert type(found.values[0]) is type(expected)


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("boolean", 1, "True or False"),
        ("int", True, "an int"),
        ("int", 1.0, "an int"),
        ("long", 1 << 63, "64 bits"),
        ("double", "1", "a float"),
        ("string", 1, "a str"),
        ("bytes", "x", "bytes"),
        ("date", datetime(2026, 1, 1), "datetime.date"),
        ("timestamp", datetime(2026, 1, 1), "with a time zone"),
        ("timestamp_ntz", datetime(2026, 1, 1, tzinfo=timezone.utc), "without a time zone"),
        ("decimal", 0.5, "decimal.Decimal"),
        ("decimal", Decimal("nan"), "decimal.Decimal"),
        ("string", None, "a str"),
    ],
)
def test_values_of_other_types_are_refused(column: str, value: Any, words: str) -> None:
    with pytest.raises(InvalidRequestError, match=column) as caught:
        column_predicates(parse_predicates([(column, "=", value)]), SCHEMA)
    assert words in caught.value.hint


def test_unknown_and_nested_columns_are_refused() -> None:
    with pytest.raises(InvalidRequestError, match="no column 'nope'"):
        column_predicates(parse_predicates([("nope", "=", 1)]), SCHEMA)
    with pytest.raises(InvalidRequestError, match="array<int>"):
        column_predicates(parse_predicates([("list", "=", 1)]), SCHEMA)
    (found,) = column_predicates(parse_predicates([("list", "is not null")]), SCHEMA)
    assert found.type_name == "nested"
