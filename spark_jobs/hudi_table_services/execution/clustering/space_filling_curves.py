"""Compute positions along a z-order or Hilbert curve from the ranks of each row's values.

Ranks support strings (with common prefixes of any length), decimals, dates and negative numbers alike, and they spread
skewed values evenly. Hudi instead maps each value to eight bytes (HilbertCurve, SpaceCurveSortingHelper). The Hilbert
transform is by Skilling: "Programming the Hilbert curve", AIP Conference Proceedings 707 (2004).
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Ranks = npt.NDArray[np.uint64]

POSITION_BITS = 63
"""Number of bits of a position. Below 2^63, signed and unsigned numbers sort in the same order."""

MAX_BITS_PER_COLUMN = 16


def bits_per_column(columns: int) -> int:
    """Return the number of bits for the ranks of each column, at least 1."""
    return max(1, min(MAX_BITS_PER_COLUMN, POSITION_BITS // columns))


def z_order(ranks: Sequence[Ranks], bits: int) -> Ranks:
    """Interleave the bits of the ranks. In each group of bits, the bit of the first column is the most significant.

    Args:
        ranks: ranks of each column, all below 2^bits. `bits` times the number of columns is at most `POSITION_BITS`.
    """
    position = np.zeros(len(ranks[0]), dtype=np.uint64)
    for bit in range(bits - 1, -1, -1):
        for column in ranks:
            position <<= np.uint64(1)
            position |= (column >> np.uint64(bit)) & np.uint64(1)
    return position


def hilbert(ranks: Sequence[Ranks], bits: int) -> Ranks:
    """Return the positions along a Hilbert curve through a cube with 2^bits ranks per column.

    Two neighbours on the curve differ by one in the rank of a single column.
    """
    axes = [column.astype(np.uint64) for column in ranks]
    if len(axes) == 1:
        return axes[0]
    _undo_excess_work(axes, bits)
    _gray_encode(axes, bits)
    return z_order(axes, bits)


def _undo_excess_work(axes: list[Ranks], bits: int) -> None:
    first = axes[0]
    for bit in range(bits - 1, 0, -1):
        mask = np.uint64(1 << bit)
        lower = np.uint64((1 << bit) - 1)
        for axis in axes:
            is_set = (axis & mask) != 0
            exchanged = np.where(is_set, np.uint64(0), (first ^ axis) & lower)
            first ^= np.where(is_set, lower, exchanged)
            if axis is not first:
                axis ^= exchanged


def _gray_encode(axes: list[Ranks], bits: int) -> None:
    for before, axis in pairwise(axes):
        axis ^= before
    turned = np.zeros(len(axes[0]), dtype=np.uint64)
    for bit in range(bits - 1, 0, -1):
        is_set = (axes[-1] & np.uint64(1 << bit)) != 0
        turned ^= np.where(is_set, np.uint64((1 << bit) - 1), np.uint64(0))
    for axis in axes:
        axis ^= turned
