"""Compute the buckets of record keys (BucketIdentifier.getBucketId; Hudi 0.15.0 and 1.2.0).

The bucket of a key is ``(hash & 0x7FFFFFFF) % buckets``. Here, ``hash`` is the hash code of a Java list that contains
the hashed parts of the key. Most keys have a form that all releases parse in the same way; the module computes the
hashes of these keys for whole columns. It parses each other key by the rules of each release that may write the table.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hudi_table_services.hudi_format.java_hash import (
    Bytes,
    Offsets,
    Positions,
    Words,
    hashes_of_lists,
    hashes_of_strings,
)
from hudi_table_services.hudi_format.java_strings import hash_of_list
from hudi_table_services.hudi_format.key_parts import EMPTY_PART, NULL_PART, KeyParser

AMBIGUOUS = -1
"""Result for a key that the releases hash to different buckets."""

_NO_SIGN = 0x7FFFFFFF
_Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketHash:
    """How a table assigns record keys to buckets.

    Attributes:
        bucket_count: number of buckets of each partition, at least 1.
        hash_fields: the fields whose values are hashed; one or more fields of the record key.
        key_fields: the fields that each key names, in order; empty if a key is the plain value of one field.
        parsers: releases of Hudi that may write the table, at least one.
    """

    bucket_count: int
    hash_fields: tuple[str, ...]
    key_fields: tuple[str, ...] = ()
    parsers: tuple[KeyParser, ...] = (KeyParser.HUDI_1_2,)

    def buckets_of(self, offsets: Offsets, data: Bytes) -> Positions:
        """Return the bucket of each of n keys, or `AMBIGUOUS`.

        Args:
            offsets: n + 1 positions in `data`; key i starts at position i and ends before position i + 1.
            data: UTF-8 bytes of all keys.
        """
        keys = _Texts.of(offsets, data)
        is_regular = self._regular(keys)
        buckets = np.full(len(keys.starts), AMBIGUOUS, dtype=np.int64)
        hashes = self._hashes(keys.where(is_regular)).astype(np.int64)
        buckets[is_regular] = (hashes & _NO_SIGN) % self.bucket_count
        for row in np.flatnonzero(~is_regular).tolist():
            buckets[row] = self.bucket_of(keys.text(row))
        return buckets

    def bucket_of(self, key: str) -> int:
        """Return the bucket of a key, or `AMBIGUOUS`."""
        parts = (parser.hashed_parts(key, self.hash_fields) for parser in self.parsers)
        found = {(hash_of_list(each) & _NO_SIGN) % self.bucket_count for each in parts}
        return found.pop() if len(found) == 1 else AMBIGUOUS

    def _regular(self, keys: "_Texts") -> _Flags:
        """Return a mask of the keys that `_hashes` and all parsers divide into the same parts."""
        if len(self.key_fields) > 1:
            mask: _Flags = keys.count(",") == len(self.key_fields) - 1
            positions = np.flatnonzero(mask)
            for name, piece in zip(
                self.key_fields, _pieces(keys.where(mask), len(self.key_fields)), strict=True
            ):
                mask[positions[~piece.begin_with(f"{name}:")]] = False
            return mask
        is_whole: _Flags = keys.count(":") == 0
        if KeyParser.HUDI_0_15 not in self.parsers:
            is_whole = is_whole | (keys.count(",") == 0)
        return is_whole

    def _hashes(self, keys: "_Texts") -> Words:
        """Return the hash code of each regular key, i.e. of the list of its hashed parts."""
        if len(self.key_fields) < 2:
            return hashes_of_lists([keys.hashes()])
        pieces = zip(self.key_fields, _pieces(keys, len(self.key_fields)), strict=True)
        values = [piece.after(f"{name}:") for name, piece in pieces if name in self.hash_fields]
        return hashes_of_lists([_hashes_of_values(each) for each in values])


@dataclass(frozen=True, slots=True)
class _Texts:
    """Texts that are parts of one array of UTF-8 bytes."""

    data: Bytes
    starts: Positions
    stops: Positions

    @classmethod
    def of(cls, offsets: Offsets, data: Bytes) -> "_Texts":
        first = int(offsets[0])
        positions = offsets.astype(np.int64) - first
        return cls(data[first : first + int(positions[-1])], positions[:-1], positions[1:])

    def where(self, mask: _Flags) -> "_Texts":
        return _Texts(self.data, self.starts[mask], self.stops[mask])

    def text(self, row: int) -> str:
        return self.data[self.starts[row] : self.stops[row]].tobytes().decode("utf-8", "surrogatepass")

    def count(self, character: str) -> Positions:
        """Return how many times an ASCII character occurs in each text."""
        before = np.zeros(len(self.data) + 1, dtype=np.int64)
        np.cumsum(self.data == ord(character), out=before[1:])
        counts: Positions = before[self.stops] - before[self.starts]
        return counts

    def begin_with(self, prefix: str) -> _Flags:
        encoded = prefix.encode()
        mask: _Flags = self.stops - self.starts >= len(encoded)
        for distance, byte in enumerate(encoded):
            mask[mask] = self.data[self.starts[mask] + distance] == byte
        return mask

    def after(self, prefix: str) -> "_Texts":
        """Return the texts without this prefix. All texts must begin with the prefix."""
        return _Texts(self.data, self.starts + len(prefix.encode()), self.stops)

    def hashes(self) -> Words:
        lengths = self.stops - self.starts
        offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        positions = np.repeat(self.starts - offsets[:-1], lengths) + np.arange(offsets[-1])
        return hashes_of_strings(offsets, self.data[positions])


def _pieces(keys: _Texts, count: int) -> Iterator[_Texts]:
    """Divide each text at its `count` - 1 commas. Yield the first pieces of all texts, then the second pieces, etc."""
    commas = np.flatnonzero(keys.data == ord(","))
    first = np.searchsorted(commas, keys.starts)
    starts = keys.starts
    for number in range(count - 1):
        stops = commas[first + number]
        yield _Texts(keys.data, starts, stops)
        starts = stops + 1
    yield _Texts(keys.data, starts, keys.stops)


def _hashes_of_values(values: _Texts) -> Words:
    """Return the hash code of each value; 0 for the texts that stand for null and for the empty string, as in Java."""
    hashes = values.hashes()
    for text in (NULL_PART, EMPTY_PART):
        is_equal = values.begin_with(text) & (values.stops - values.starts == len(text))
        hashes[is_equal] = 0
    return hashes
