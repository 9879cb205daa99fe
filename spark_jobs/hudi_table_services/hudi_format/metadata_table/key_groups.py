"""Compute `keys.file_group_of` for a whole column of record keys at once (HashID, HoodieTableMetadataUtil).

Java hashes a string as a polynomial of its UTF-16 units, modulo 2^32: unit i of a key with n units adds
``unit * 31^(n-1-i)``. The sum over a key is the difference of two running sums over all units, also modulo 2^32.

Functions receive keys in Arrow's layout for strings: offsets into one array of UTF-8 bytes.
"""

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint32]
Bytes = npt.NDArray[np.uint8]
Positions = npt.NDArray[np.int64]
Offsets = npt.NDArray[np.int32] | npt.NDArray[np.int64]

_BLOCK_ROWS = 1 << 14
"""Number of keys in a block. The arrays of a block should fit into the processor's cache."""


def file_groups_of(offsets: Offsets, data: Bytes, group_count: int) -> Positions:
    """Return the number of the file group of each of n keys, as `keys.file_group_of` computes it for one key.

    Args:
        offsets: n + 1 positions in `data`; key i starts at position i and ends before position i + 1.
        data: UTF-8 bytes of all keys.
        group_count: number of file groups of the partition of the metadata table, at least 1.
    """
    count = len(offsets) - 1
    groups = np.empty(count, dtype=np.int64)
    for first in range(0, count, _BLOCK_ROWS):
        part = offsets[first : first + _BLOCK_ROWS + 1].astype(np.int64)
        hashes = _hashes(part - part[0], data[part[0] : part[-1]]).view(np.int32)
        # The absolute value of Java's smallest integer needs more than 32 bits.
        groups[first : first + _BLOCK_ROWS] = np.abs(hashes.astype(np.int64)) % group_count
    return groups


def _hashes(offsets: Positions, data: Bytes) -> Words:
    """Return Java's hash code of each key."""
    offsets, units = _utf16(offsets, data)
    lengths = np.diff(offsets)
    powers = _powers(int(lengths.max(initial=0)))
    exponents = np.repeat(offsets[1:], lengths) - 1 - np.arange(len(units))
    sums = np.zeros(len(units) + 1, dtype=np.uint32)
    np.cumsum(units * powers[exponents], dtype=np.uint32, out=sums[1:])
    return sums[offsets[1:]] - sums[offsets[:-1]]


def _utf16(offsets: Positions, data: Bytes) -> tuple[Positions, Words]:
    """Return the offsets of the keys in UTF-16 units, and the units."""
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
