"""Find the record keys that a read needs, if its conditions name record keys."""

import math
from collections.abc import Iterable, Sequence
from itertools import product

from hudi_table_services.model.metadata_table import RangeValue
from hudi_table_services.model.reading.predicate import ColumnPredicate, Comparison
from hudi_table_services.model.schema import META_COLUMNS

RECORD_KEY_COLUMN = META_COLUMNS[2]
MOST_KEYS = 10_000
"""With more keys, almost every file has a wanted key, and a look-up costs more than it saves."""

_TEXTUAL = ("string", "int", "long")


def wanted_keys(predicates: Iterable[ColumnPredicate], key_columns: Sequence[str]) -> frozenset[str] | None:
    """Return the record keys that the wanted rows can have; None if the conditions do not limit the record keys.

    Conditions limit the record keys if they compare the record key itself, or each of its columns, with single values.
    For a key of one column, the returned set contains each key in two forms, because some key generators of Hudi write
    such a key as ``column:value``. A key of several columns always has the form ``first:value,second:value``.

    Args:
        key_columns: the record key columns; empty if the text of keys is not known.
    """
    named: dict[str, tuple[str, ...]] = {}
    for predicate in predicates:
        if predicate.comparison not in (Comparison.EQUAL, Comparison.IN) or len(predicate.values) > MOST_KEYS:
            continue
        if predicate.column == RECORD_KEY_COLUMN:
            return frozenset(str(value) for value in predicate.values)
        if predicate.column in key_columns and predicate.type_name in _TEXTUAL:
            named.setdefault(predicate.column, tuple(map(_text, predicate.values)))
    if not key_columns or not all(name in named for name in key_columns):
        return None
    if math.prod(len(named[name]) for name in key_columns) > MOST_KEYS:
        return None
    parts = [[f"{name}:{text}" for text in named[name]] for name in key_columns]
    keys = frozenset(map(",".join, product(*parts)))
    return keys if len(key_columns) > 1 else keys.union(named[key_columns[0]])


def _text(value: RangeValue) -> str:
    """Return the text of a key; Hudi writes a placeholder for an empty string (KeyGenUtils)."""
    return str(value) or "__empty__"
