"""Read the files that a clustering rewrites: base files, and file slices whose log files are merged."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_table_services.execution.base_file_reader import columns_of, open_base_file, rows_of
from hudi_table_services.execution.log_merging.merged_slice import (
    MergedSlice,
    open_merged_slice,
)
from hudi_table_services.execution.log_merging.slice_reading import LogMerging
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.storage.stores.storage import Storage


@dataclass(frozen=True, slots=True)
class InputFile:
    """A base file to be rewritten, or a file slice with log files.

    Attributes:
        path: path relative to the base path. For a slice without a base file, the path of its first log file.
        size_bytes: size of the base file; 0 for a slice without a base file, -1 if it is not known.
        logged: the file slice if it has log files; else None.
    """

    path: str
    size_bytes: int
    logged: FileSlice | None = None

    @property
    def log_bytes(self) -> int:
        """Return the size of the log files."""
        return 0 if self.logged is None else sum(log.size_bytes for log in self.logged.log_files)

    @property
    def total_bytes(self) -> int:
        """Return the size of the base file and the log files."""
        return self.size_bytes + self.log_bytes


@dataclass(frozen=True, slots=True)
class OpenInput:
    """An open input.

    Attributes:
        base: the open base file; None for a slice without a base file.
        merged: the merged slice; None for a base file without log files.
        data_schema: Arrow schema of the rows without meta columns.
    """

    base: pq.ParquetFile | None
    merged: MergedSlice | None
    data_schema: pa.Schema

    @property
    def row_count(self) -> int:
        """Return the number of rows: from the footer of the base file or, with log files, from the merged slice."""
        if self.merged is not None:
            return self.merged.row_count
        return 0 if self.base is None else int(self.base.metadata.num_rows)

    @property
    def skipped(self) -> tuple[tuple[str, int], ...]:
        """Return the parts of log files that the merge skipped; see `SliceLog.skipped`."""
        return () if self.merged is None else self.merged.log.skipped

    @property
    def encoded_bytes(self) -> int:
        """Return the bytes of the base file before compression."""
        if self.base is None:
            return 0
        metadata = self.base.metadata
        return sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))

    def rows(self) -> Iterator[pa.Table]:
        """Yield the rows, with `KEPT_META_COLUMNS` first. Raises the errors of `MergedSlice.rows`."""
        if self.merged is not None:
            yield from self.merged.rows()
        elif self.base is not None:
            yield from rows_of(self.base, self.data_schema)

    def columns(self, target: pa.Schema) -> Iterator[pa.Table]:
        """Yield the columns of `target`. If log files are merged, `data_schema` must contain these columns."""
        if self.merged is not None:
            for rows in self.merged.rows():
                yield rows.select(target.names)
        elif self.base is not None:
            yield from columns_of(self.base, target)


@contextmanager
def open_input(
    storage: Storage, file: InputFile, merging: LogMerging | None, data_schema: pa.Schema
) -> Iterator[OpenInput]:
    """Open an input.

    Args:
        merging: how log files are merged; None for a copy-on-write table, whose inputs have no log files.

    Raises:
        HudiTableServiceError: see `open_merged_slice`.
    """
    if file.logged is None:
        with open_base_file(storage, file.path, file.size_bytes) as base:
            yield OpenInput(base, None, data_schema)
        return
    if merging is None:  # reading the base file alone would lose the rows of the log files
        raise AssertionError(f"{file.path} has log files, but no merge rule is given.")
    with open_merged_slice(storage, file.logged, merging, data_schema) as merged:
        yield OpenInput(merged.base, merged, data_schema)
