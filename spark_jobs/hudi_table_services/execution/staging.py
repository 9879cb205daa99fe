"""Write and read staged files: Arrow files with the rows of a batch, on the table's own storage.

The input is evaluated exactly once and written as Arrow IPC files. Every later step reads, by random access, only the
rows and columns that it needs. Staged files have two advantages over a Spark shuffle (see
docs/adr/0012-staged-exchange.md). Each row moves from the JVM to Python once and never back. A retried task reads
exactly the same rows again, which a shuffle of a non-deterministic input does not guarantee.

A staged file consists of record batches. All rows of a batch belong to one table partition. Readers use only the files
of the task attempts whose results Spark used, and ignore the files of all other attempts.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import pyarrow as pa
from pyarrow import ipc

from hudi_table_services.storage.stores.storage import Storage

KEY_COLUMN = "_hoodie_record_key"
BASE_ROW_COLUMN = "__base_row"
CHANGE_COLUMN = "__change"
_COMPRESSION = "lz4"


@dataclass(frozen=True, slots=True)
class StagedBatch:
    """One record batch of a staged file; all its rows belong to one table partition.

    Attributes:
        path: staged file, relative to the base path.
        batch_index: index of the record batch inside the file.
        first_row: position of the batch's first row inside the file.
        row_count: number of rows of the batch.
        partition_path: table partition of every row.
        file_id: file group that the rows change; None for inserts, which are written to new or padded file groups.
        size_bytes: uncompressed Arrow bytes.
        delete_count: number of rows that delete a row of the table.
        reinsert_count: number of rows that insert a deleted key again: the base file of the file group has the key, and
            a log file has deleted the stored row.
        index_bucket: bucket of the bucket index to which inserts belong; None if the table has no bucket index.
    """

    path: str
    batch_index: int
    first_row: int
    row_count: int
    partition_path: str
    file_id: str | None = None
    size_bytes: int = 0
    delete_count: int = 0
    reinsert_count: int = 0
    index_bucket: int | None = None


@dataclass(frozen=True, slots=True)
class StagedRows:
    """Consecutive rows of a staged batch; `start` is relative to the batch's first row."""

    batch: StagedBatch
    start: int
    row_count: int


class StagedFileWriter:
    """Writes one staged file. At the end of the job, the job deletes the staging folder with all files."""

    def __init__(self, storage: Storage, path: str, schema: pa.Schema) -> None:
        self._path = path
        self._sink: BinaryIO = storage.open_writer(path)
        options = ipc.IpcWriteOptions(compression=_COMPRESSION)
        self._writer = ipc.new_file(self._sink, schema, options=options)
        self._row_count = 0
        self.batches: list[StagedBatch] = []

    def write(
        self,
        batch: pa.RecordBatch,
        partition_path: str,
        file_id: str | None = None,
        delete_count: int = 0,
        reinsert_count: int = 0,
        index_bucket: int | None = None,
    ) -> None:
        self._writer.write_batch(batch)
        self.batches.append(
            StagedBatch(
                path=self._path,
                batch_index=len(self.batches),
                first_row=self._row_count,
                row_count=batch.num_rows,
                partition_path=partition_path,
                file_id=file_id,
                size_bytes=batch.nbytes,
                delete_count=delete_count,
                reinsert_count=reinsert_count,
                index_bucket=index_bucket,
            )
        )
        self._row_count += batch.num_rows

    def close(self) -> None:
        self._writer.close()
        self._sink.close()


class StagedReader:
    """Reads staged batches in any order. It keeps the last file open, because callers read batches file by file."""

    def __init__(self, storage: Storage, columns: Sequence[str] | None = None) -> None:
        self._storage = storage
        self._columns = columns
        self._path: str | None = None
        self._source: BinaryIO | None = None
        self._reader: ipc.RecordBatchFileReader | None = None

    def read(self, batch: StagedBatch) -> pa.RecordBatch:
        """Return all rows of the batch. If the reader was created with columns, return only these columns."""
        return self._open(batch.path).get_batch(batch.batch_index)

    def read_rows(self, rows: StagedRows) -> pa.RecordBatch:
        return self.read(rows.batch).slice(rows.start, rows.row_count)

    def iter_rows(self, runs: Iterable[StagedRows]) -> Iterator[pa.RecordBatch]:
        for run in runs:
            yield self.read_rows(run)

    def close(self) -> None:
        if self._source is not None:
            self._source.close()
        self._path = self._source = self._reader = None

    def _open(self, path: str) -> ipc.RecordBatchFileReader:
        if self._reader is None or self._path != path:
            self.close()
            self._source = self._storage.open_reader(path)
            self._reader = self._open_ipc(self._source)
            self._path = path
        return self._reader

    def _open_ipc(self, source: BinaryIO) -> ipc.RecordBatchFileReader:
        if self._columns is None:
            return ipc.open_file(source)
        names = ipc.open_file(source).schema.names
        source.seek(0)
        wanted = [names.index(column) for column in self._columns]
        return ipc.open_file(source, options=ipc.IpcReadOptions(included_fields=wanted))


def rank_range(batches: Sequence[StagedBatch], start: int, stop: int) -> tuple[StagedRows, ...]:
    """Return the rows from `start` (inclusive) to `stop` (exclusive) of the concatenation of all batches."""
    runs: list[StagedRows] = []
    position = 0
    for batch in batches:
        low, high = max(start, position), min(stop, position + batch.row_count)
        if low < high:
            runs.append(StagedRows(batch, low - position, high - low))
        position += batch.row_count
        if position >= stop:
            break
    return tuple(runs)
