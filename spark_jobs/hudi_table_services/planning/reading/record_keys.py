"""Find the record keys that a read needs, if its conditions name record keys."""

from collections.abc import Iterable

from hudi_table_services.model.metadata_table import RangeValue
from hudi_table_services.model.reading.predicate import ColumnPredicate, Comparison
from hudi_table_services.model.schema import META_COLUMNS

RECORD_KEY_COLUMN = META_COLUMNS[2]
MOST_KEYS = 10_000
"""With more keys, almost every file has a wanted key, and a look-up costs more than it saves."""

_TEXTUAL = ("string", "int", "long")


def wanted_keys(predicates: Iterable[ColumnPredicate], key_column: str) -> frozenset[str] | None:
    """Return the record keys that the wanted rows can have; None if the conditions do not limit the record keys.

    The returned set can contain each key in two forms, because some key generators of Hudi write a single key column as
    ``column:value``.

    Args:
        key_column: the only record key column; empty if there are several, or if the text of keys is not known.
    """
    for predicate in predicates:
        if predicate.comparison not in (Comparison.EQUAL, Comparison.IN) or len(predicate.values) > MOST_KEYS:
            continue
        if predicate.column == RECORD_KEY_COLUMN:
            return frozenset(str(value) for value in predicate.values)
        if key_column and predicate.column == key_column and predicate.type_name in _TEXTUAL:
            texts = {_text(value) for value in predicate.values}
            return frozenset(texts | {f"{key_column}:{text}" for text in texts})
    return None


def _text(value: RangeValue) -> str:
    """Return the text of a key; Hudi writes a placeholder for an empty string (KeyGenUtils)."""
    return str(value) or "__empty__"
