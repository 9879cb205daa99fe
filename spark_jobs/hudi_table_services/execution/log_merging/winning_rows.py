"""Load the log rows that become part of the merged rows of a slice. Each data block is decoded at most once.

The rows are kept in the order of the log, in memory or, beyond a limit, in Arrow IPC files that are mapped into memory.
A merge takes the loaded rows by their positions in the log, in any order.
"""

import tempfile
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from types import TracebackType

import numpy as np
import pyarrow as pa
from pyarrow import ipc

from hudi_table_services.execution.base_file_reader import with_kept_meta
from hudi_table_services.execution.log_merging.base_changes import DELETES, SOURCES
from hudi_table_services.execution.log_merging.log_entries import BLOCK, ROW
from hudi_table_services.execution.log_merging.slice_blocks import SliceBlocks
from hudi_table_services.execution.log_merging.slice_changes import MergeMemory, SliceChanges
from hudi_table_services.execution.numpy_types import Flags, Integers

_PART_BYTES = 16 << 20
"""Rows of small blocks are joined to parts of this size, because a look-up visits each part."""


class WinningRows:
    """The `LogRows` of one slice. The end of the `with` block deletes the spill files.

    Args:
        blocks: blocks of the slice. The caller must have read their entries.
        changes: the changes whose log rows are needed.
        memory: if the rows need more than `budget_bytes`, they are written into files below `folder`.

    Raises:
        MalformedMetadataError, UnsupportedTableError, InvalidDataError, InvalidRequestError: see `SliceBlocks.entries`.
        OSError: a spill file cannot be written.
    """

    def __init__(self, blocks: SliceBlocks, changes: SliceChanges, memory: MergeMemory) -> None:
        self._target = with_kept_meta(blocks.data_schema)
        self._memory = memory
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._starts = np.array([0, *accumulate(blocks.row_counts)], dtype=np.int64)
        self._positions: Integers = np.empty(0, dtype=np.int64)
        self._parts: list[pa.Table] = []
        self._part_starts: Integers = np.zeros(1, dtype=np.int64)
        self.spills = False
        try:
            self._load(blocks, self._needed(changes))
        except BaseException:
            self.__exit__(None, None, None)
            raise

    def __enter__(self) -> "WinningRows":
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._parts = []
        if self._folder is not None:
            self._folder.cleanup()

    def take(self, blocks: Integers, rows: Integers) -> pa.Table:
        """Return the rows at these positions, in this order."""
        if not len(blocks):
            return self._target.empty_table()
        places = np.searchsorted(self._positions, self._starts[blocks] + rows)
        part_of = np.searchsorted(self._part_starts, places, side="right") - 1
        order = np.argsort(part_of, kind="stable")
        bounds = np.flatnonzero(np.diff(part_of[order], prepend=-1))
        found = []
        for start, stop in zip(bounds, [*bounds[1:], len(order)], strict=True):
            part = int(part_of[order[start]])
            found.append(
                self._parts[part].take(pa.array(places[order[start:stop]] - self._part_starts[part]))
            )
        in_parts = pa.concat_tables(found)
        if len(found) == 1 and bool((order[:-1] < order[1:]).all()):
            return in_parts
        back = np.empty(len(order), dtype=np.int64)
        back[order] = np.arange(len(order))
        return in_parts.combine_chunks().take(pa.array(back))

    def _needed(self, changes: SliceChanges) -> Flags:
        """Return the mask of the log records that are part of a merged row."""
        needed = np.zeros(int(self._starts[-1]), dtype=bool)
        for part in (*changes.parts, *changes.appended):
            for block, row in _positions_in(part):
                needed[self._starts[block] + row] = True
        return needed

    def _load(self, blocks: SliceBlocks, needed: Flags) -> None:
        self._positions = np.flatnonzero(needed)
        held: list[pa.Table] = []
        held_bytes = 0
        for number in range(len(self._starts) - 1):
            rows = np.flatnonzero(needed[self._starts[number] : self._starts[number + 1]])
            if not len(rows):
                continue
            held.append(blocks.open(number).read(self._target, rows))
            held_bytes += held[-1].nbytes
            if held_bytes >= min(_PART_BYTES, self._memory.budget_bytes):
                self._keep(held)
                held, held_bytes = [], 0
        self._keep(held)
        sizes = [part.num_rows for part in self._parts]
        self._part_starts = np.array([0, *accumulate(sizes[:-1])] if sizes else [0], dtype=np.int64)

    def _keep(self, held: list[pa.Table]) -> None:
        if not held:
            return
        part = pa.concat_tables(held).combine_chunks()
        in_memory = sum(each.nbytes for each in self._parts) if not self.spills else 0
        if self.spills or in_memory + part.nbytes > self._memory.budget_bytes:
            self._parts = [each if self.spills else self._spilled(each) for each in self._parts]
            self.spills = True
            part = self._spilled(part)
        self._parts.append(part)

    def _spilled(self, part: pa.Table) -> pa.Table:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(
                prefix="hudi-log-rows-", dir=self._memory.folder, ignore_cleanup_errors=True
            )
        with tempfile.NamedTemporaryFile(dir=Path(self._folder.name), suffix=".arrow", delete=False) as file:
            path = file.name
            with ipc.new_file(file, part.schema) as writer:
                writer.write_table(part)
        with pa.memory_map(path) as source:
            return ipc.open_file(source).read_all()


def _positions_in(part: pa.Table) -> Iterator[tuple[Integers, Integers]]:
    """Yield the positions (blocks and rows) of the log rows that a part of the changes needs."""
    if SOURCES in part.column_names:
        for chunk in part[SOURCES].chunks:
            positions = chunk.flatten()
            yield positions.field(BLOCK).to_numpy(), positions.field(ROW).to_numpy()
        return
    replaces = ~part[DELETES].to_numpy()
    yield part[BLOCK].to_numpy()[replaces], part[ROW].to_numpy()[replaces]
