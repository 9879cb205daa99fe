"""Decode and encode rows in PARQUET_DATA blocks. The content of a block is a whole Parquet file with meta columns."""

from collections.abc import Collection

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_table_services.errors import InvalidDataError, MalformedMetadataError
from hudi_table_services.execution.base_file_reader import column_names
from hudi_table_services.execution.log_files.block_columns import conform_block
from hudi_table_services.execution.numpy_types import Integers
from hudi_table_services.execution.parquet_format import ParquetFormat, dictionary_columns
from hudi_table_services.model.schema import META_COLUMNS

_SCHEMA_KEY = "parquet.avro.schema"
_MOST_ROWS_PER_BYTE = 64
"""Limit of rows per byte of a block. Real blocks have fewer rows per byte, because their keys are distinct. The limit
refuses small files that would need much memory because they repeat one row."""


class ParquetDataBlock:
    """A block, from which rows and columns can be decoded. The class has the methods of `AvroDataBlock`.

    Raises:
        MalformedMetadataError: the content is not a Parquet file.
    """

    def __init__(self, content: bytes, what: str) -> None:
        self._what = what
        try:
            self._file = pq.ParquetFile(pa.BufferReader(content), pre_buffer=False)
            self._names = column_names(self._file)
            metadata = self._file.metadata
            grouped = sum(metadata.row_group(number).num_rows for number in range(metadata.num_row_groups))
        except _FAILURES as error:
            raise self._malformed(error) from error
        if self.row_count != grouped:
            raise MalformedMetadataError(
                f"{what}: the Parquet footer declares {self.row_count} rows in total, but its row groups have "
                f"{grouped} rows."
            )
        if self.row_count > len(content) * _MOST_ROWS_PER_BYTE:
            raise MalformedMetadataError(
                f"{what}: {len(content)} bytes cannot contain {self.row_count} rows."
            )

    @property
    def row_count(self) -> int:
        return int(self._file.metadata.num_rows)

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(sorted(self._names))

    def read(
        self, wanted: pa.Schema, rows: Integers | None = None, extra_columns: Collection[str] = ()
    ) -> pa.Table:
        """Do the same as `AvroDataBlock.read`."""
        more = [name for name in extra_columns if name in self._names and name not in wanted.names]
        names = [name for name in wanted.names if name in self._names]
        try:
            found = self._file.read([*names, *more], use_threads=False)
            found.validate(full=True)
            if rows is not None:
                found = found.take(pa.array(rows))
        except _FAILURES as error:
            raise self._malformed(error) from error
        target = pa.schema([*wanted, *(found.schema.field(name) for name in more)])
        if not names and not more:
            found = pa.table({"": pa.nulls(self.row_count if rows is None else len(rows))})
        return conform_block(found, target, self._what)

    def _malformed(self, error: BaseException) -> MalformedMetadataError:
        return MalformedMetadataError(f"{self._what}: the Parquet content cannot be read: {error!r:.200}")


_FAILURES = (pa.ArrowException, OSError, ValueError, OverflowError, KeyError)


def encode_parquet_block(rows: pa.Table, schema: str, parquet: ParquetFormat) -> bytes:
    """Encode rows, including their meta columns, as a Parquet file.

    Args:
        schema: Avro schema of the rows, for the footer. The header of the block also contains it.

    Raises:
        InvalidDataError: a meta column is missing or null.
    """
    for name in META_COLUMNS:
        if name not in rows.column_names or rows[name].null_count:
            raise InvalidDataError(f"The meta column {name} of a log block is missing, or null in some rows.")
    sink = pa.BufferOutputStream()
    with parquet.open_writer(sink, rows.schema, dictionary_columns(rows)) as writer:
        writer.write_table(rows)
        writer.add_key_value_metadata({_SCHEMA_KEY: schema})
    return bytes(sink.getvalue())
