"""Find the changes that the log files of a file slice make to its base file, in bounded memory.

If the log entries need more memory than the caller permits, the log entries and the keys of the base file are divided
into buckets by the hashes of the keys. The buckets are Arrow IPC files. Each bucket is merged separately, and the
changes are stored in files, too. These files are mapped into memory, so the operating system keeps only the parts in
use.
"""

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from types import TracebackType

import numpy as np
import pyarrow as pa
from pyarrow import ipc

from hudi_table_services.execution.log_merging.base_changes import (
    BASE_ROW,
    BaseMerge,
    ChangeCounts,
)
from hudi_table_services.execution.log_merging.key_spill import LARGEST_DEPTH, split_by_key
from hudi_table_services.execution.log_merging.log_entries import BLOCK
from hudi_table_services.execution.log_merging.log_winners import merge_log_entries
from hudi_table_services.model.merging.merge_rule import MergeRule

_BATCH_ROWS = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeMemory:
    """Limit for the memory of a merge.

    Attributes:
        budget_bytes: largest size of the log entries that a merge keeps in memory, in bytes of Arrow data. Only the
            entries of a single key can exceed this size. The peak of the whole merge is about five times as large: it
            includes copies of the entries, row numbers, and as many keys of the base file as the log has.
        folder: existing folder for spill files on a local disk. None means the system's folder for temporary files.
    """

    budget_bytes: int
    folder: Path | None = None


@dataclass(slots=True)
class SliceChanges:
    """Changes of one file slice. The end of the `with` block deletes the spill files.

    Attributes:
        parts: changes of base rows, see `base_changes`; each part is sorted by base row.
        appended: log rows to append; each part is sorted by block and row.
        key_count: number of distinct keys in the log.
        spills: whether the merge used spill files.
    """

    parts: list[pa.Table] = field(default_factory=list)
    appended: list[pa.Table] = field(default_factory=list)
    counts: ChangeCounts = field(default_factory=ChangeCounts)
    key_count: int = 0
    spills: bool = False
    _folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> "SliceChanges":
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.parts, self.appended = [], []
        if self._folder is not None:
            self._folder.cleanup()

    def between(self, start: int, stop: int) -> pa.Table | None:
        """Return the changes of the base rows from `start` (inclusive) to `stop` (exclusive), sorted, or None."""
        return _joined(self.parts, BASE_ROW, start, stop)

    def appended_rows(self) -> Iterator[pa.Table]:
        """Yield the log rows to append, in the order of the log, block by block."""
        last = [int(part[BLOCK][-1].as_py()) for part in self.appended if part.num_rows]
        for block in range(max(last, default=-1) + 1):
            found = _joined(self.appended, BLOCK, block, block + 1)
            if found is not None:
                yield found.sort_by("row") if len(self.appended) > 1 else found


def find_changes(
    rule: MergeRule, entries: Iterable[pa.Table], base: Iterable[pa.Table], memory: MergeMemory
) -> SliceChanges:
    """Merge the log entries of a file slice with each other and with the keys of its base file.

    Args:
        entries: log entries in merge order, see `log_entries`.
        base: keys of the base file in file order: columns `KEY` and those of `ordering_names`. Empty if the slice has
            no base file.

    Raises:
        OSError: a spill file cannot be written.
    """
    result = SliceChanges()
    try:
        _find(_Search(rule, memory, result), entries, _numbered(base), 0)
    except BaseException:
        result.__exit__(None, None, None)
        raise
    return result


def _joined(parts: list[pa.Table], column: str, start: int, stop: int) -> pa.Table | None:
    """Return the rows whose value in `column` is at least `start` and less than `stop`, sorted by this value.

    Args:
        parts: tables that are each sorted by `column`.
    """
    found = []
    for part in parts:
        low, high = np.searchsorted(part[column].to_numpy(), [start, stop])
        if low < high:
            found.append(part.slice(low, high - low))
    if len(found) <= 1:
        return found[0] if found else None
    return pa.concat_tables(found).sort_by(column)


def _numbered(base: Iterable[pa.Table]) -> Iterator[pa.Table]:
    first = 0
    for batch in base:
        numbers = np.arange(first, first + batch.num_rows, dtype=np.int64)
        yield batch.append_column(BASE_ROW, pa.array(numbers))
        first += batch.num_rows


@dataclass(frozen=True, slots=True)
class _Search:
    rule: MergeRule
    memory: MergeMemory
    result: SliceChanges

    def folder(self) -> Path:
        if self.result._folder is None:
            self.result._folder = tempfile.TemporaryDirectory(
                prefix="hudi-merge-", dir=self.memory.folder, ignore_cleanup_errors=True
            )
        return Path(self.result._folder.name)


def _find(search: _Search, entries: Iterable[pa.Table], base: Iterable[pa.Table], depth: int) -> None:
    held: list[pa.Table] = []
    size = 0
    remaining = iter(entries)
    for batch in remaining:
        held.append(batch)
        size += batch.nbytes
        if size > search.memory.budget_bytes and depth < LARGEST_DEPTH:
            search.result.spills = True
            del batch
            _find_in_buckets(search, chain(_taken_out(held), remaining), base, depth)
            return
    if not held:
        return
    merge = BaseMerge(search.rule, merge_log_entries(search.rule, pa.concat_tables(held)))
    held.clear()
    changes = [merge.changes(batch) for batch in _large_batches(base, merge.key_count)]
    appended = merge.appended()
    search.result.counts.add(merge.counts)
    search.result.key_count += merge.key_count
    _keep(search, search.result.parts, [part for part in changes if part.num_rows])
    _keep(search, search.result.appended, [appended] if appended.num_rows else [])


def _taken_out(held: list[pa.Table]) -> Iterator[pa.Table]:
    """Yield the tables in their order, and remove each from the list, so that its memory is released after its use."""
    held.reverse()
    while held:
        yield held.pop()


def _find_in_buckets(
    search: _Search, entries: Iterable[pa.Table], base: Iterable[pa.Table], depth: int
) -> None:
    folder = Path(tempfile.mkdtemp(dir=search.folder()))
    spill = split_by_key(folder, entries, base, depth)
    for bucket in spill.buckets:
        with spill.entries(bucket) as bucket_entries, spill.base(bucket) as bucket_base:
            _find(search, bucket_entries, bucket_base, depth + 1)
        spill.delete(bucket)


def _large_batches(base: Iterable[pa.Table], row_count: int) -> Iterator[pa.Table]:
    """Join batches until they have about `row_count` rows. `row_count` is the number of keys that are searched.

    Each search hashes all these keys, so a few large batches cost less than many small batches.
    """
    held: list[pa.Table] = []
    held_rows = 0
    for batch in base:
        held.append(batch)
        held_rows += batch.num_rows
        if held_rows >= max(row_count, _BATCH_ROWS):
            yield pa.concat_tables(held)
            held, held_rows = [], 0
    if held:
        yield pa.concat_tables(held)


def _keep(search: _Search, target: list[pa.Table], changes: list[pa.Table]) -> None:
    """Add changes to the result, in a file if the log entries were spilled."""
    if not changes:
        return
    table = pa.concat_tables(changes).combine_chunks()
    if not search.result.spills:
        target.append(table)
        return
    with tempfile.NamedTemporaryFile(dir=search.folder(), suffix=".arrow", delete=False) as file:
        path = file.name
        with ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    with pa.memory_map(path) as source:
        target.append(ipc.open_file(source).read_all())
