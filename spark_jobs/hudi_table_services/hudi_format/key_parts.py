"""Find the parts of a record key that the bucket index of Hudi hashes (KeyGenUtils.extractRecordKeysByFields).

A record key is a value, or names fields with their values: ``id:1,day:2024-01-01``. Hudi does not store which form a
key has. It parses the text, and its releases parse some texts differently: 0.15.0 parses every text with a colon; 1.2.0
parses only texts with a colon and a comma. So the releases hash ``id:1`` and ``10:30`` to different buckets.
"""

from collections.abc import Collection
from enum import Enum

NULL_PART, EMPTY_PART = "__null__", "__empty__"
"""Texts in a key that stand for null and for the empty string."""


class KeyParser(Enum):
    """Releases of Hudi that parse record keys by different rules."""

    HUDI_0_15 = "0.15.0"
    HUDI_1_2 = "1.2.0"

    def hashed_parts(self, key: str, fields: Collection[str]) -> list[str | None]:
        """Return the values of the given fields, in the order of the key; the whole key if the key names no fields.

        Args:
            fields: names of the hash fields, at least one.
        """
        if self is KeyParser.HUDI_0_15:
            return _split(key, fields) if ":" in key else [key]
        return _scanned(key, fields) if "," in key and ":" in key else [key]


def _split(key: str, fields: Collection[str]) -> list[str | None]:
    """Split at every comma. As in Hudi, a piece without a colon is hashed, even if its field is not a hash field."""
    parts: list[str | None] = []
    for piece in _java_split(key):
        name, colon, value = piece.partition(":")
        if not colon:
            parts.append(piece)
        elif name in fields:
            parts.append(_value(value))
    return parts


def _java_split(text: str) -> list[str]:
    """Split at commas as ``String.split`` does, which leaves out empty pieces at the end."""
    pieces = text.split(",")
    while len(pieces) > 1 and not pieces[-1]:
        pieces.pop()
    return pieces


def _scanned(key: str, fields: Collection[str]) -> list[str | None]:
    """Scan from field to field. A value ends at the last comma before the colon of the next field."""
    parts: list[str | None] = []
    start = 0
    while start < len(key):
        colon = key.index(":", start)
        end = _end_of_value(key, colon)
        if key[start:colon] in fields:
            parts.append(_value(key[colon + 1 : end]))
        start = end + 1
    return parts or [key]


def _end_of_value(key: str, colon: int) -> int:
    """Return the position of the comma that ends the value after this colon; the length of the key if there is none."""
    following = key.find(":", colon + 1)
    while following >= 0:
        comma = key.rfind(",", 0, following)
        if comma > colon:
            return comma
        following = key.find(":", following + 1)
    return len(key)


def _value(text: str) -> str | None:
    if text == NULL_PART:
        return None
    return "" if text == EMPTY_PART else text
