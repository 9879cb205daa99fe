"""Bloom filters in the footers of base files. Each bit is the same as in the filters that Hudi writes.

Format: footer value of Hudi 0.15 and 1.2; classes SimpleBloomFilter and HoodieDynamicBoundedBloomFilter. All
integers are big-endian::

    header      int32 version = -1; int32 hashes; byte hash type (1 = murmur); int32 bits
    SIMPLE      header; bits, with the least significant bit of each byte first
    DYNAMIC_V0  header; int32 keys per row; int32 keys in the last row; int32 rows; one SIMPLE for each row

Functions receive keys in Arrow's layout for strings: offsets into one array of UTF-8 bytes.
"""

import base64
import binascii
import math
import struct
from typing import Protocol

import numpy as np
import numpy.typing as npt

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.hudi_format.murmur_hash import key_blocks

SIMPLE = "SIMPLE"
DYNAMIC = "DYNAMIC_V0"

_HEADER = struct.Struct(">iiBi")
_DYNAMIC_HEADER = struct.Struct(">iii")
_VERSION = -1
_MURMUR = 1
_MAX_HASHES = 1000

Offsets = npt.NDArray[np.int32] | npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]


class BloomFilter(Protocol):
    """Interface of both kinds of filters."""

    def contains(self, offsets: Offsets, data: Bytes) -> Flags:
        """Return one flag per key: False if the key was certainly not added, True if the key was probably added."""
        ...


class SimpleBloomFilter:
    """A filter of one row of bits.

    Attributes:
        bit_count: length of the row in bits.
        hash_count: number of bits set per key.
    """

    def __init__(self, bit_count: int, hash_count: int, bits: Flags | None = None) -> None:
        self.bit_count = bit_count
        self.hash_count = hash_count
        self._bits = np.zeros(bit_count, dtype=np.bool_) if bits is None else bits

    @classmethod
    def sized_for(cls, entries: int, fpp: float, max_entries: int) -> "SimpleBloomFilter":
        """Return an empty filter of the size that Hudi chooses for a number of keys (BloomFilterUtils).

        Above `max_entries` keys the filter does not grow, so false positives increase. The number of hashes is optimal
        for the actual number of keys.

        Args:
            entries: expected number of keys; a number below 1 counts as 1.
            fpp: target rate of false positives, between 0 and 1.
            max_entries: number of keys beyond which the filter does not grow.
        """
        capacity = max(1, min(entries, max_entries))
        bits = math.ceil(capacity * (-math.log(fpp) / (math.log(2) * math.log(2))))
        if entries <= max_entries:
            return cls(bits, math.ceil(math.log(2) * bits / capacity))
        return cls(bits, max(1, round(math.log(2) * bits / entries)))

    def add_keys(self, offsets: Offsets, data: Bytes) -> None:
        """Add n keys.

        Args:
            offsets: n + 1 positions in `data`; key i starts at position i and ends before position i + 1.
            data: UTF-8 bytes of all keys.
        """
        for block in key_blocks(offsets, data):
            for _ in range(self.hash_count):
                self._bits[block.next_positions(self.bit_count)] = True

    def contains(self, offsets: Offsets, data: Bytes) -> Flags:
        """Return one flag per key: False if the key was certainly not added, True if the key was probably added."""
        found = np.zeros(len(offsets) - 1, dtype=np.bool_)
        for block in key_blocks(offsets, data):
            for _ in range(self.hash_count):
                is_set = self._bits[block.next_positions(self.bit_count)]
                # Continue only with keys whose bits are all set so far. Few absent keys remain after the first hashes.
                if not is_set.all():
                    block = block.where(is_set)
            found[block.rows] = True
        return found

    def to_bytes(self) -> bytes:
        """Return the serialised filter."""
        header = _HEADER.pack(_VERSION, self.hash_count, _MURMUR, self.bit_count)
        return header + np.packbits(self._bits, bitorder="little").tobytes()

    def to_base64(self) -> str:
        """Return the footer value of a filter with type code `SIMPLE`."""
        return base64.b64encode(self.to_bytes()).decode("ascii")


class DynamicBloomFilter:
    """A filter of several rows of bits. Hudi adds a row when the last row has its maximum number of keys.

    This project reads dynamic filters but does not write them. The number of keys is known when a file is written, so a
    simple filter has the right size.
    """

    def __init__(self, rows: tuple[SimpleBloomFilter, ...]) -> None:
        self.rows = rows

    def contains(self, offsets: Offsets, data: Bytes) -> Flags:
        """Return one flag per key: False if the key was certainly not added, True if the key was probably added."""
        found = np.zeros(len(offsets) - 1, dtype=np.bool_)
        for row in self.rows:
            found |= row.contains(offsets, data)
        return found


def decode_bloom_filter(text: str, type_code: str) -> BloomFilter:
    """Read a footer value.

    Args:
        text: base64.
        type_code: `SIMPLE` (also for a footer without type code) or `DYNAMIC_V0`.

    Raises:
        MalformedMetadataError: the text is not base64, the type code or hash is unknown, or the length contradicts
            the header.
    """
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise MalformedMetadataError(f"Bloom filter: not base64: {error}") from None
    if type_code not in (SIMPLE, DYNAMIC):
        raise MalformedMetadataError(f"Bloom filter: unknown type code {type_code!r}.")
    reader = _Reader(data)
    decoded = reader.simple() if type_code == SIMPLE else reader.dynamic()
    if reader.position != len(data):
        raise MalformedMetadataError(f"Bloom filter: {len(data) - reader.position} bytes follow its end.")
    return decoded


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self.position = 0

    def simple(self) -> SimpleBloomFilter:
        hashes, bit_count = self._header()
        packed = np.frombuffer(self._take((bit_count + 7) // 8), dtype=np.uint8)
        bits = np.unpackbits(packed, count=bit_count, bitorder="little").astype(np.bool_)
        return SimpleBloomFilter(bit_count, hashes, bits)

    def dynamic(self) -> DynamicBloomFilter:
        self._header()
        _, _, rows = _DYNAMIC_HEADER.unpack(self._take(_DYNAMIC_HEADER.size))
        if rows < 1:
            raise MalformedMetadataError(f"Bloom filter: the header declares {rows} rows.")
        return DynamicBloomFilter(tuple(self.simple() for _ in range(rows)))

    def _header(self) -> tuple[int, int]:
        version, hashes, hash_type, bit_count = _HEADER.unpack(self._take(_HEADER.size))
        if version != _VERSION or hash_type != _MURMUR or bit_count < 1 or not 1 <= hashes <= _MAX_HASHES:
            raise MalformedMetadataError(
                f"Bloom filter: Hudi writes no filter of version {version}, hash type {hash_type}, {hashes} hashes "
                f"and {bit_count} bits."
            )
        return hashes, bit_count

    def _take(self, size: int) -> bytes:
        piece = self._data[self.position : self.position + size]
        if len(piece) < size:
            raise MalformedMetadataError(f"Bloom filter: cut short after {len(self._data)} bytes.")
        self.position += size
        return piece
