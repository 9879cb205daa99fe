"""Sort rows by a layout: by columns, or along a space-filling curve through the ranks of several columns.

Nulls come first, as in Spark. Rows at the same position on a curve are sorted by the columns themselves.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_table_services.execution.clustering.space_filling_curves import bits_per_column, hilbert, z_order
from hudi_table_services.execution.numpy_types import Flags, Integers, Words
from hudi_table_services.model.clustering import Layout, LayoutStrategy

_CURVE = "__curve_position"
_TIE = "__tie"
_SAMPLE_ROWS = 1 << 16


@dataclass(frozen=True, slots=True)
class RowOrder:
    """An order of rows, by which any part of the rows can be sorted without the other parts.

    Attributes:
        boundaries: for an order along a curve, some distinct values of each column, in order, which divide the rows
            evenly. Empty for an order by columns.
    """

    layout: Layout
    boundaries: tuple[pa.ChunkedArray, ...] = ()

    @classmethod
    def of(cls, layout: Layout, sample: pa.Table) -> "RowOrder":
        """Return the order of the layout. `sample` contains some or all of the rows, and determines the ranks."""
        if layout.strategy is LayoutStrategy.LINEAR or len(layout.columns) == 1:
            return cls(layout)
        limit = 1 << bits_per_column(len(layout.columns))
        return cls(layout, tuple(_boundaries(sample[name], limit) for name in layout.columns))

    def keys(self, rows: pa.Table) -> pa.Table:
        """Return the sort keys of the rows, the most important column first."""
        columns = rows.select(self.layout.columns)
        if not self.boundaries:
            return columns
        bits = bits_per_column(len(self.boundaries))
        ranks = [_ranks(columns.column(i), boundaries, bits) for i, boundaries in enumerate(self.boundaries)]
        curve = z_order if self.layout.strategy is LayoutStrategy.ZORDER else hilbert
        position = curve(ranks, bits)
        return columns.add_column(0, _CURVE, pa.chunked_array([pa.array(position.view(np.int64))]))

    def indices(self, rows: pa.Table) -> pa.Array:
        """Return the indices of the rows in sorted order. Rows that compare equal keep their order."""
        return sorted_indices(self.keys(rows))


def sorted_indices(keys: pa.Table) -> pa.Array:
    """Return the indices that sort the table by all its columns. The sort is stable, and nulls come first."""
    columns: list[pa.ChunkedArray] = []
    for column in keys.columns:
        if column.null_count:  # false sorts before true
            columns.append(pc.is_valid(column))
        columns.append(column)
    names = [str(number) for number in range(len(columns))]
    return pc.sort_indices(pa.table(columns, names=names), sort_keys=[(n, "ascending") for n in names])


def evenly(rows: pa.Table, count: int) -> pa.Table:
    """Return at most `count` rows, at even distances."""
    if rows.num_rows <= count:
        return rows
    positions = np.linspace(0, rows.num_rows - 1, count).astype(np.int64)
    return rows.take(pa.array(positions))


def _boundaries(column: pa.ChunkedArray, limit: int) -> pa.ChunkedArray:
    """Return at most `limit` distinct values in order, with about equal numbers of rows between neighbouring values."""
    sample = evenly(pa.table({"0": column}), max(limit, _SAMPLE_ROWS))
    ordered = sample.take(sorted_indices(sample))
    picked = evenly(ordered, limit)["0"]
    return pa.chunked_array([pc.unique(picked)])


def _ranks(column: pa.ChunkedArray, boundaries: pa.ChunkedArray, bits: int) -> Words:
    """Return the rank of each row: the number of boundaries that are at most its value, minus 1, scaled to `bits` bits.

    Equal values have equal ranks. A curve compares the first bits of all columns before the later bits. Without
    scaling, the ranks of a column with few distinct values would differ only in the last bits.
    """
    numbers = count_at_or_below(pa.table({"0": column}), pa.table({"0": boundaries}))
    ranks = np.maximum(numbers - 1, 0).astype(np.uint64)
    return (ranks << np.uint64(bits)) // np.uint64(max(1, len(boundaries)))


def count_at_or_below(rows: pa.Table, bounds: pa.Table, excluded: Flags | None = None) -> Integers:
    """Count for each row the bounds that are at or below the row.

    The function supports nulls and every sortable type, because it sorts rows and bounds together.

    Args:
        excluded: for each bound, True if the bound is counted only for rows above it, and False if the bound is also
            counted for rows equal to it. None means False for all bounds.
    """
    total = rows.num_rows
    bound_ties = np.zeros(bounds.num_rows, np.int8) if excluded is None else excluded.astype(np.int8) * 2
    ties = np.concatenate([bound_ties, np.ones(total, np.int8)])
    together = pa.concat_tables([bounds, rows]).append_column(_TIE, pa.array(ties))
    order = sorted_indices(together.combine_chunks()).to_numpy()
    is_bound = order < bounds.num_rows
    passed = np.cumsum(is_bound)
    counts = np.empty(total, dtype=np.int64)
    counts[order[~is_bound] - bounds.num_rows] = passed[~is_bound]
    return counts


def divide_evenly(rows: int, parts: int) -> Sequence[tuple[int, int]]:
    """Return consecutive ranges of rows whose lengths differ by at most one."""
    edges = [rows * i // parts for i in range(parts + 1)]
    return tuple(pairwise(edges))
