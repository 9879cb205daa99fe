"""Put every staged row where it belongs: into the file group that holds its key, or among the inserts.

One task per staged file reads its rows once more, drops superseded ones and writes the others grouped by target,
so that the writer of a file group later reads its own rows and no others.
"""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_table_services.execution.staging import (
    BASE_ROW_COLUMN,
    CHANGE_COLUMN,
    StagedBatch,
    StagedFileWriter,
    StagedReader,
)
from hudi_table_services.execution.writing.merging import Change
from hudi_table_services.execution.writing.tagging import SUPERSEDED, BaseFileRef
from hudi_table_services.storage.stores.storage import Storage

DELETED_FLAG = "_hoodie_is_deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingRules:
    """How a matched or unmatched row is treated.

    Attributes:
        deletes: the operation is `delete`: matched rows are removed, unmatched ones dropped.
        honours_deleted_flag: the batch has a boolean ``_hoodie_is_deleted`` column.
        drops_existing: insert with ``hoodie.datasource.insert.dup.policy=drop``: matched rows are dropped.
        moves_rows: global index with ``update.partition.path``: a matched row of another partition moves.
    """

    deletes: bool = False
    honours_deleted_flag: bool = False
    drops_existing: bool = False
    moves_rows: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteTask:
    """One staged file and the tags that concern it."""

    storage: Storage
    folder: str
    batches: tuple[StagedBatch, ...]
    tags: tuple[StagedBatch, ...]
    targets: tuple[BaseFileRef, ...]
    rules: RoutingRules


@dataclass(frozen=True, slots=True)
class RouteResult:
    """Routed batches (with `file_id` for changes, without for inserts) and what was left out."""

    batches: tuple[StagedBatch, ...] = ()
    superseded_count: int = 0
    unmatched_delete_count: int = 0
    dropped_existing_count: int = 0
    older_count: int = 0


@dataclass(slots=True)
class _Verdicts:
    """Tags of one staged file, sorted by row."""

    rows: np.ndarray
    targets: np.ndarray
    base_rows: np.ndarray
    loses: np.ndarray

    @classmethod
    def load(cls, task: RouteTask) -> "_Verdicts":
        reader = StagedReader(task.storage)
        parts = [reader.read(batch) for batch in task.tags]
        reader.close()
        if not parts:
            empty = np.empty(0, dtype=np.int64)
            return cls(empty, empty, empty, empty.astype(bool))
        table = pa.Table.from_batches(parts)
        rows = table["row"].to_numpy()
        order = np.argsort(rows, kind="stable")
        return cls(
            rows[order],
            table["target"].to_numpy()[order],
            table["base_row"].to_numpy()[order],
            table["loses"].to_numpy()[order],
        )

    def between(self, first_row: int, stop_row: int) -> "_Verdicts":
        low, high = np.searchsorted(self.rows, [first_row, stop_row])
        cut = slice(int(low), int(high))
        return _Verdicts(self.rows[cut] - first_row, self.targets[cut], self.base_rows[cut], self.loses[cut])


def routed_schema(staged: pa.Schema) -> pa.Schema:
    """Staged columns, the row number in the base file and the kind of change."""
    return staged.append(pa.field(BASE_ROW_COLUMN, pa.int64())).append(pa.field(CHANGE_COLUMN, pa.int8()))


