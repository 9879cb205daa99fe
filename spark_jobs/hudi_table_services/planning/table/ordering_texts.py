"""Advise against ordering fields that contain numbers or times as text, which is compared character by character."""

import re
from collections.abc import Mapping, Sequence

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.schema import STRING, StructType
from hudi_table_services.planning.table.schema_evolution import TypeConflict
from hudi_table_services.planning.table.source_casts import can_be_cast, cast_query
from hudi_table_services.planning.table.time_texts import types_of_times

_WHOLE = re.compile(r"[+-]?\d+")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_BIGINT_DIGITS = 18
_NOUNS = {"DATE": "dates", "TIMESTAMP": "times"}
_COMPARED = "Text is compared character by character"
_LARGER = "'9' is larger than '10'"
_HOW_TO_STORE_NUMBERS = (
    "To store numbers, write all rows to a new table. If the source is a CSV file, also set --source-option "
    "inferSchema=true."
)
_DIGIT = re.compile(r"\d")
_PLAIN_NUMBER = re.compile(r"\+?(\d+\.?\d*|\.\d+)")
"""Matches numbers whose order is that of their texts, if the texts differ only in their digits."""
_OFFSET = re.compile(r":\d\d.*[+-](\d\d:?\d\d|\d\d)")
"""Matches from the minutes of a time to its offset from UTC."""


def warn_of_ordering_texts(
    ordering_fields: Sequence[str],
    texts: Mapping[str, Sequence[str | None]],
    names: Sequence[str],
    *,
    base_path: str,
    rows: str = "source",
) -> tuple[str, ...]:
    """Return a sentence about each ordering field of a new table that is text although its values are numbers or times.

    Use the function only for CSV files whose types Spark does not infer. The sentence is the same before the write and
    after it, so that a user sees it once. Values that are in the right order as texts give no sentence.

    Args:
        texts: the first values of columns that are text; nulls do not count.
        names: names of all columns of the rows.
        base_path: address of the table.
        rows: what the proposed query reads, as `rows_of` returns it.
    """
    sentences = []
    for name in ordering_fields:
        values = [text for text in texts.get(name, ()) if text is not None]
        type_name = _type_of(values)
        if not type_name or _are_in_order(values, type_name):
            continue
        noun = _NOUNS.get(type_name, "numbers")
        sentences.append(
            f"The ordering field {name!r} contains {noun}, such as {values[0]!r}, but the column of the new table is "
            "text, because Spark reads every column of a CSV file as text. "
            f"{_COMPARED}, so {_wrong(noun)}. To get {noun}, delete the folder of the table, {base_path}, if the "
            "table exists already, and load the rows with --source-option inferSchema=true, or with this source query "
            f"(--source-sql): {cast_query(names, {name: type_name}, rows=rows)}"
        )
    return tuple(sentences)


def _type_of(values: Sequence[str]) -> str:
    """Return the type in Spark SQL that all values have; empty if they are other texts, or if there are none."""
    if not values:
        return ""
    if all(map(_WHOLE.fullmatch, values)):
        is_large = any(len(value.lstrip("+-")) > _BIGINT_DIGITS for value in values)
        return "DECIMAL(38, 0)" if is_large else "BIGINT"
    if all(map(_NUMBER.fullmatch, values)):
        return "DOUBLE"
    return types_of_times(("text",), [(value,) for value in values]).get("text", "")


def _are_in_order(values: Sequence[str], type_name: str) -> bool:
    """Whether texts of one form, which differ only in their digits, have the order of the values that they mean."""
    if len({_DIGIT.sub("0", value) for value in values}) > 1:
        return False
    if type_name not in _NOUNS:
        return all(map(_PLAIN_NUMBER.fullmatch, values))
    offsets = {found[1] if (found := _OFFSET.search(value)) else "" for value in values}
    return len(offsets) == 1


def note_on_texts(ordering_fields: Sequence[str], columns: StructType) -> str:
    """Return a sentence on the order of texts, after a space; empty if no ordering field is text."""
    if not any((column := columns.find(name)) and column.type == STRING for name in ordering_fields):
        return ""
    return f" {_COMPARED}, so {_LARGER}."


def _wrong(noun: str) -> str:
    if noun == "numbers":
        return f"{_LARGER}, and an update with a larger number can lose"
    return f"an update with a later value can lose if the {noun} differ in their form or time zone"


def explain_text_ordering(
    refusal: InvalidRequestError, table: StructType | None, ordering_fields: Sequence[str]
) -> InvalidRequestError:
    """Return the refusal with a sentence, if it is about an ordering field that is text in the table.

    Args:
        table: columns of the table; None before the first write.

    Returns:
        A new error, or the refusal itself if it is not about such a column.
    """
    conflict = refusal.evidence
    if table is None or not isinstance(conflict, TypeConflict) or conflict.column not in ordering_fields:
        return refusal
    if table.field(conflict.column).type != STRING:
        return refusal
    return InvalidRequestError(
        refusal.message,
        hint=f"{refusal.hint} {conflict.column!r} is the ordering field. {_COMPARED}, so {_wrong('numbers')}. "
        f"{_HOW_TO_STORE_NUMBERS}",
        evidence=conflict,
    )


def warn_of_numbers_as_text(
    table: StructType | None, batch: StructType, ordering_fields: Sequence[str]
) -> tuple[str, ...]:
    """Return a sentence about each ordering field that is text in the table and a number in the rows.

    Args:
        table: columns of the table; None before the first write.
        batch: columns of the rows.
    """
    found = []
    for name in ordering_fields:
        stored, given = (each.find(name) if each is not None else None for each in (table, batch))
        if stored is None or given is None or stored.type != STRING or given.type == STRING:
            continue
        if can_be_cast(given.type, stored.type):
            found.append(
                f"The ordering field {name!r} is text in the table and {given.type} in the rows, so the write stores "
                f"text. {_COMPARED}, so {_wrong('numbers')}. {_HOW_TO_STORE_NUMBERS}"
            )
    return tuple(found)
