"""Read the merged rows of a whole file slice: the rows that a snapshot query returns."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_table_services.execution.base_file_reader import columns_of, open_base_file, rows_of
from hudi_table_services.execution.log_merging.log_entries import KEY, ordering_names
from hudi_table_services.execution.log_merging.merged_rows import ColumnFill, merged_rows
from hudi_table_services.execution.log_merging.slice_blocks import SliceBlocks, key_schema
from hudi_table_services.execution.log_merging.slice_changes import MergeMemory, find_changes
from hudi_table_services.execution.log_merging.slice_reading import SliceReading
from hudi_table_services.execution.log_merging.winning_rows import WinningRows
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.storage.log_files.slice_log import read_slice_log
from hudi_table_services.storage.stores.storage import Storage

_KEYS = MergeMemory(budget_bytes=64 << 20)
_ROWS = MergeMemory(budget_bytes=128 << 20)


def rows_of_slice(storage: Storage, file_slice: FileSlice, reading: SliceReading) -> Iterator[pa.Table]:
    """Yield the merged rows with the columns `SliceReading.columns`, in batches.

    Memory: that of `find_changes` and `WinningRows`; beyond 64 MiB of log entries or 128 MiB of log rows, temporary
    files are used.

    Raises:
        MalformedMetadataError, UnsupportedTableError: see `read_slice_log` and `SliceBlocks.entries`.
        InvalidDataError, InvalidRequestError: a value does not fit the type of its column.
        ObjectNotFoundError: a file of the slice does not exist.
        OSError: a temporary file cannot be written.
    """
    target = reading.columns
    with _open_base(storage, file_slice) as base:
        if not file_slice.log_files:
            if base is not None:
                yield from columns_of(base, target)
            return
        log = read_slice_log(storage, file_slice, reading.merging.visibility)
        blocks = SliceBlocks(storage, log.blocks, reading.rule, reading.data_columns)
        fill = ColumnFill.of(reading.rule, reading.merging.defaults)
        with (
            find_changes(reading.rule, blocks.entries(), _base_keys(reading, base), _KEYS) as changes,
            WinningRows(blocks, changes, _ROWS) as log_rows,
        ):
            stored = iter(()) if base is None else rows_of(base, reading.data_columns)
            for rows in merged_rows(stored, changes, log_rows, fill):
                yield rows.select(target.names)


def _open_base(storage: Storage, file_slice: FileSlice) -> AbstractContextManager[pq.ParquetFile | None]:
    path = file_slice.base_file_path
    if file_slice.base_file is None or path is None:
        return nullcontext()
    return open_base_file(storage, path, file_slice.base_file.size_bytes)


def _base_keys(reading: SliceReading, base: pq.ParquetFile | None) -> Iterator[pa.Table]:
    """Keys and ordering values of the base rows, under the names of log entries."""
    if base is not None:
        for rows in columns_of(base, key_schema(reading.rule, reading.schema)):
            yield rows.rename_columns([KEY, *ordering_names(reading.rule)])
