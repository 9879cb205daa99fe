"""Compute Java's hash codes of single values; `java_hash` computes them for whole columns."""

from collections.abc import Iterable

_MASK = 0xFFFFFFFF


def hash_of_string(text: str) -> int:
    """Return ``String.hashCode()`` of a string, as 32 bits without sign."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = 31 * value + (high << 8 | low) & _MASK
    return value


def hash_of_list(elements: Iterable[str | None]) -> int:
    """Return ``List.hashCode()`` of a list of strings, as 32 bits without sign. The hash code of null is 0."""
    value = 1
    for element in elements:
        value = 31 * value + (0 if element is None else hash_of_string(element)) & _MASK
    return value
