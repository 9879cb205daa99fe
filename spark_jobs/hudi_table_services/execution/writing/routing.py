"""Assign every staged row to the file group that has its key, or to the inserts.

One task per staged file reads the rows of the file again, drops superseded rows, and writes the other rows grouped by
file group. Therefore the task that writes a file group reads only the rows of this file group.

The tasks of `tagging` have stored the results of their search as *tags*. A tag belongs to one incoming row. It records
that a file slice has the key of the row, or that the row is superseded. If several slices have the key, the row has
several tags. The *partition of an incoming row* is the partition that the values of the row determine. With a global
index, slices of other partitions can have the key of the row as well.
"""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_table_services.execution.bucketed_keys import check_index_buckets, index_buckets
from hudi_table_services.execution.numpy_types import Flags, Integers
from hudi_table_services.execution.staging import (
    BASE_ROW_COLUMN,
    CHANGE_COLUMN,
    KEY_COLUMN,
    StagedBatch,
    StagedFileWriter,
    StagedReader,
)
from hudi_table_services.execution.writing.merging import (
    DELETED_BEFORE,
    DELETED_ELSEWHERE,
    NEW_KEY,
    Change,
    has_flag,
    without_flags,
)
from hudi_table_services.execution.writing.tagging import SUPERSEDED, BaseFileRef
from hudi_table_services.hudi_format.bucket_hash import BucketHash
from hudi_table_services.model.schema import DELETED_FLAG
from hudi_table_services.storage.stores.storage import Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingRules:
    """Rules for matched incoming rows, whose key is in the table, and for unmatched incoming rows.

    Attributes:
        deletes: whether the operation is `delete`: a matched row deletes the stored row, an unmatched row is dropped.
        honours_deleted_flag: whether the batch has a boolean ``_hoodie_is_deleted`` column.
        drops_existing: whether matched rows are dropped (insert with ``hoodie.datasource.insert.dup.policy=drop``).
        moves_rows: what the write does if another partition than that of the incoming row has the key. If True, the
            write deletes the stored row there, and inserts the incoming row into the partition of the incoming row
            (global index with ``update.partition.path``). If False, the write updates the stored row where it is.
        buckets: how a bucket index assigns keys to buckets; None if the table has no bucket index.
    """

    deletes: bool = False
    honours_deleted_flag: bool = False
    drops_existing: bool = False
    moves_rows: bool = False
    buckets: BucketHash | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteTask:
    """One staged file and the tags of its rows.

    Attributes:
        targets: the job's list of targets; a tag contains a position in this list.
    """

    storage: Storage
    folder: str
    batches: tuple[StagedBatch, ...]
    tags: tuple[StagedBatch, ...]
    targets: tuple[BaseFileRef, ...]
    rules: RoutingRules


@dataclass(frozen=True, slots=True)
class RouteResult:
    """Routed batches, and counts of rows that were left out. Only batches of changes have a `file_id`."""

    batches: tuple[StagedBatch, ...] = ()
    superseded_count: int = 0
    unmatched_delete_count: int = 0
    dropped_existing_count: int = 0
    older_count: int = 0


@dataclass(slots=True)
class _RowTags:
    """Tags of a staged file or of a part of it, sorted by row number."""

    rows: Integers
    targets: Integers
    base_rows: Integers
    loses: Flags
    deleted: Flags

    @classmethod
    def load(cls, task: RouteTask) -> "_RowTags":
        reader = StagedReader(task.storage)
        parts = [reader.read(batch) for batch in task.tags]
        reader.close()
        if not parts:
            empty = np.empty(0, dtype=np.int64)
            return cls(empty, empty, empty, empty.astype(bool), empty.astype(bool))
        table = pa.Table.from_batches(parts)
        rows = table["row"].to_numpy()
        order = np.argsort(rows, kind="stable")
        return cls(
            rows[order],
            table["target"].to_numpy()[order],
            table["base_row"].to_numpy()[order],
            table["loses"].to_numpy()[order],
            table["deleted"].to_numpy()[order],
        )

    def between(self, first_row: int, stop_row: int) -> "_RowTags":
        low, high = np.searchsorted(self.rows, [first_row, stop_row])
        cut = np.arange(low, high)
        return replace(self.where(cut), rows=self.rows[cut] - first_row)

    def where(self, kept: Flags | Integers) -> "_RowTags":
        """Return the tags that a mask or an array of positions selects."""
        return _RowTags(
            self.rows[kept],
            self.targets[kept],
            self.base_rows[kept],
            self.loses[kept],
            self.deleted[kept],
        )

    def of_existing_rows(self, comes_back: Flags) -> "_RowTags":
        """Leave out the tags whose stored row a log file has deleted, except at most one such tag per incoming row.

        From the tags that `comes_back` selects, the first tag of each incoming row is kept. If an incoming row then has
        no tag, its first tag is kept.

        Args:
            comes_back: result of `_Router._comes_back`.
        """
        if not self.deleted.any():
            return self
        kept = ~self.deleted
        back = np.flatnonzero(comes_back & self.deleted)
        _, first = np.unique(self.rows[back], return_index=True)
        kept[back[first]] = True
        others = np.flatnonzero(~np.isin(self.rows, self.rows[kept]))
        _, first = np.unique(self.rows[others], return_index=True)
        kept[others[first]] = True
        return self.where(kept)


