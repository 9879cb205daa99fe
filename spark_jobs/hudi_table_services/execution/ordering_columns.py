"""Compare whole columns of ordering values. If there are several ordering fields, their values are compared as a tuple.

Null is smaller than every value. Floating-point numbers are compared as in Java (Double.compareTo): NaN equals NaN and
is larger than every other number, and -0.0 is smaller than 0.0.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_table_services.execution.numpy_types import Flags, Integers


def is_smaller(incoming: pa.Table, stored: pa.Table) -> Flags:
    """Return the mask of the rows whose incoming ordering values are smaller than the stored values of the same row.

    Args:
        incoming: ordering columns, first to last; at least one.
        stored: the same columns, of the same types.
    """
    smaller = np.zeros(incoming.num_rows, dtype=bool)
    decided = np.zeros(incoming.num_rows, dtype=bool)
    for ours, theirs in zip(incoming.columns, stored.columns, strict=True):
        less, equal = _compared(_comparable(ours), _comparable(theirs))
        smaller |= less & ~decided
        decided |= ~equal
    return smaller


def ranks(ordering: pa.Table) -> Integers:
    """Rank each row by its ordering values. The smallest values have rank 1, and equal values have equal ranks.

    Args:
        ordering: ordering columns, first to last; at least one.
    """
    count = ordering.num_rows
    if count == 0:
        return np.empty(0, dtype=np.int64)
    columns: dict[str, pa.ChunkedArray] = {}
    for number, values in enumerate(ordering.columns):
        # A separate column sorts nulls below all values, because Arrow's option for nulls differs between releases.
        columns[f"valid{number}"] = pc.cast(pc.is_valid(values), pa.int8())
        columns[f"value{number}"] = _comparable(values)
    table = pa.table(columns)
    order = pc.sort_indices(table, sort_keys=[(name, "ascending") for name in columns])
    differs = np.zeros(count, dtype=bool)
    for column in table.take(order).columns:
        _, equal = _compared(column.slice(1), column.slice(0, count - 1))
        differs[1:] |= ~equal
    result = np.empty(count, dtype=np.int64)
    result[order.to_numpy()] = 1 + np.cumsum(differs)
    return result


def _compared(left: pa.ChunkedArray, right: pa.ChunkedArray) -> tuple[Flags, Flags]:
    """Return two masks: the rows whose left value is smaller, and the rows with equal values."""
    if not left.null_count and not right.null_count:
        return pc.less(left, right).to_numpy(), pc.equal(left, right).to_numpy()
    less = pc.fill_null(pc.less(left, right), False)
    less = pc.or_(less, pc.and_(pc.is_null(left), pc.is_valid(right)))
    both_null = pc.and_(pc.is_null(left), pc.is_null(right))
    equal = pc.or_(pc.fill_null(pc.equal(left, right), False), both_null)
    return less.to_numpy(), equal.to_numpy()


def _comparable(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert floating-point numbers to integers that sort in the same order. Return all other types unchanged."""
    if not pa.types.is_floating(values.type):
        return values
    numbers = pc.fill_null(values, 0.0).to_numpy().astype(np.float64)
    bits = np.where(np.isnan(numbers), np.nan, numbers).view(np.int64)
    # Read as integers, the bits of negative numbers sort in the reverse order of the numbers, so invert these bits.
    ordered = np.where(bits < 0, bits ^ np.int64(np.iinfo(np.int64).max), bits)
    is_null = None if not values.null_count else pc.is_null(values).to_numpy()
    return pa.chunked_array([pa.array(ordered, mask=is_null)])
