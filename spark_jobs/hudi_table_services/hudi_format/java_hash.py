"""Compute Java's hash codes of strings and of lists of strings for whole columns (String, List; Java).

Java hashes a string as a polynomial of its UTF-16 units, modulo 2^32: unit i of a string with n units adds
``unit * 31^(n-1-i)``. The sum over a string is the difference of two running sums over all units, also modulo 2^32.

Functions receive strings in Arrow's layout: offsets into one array of UTF-8 bytes.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint32]
Bytes = npt.NDArray[np.uint8]
Positions = npt.NDArray[np.int64]
Offsets = npt.NDArray[np.int32] | npt.NDArray[np.int64]

_BLOCK_ROWS = 1 << 14
"""Number of strings in a block. The arrays of a block should fit into the processor's cache."""


def hashes_of_strings(offsets: Offsets, data: Bytes) -> Words:
    """Return ``hashCode()`` of each of n strings, as 32 bits without sign.

    Args:
        offsets: n + 1 positions in `data`; string i starts at position i and ends before position i + 1.
        data: UTF-8 bytes of all strings.
    """
    count = len(offsets) - 1
    hashes = np.empty(count, dtype=np.uint32)
    for first in range(0, count, _BLOCK_ROWS):
        part = offsets[first : first + _BLOCK_ROWS + 1].astype(np.int64)
        hashes[first : first + _BLOCK_ROWS] = _hashes(part - part[0], data[part[0] : part[-1]])
    return hashes


def hashes_of_lists(elements: Sequence[Words]) -> Words:
    """Return ``hashCode()`` of each of n lists, as 32 bits without sign.

    Args:
        elements: for each position in a list, the hash codes of the elements at this position; 0 for an element that is
            null. All lists have the same number of elements, at least 1.
    """
    total = np.ones(len(elements[0]), dtype=np.uint32)
    for hashes in elements:
        total = total * np.uint32(31) + hashes
    return total


def _hashes(offsets: Positions, data: Bytes) -> Words:
    offsets, units = _utf16(offsets, data)
    lengths = np.diff(offsets)
    powers = _powers(int(lengths.max(initial=0)))
    exponents = np.repeat(offsets[1:], lengths) - 1 - np.arange(len(units))
    sums = np.zeros(len(units) + 1, dtype=np.uint32)
    np.cumsum(units * powers[exponents], dtype=np.uint32, out=sums[1:])
    return sums[offsets[1:]] - sums[offsets[:-1]]


def _utf16(offsets: Positions, data: Bytes) -> tuple[Positions, Words]:
    """Return the offsets of the strings in UTF-16 units, and the units."""
    if not (data & 0x80).any():
        return offsets, data.astype(np.uint32)
    # Each byte that starts a character counts as one unit; a character of four bytes has two units.
    units_of_byte = ((data & 0xC0) != 0x80).astype(np.int64) + (data >= 0xF0)
    before = np.concatenate(([0], np.cumsum(units_of_byte)))
    text = data.tobytes().decode("utf-8", "surrogatepass").encode("utf-16-le", "surrogatepass")
    return before[offsets], np.frombuffer(text, dtype="<u2").astype(np.uint32)


def _powers(count: int) -> Words:
    """Return the powers of 31 with exponents from 0 to count - 1, modulo 2^32."""
    factors = np.full(count, 31, dtype=np.uint32)
    factors[:1] = 1
    return np.multiply.accumulate(factors, dtype=np.uint32)
