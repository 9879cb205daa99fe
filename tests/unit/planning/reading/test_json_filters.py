"""Filters as JSON are the filters that a user would pass as Python values."""

from datetime import date, datetime, timezone
from decimal import Decimal

import pytest

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.reading.predicate import Comparison, Predicate
from hudi_table_services.model.schema import DATE, LONG, STRING, TIMESTAMP, DecimalType, Field, StructType
from hudi_table_services.planning.reading.column_predicates import column_predicates
from hudi_table_services.planning.reading.json_filters import parse_filters

SCHEMA = StructType(
    (
        Field("name", STRING),
        Field("number", LONG),
        Field("day", DATE),
        Field("at", TIMESTAMP),
        Field("price", DecimalType(10, 2)),
    )
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("[]", ()),
        ('[["number", ">", 10]]', (Predicate("number", Comparison.GREATER, (10,)),)),
        ('[["name", "is null"]]', (Predicate("name", Comparison.IS_NULL),)),
        (
            '[["name", "in", ["2026-01-02", "b"]], ["day", "=", "2026-01-02"]]',
            (
                Predicate("name", Comparison.IN, ("2026-01-02", "b")),
                Predicate("day", Comparison.EQUAL, (date(2026, 1, 2),)),
            ),
        ),
        (
            '[["at", "<", "2026-01-02T03:04:05+00:00"]]',
            (Predicate("at", Comparison.LESS, (datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc),)),),
        ),
        ('[["price", "in", ["1.50", 2]]]', (Predicate("price", Comparison.IN, (Decimal("1.50"), 2)),)),
    ],
)
def test_filters_as_json_are_parsed(text: str, expected: tuple[Predicate, ...]) -> None:
    found = parse_filters(text, SCHEMA)
    assert found == expected
    column_predicates(found, SCHEMA)  # the values fit their columns


@pytest.mark.parametrize("text", ["number > 10", '{"number": 10}', "1"])
def test_other_strings_are_refused(text: str) -> None:
    with pytest.raises(InvalidRequestError, match="is not a list of filters in JSON"):
        parse_filters(text, SCHEMA)


def test_items_that_are_no_triples_are_refused() -> None:
    with pytest.raises(InvalidRequestError, match="is not a filter"):
        parse_filters('["number", ">", 10]', SCHEMA)


def test_a_string_that_is_no_date_is_refused_with_the_type_of_the_column() -> None:
    found = parse_filters('[["day", "=", "yesterday"]]', SCHEMA)
    with pytest.raises(InvalidRequestError, match="type date"):
        column_predicates(found, SCHEMA)
