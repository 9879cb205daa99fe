"""A checksum over record keys that does not depend on their order: did the same rows go in and come out?"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from hudi_table_services.execution.base_file_writer import utf8_buffers

_MASK = (1 << 64) - 1
_PLACES = 4096
_BLOCK_ROWS = 8192  # arrays that stay in the processor's cache
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
    offsets, data = utf8_buffers(keys)
    lengths = np.diff(offsets).astype(np.int64)
    own = data[offsets[0] : offsets[-1]]
    length = int(lengths[0])
    if length and (lengths == length).all():
        weighted = own.reshape(-1, length) * _factors(length)
        sums = weighted.sum(axis=1, dtype=np.uint64)
    else:
        sums = _sums_of_any_length(own, lengths)
    return _mixed(sums + lengths.astype(np.uint64))


def _sums_of_any_length(data: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Differences of running sums, which wrap around without harm."""
    ends = np.cumsum(lengths)
    places = np.arange(len(data), dtype=np.int64) - np.repeat(ends - lengths, lengths)
    running = np.zeros(len(data) + 1, dtype=np.uint64)
    np.cumsum(data * _FACTOR_OF_PLACE[places & (_PLACES - 1)], out=running[1:], dtype=np.uint64)
    return running[ends] - running[ends - lengths]


def _factors(length: int) -> np.ndarray:
    return _FACTOR_OF_PLACE[np.arange(length) & (_PLACES - 1)]
