"""Build the merged rows of a file slice: base rows in file order, then the log rows that have no base row.

A batch of base rows without changes stays as it is. For the other batches, the module reads only the log rows that win.
A merged row has the meta columns of the winning row, as after a compaction of Hudi.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_table_services.execution.log_merging.base_changes import (
    BASE_PLACE,
    BASE_ROW,
    DELETES,
    LATEST,
    SOURCES,
)
from hudi_table_services.execution.log_merging.log_entries import BLOCK, ROW
from hudi_table_services.execution.log_merging.slice_changes import SliceChanges
from hudi_table_services.execution.numpy_types import Flags, Integers
from hudi_table_services.execution.replaced_rows import replace_rows
from hudi_table_services.model.merging.merge_rule import Fill, MergeRule
from hudi_table_services.model.schema import META_COLUMNS

_APPENDED_ROWS = 65_536
_SOURCE_ROWS = 65_536
"""Largest number of log rows that are read at once to fill columns, unless a single key has more log rows."""


class LogRows(Protocol):
    """The rows of the data blocks of a slice."""

    def take(self, blocks: Integers, rows: Integers) -> pa.Table:
        """Return the rows at these positions, in this order, with the columns and types of the merged rows."""


@dataclass(frozen=True, slots=True)
class ColumnFill:
    """The rule by which the columns of a row are filled with values of other rows.

    Attributes:
        fill: which values are filled.
        keeps_meta_of_latest: see `MergeRule`.
        defaults: default values of the columns that have a default other than null, for `Fill.DEFAULTS`.
    """

    fill: Fill
    keeps_meta_of_latest: bool
    defaults: Mapping[str, pa.Scalar] = field(default_factory=dict)

    @classmethod
    def of(cls, rule: MergeRule, defaults: Mapping[str, pa.Scalar] | None = None) -> "ColumnFill":
        return cls(rule.fill, rule.keeps_meta_of_latest, defaults or {})


def merged_rows(
    base: Iterable[pa.Table], changes: SliceChanges, log_rows: LogRows, fill: ColumnFill
) -> Iterator[pa.Table]:
    """Yield the merged rows.

    Args:
        base: all rows of the base file in file order, in batches; empty if the slice has no base file.
        changes: changes that `find_changes` found with the keys of this base file.
    """
    start = 0
    for rows in base:
        found = changes.between(start, start + rows.num_rows)
        yield rows if found is None else _changed(rows, start, found, log_rows, fill)
        start += rows.num_rows
    for appended in changes.appended_rows():
        for first in range(0, appended.num_rows, _APPENDED_ROWS):
            yield _new_rows(None, 0, appended.slice(first, _APPENDED_ROWS), log_rows, fill)


def _changed(rows: pa.Table, start: int, changes: pa.Table, log_rows: LogRows, fill: ColumnFill) -> pa.Table:
    deletes = changes[DELETES].to_numpy()
    base_rows = changes[BASE_ROW].to_numpy() - start
    new_rows = None
    if not deletes.all():
        replacing = changes.filter(pa.array(~deletes)) if deletes.any() else changes
        new_rows = _new_rows(rows, start, replacing, log_rows, fill)
    return replace_rows(rows, new_rows, base_rows[~deletes], base_rows[deletes])


def _new_rows(
    base: pa.Table | None, start: int, changes: pa.Table, log_rows: LogRows, fill: ColumnFill
) -> pa.Table:
    """Return the rows that replace base rows or are appended, in the order of `changes`."""
    if fill.fill is Fill.NOTHING:
        new_rows = log_rows.take(changes[BLOCK].to_numpy(), changes[ROW].to_numpy())
        return new_rows if base is None else new_rows.select(base.schema.names)
    parts = [_filled_rows(base, start, part, log_rows, fill) for part in _by_source_rows(changes)]
    return pa.concat_tables(parts)


def _by_source_rows(changes: pa.Table) -> Iterator[pa.Table]:
    """Divide changes into parts. Each part needs at most `_SOURCE_ROWS` log rows, or contains only one change."""
    ends = np.cumsum(changes[SOURCES].combine_chunks().value_lengths().to_numpy())
    first, done = 0, 0
    while first < len(ends):
        last = max(first + 1, int(np.searchsorted(ends, done + _SOURCE_ROWS, side="right")))
        yield changes.slice(first, last - first)
        first, done = last, int(ends[last - 1])


def _filled_rows(
    base: pa.Table | None, start: int, changes: pa.Table, log_rows: LogRows, fill: ColumnFill
) -> pa.Table:
    """Return the new rows whose columns are filled with values of all their log rows and of their base rows."""
    sources = changes[SOURCES].combine_chunks()
    positions = sources.flatten()
    rows = log_rows.take(positions.field(BLOCK).to_numpy(), positions.field(ROW).to_numpy())
    counts = sources.value_lengths().to_numpy()
    places = np.zeros(len(counts), dtype=np.int8)
    if base is not None:
        places = changes[BASE_PLACE].to_numpy()
        hit = base.take(pa.array(changes[BASE_ROW].to_numpy() - start))
        rows = pa.concat_tables([rows.select(base.schema.names), hit])
    order, offsets = _with_base_rows(counts, places)
    latest = offsets[:-1] + changes[LATEST].to_numpy() + (places < 0)
    return fill_rows(rows.combine_chunks().take(pa.array(order)), offsets, latest, fill)


def _with_base_rows(counts: Integers, places: Integers) -> tuple[Integers, Integers]:
    """Order the rows from which each new row is made: put the base row at its place among the log rows.

    In the input, all base rows follow all log rows.

    Returns:
        The order of log rows and base rows, and for each new row the bounds of its rows in this order.
    """
    log_count = int(counts.sum())
    owners = np.repeat(np.arange(len(counts)), counts)
    with_base = np.flatnonzero(places)
    owner = np.append(owners, with_base)
    place = np.append(np.zeros(log_count, dtype=np.int8), places[with_base])
    # The sort is stable, so the log rows of a new row stay in their order.
    order = np.lexsort((place, owner))
    offsets = np.append(0, np.cumsum(counts + (places != 0)))
    rows = np.append(np.arange(log_count), log_count + with_base)
    return rows[order], offsets


def fill_rows(rows: pa.Table, offsets: Integers, latest: Integers, fill: ColumnFill) -> pa.Table:
    """Combine the rows between each pair of bounds into one row, which has the first filled value of each column.

    A value counts as not filled if `fill` says that other rows fill it.
    """
    first, last = offsets[:-1], offsets[1:] - 1
    meta = latest if fill.keeps_meta_of_latest else first
    columns = []
    for name, column in zip(rows.schema.names, rows.columns, strict=True):
        if name in META_COLUMNS:
            picked = meta
        else:
            # If no row has a filled value, the last row is used, which is the oldest.
            positions = np.where(_is_open(name, column, fill), len(rows), np.arange(len(rows)))
            picked = np.minimum(np.minimum.reduceat(positions, first), last)
        columns.append(column.take(pa.array(picked)))
    return pa.table(columns, schema=rows.schema)


def _is_open(name: str, column: pa.ChunkedArray, fill: ColumnFill) -> Flags:
    """Return the mask of the values that other rows fill."""
    default = fill.defaults.get(name) if fill.fill is Fill.DEFAULTS else None
    if default is None or not default.is_valid:
        is_open = pc.is_null(column)
    else:
        is_open = pc.fill_null(pc.equal(column, default), False)
    mask: Flags = is_open.to_numpy()
    return mask
