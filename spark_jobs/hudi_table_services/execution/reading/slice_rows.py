"""Read the rows of the file slices of a scan.

The module reads a slice without log files by row groups. It leaves out the row groups that, according to the footer,
have no row that fulfils the conditions. In each of the other row groups, it first reads the columns of the conditions,
and reads the columns of the result only if a row fulfils the conditions. A slice with log files is merged as a whole,
because a row of a log file can replace, delete or partially update any row of the base file.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_table_services.errors import ExecutionFailedError, ObjectNotFoundError
from hudi_table_services.execution.arrow_schema import conform
from hudi_table_services.execution.base_file_reader import (
    column_names,
    open_base_file,
    rows_per_batch,
)
from hudi_table_services.execution.log_merging.merged_slice import open_merged_slice
from hudi_table_services.execution.log_merging.slice_reading import LogMerging
from hudi_table_services.execution.reading.key_filters import may_have_keys
from hudi_table_services.execution.reading.row_conditions import fulfilling, mask_of
from hudi_table_services.execution.reading.row_groups import wanted_row_groups
from hudi_table_services.execution.reading.slice_parts import ReadWork, SlicePart
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.reading.predicate import ColumnPredicate
from hudi_table_services.model.schema import META_COLUMNS
from hudi_table_services.storage.log_files.slice_log import SliceLog, read_slice_log
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.storage.stores.storage import Storage

_PARTITION_PATH, _FILE_NAME = META_COLUMNS[3], META_COLUMNS[4]


@dataclass(frozen=True)
class SliceReader:
    """Reads slices of one scan. The driver sends this reader to the executors.

    Attributes:
        data_schema: all columns of the user in the table, with their current types.
        columns: the columns of the result, all of them nullable.
        merging: how log files are merged; None to ignore log files.
        keys: the record keys that rows of the result can have; None if the conditions do not limit them.
        gone: two sentences for the user about a file that does not exist any more: what happened, and what to do.
        had_no_rows: whether a log file that does not exist any more had no rows of the scan.
    """

    storage: Storage
    data_schema: pa.Schema
    columns: pa.Schema
    predicates: tuple[ColumnPredicate, ...] = ()
    merging: LogMerging | None = None
    keys: frozenset[str] | None = None
    gone: tuple[str, str] = ("", "")
    had_no_rows: Callable[[str], bool] | None = None

    def rows(self, part: SlicePart) -> Iterator[pa.Table]:
        """Yield the rows of a part of a slice that fulfil the conditions, in batches of bounded size, with `columns`.

        Raises:
            ExecutionFailedError: a file of the slice does not exist any more; the message names the file.
            HudiTableServiceError: see `open_base_file` and `open_merged_slice`.
        """
        file_slice = part.file_slice
        with self._naming_deleted_files():
            if self.merging is not None and self.merges(file_slice):
                yield from self._merged(file_slice, self.merging)
            elif file_slice.base_file is not None and file_slice.base_file_path is not None:
                path, size = file_slice.base_file_path, file_slice.base_file.size_bytes
                keeps = bool(self.predicates)
                with open_base_file(self.storage, path, size, keeps_dictionaries=keeps) as file:
                    yield from self._of_base_file(file, part)

    def merges(self, file_slice: FileSlice) -> bool:
        """Return whether the rows of a slice are merged from a base file and log files, or from log files only."""
        return self.merging is not None and bool(file_slice.log_files)

    def _merged(self, file_slice: FileSlice, merging: LogMerging) -> Iterator[pa.Table]:
        needed = merging.reading(self.data_schema, self._needed.names).data_columns
        log = self._log_of(file_slice, merging)
        with open_merged_slice(self.storage, file_slice, merging, needed, log) as merged:
            for rows in merged.rows():
                found = fulfilling(_with_places(rows, file_slice), self.predicates)
                if found.num_rows:
                    yield found.select(self.columns.names)

    def _log_of(self, file_slice: FileSlice, merging: LogMerging) -> SliceLog:
        """Return the valid blocks of a slice. Deleted log files that had no rows of the scan are left out."""
        try:
            return read_slice_log(self.storage, file_slice, merging.visibility)
        except ObjectNotFoundError as error:
            remaining = _without_log(file_slice, error.path)
            is_lost = remaining == file_slice or self.had_no_rows is None or not self.had_no_rows(error.path)
            if is_lost:
                raise
        return self._log_of(remaining, merging)

    def _of_base_file(self, file: pq.ParquetFile, part: SlicePart) -> Iterator[pa.Table]:
        batch_rows = rows_per_batch(file)
        numbers = part.row_groups(file.metadata.num_row_groups)
        if not self.predicates:
            for rows in _batches(file, list(numbers), self.columns, batch_rows):
                yield conform(rows, self.columns)
            return
        if self.keys is not None and not may_have_keys(file, self.keys):
            return
        for number in wanted_row_groups(file, self.predicates):
            if number in numbers:
                yield from self._of_row_group(file, number, batch_rows)

    def _of_row_group(self, file: pq.ParquetFile, number: int, batch_rows: int) -> Iterator[pa.Table]:
        compared = _batches(file, [number], self._compared, batch_rows)
        masks = [mask_of(conform(rows, self._compared), self.predicates) for rows in compared]
        mask = pa.chunked_array(
            [chunk for each in masks if each is not None for chunk in each.chunks], pa.bool_()
        )
        remaining = sum(chunk.true_count for chunk in mask.chunks)
        if not remaining:
            return
        start = 0
        for rows in _batches(file, [number], self.columns, batch_rows):
            found = rows.filter(mask.slice(start, rows.num_rows))
            start += rows.num_rows
            if found.num_rows:
                yield conform(found, self.columns)
            remaining -= found.num_rows
            if not remaining:
                return

    @property
    def work(self) -> ReadWork:
        """The work of reading slices with this reader. All columns count as equally large.

        A read of certain keys does not divide files: it usually reads one row group of a file, and each part would
        check the bloom filter again.
        """
        return ReadWork(
            share_of_columns=len(self._needed) / (len(META_COLUMNS) + len(self.data_schema)),
            merges_logs=self.merging is not None,
            divides_files=self.keys is None,
        )

    @cached_property
    def _compared(self) -> pa.Schema:
        """The columns of the conditions."""
        return _of_names(self.data_schema, {each.column for each in self.predicates})

    @cached_property
    def _needed(self) -> pa.Schema:
        names = {*self.columns.names, *(each.column for each in self.predicates)}
        return _of_names(self.data_schema, names)

    @contextmanager
    def _naming_deleted_files(self) -> Iterator[None]:
        try:
            yield
        except ObjectNotFoundError as error:
            what, hint = self.gone
            message = f"{error.path} does not exist any more. {what}".strip()
            raise ExecutionFailedError(message, path=error.path, hint=hint) from error


def result_schema(data_schema: pa.Schema, names: tuple[str, ...] | None) -> pa.Schema:
    """Return the columns of a result, all of them nullable: the named columns or, if `names` is None, all columns."""
    whole = _with_meta(data_schema)
    return whole if names is None else pa.schema([whole.field(name) for name in names])


def _with_meta(data_schema: pa.Schema) -> pa.Schema:
    meta = [pa.field(name, pa.string()) for name in META_COLUMNS]
    return pa.schema([*meta, *(field.with_nullable(True) for field in data_schema)])


def _of_names(data_schema: pa.Schema, names: set[str]) -> pa.Schema:
    return pa.schema([field for field in _with_meta(data_schema) if field.name in names])


def _without_log(file_slice: FileSlice, path: str) -> FileSlice:
    folder = file_slice.file_group_id.partition_path
    kept = tuple(log for log in file_slice.log_files if join_path(folder, log.file_name) != path)
    return replace(file_slice, log_files=kept)


def _with_places(rows: pa.Table, file_slice: FileSlice) -> pa.Table:
    """Add the meta columns that merged rows lack: partition path and file name.

    If the slice has no base file, the file id takes the place of the file name.
    """
    group, base = file_slice.file_group_id, file_slice.base_file
    place = group.file_id if base is None else base.file_name
    for name, text in ((_PARTITION_PATH, group.partition_path), (_FILE_NAME, place)):
        rows = rows.append_column(name, pa.repeat(pa.scalar(text), rows.num_rows))
    return rows


def _batches(
    file: pq.ParquetFile, row_groups: list[int], target: pa.Schema, batch_rows: int
) -> Iterator[pa.Table]:
    """Yield the rows of row groups in file order, with those columns of `target` that the file has."""
    present = column_names(file)
    names = [name for name in target.names if name in present]
    if not row_groups:
        return
    if not names:
        # The file has no column of the target, so only its numbers of rows matter.
        for number in row_groups:
            yield _nulls(target, file.metadata.row_group(number).num_rows)
        return
    for batch in file.iter_batches(batch_rows, row_groups=row_groups, columns=names, use_threads=False):
        yield pa.Table.from_batches([batch])


def _nulls(target: pa.Schema, count: int) -> pa.Table:
    return pa.table([pa.nulls(count, field.type) for field in target], schema=target)
