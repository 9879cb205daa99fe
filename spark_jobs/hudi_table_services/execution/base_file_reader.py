"""Read base files: footers, and rows in pieces of bounded size."""

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_table_services.execution.arrow_schema import conform
from hudi_table_services.execution.base_file_writer import COMMIT_TIME, RECORD_KEY, SEQUENCE_NUMBER
from hudi_table_services.storage.stores.storage import Storage

KEPT_META_COLUMNS = (COMMIT_TIME, SEQUENCE_NUMBER, RECORD_KEY)
"""Those that differ from row to row; file name and partition path are the same for a whole file."""

_SMALL_FILE_BYTES = 8 << 20
_BATCH_ROWS = 65_536
_BATCH_BYTES = 32 << 20
_LEAST_BATCH_ROWS = 256


@contextmanager
def open_base_file(storage: Storage, path: str, size_bytes: int = -1) -> Iterator[pq.ParquetFile]:
    """The file, read as a whole first where it is known to be small: that is one request instead of five."""
    if 0 <= size_bytes <= _SMALL_FILE_BYTES:
        yield pq.ParquetFile(pa.BufferReader(storage.read(path)), pre_buffer=False)
        return
    with storage.open_reader(path) as source:
        yield pq.ParquetFile(source, pre_buffer=False)


def rows_of(file: pq.ParquetFile, data_schema: pa.Schema) -> Iterator[pa.Table]:
    """Rows in file order, conformed to the schema, with `KEPT_META_COLUMNS` in front."""
    return columns_of(file, with_kept_meta(data_schema), _batch_rows(file))


def columns_of(file: pq.ParquetFile, target: pa.Schema, batch_rows: int = _BATCH_ROWS) -> Iterator[pa.Table]:
    """Rows in file order, in these columns only, in pieces of at most so many rows."""
    present = _column_names(file)
    columns = [name for name in target.names if name in present]
    if file.metadata.num_rows <= batch_rows:
        yield conform(file.read(columns, use_threads=False), target)
        return
    for batch in file.iter_batches(batch_rows, columns=columns, use_threads=False):
        yield conform(pa.Table.from_batches([batch]), target)


def _batch_rows(file: pq.ParquetFile) -> int:
    """So many that wide rows take no more memory than narrow ones, as far as their encoded size tells."""
    metadata = file.metadata
    encoded_bytes = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    row_bytes = max(1, encoded_bytes // max(1, metadata.num_rows))
    return max(_LEAST_BATCH_ROWS, min(_BATCH_ROWS, _BATCH_BYTES // row_bytes))


def _column_names(file: pq.ParquetFile) -> set[str]:
    """Top-level columns. Not by the Arrow schema: that copies the footer's pairs, half a megabyte of bloom filter."""
    schema = file.schema
    return {schema.column(place).path.partition(".")[0] for place in range(len(schema))}


def with_kept_meta(data_schema: pa.Schema) -> pa.Schema:
    """The user's columns behind the meta columns that a rewrite keeps."""
    return pa.schema([*(pa.field(name, pa.string()) for name in KEPT_META_COLUMNS), *data_schema])


def keys_of(file: pq.ParquetFile) -> Iterator[pa.ChunkedArray]:
    """Record keys, in pieces."""
    for batch in file.iter_batches(_BATCH_ROWS, columns=[RECORD_KEY], use_threads=False):
        yield pa.chunked_array([batch.column(0)])
