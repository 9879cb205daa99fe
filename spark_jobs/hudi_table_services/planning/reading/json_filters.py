"""Parse filters in JSON: the options of a Spark data source are strings, so they contain filters in this form."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal, InvalidOperation

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.reading.predicate import Literal, Predicate
from hudi_table_services.model.schema import StructType, with_meta_columns
from hudi_table_services.planning.reading.column_predicates import DECIMAL, parse_predicates, type_name_of

_FROM_TEXT: Mapping[str, Callable[[str], Literal]] = {
    "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
    "timestamp_ntz": datetime.fromisoformat,
    DECIMAL: Decimal,
}
"""Maps each type whose values are strings in JSON (ISO 8601, or decimal numbers) to the function that parses them."""


def parse_filters(text: str, schema: StructType) -> tuple[Predicate, ...]:
    """Convert a JSON list of triples to conditions, for example ``[["price", ">", 10], ["name", "is null"]]``.

    Dates, timestamps and decimals are strings: ``"2026-01-02"``, ``"2026-01-02T03:04:05+00:00"``, ``"1.50"``.

    Args:
        text: the JSON list; an empty string means no conditions.
        schema: columns of the table.

    Raises:
        InvalidRequestError: the string is not such a list. Names and types are checked later, by `column_predicates`.
    """
    if not text.strip():
        return ()
    found = None
    with suppress(ValueError):
        found = json.loads(text)
    if not isinstance(found, list):
        raise InvalidRequestError(
            f"{text!r:.200} is not a list of filters in JSON.",
            hint='Write a list of triples such as [["price", ">", 10], ["day", "=", "2026-01-02"]].',
        )
    columns = with_meta_columns(schema)
    return tuple(_typed(each, columns) for each in parse_predicates(found))


def _typed(predicate: Predicate, columns: StructType) -> Predicate:
    field = columns.find(predicate.column)
    convert = None if field is None else _FROM_TEXT.get(type_name_of(field.type))
    if convert is None:
        return predicate
    return replace(predicate, values=tuple(_converted(value, convert) for value in predicate.values))


def _converted(value: Literal, convert: Callable[[str], Literal]) -> Literal:
    if isinstance(value, str):
        with suppress(ValueError, InvalidOperation):
            return convert(value)
    return value