def routed_schema(staged: pa.Schema) -> pa.Schema:
    """Return the schema of routed rows: the staged columns, the row number in the base file and the kind of change."""
    return staged.append(pa.field(BASE_ROW_COLUMN, pa.int64())).append(pa.field(CHANGE_COLUMN, pa.int8()))


def route(task: RouteTask) -> RouteResult:
    """Route the rows of one staged file, on an executor. The output replaces the staged file.

    Raises:
        InvalidRequestError, InvalidDataError: see `index_buckets` and `check_index_buckets`.
    """
    router = _Router(task)
    tags = _RowTags.load(task)
    reader = StagedReader(task.storage)
    for batch in task.batches:
        stop = batch.first_row + batch.row_count
        router.route(batch, reader.read(batch), tags.between(batch.first_row, stop))
    reader.close()
    return router.finish()


class _Router:
    def __init__(self, task: RouteTask) -> None:
        self._task = task
        self._rules = task.rules
        self._writer: StagedFileWriter | None = None
        self._superseded = self._unmatched_deletes = self._dropped = self._older = 0

    def finish(self) -> RouteResult:
        batches: tuple[StagedBatch, ...] = ()
        if self._writer is not None:
            self._writer.close()
            batches = tuple(self._writer.batches)
        return RouteResult(batches, self._superseded, self._unmatched_deletes, self._dropped, self._older)

    def route(self, staged: StagedBatch, rows: pa.RecordBatch, tags: _RowTags) -> None:
        superseded = np.zeros(rows.num_rows, dtype=bool)
        superseded[tags.rows[tags.targets == SUPERSEDED]] = True
        deleted = self._deleted(rows)
        tags = tags.where((tags.targets != SUPERSEDED) & ~superseded[tags.rows])
        tags = tags.of_existing_rows(self._comes_back(staged, tags, deleted))
        matched = np.zeros(rows.num_rows, dtype=bool)
        matched[tags.rows] = True
        numbers = self._index_buckets(rows, tags)
        moved = self._write_changes(staged, rows, tags, deleted)
        insert = (~matched & ~superseded & ~deleted) | moved
        self._superseded += int(superseded.sum())
        self._unmatched_deletes += int((deleted & ~matched & ~superseded).sum())
        if insert.any():
            picked = rows if insert.all() else rows.take(pa.array(np.flatnonzero(insert)))
            self._write_inserts(picked, staged.partition_path, None if numbers is None else numbers[insert])

    def _index_buckets(self, rows: pa.RecordBatch, tags: _RowTags) -> Integers | None:
        """Return the index bucket of each row; None if the table has no bucket index.

        The method checks that the key of each matched row is stored in a file group of this bucket.
        """
        if self._rules.buckets is None:
            return None
        keys = rows.column(KEY_COLUMN)
        numbers = index_buckets(self._rules.buckets, keys)
        for target, hits in _by_target(tags):
            owner = self._task.targets[target].file_id
            found = keys.take(pa.array(hits.rows))
            check_index_buckets(self._rules.buckets, found, numbers[hits.rows], owner)
        return numbers

    def _write_inserts(self, rows: pa.RecordBatch, partition_path: str, numbers: Integers | None) -> None:
        """Write inserts. If the table has a bucket index, write one batch for each bucket."""
        if numbers is None:
            zeros = np.zeros(rows.num_rows, dtype=np.int64)
            self._write(rows, zeros, zeros.astype(np.int8), partition_path, None)
            return
        order = np.argsort(numbers, kind="stable")
        found, first = np.unique(numbers[order], return_index=True)
        for number, positions in zip(found.tolist(), np.split(order, first[1:]), strict=True):
            zeros = np.zeros(len(positions), dtype=np.int64)
            kinds = np.full(len(positions), Change.UPDATE | NEW_KEY, dtype=np.int8)
            self._write(rows.take(pa.array(positions)), zeros, kinds, partition_path, number)

    def _deleted(self, rows: pa.RecordBatch) -> Flags:
        if self._rules.deletes:
            return np.ones(rows.num_rows, dtype=bool)
        if not self._rules.honours_deleted_flag:
            return np.zeros(rows.num_rows, dtype=bool)
        flags: Flags = pc.fill_null(rows.column(DELETED_FLAG), False).to_numpy(zero_copy_only=False)
        return flags

    def _comes_back(self, staged: StagedBatch, tags: _RowTags, deleted: Flags) -> Flags:
        """Return the mask of the tags of rows that return to a slice from which a log file has deleted them.

        A log file deleted the row, for example when it moved to another partition, but the base file of the slice still
        has the key. If the write inserted the row into a new file group, two base files of the partition would have the
        key, and Hudi would update both rows.
        """
        if not self._rules.moves_rows or self._rules.deletes or self._rules.drops_existing:
            return np.zeros(len(tags.rows), dtype=bool)
        is_own = self._is_own(staged)[tags.targets]
        stays = deleted.copy()  # incoming rows that do not enter their partition, or that exist there already
        stays[tags.rows[tags.loses | (is_own & ~tags.deleted)]] = True
        mask: Flags = is_own & ~stays[tags.rows]
        return mask

    def _write_changes(
        self, staged: StagedBatch, rows: pa.RecordBatch, tags: _RowTags, deleted: Flags
    ) -> Flags:
        """Write the changes of file groups. Return the mask of moved rows, which the caller must insert as well."""
        moved = np.zeros(rows.num_rows, dtype=bool)
        if self._rules.drops_existing:
            self._dropped += len(np.unique(tags.rows[~tags.deleted]))
            tags = tags.where(tags.deleted)
        in_own_partition = self._matched_in_own_partition(staged, rows, tags)
        deleted_elsewhere = self._deleted_elsewhere(staged, rows, tags)
        for target, hits in _by_target(tags):
            file = self._task.targets[target]
            kinds = np.where(deleted[hits.rows], Change.DELETE, Change.UPDATE).astype(np.int8)
            if self._rules.deletes:
                kinds[:] = Change.DELETE_ALWAYS
            elif self._rules.moves_rows and file.partition_path != staged.partition_path:
                self._older += int(hits.loses.sum())
                hits = hits.where(~hits.loses)
                kinds = np.full(len(hits.rows), Change.DELETE_ALWAYS, dtype=np.int8)
                moved[hits.rows] = ~deleted[hits.rows] & ~in_own_partition[hits.rows]
            else:
                kinds[deleted_elsewhere[hits.rows]] |= DELETED_ELSEWHERE
            kinds[hits.deleted] |= DELETED_BEFORE
            if len(hits.rows):
                picked = rows.take(pa.array(hits.rows))
                self._write(picked, hits.base_rows, kinds, file.partition_path, file.file_id)
        return moved

    def _matched_in_own_partition(self, staged: StagedBatch, rows: pa.RecordBatch, tags: _RowTags) -> Flags:
        """Return the mask of the incoming rows that have a tag in their partition.

        These rows change the slice in the tag, so the write must not insert them as well.
        """
        is_own = self._is_own(staged)
        matched = np.zeros(rows.num_rows, dtype=bool)
        if is_own.any():
            matched[tags.rows[is_own[tags.targets]]] = True
        return matched

    def _deleted_elsewhere(self, staged: StagedBatch, rows: pa.RecordBatch, tags: _RowTags) -> Flags:
        """Return the mask of the incoming rows for which the write deletes stored rows of other partitions."""
        deletes = np.zeros(rows.num_rows, dtype=bool)
        if self._rules.moves_rows:
            deletes[tags.rows[~self._is_own(staged)[tags.targets] & ~tags.loses]] = True
        return deletes

    def _is_own(self, staged: StagedBatch) -> Flags:
        """Return the mask of the targets in the partition of the staged rows."""
        return np.array([t.partition_path == staged.partition_path for t in self._task.targets], dtype=bool)

    def _write(
        self,
        rows: pa.RecordBatch,
        base_rows: Integers,
        kinds: Integers,
        partition_path: str,
        destination: str | int | None,
    ) -> None:
        """Write rows that have the same destination.

        Args:
            destination: id of the file group that the rows change, index bucket of inserts, or None for other inserts.
        """
        schema = routed_schema(rows.schema)
        if self._writer is None:
            path = f"{self._task.folder}/routed-{uuid.uuid4().hex}.arrow"
            self._writer = StagedFileWriter(self._task.storage, path, schema)
        batch = pa.record_batch([*rows.columns, pa.array(base_rows), pa.array(kinds)], schema=schema)
        is_update = without_flags(kinds) == Change.UPDATE
        reinsert_count = int((has_flag(kinds, DELETED_BEFORE) & is_update).sum())
        file_id = destination if isinstance(destination, str) else None
        index_bucket = destination if isinstance(destination, int) else None
        delete_count = int((~is_update).sum())
        self._writer.write(batch, partition_path, file_id, delete_count, reinsert_count, index_bucket)


def _by_target(tags: _RowTags) -> Iterator[tuple[int, _RowTags]]:
    for target in np.unique(tags.targets):
        yield int(target), tags.where(tags.targets == target)
