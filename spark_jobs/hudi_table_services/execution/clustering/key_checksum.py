"""Compute a checksum of record keys, independent of their order, to verify that a rewrite kept all rows."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from hudi_table_services.execution.base_file_writer import utf8_buffers
from hudi_table_services.execution.numpy_types import Bytes, Words

_MASK = (1 << 64) - 1
_FACTORS = 4096
_BLOCK_ROWS = 8192  # small enough for the arrays to stay in the processor's cache
_WORD_BYTES = 8
_FIRST_BYTES = np.array([(1 << (8 * count)) - 1 for count in range(_WORD_BYTES + 1)], dtype=np.uint64)
"""Mask i keeps the first i bytes of a word."""
_FIRST_FACTOR, _SECOND_FACTOR = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def _mixed(values: Words) -> Words:
    """Apply the finaliser of Splitmix64: a change of one input bit changes about half of the output bits."""
    values = (values ^ (values >> np.uint64(30))) * _FIRST_FACTOR
    values = (values ^ (values >> np.uint64(27))) * _SECOND_FACTOR
    return values ^ (values >> np.uint64(31))


_FACTOR_OF_WORD = _mixed(
    np.arange(1, _FACTORS + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
) | np.uint64(1)


@dataclass(frozen=True, slots=True)
class KeyChecksum:
    """Number of rows, and the sum of the hashes of their keys modulo 2^64. A repeated key counts once per row."""

    rows: int = 0
    hash_sum: int = 0

    def __add__(self, other: "KeyChecksum") -> "KeyChecksum":
        return KeyChecksum(self.rows + other.rows, (self.hash_sum + other.hash_sum) & _MASK)

    @classmethod
    def of(cls, keys: pa.ChunkedArray) -> "KeyChecksum":
        """Compute the checksum of a column of record keys without nulls."""
        total = cls()
        for chunk in keys.chunks:
            for start in range(0, len(chunk), _BLOCK_ROWS):
                block = chunk.slice(start, _BLOCK_ROWS)
                total += cls(len(block), int(np.add.reduce(_hashes(block))))
        return total


def _hashes(keys: pa.StringArray) -> Words:
    """Return one hash per key: the mixed sum of the key's length and its eight-byte words.

    Before the addition, each word is multiplied by a factor that depends on the word's position in the key.
    """
    offsets, data = utf8_buffers(keys)
    starts = (offsets[:-1] - offsets[0]).astype(np.int64)
    lengths = np.diff(offsets).astype(np.int64)
    words = _word_at_each_byte(data[offsets[0] : offsets[-1]])
    sums = np.zeros(len(lengths), dtype=np.uint64)
    rows = np.arange(len(lengths))
    position = 0
    while len(rows):
        left = lengths[rows] - position * _WORD_BYTES
        word = words[starts[rows] + position * _WORD_BYTES] & _FIRST_BYTES[np.minimum(left, _WORD_BYTES)]
        sums[rows] += word * _FACTOR_OF_WORD[position & (_FACTORS - 1)]
        rows = rows[left > _WORD_BYTES]
        position += 1
    return _mixed(sums + lengths.astype(np.uint64))


def _word_at_each_byte(data: Bytes) -> Words:
    """Return for each byte the number that consists of this byte and the next seven. The data is padded with zeros."""
    padded = np.zeros(len(data) + _WORD_BYTES, dtype=np.uint8)
    padded[: len(data)] = data
    return np.ndarray(shape=len(data) + 1, dtype="<u8", buffer=padded.data, strides=(1,))
