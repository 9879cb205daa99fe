"""Read base files: footers, and rows in batches of bounded size."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_table_services.errors import CorruptTableError
from hudi_table_services.execution.arrow_schema import conform
from hudi_table_services.execution.base_file_writer import COMMIT_TIME, RECORD_KEY, SEQUENCE_NUMBER
from hudi_table_services.storage.stores.storage import Storage

KEPT_META_COLUMNS = (COMMIT_TIME, SEQUENCE_NUMBER, RECORD_KEY)
"""Meta columns whose values a rewrite keeps. The others, partition path and file name, are the same in all rows of a
file, so `BaseFileWriter` adds them."""

_SMALL_FILE_BYTES = 8 << 20
_BATCH_ROWS = 65_536
_BATCH_BYTES = 32 << 20
_MIN_BATCH_ROWS = 256
_SMALL_DICTIONARY_BYTES = 32 << 10
_REPEATING_BYTES = 256 << 10
_BYTES_OF_A_REFERENCE = 4


@contextmanager
def open_base_file(
    storage: Storage, path: str, size_bytes: int = -1, *, keeps_dictionaries: bool = False
) -> Iterator[pq.ParquetFile]:
    """Open a base file. If its size is known and small, read the whole file with one HTTP request instead of five.

    Args:
        keeps_dictionaries: whether strings that repeat are read as Arrow dictionaries. This saves time if only few of
            the rows are kept.

    Raises:
        CorruptTableError: the file has no readable footer; the message names the file.
        StorageError: the file cannot be read.
    """
    if 0 <= size_bytes <= _SMALL_FILE_BYTES:
        yield _parquet(pa.BufferReader(storage.read(path)), path, keeps_dictionaries)
        return
    with storage.open_reader(path) as source:
        yield _parquet(source, path, keeps_dictionaries)


def _parquet(source: pa.BufferReader | BinaryIO, path: str, keeps_dictionaries: bool) -> pq.ParquetFile:
    try:
        file = pq.ParquetFile(source, pre_buffer=False)
        names = _repeating_strings(file) if keeps_dictionaries else []
        if names:
            file = pq.ParquetFile(source, metadata=file.metadata, pre_buffer=False, read_dictionary=names)
        return file
    except (pa.ArrowException, OSError) as error:
        raise CorruptTableError(
            f"{path} is not a complete Parquet file: {error}",
            path=path,
            hint="Restore the file from a backup, or roll back the write that created it.",
        ) from error


def _repeating_strings(file: pq.ParquetFile) -> list[str]:
    """Return the top-level string columns that have a small dictionary in every row group.

    For other columns, Arrow would have to build a dictionary of its own. They have large dictionaries, or pages whose
    values are strings instead of references to the dictionary. References need at most four bytes each.
    """
    metadata, schema = file.metadata, file.schema
    found = []
    for place in range(len(schema)):
        column = schema.column(place)
        if "." in column.path or column.logical_type.type != "STRING":
            continue
        chunks = [metadata.row_group(number).column(place) for number in range(metadata.num_row_groups)]
        if all(map(_has_small_dictionary, chunks)):
            found.append(column.path)
    return found


def _has_small_dictionary(chunk: pq.ColumnChunkMetaData) -> bool:
    if not chunk.has_dictionary_page:
        return False
    compressed = chunk.data_page_offset - chunk.dictionary_page_offset
    limit = _REPEATING_BYTES + _BYTES_OF_A_REFERENCE * chunk.num_values
    return bool(compressed <= _SMALL_DICTIONARY_BYTES and chunk.total_uncompressed_size <= limit)


def rows_of(file: pq.ParquetFile, data_schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield the rows in file order, converted to the schema, with `KEPT_META_COLUMNS` first."""
    return columns_of(file, with_kept_meta(data_schema), rows_per_batch(file))


def columns_of(file: pq.ParquetFile, target: pa.Schema, batch_rows: int = _BATCH_ROWS) -> Iterator[pa.Table]:
    """Yield the rows in file order, converted to the columns of `target`, at most `batch_rows` at a time."""
    present = column_names(file)
    columns = [name for name in target.names if name in present]
    if file.metadata.num_rows <= batch_rows:
        yield conform(file.read(columns, use_threads=False), target)
        return
    for batch in file.iter_batches(batch_rows, columns=columns, use_threads=False):
        yield conform(pa.Table.from_batches([batch]), target)


def rows_of_row_group(file: pq.ParquetFile, number: int, data_schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield the rows of one row group as `rows_of` yields the rows of the file."""
    target = with_kept_meta(data_schema)
    present = column_names(file)
    columns = [name for name in target.names if name in present]
    for batch in file.iter_batches(
        rows_per_batch(file), row_groups=[number], columns=columns, use_threads=False
    ):
        yield conform(pa.Table.from_batches([batch]), target)


def rows_per_batch(file: pq.ParquetFile) -> int:
    """Return the number of rows per batch. Large encoded rows reduce this number, so that a batch fits into memory."""
    metadata = file.metadata
    encoded_bytes = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    row_bytes: int = max(1, encoded_bytes // max(1, metadata.num_rows))
    return max(_MIN_BATCH_ROWS, min(_BATCH_ROWS, _BATCH_BYTES // row_bytes))


def column_names(file: pq.ParquetFile) -> set[str]:
    """Return the names of the top-level columns from the Parquet schema.

    The function uses the Parquet schema, because a conversion to an Arrow schema would also copy the footer's key-value
    pairs, including a bloom filter of half a megabyte.
    """
    schema = file.schema
    return {schema.column(index).path.partition(".")[0] for index in range(len(schema))}


def with_kept_meta(data_schema: pa.Schema) -> pa.Schema:
    """Return a schema with the meta columns that a rewrite keeps, followed by the user's columns."""
    return pa.schema([*(pa.field(name, pa.string()) for name in KEPT_META_COLUMNS), *data_schema])


def keys_of(file: pq.ParquetFile) -> Iterator[pa.ChunkedArray]:
    """Yield the record keys of a file in batches."""
    for batch in file.iter_batches(_BATCH_ROWS, columns=[RECORD_KEY], use_threads=False):
        yield pa.chunked_array([batch.column(0)])
