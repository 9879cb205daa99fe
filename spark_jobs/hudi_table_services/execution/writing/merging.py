"""Merge incoming rows into a base file, which is read in batches of rows.

The peak memory consists of the incoming rows of one file group and a bounded number of batches, regardless of the
file's size. As in HoodieMergeHandle (Hudi 1.2), unchanged rows keep their commit time and sequence number.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

import numpy as np
import pyarrow as pa

from hudi_table_services.execution.numpy_types import Flags, Integers
from hudi_table_services.execution.ordering_columns import is_smaller
from hudi_table_services.execution.replaced_rows import replace_rows
from hudi_table_services.execution.staging import BASE_ROW_COLUMN, CHANGE_COLUMN


class Change(IntEnum):
    """Effect of an incoming row on the base row with its key."""

    UPDATE = 0
    DELETE = 1
    """A soft delete (``_hoodie_is_deleted``). As for an update, its ordering value is compared with the stored one."""
    DELETE_ALWAYS = 2
    """A hard delete, or the deletion of a stored row that moves to another partition. Ordering values are ignored."""


DELETED_ELSEWHERE = 4
"""Flag that is added to a `Change` if the commit also deletes rows with the same key in other partitions."""

DELETED_BEFORE = 8
"""Flag that is added to a `Change` if a log file of the slice has already deleted the row with its key."""

NEW_KEY = 16
"""Flag that is added to an update of a table with a bucket index if no file of its file group has the key."""


def without_flags(kinds: Integers) -> Integers:
    """Return the changes without their flags, as values of `Change`."""
    return kinds & ~(DELETED_ELSEWHERE | DELETED_BEFORE | NEW_KEY)


def has_flag(kinds: Integers, flag: int) -> Flags:
    """Return the mask of the changes with this flag."""
    mask: Flags = (kinds & flag) != 0
    return mask


@dataclass(slots=True)
class MergeCounts:
    """Numbers of rows that a merge changes or drops."""

    updated: int = 0
    deleted: int = 0
    kept_older_incoming: int = 0
    """Incoming rows that were dropped because the base row has a larger ordering value."""


class RowWatcher(Protocol):
    """Receives the stored rows that a merge changes, as tables with the columns in `columns`."""

    columns: tuple[str, ...]

    def inserted(self, rows: pa.Table) -> None:
        """Receive the rows whose changes have the flag `DELETED_ELSEWHERE`, unless the merge deletes them.

        The method receives these rows whether or not the merge updates them.
        """

    def deleted(self, rows: pa.Table) -> None:
        """Receive the stored rows that the merge deletes."""

    def updated(self, before: pa.Table, after: pa.Table) -> None:
        """Receive the stored rows that the merge replaces, and the new rows in the same order."""


class Merger:
    """Applies the changes of one file group to the batches of its base file.

    Args:
        changes: incoming rows with `BASE_ROW_COLUMN` (row number in the base file), `CHANGE_COLUMN`, the user's
            columns and the three meta columns, sorted by base row.
        ordering_fields: columns to compare, first to last, if event time determines which row wins; empty if incoming
            rows always win.
        watcher: receives, for each batch, the rows that the merge changes.
    """

    def __init__(
        self,
        changes: pa.Table,
        ordering_fields: tuple[str, ...],
        watcher: RowWatcher | None = None,
    ) -> None:
        self._rows = changes.drop_columns([BASE_ROW_COLUMN, CHANGE_COLUMN])
        self._base_rows = changes[BASE_ROW_COLUMN].to_numpy()
        flagged = changes[CHANGE_COLUMN].to_numpy()
        self._kinds = without_flags(flagged)
        self._is_deleted_elsewhere = has_flag(flagged, DELETED_ELSEWHERE)
        self._ordering_fields = ordering_fields
        self._watcher = watcher
        self._position = 0
        self.counts = MergeCounts()

    def changes(self, first: int, row_count: int) -> bool:
        """Whether an incoming row concerns one of these rows of the base file."""
        low, high = np.searchsorted(self._base_rows, [first, first + row_count])
        return bool(low < high)

    def skip(self, row_count: int) -> None:
        """Leave out the next rows of the base file, which no incoming row concerns."""
        self._position += row_count

    def apply(self, base: pa.Table) -> pa.Table:
        """Apply the changes to the next batch of the base file, and return the merged rows."""
        start, self._position = self._position, self._position + base.num_rows
        low, high = np.searchsorted(self._base_rows, [start, self._position])
        if low == high:
            return base
        hit_rows = self._base_rows[low:high] - start
        kinds = self._kinds[low:high]
        incoming = self._rows.slice(low, high - low).select(base.schema.names)
        wins = self._wins(base, hit_rows, incoming) | (kinds == Change.DELETE_ALWAYS)
        self.counts.kept_older_incoming += int((~wins).sum())
        updates = wins & (kinds == Change.UPDATE)
        deletes = wins & (kinds != Change.UPDATE)
        self.counts.updated += int(updates.sum())
        self.counts.deleted += int(deletes.sum())
        if self._watcher is not None:
            kept = self._is_deleted_elsewhere[low:high] & ~deletes
            _Hits(base, incoming, hit_rows, self._watcher).report(updates, deletes, kept)
        new_rows = incoming.filter(pa.array(updates)) if updates.any() else None
        return replace_rows(base, new_rows, hit_rows[updates], hit_rows[deletes])

    def _wins(self, base: pa.Table, hit_rows: Integers, incoming: pa.Table) -> Flags:
        """Return the mask of the incoming rows whose ordering value is not smaller than that of the stored row."""
        if not self._ordering_fields:
            return np.ones(len(hit_rows), dtype=bool)
        fields = list(self._ordering_fields)
        return ~is_smaller(incoming.select(fields), base.select(fields).take(pa.array(hit_rows)))


@dataclass(frozen=True, slots=True)
class _Hits:
    """Stored rows of a batch and the incoming rows with the same keys.

    Attributes:
        hit_rows: for each incoming row, the number of the stored row in the batch.
    """

    base: pa.Table
    incoming: pa.Table
    hit_rows: Integers
    watcher: RowWatcher

    def report(self, updates: Flags, deletes: Flags, kept: Flags) -> None:
        """Pass rows to the watcher. The arguments are masks of the incoming rows."""
        if deletes.any():
            self.watcher.deleted(self._stored(deletes))
        if updates.any():
            self.watcher.updated(self._stored(updates), self._new(updates))
        if kept.any():
            self.watcher.inserted(self._stored(kept & ~updates))
            self.watcher.inserted(self._new(kept & updates))

    def _stored(self, mask: Flags) -> pa.Table:
        return self.base.select(self.watcher.columns).take(pa.array(self.hit_rows[mask]))

    def _new(self, mask: Flags) -> pa.Table:
        return self.incoming.select(self.watcher.columns).filter(pa.array(mask))
