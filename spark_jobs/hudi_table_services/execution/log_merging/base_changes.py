"""Merge the winning log entries with a base file: find the base rows that change, and the log rows that are appended.

The changes are a table. It has one row for each base row that changes, and one for each log row that is appended:

- ``base_row``: row number in the base file; -1 for an appended row.
- ``deletes``: whether the base row is deleted.
- ``block``, ``row``: position of the log row that replaces the base row, or that is appended.

If the merge rule fills columns of a row with values of other rows, there are three more columns:

- ``sources``: positions of the log rows that give the new row its values, see `FilledRows`.
- ``base_place``: place of the base row among the sources: -1 before all log rows, 1 after all log rows, 0 if there is
  no base row.
- ``latest``: index of the latest log row in ``sources``.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_table_services.execution.log_merging.log_entries import (
    BLOCK,
    KEY,
    KIND,
    ROW,
    EntryKind,
    ordering_names,
)
from hudi_table_services.execution.log_merging.log_winners import LogWinners
from hudi_table_services.execution.numpy_types import Flags, Integers
from hudi_table_services.execution.ordering_columns import is_smaller
from hudi_table_services.model.merging.merge_rule import Fill, MergeOrder, MergeRule

BASE_ROW = "base_row"
DELETES = "deletes"
SOURCES = "sources"
BASE_PLACE = "base_place"
LATEST = "latest"

NO_BASE_ROW = -1


@dataclass(slots=True)
class ChangeCounts:
    """Numbers of keys in the log files, by their effect on the base file.

    Attributes:
        replaced: base rows that log rows replace or fill.
        deleted: base rows that are deleted.
        appended: log rows without a base row.
        kept: base rows that stay because their ordering value is larger.
    """

    replaced: int = 0
    deleted: int = 0
    appended: int = 0
    kept: int = 0

    def add(self, other: "ChangeCounts") -> None:
        self.replaced += other.replaced
        self.deleted += other.deleted
        self.appended += other.appended
        self.kept += other.kept


class BaseMerge:
    """Merges the winning log entries with the rows of a base file. The caller passes the base rows batch by batch."""

    def __init__(self, rule: MergeRule, winners: LogWinners) -> None:
        self._rule = rule
        self._winners = winners
        self._kinds = winners.entries[KIND].to_numpy()
        self._has_base_row = np.zeros(len(winners.keys), dtype=bool)
        self.counts = ChangeCounts()

    @property
    def key_count(self) -> int:
        return len(self._winners.keys)

    def changes(self, base: pa.Table) -> pa.Table:
        """Return the changes of some rows of the base file, in file order.

        Args:
            base: columns `KEY`, those of `ordering_names` and `BASE_ROW`.
        """
        found = pc.index_in(base[KEY], value_set=self._winners.keys)
        hits = np.flatnonzero(pc.is_valid(found).to_numpy())
        codes = found.take(pa.array(hits)).to_numpy().astype(np.int64)
        self._has_base_row[codes] = True
        kinds = self._kinds[codes]
        wins = self._wins(base, hits, codes, kinds)
        is_row = kinds == EntryKind.ROW
        changes = wins if self._rule.fill is Fill.NOTHING else wins | is_row
        self.counts.replaced += int((changes & is_row).sum())
        self.counts.deleted += int((changes & ~is_row).sum())
        self.counts.kept += int((~changes).sum())
        base_rows = base[BASE_ROW].to_numpy()[hits[changes]]
        return self._table(base_rows, codes[changes], np.where(wins[changes], 1, -1))

    def appended(self) -> pa.Table:
        """Return the log rows without a base row, in the order of the log. Call `changes` for all base rows first."""
        codes = np.flatnonzero(~self._has_base_row & (self._kinds == EntryKind.ROW))
        entries = self._winners.entries
        codes = codes[np.lexsort((entries[ROW].to_numpy()[codes], entries[BLOCK].to_numpy()[codes]))]
        self.counts.appended += len(codes)
        nowhere = np.zeros(len(codes), dtype=np.int8)
        return self._table(np.full(len(codes), NO_BASE_ROW), codes, nowhere)

    def _wins(self, base: pa.Table, hits: Integers, codes: Integers, kinds: Integers) -> Flags:
        """Return the mask of the base rows against which the log entry with the same key wins."""
        rule = self._rule
        names = ordering_names(rule)
        compares = np.full(len(hits), rule.orders_base_rows)
        compares &= kinds != EntryKind.DELETE_ALWAYS
        if rule.order is MergeOrder.VERSION_6:
            compares &= kinds != EntryKind.DELETE
        wins = np.ones(len(hits), dtype=bool)
        if names and compares.any():
            incoming = self._winners.entries.select(names).take(pa.array(codes[compares]))
            stored = base.select(names).take(pa.array(hits[compares]))
            wins[compares] = ~is_smaller(incoming, stored)
        return wins

    def _table(self, base_rows: Integers, codes: Integers, base_places: Integers) -> pa.Table:
        rows = pa.array(codes)
        entries = self._winners.entries.select([BLOCK, ROW]).take(rows)
        columns = {
            BASE_ROW: pa.array(base_rows, pa.int64()),
            DELETES: pa.array(self._kinds[codes] != EntryKind.ROW),
            BLOCK: entries[BLOCK],
            ROW: entries[ROW],
        }
        filled = self._winners.filled
        if filled is not None:
            columns[SOURCES] = filled.sources.take(rows)
            columns[BASE_PLACE] = pa.array(base_places, pa.int8())
            columns[LATEST] = pa.array(filled.latest[codes], pa.int32())
        return pa.table(columns).combine_chunks()
