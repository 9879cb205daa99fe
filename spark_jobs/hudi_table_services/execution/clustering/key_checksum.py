"""A checksum over record keys that does not depend on their order: did the same rows go in and come out?"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from hudi_table_services.execution.base_file_writer import utf8_buffers

_MASK = (1 << 64) - 1
_PLACES = 4096
_BLOCK_ROWS = 8192  # arrays that stay in the processor's cache
_WORD_BYTES = 8
_FIRST_BYTES = np.array([(1 << (8 * count)) - 1 for count in range(_WORD_BYTES + 1)], dtype=np.uint64)
"""Masks that keep so many bytes of a word."""
_FIRST_FACTOR, _SECOND_FACTOR = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def _mixed(values: np.ndarray) -> np.ndarray:
    """Splitmix64's finaliser: every bit of the input moves half of the output's."""
    values = (values ^ (values >> np.uint64(30))) * _FIRST_FACTOR
    values = (values ^ (values >> np.uint64(27))) * _SECOND_FACTOR
    return values ^ (values >> np.uint64(31))


_FACTOR_OF_PLACE = _mixed(
    np.arange(1, _PLACES + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
) | np.uint64(1)


@dataclass(frozen=True, slots=True)
class KeyChecksum:
    """Rows counted, and the sum of their keys' hashes modulo 2^64. Equal keys count each time."""

    rows: int = 0
    hash_sum: int = 0

    def __add__(self, other: "KeyChecksum") -> "KeyChecksum":
        return KeyChecksum(self.rows + other.rows, (self.hash_sum + other.hash_sum) & _MASK)

    @classmethod
    def of(cls, keys: pa.ChunkedArray) -> "KeyChecksum":
        """Of a column of record keys, none of them null."""
        total = cls()
        for chunk in keys.chunks:
            for start in range(0, len(chunk), _BLOCK_ROWS):
                block = chunk.slice(start, _BLOCK_ROWS)
                total += cls(len(block), int(np.add.reduce(_hashes(block))))
        return total


def _hashes(keys: pa.StringArray) -> np.ndarray:
    """One hash per key: its eight-byte words, each times a factor of its place, added up and mixed with the length."""
    offsets, data = utf8_buffers(keys)
    starts = (offsets[:-1] - offsets[0]).astype(np.int64)
    lengths = np.diff(offsets).astype(np.int64)
    words = _word_at_each_byte(data[offsets[0] : offsets[-1]])
    sums = np.zeros(len(lengths), dtype=np.uint64)
    rows = np.arange(len(lengths))
    place = 0
    while len(rows):
        left = lengths[rows] - place * _WORD_BYTES
        own = words[starts[rows] + place * _WORD_BYTES] & _FIRST_BYTES[np.minimum(left, _WORD_BYTES)]
        sums[rows] += own * _FACTOR_OF_PLACE[place & (_PLACES - 1)]
        rows = rows[left > _WORD_BYTES]
        place += 1
    return _mixed(sums + lengths.astype(np.uint64))


def _word_at_each_byte(data: np.ndarray) -> np.ndarray:
    """The eight bytes from each byte on as one number; zeros follow the last one."""
    padded = np.zeros(len(data) + _WORD_BYTES, dtype=np.uint8)
    padded[: len(data)] = data
    return np.ndarray(shape=len(data) + 1, dtype="<u8", buffer=padded.data, strides=(1,))
