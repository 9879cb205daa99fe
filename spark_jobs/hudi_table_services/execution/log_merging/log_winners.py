"""Merge the log entries of each key with each other.

Entries are sorted by key and, for each key, in merge order. An entry *takes over* if it replaces the result of merging
all earlier entries of its key. So the last entry that takes over wins. For all keys at once, the module finds the
entries that take over, with a running maximum of the ordering values. Only tables of version 6 need a loop, because in
these tables a delete with an ordering value can make the maximum smaller. The loop visits only the keys that have such
a delete and other entries.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from hudi_table_services.execution.log_merging.log_entries import (
    BLOCK,
    KEY,
    KIND,
    ROW,
    EntryKind,
    ordering_names,
)
from hudi_table_services.execution.numpy_types import Flags, Integers
from hudi_table_services.execution.ordering_columns import ranks
from hudi_table_services.model.merging.merge_rule import Fill, MergeOrder, MergeRule

SOURCE_TYPE = pa.struct([pa.field(BLOCK, pa.int32()), pa.field(ROW, pa.int64())])
"""Position of a log row."""


@dataclass(frozen=True, slots=True)
class FilledRows:
    """For each key, the log rows that give a filled row its values.

    Attributes:
        sources: for each key, the positions (block and row) of the log rows. The first row is the winner; its values
            have priority over the values of the next rows, and so on. A key whose winner is a delete has no rows.
        latest: for each key, the index in `sources` of the latest log row.
    """

    sources: pa.ListArray
    latest: Integers


@dataclass(frozen=True, slots=True)
class LogWinners:
    """The merged log entries.

    Attributes:
        keys: distinct keys.
        entries: for each key, the entry that wins.
        filled: None if rows are not filled.
    """

    keys: pa.Array
    entries: pa.Table
    filled: FilledRows | None


@dataclass(frozen=True, slots=True)
class _Groups:
    """Entries sorted by key.

    Attributes:
        rows: numbers of the entries, sorted by key and in merge order.
        group: for each sorted entry, the number of its key.
        starts: for each key, the position of its first sorted entry.
        kinds: for each sorted entry, its kind.
    """

    rows: Integers
    group: Integers
    starts: Integers
    kinds: Integers

    def last(self, mask: Flags) -> Integers:
        """Return for each key the position of the last entry in the mask; -1 if there is none."""
        positions = np.where(mask, np.arange(len(mask)), -1)
        result: Integers = np.maximum.reduceat(positions, self.starts)
        return result

    def first(self, mask: Flags) -> Integers:
        """Return for each key the position of the first entry in the mask; the number of entries if there is none."""
        positions = np.where(mask, np.arange(len(mask)), len(mask))
        result: Integers = np.minimum.reduceat(positions, self.starts)
        return result


def merge_log_entries(rule: MergeRule, entries: pa.Table) -> LogWinners:
    """Merge the log entries of each key.

    Args:
        entries: log entries in merge order, see `log_entries`. The row number in this table identifies an entry.
    """
    entries = entries.combine_chunks()
    encoded = _one_array(entries[KEY]).dictionary_encode()
    count, key_count = entries.num_rows, len(encoded.dictionary)
    codes = encoded.indices.to_numpy().astype(np.int64)
    filled = None
    if key_count == count:
        winners = np.arange(count)
    elif rule.order is MergeOrder.BY_ARRIVAL and not rule.fills_between_log_rows:
        winners = np.empty(key_count, dtype=np.int64)
        winners[codes] = np.arange(count)  # the last entry of a key is assigned last
    else:
        groups = _groups(codes, key_count, entries[KIND].to_numpy())
        takes_over = _takes_over(rule, groups, entries)
        winners = groups.rows[groups.last(takes_over)]
        if rule.fills_between_log_rows:
            filled = _filled_rows(groups, takes_over, entries)
    winning = entries.take(pa.array(winners))
    if filled is None and rule.fill is not Fill.NOTHING:
        filled = _unfilled_rows(winning)
    return LogWinners(encoded.dictionary, winning, filled)


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _groups(codes: Integers, key_count: int, kinds: Integers) -> _Groups:
    rows = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[rows], np.arange(key_count))
    return _Groups(rows, codes[rows], starts, kinds[rows])


def _takes_over(rule: MergeRule, groups: _Groups, entries: pa.Table) -> Flags:
    """Return the mask of the sorted entries that take over (see the module's description)."""
    if rule.order is MergeOrder.BY_ARRIVAL:
        return np.ones(len(groups.rows), dtype=bool)
    names, kinds = ordering_names(rule), groups.kinds
    values = ranks(entries.select(names))[groups.rows] if names else np.ones(len(kinds), dtype=np.int64)
    # A part begins with the first entry of a key, or with a delete that makes earlier entries of its key irrelevant.
    begins = kinds == EntryKind.DELETE_ALWAYS
    values[begins] = 0
    begins[groups.starts] = True
    part = np.cumsum(begins)
    dropped = np.zeros(len(kinds), dtype=bool)
    if rule.order is MergeOrder.BY_ORDERING:
        dropped = _deletes_after_delete(kinds, np.flatnonzero(begins)[part - 1])
        values[dropped] = 0
    scaled = values + part * (values.max() + 1)
    takes_over: Flags = (scaled == np.maximum.accumulate(scaled)) & ~dropped
    if rule.order is MergeOrder.VERSION_6:
        _visit_deletes(groups, values, takes_over)
    return takes_over


def _deletes_after_delete(kinds: Integers, part_starts: Integers) -> Flags:
    """Return the mask of the records of delete blocks that follow an unconditional delete, without a row in between.

    Hudi drops these records (BufferedRecordMergerFactory.deltaMergeDeleteRecord).
    """
    is_delete = kinds == EntryKind.DELETE
    others = np.cumsum(~is_delete)
    follows = others == others[part_starts]
    dropped: Flags = is_delete & follows & (kinds[part_starts] == EntryKind.DELETE_ALWAYS)
    return dropped


def _visit_deletes(groups: _Groups, values: Integers, takes_over: Flags) -> None:
    """Correct `takes_over` for the keys of a table of version 6 that have deletes with ordering values."""
    kinds = groups.kinds
    needs = np.zeros(len(groups.starts), dtype=bool)
    needs[groups.group[kinds == EntryKind.DELETE]] = True
    stops = np.append(groups.starts[1:], len(kinds))
    needs &= stops - groups.starts > 1
    for key in np.flatnonzero(needs):
        is_row, stored = False, 0
        for position in range(groups.starts[key], stops[key]):
            kind, value = kinds[position], values[position]
            beaten = is_row and kind != EntryKind.DELETE_ALWAYS and value < stored
            takes_over[position] = not beaten
            if not beaten:
                is_row, stored = kind in (EntryKind.ROW, EntryKind.DELETED_ROW), value


def _filled_rows(groups: _Groups, takes_over: Flags, entries: pa.Table) -> FilledRows:
    """Return the log rows that give each merged row its values.

    Each key has a list of rows, to which the entries of the key are added in merge order. A row that takes over is put
    before the rows in the list, and any other row is put after them. A delete that takes over empties the list. After
    such a delete, rows are dropped until a row takes over.
    """
    is_row = groups.kinds == EntryKind.ROW
    positions = np.arange(len(is_row))
    after_delete = is_row & (positions > groups.last(takes_over & ~is_row)[groups.group])
    used = after_delete & (positions >= groups.first(after_delete & takes_over)[groups.group])
    order = np.lexsort((np.where(takes_over, -positions, positions), groups.group))
    order = order[used[order]]
    counts = np.bincount(groups.group[order], minlength=len(groups.starts))
    offsets = np.append(0, np.cumsum(counts))
    latest = np.zeros(len(groups.starts), dtype=np.int64)
    is_latest = order == groups.last(used)[groups.group[order]]
    latest[groups.group[order[is_latest]]] = np.flatnonzero(is_latest)
    latest = np.where(counts > 0, latest - offsets[:-1], 0)
    return FilledRows(_sources(entries, groups.rows[order], offsets), latest)


def _unfilled_rows(winners: pa.Table) -> FilledRows:
    """Return for each key the winner if it is a row, and no other rows, because log rows do not fill each other."""
    is_row = winners[KIND].to_numpy() == EntryKind.ROW
    offsets = np.append(0, np.cumsum(is_row))
    latest = np.zeros(len(is_row), dtype=np.int64)
    return FilledRows(_sources(winners, np.flatnonzero(is_row), offsets), latest)


def _sources(entries: pa.Table, rows: Integers, offsets: Integers) -> pa.ListArray:
    """Return for each key the positions of some entries. `offsets` are the bounds of each key's entries in `rows`."""
    values = [pa.array(entries[name].to_numpy()[rows]) for name in SOURCE_TYPE.names]
    positions = pa.StructArray.from_arrays(values, fields=list(SOURCE_TYPE))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), positions, type=pa.list_(SOURCE_TYPE))
