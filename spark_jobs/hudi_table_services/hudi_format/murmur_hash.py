"""The hash chain of Hudi's bloom filters (Hash, MurmurHash; Hudi 0.15 and 1.2), over whole columns of keys.

The algorithm is MurmurHash2. The first seed is 0, and each hash is the seed of the next hash. Hudi combines the 1 to 3
bytes after the last whole word in a different order from the classic algorithm: the last byte of the key is the low
byte, the second last byte is shifted by 8 bits, and the third last byte by 16 bits. These bytes are signed. A filter
with the classic order would seem valid, but would miss three out of four keys.

Keys of equal length need the same steps. A block contains keys of one length, as one array for each 4-byte word.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint32]
Bytes = npt.NDArray[np.uint8]
Positions = npt.NDArray[np.int64]
Offsets = npt.NDArray[np.int32] | npt.NDArray[np.int64]

_MULTIPLIER = np.uint32(0x5BD1E995)
# The arrays of a block should stay in the processor's cache while all hashes of the block are computed.
_BLOCK_ROWS = 1 << 15
_BLOCK_BYTES = 1 << 22


@dataclass(slots=True)
class KeyBlock:
    """Keys of one length.

    Attributes:
        rows: positions of the keys among all keys.
        words: one array for each whole word of the keys, already mixed. The mixing does not depend on the seed.
        tail: the bytes of each key after the last whole word; None if there are none.
        state: the last hash of each key.
    """

    rows: Positions
    length: int
    words: list[Words]
    tail: Words | None
    state: Words

    def next_positions(self, bit_count: int) -> Words:
        """Compute the next hash of each key and return its bit position, which is below `bit_count`."""
        hashes = self.state ^ np.uint32(self.length)
        for word in self.words:
            hashes *= _MULTIPLIER
            hashes ^= word
        if self.tail is not None:
            hashes ^= self.tail
            hashes *= _MULTIPLIER
        hashes ^= hashes >> np.uint32(13)
        hashes *= _MULTIPLIER
        hashes ^= hashes >> np.uint32(15)
        self.state = hashes
        # Java truncates remainders, so |hash rem bits| equals |hash| mod bits. |min int| fits into an unsigned int.
        magnitude = np.abs(hashes.view(np.int32)).view(np.uint32)
        divisor = np.uint32(bit_count)
        return magnitude - (magnitude // divisor) * divisor

    def where(self, kept: npt.NDArray[np.bool_]) -> "KeyBlock":
        """Return a block of the keys for which `kept` is true, with the same hash state."""
        return KeyBlock(
            rows=self.rows[kept],
            length=self.length,
            words=[word[kept] for word in self.words],
            tail=None if self.tail is None else self.tail[kept],
            state=self.state[kept],
        )


def key_blocks(offsets: Offsets, data: Bytes) -> Iterator[KeyBlock]:
    """Yield all keys in blocks. The keys of a block have the same length, and their hashes are not computed yet.

    Args:
        offsets: n + 1 positions in `data`.
        data: bytes of all keys.
    """
    starts = offsets[:-1].astype(np.int64)
    lengths = np.diff(offsets)
    order = np.argsort(lengths, kind="stable")
    ends = np.flatnonzero(np.diff(lengths[order])) + 1
    for rows in np.split(order, ends):
        if len(rows) == 0:
            continue
        length = int(lengths[rows[0]])
        step = max(1, min(_BLOCK_ROWS, _BLOCK_BYTES // max(1, length)))
        for first in range(0, len(rows), step):
            part = rows[first : first + step]
            yield _block(part, length, _key_bytes(data, starts[part], length))


def _key_bytes(data: Bytes, starts: Positions, length: int) -> Bytes:
    if length == 0:
        return np.empty((len(starts), 0), dtype=np.uint8)
    return np.lib.stride_tricks.sliding_window_view(data, length)[starts]


def _block(rows: Positions, length: int, keys: Bytes) -> KeyBlock:
    whole = length // 4
    columns = np.ascontiguousarray(keys[:, : 4 * whole]).view("<u4") if whole else np.empty((len(rows), 0))
    words = [_mixed(np.ascontiguousarray(columns[:, i], dtype=np.uint32)) for i in range(whole)]
    return KeyBlock(rows, length, words, _tail(keys[:, 4 * whole :]), np.zeros(len(rows), dtype=np.uint32))


def _mixed(word: Words) -> Words:
    word = word * _MULTIPLIER
    word ^= word >> np.uint32(24)
    return word * _MULTIPLIER


def _tail(left: Bytes) -> Words | None:
    count = left.shape[1]
    if count == 0:
        return None
    signed = left.view(np.int8).astype(np.int32)
    tail = np.zeros(len(left), dtype=np.int32)
    for i in range(count):
        tail ^= signed[:, i] << np.int32(8 * (count - 1 - i))
    return tail.view(np.uint32)
