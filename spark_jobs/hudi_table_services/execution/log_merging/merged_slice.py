"""Merge one file slice: find the changes that its log files make, and yield its merged rows.

Compactions, clusterings and reads merge file slices with this module.
"""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudi_table_services.execution.base_file_reader import columns_of, open_base_file, rows_of
from hudi_table_services.execution.base_file_writer import COMMIT_TIME
from hudi_table_services.execution.log_merging.log_entries import KEY, ordering_names
from hudi_table_services.execution.log_merging.merged_rows import ColumnFill, merged_rows
from hudi_table_services.execution.log_merging.slice_blocks import SliceBlocks, key_schema
from hudi_table_services.execution.log_merging.slice_changes import MergeMemory, SliceChanges, find_changes
from hudi_table_services.execution.log_merging.slice_reading import LogMerging, SliceReading
from hudi_table_services.execution.log_merging.winning_rows import WinningRows
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.storage.log_files.slice_log import SliceLog, read_slice_log
from hudi_table_services.storage.stores.storage import Storage

_KEYS_SHARE, _ROWS_SHARE = 8, 2
"""The log entries get an eighth of the memory, because merging them takes about five times their size; see
`MergeMemory`. The rows of the log files get a half. The rest is for base rows and for the row group being written."""


@dataclass(slots=True)
class MergedSlice:
    """One file slice while it is merged.

    Attributes:
        log: the valid blocks of the log files.
        base: the open base file; None if the slice has only log files.
        scan_ms: time that the search for changes took, in milliseconds.
        spills: whether the merge used temporary files. `rows` can set this attribute, too.
    """

    log: SliceLog
    blocks: SliceBlocks
    base: pq.ParquetFile | None
    changes: SliceChanges
    merging: LogMerging
    scan_ms: int
    spills: bool

    @property
    def row_count(self) -> int:
        """Return the number of merged rows, calculated from the number of base rows and the changes.

        The number is correct only if all base rows take part in the merge (`LogMerging.base_commits` is None).
        """
        stored: int = 0 if self.base is None else self.base.metadata.num_rows
        return stored - self.changes.counts.deleted + self.changes.counts.appended

    def rows(self) -> Iterator[pa.Table]:
        """Yield the merged rows: base rows in file order, then new rows; `KEPT_META_COLUMNS` come first.

        Raises:
            MalformedMetadataError, UnsupportedTableError, InvalidDataError, InvalidRequestError: see `WinningRows`.
            OSError: a temporary file cannot be written.
        """
        memory = MergeMemory(budget_bytes=self.merging.memory_bytes // _ROWS_SHARE)
        with WinningRows(self.blocks, self.changes, memory) as log_rows:
            self.spills = self.spills or log_rows.spills
            fill = ColumnFill.of(self.merging.rule, self.merging.defaults)
            base = iter(()) if self.base is None else rows_of(self.base, self.blocks.data_schema)
            yield from merged_rows(_taking_part(base, self.merging), self.changes, log_rows, fill)


@contextmanager
def open_merged_slice(
    storage: Storage,
    file_slice: FileSlice,
    merging: LogMerging,
    data_schema: pa.Schema,
    log: SliceLog | None = None,
) -> Iterator[MergedSlice]:
    """Open the files of a slice, and find the changes that its log files make.

    Args:
        data_schema: Arrow schema of the rows without meta columns. To read only some of the columns, pass
            `SliceReading.data_columns`.
        log: the blocks of the slice, if the caller has read them already.

    Raises:
        MalformedMetadataError, CorruptTableError: a log file is damaged.
        UnsupportedTableError: a log file has a block or a column that this release cannot merge.
        InvalidDataError, InvalidRequestError: a value does not fit the type of its column in the table.
        ObjectNotFoundError: a file of the slice does not exist.
        OSError: a temporary file cannot be written.
    """
    started = time.monotonic()
    log = log or read_slice_log(storage, file_slice, merging.visibility)
    blocks = SliceBlocks(storage, log.blocks, merging.rule, data_schema)
    memory = MergeMemory(budget_bytes=merging.memory_bytes // _KEYS_SHARE)
    with (
        _open_base(storage, file_slice) as base,
        find_changes(
            merging.rule, blocks.entries(), _base_keys(merging, data_schema, base), memory
        ) as changes,
    ):
        yield MergedSlice(
            log=log,
            blocks=blocks,
            base=base,
            changes=changes,
            merging=merging,
            scan_ms=int((time.monotonic() - started) * 1000),
            spills=changes.spills,
        )


def rows_of_slice(storage: Storage, file_slice: FileSlice, reading: SliceReading) -> Iterator[pa.Table]:
    """Yield the merged rows of a slice in batches, with the columns `SliceReading.columns`.

    Raises:
        HudiTableServiceError, OSError: see `open_merged_slice` and `MergedSlice.rows`.
    """
    target = reading.columns
    if file_slice.log_files:
        with open_merged_slice(storage, file_slice, reading.merging, reading.data_columns) as merged:
            for rows in merged.rows():
                yield rows.select(target.names)
        return
    with _open_base(storage, file_slice) as base:
        if base is not None:
            yield from columns_of(base, target)


def _open_base(storage: Storage, file_slice: FileSlice) -> AbstractContextManager[pq.ParquetFile | None]:
    path = file_slice.base_file_path
    if file_slice.base_file is None or path is None:
        return nullcontext()
    return open_base_file(storage, path, file_slice.base_file.size_bytes)


def _base_keys(
    merging: LogMerging, data_schema: pa.Schema, base: pq.ParquetFile | None
) -> Iterator[pa.Table]:
    """Yield the keys and ordering values of the base rows, in columns with the names that log entries use."""
    if base is None:
        return
    wanted = key_schema(merging.rule, data_schema)
    names = [KEY, *ordering_names(merging.rule)]
    with_times = wanted if merging.base_commits is None else wanted.append(pa.field(COMMIT_TIME, pa.string()))
    for rows in _taking_part(columns_of(base, with_times), merging):
        yield rows.select(range(len(names))).rename_columns(names)


def _taking_part(rows: Iterator[pa.Table], merging: LogMerging) -> Iterator[pa.Table]:
    """Leave out base rows that take no part in the merge."""
    if merging.base_commits is None:
        return rows
    times = pa.array(sorted(merging.base_commits), pa.string())
    return (each.filter(pc.is_in(each[COMMIT_TIME], value_set=times)) for each in rows)