def route(task: RouteTask) -> RouteResult:
    """Run on an executor; its output replaces the staged file."""
    router = _Router(task)
    verdicts = _Verdicts.load(task)
    reader = StagedReader(task.storage)
    for batch in task.batches:
        stop = batch.first_row + batch.row_count
        router.route(batch, reader.read(batch), verdicts.between(batch.first_row, stop))
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

    def route(self, staged: StagedBatch, rows: pa.RecordBatch, verdicts: _Verdicts) -> None:
        superseded = np.zeros(rows.num_rows, dtype=bool)
        superseded[verdicts.rows[verdicts.targets == SUPERSEDED]] = True
        live = (verdicts.targets != SUPERSEDED) & ~superseded[verdicts.rows]
        verdicts = _Verdicts(
            verdicts.rows[live], verdicts.targets[live], verdicts.base_rows[live], verdicts.loses[live]
        )
        matched = np.zeros(rows.num_rows, dtype=bool)
        matched[verdicts.rows] = True
        deleted = self._deleted(rows)
        moved = self._write_changes(staged, rows, verdicts, deleted)
        insert = (~matched & ~superseded & ~deleted) | moved
        self._superseded += int(superseded.sum())
        self._unmatched_deletes += int((deleted & ~matched & ~superseded).sum())
        if insert.any():
            picked = rows if insert.all() else rows.take(pa.array(np.flatnonzero(insert)))
            nothing = np.zeros(picked.num_rows, dtype=np.int64)
            self._write(picked, nothing, nothing.astype(np.int8), staged.partition_path, None)

    def _deleted(self, rows: pa.RecordBatch) -> np.ndarray:
        if self._rules.deletes:
            return np.ones(rows.num_rows, dtype=bool)
        if not self._rules.honours_deleted_flag:
            return np.zeros(rows.num_rows, dtype=bool)
        return pc.fill_null(rows.column(DELETED_FLAG), False).to_numpy(zero_copy_only=False)

    def _write_changes(
        self, staged: StagedBatch, rows: pa.RecordBatch, verdicts: _Verdicts, deleted: np.ndarray
    ) -> np.ndarray:
        """Write the rows that change a file group; returns the rows that also become inserts elsewhere."""
        moved = np.zeros(rows.num_rows, dtype=bool)
        if self._rules.drops_existing:
            self._dropped += len(np.unique(verdicts.rows))
            return moved
        at_home = self._rows_at_home(staged, rows, verdicts)
        for target, hits in _by_target(verdicts):
            file = self._task.targets[target]
            kinds = np.where(deleted[hits.rows], Change.DELETE, Change.UPDATE).astype(np.int8)
            if self._rules.deletes:
                kinds[:] = Change.DELETE_ALWAYS
            elif self._rules.moves_rows and file.partition_path != staged.partition_path:
                self._older += int(hits.loses.sum())
                hits = _Verdicts(
                    *(a[~hits.loses] for a in (hits.rows, hits.targets, hits.base_rows, hits.loses))
                )
                kinds = np.full(len(hits.rows), Change.DELETE_ALWAYS, dtype=np.int8)
                moved[hits.rows] = ~deleted[hits.rows] & ~at_home[hits.rows]
            if len(hits.rows):
                picked = rows.take(pa.array(hits.rows))
                self._write(picked, hits.base_rows, kinds, file.partition_path, file.file_id)
        return moved

    def _rows_at_home(self, staged: StagedBatch, rows: pa.RecordBatch, verdicts: _Verdicts) -> np.ndarray:
        """Rows whose key the table holds in their own partition too: they update it there, and must not come twice."""
        is_home = np.array(
            [t.partition_path == staged.partition_path for t in self._task.targets], dtype=bool
        )
        at_home = np.zeros(rows.num_rows, dtype=bool)
        if is_home.any():
            at_home[verdicts.rows[is_home[verdicts.targets]]] = True
        return at_home

    def _write(
        self,
        rows: pa.RecordBatch,
        base_rows: np.ndarray,
        kinds: np.ndarray,
        partition_path: str,
        file_id: str | None,
    ) -> None:
        schema = routed_schema(rows.schema)
        if self._writer is None:
            path = f"{self._task.folder}/routed-{uuid.uuid4().hex}.arrow"
            self._writer = StagedFileWriter(self._task.storage, path, schema)
        batch = pa.record_batch([*rows.columns, pa.array(base_rows), pa.array(kinds)], schema=schema)
        delete_count = int((kinds != Change.UPDATE).sum())
        self._writer.write(batch, partition_path, file_id, delete_count)


def _by_target(verdicts: _Verdicts) -> Iterator[tuple[int, _Verdicts]]:
    for target in np.unique(verdicts.targets):
        mine = verdicts.targets == target
        yield (
            int(target),
            _Verdicts(
                verdicts.rows[mine], verdicts.targets[mine], verdicts.base_rows[mine], verdicts.loses[mine]
            ),
        )
