"""A Parquet file that begins with copied row groups. pyarrow writes the row groups after them."""

import io
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_table_services.execution.parquet_format import ParquetFormat, dictionary_columns
from hudi_table_services.execution.row_group_copies.encoded_row_groups import EncodedRowGroups
from hudi_table_services.hudi_format.parquet.footers import (
    MAGIC,
    TAIL_BYTES,
    ColumnChunk,
    ParquetFooter,
    RowGroup,
    footer_length,
)


class JoinedFile(io.RawIOBase):
    """First copies row groups into a file, then is itself the sink of pyarrow's Parquet writer.

    pyarrow writes a complete Parquet file into this object, from position 0. Its first bytes are dropped, its row
    groups follow the copied ones, and `finish` replaces its footer by a footer of all row groups.

    Args:
        file: the file, which is empty. This object does not close the file.
        parquet: encoding of the file, without a page index.
        schema: types of the columns, as they are passed to pyarrow's writer.
        constant: a column that is not copied, because it has the same new value in all rows.
    """

    def __init__(
        self,
        file: BinaryIO,
        parquet: ParquetFormat,
        schema: pa.Schema,
        constant: tuple[str, pa.DictionaryArray],
    ) -> None:
        super().__init__()
        if parquet.writes_page_index:
            raise AssertionError("A file with copied row groups cannot have a page index.")
        self._file = file
        self._parquet = parquet
        self._constant = constant
        self._schema = _written(schema.empty_table(), parquet)[1].schema
        self._codec = self._constant_chunk(1)[1].codec
        self._row_groups: list[RowGroup] = []
        self._copied_end = file.write(MAGIC)
        self._received = 0
        self._end: bytearray | None = None
        self.data_bytes = 0
        """Bytes before the footer; set by `finish`."""

    def can_copy(self, source: EncodedRowGroups, number: int) -> bool:
        """Whether a row group has the columns and the compression codec of this file, and can be read as bytes."""
        return (
            source.footer.schema == self._schema
            and source.is_readable(number)
            and source.has_codec(number, self._codec)
        )

    def copy(self, source: EncodedRowGroups, number: int) -> None:
        """Copy a row group for which `can_copy` is True. Call this method before pyarrow's writer is opened.

        Raises:
            CorruptTableError, StorageError: see `EncodedRowGroups.read`.
        """
        group, columns = source.read(number)
        constant_path = (self._constant[0].encode(),)
        copied: list[ColumnChunk] = []
        for column in columns:
            pages, chunk = column.pages, column.chunk
            if chunk.path == constant_path:
                pages, chunk = self._constant_chunk(group.row_count)
                if chunk.value_count != group.row_count:
                    raise AssertionError(
                        f"A column has {chunk.value_count} instead of {group.row_count} values."
                    )
            copied.append(chunk.at(self._copied_end))
            self._file.write(pages)
            self._copied_end += len(pages)
        self._row_groups.append(group.with_columns(copied))

    def _constant_chunk(self, row_count: int) -> tuple[memoryview, ColumnChunk]:
        """Return the pages of the constant column, and their description in another file."""
        name, value = self._constant
        column = pa.DictionaryArray.from_arrays(
            pa.repeat(pa.scalar(0, pa.int32()), row_count), value.dictionary
        )
        data, footer = _written(pa.table({name: column}), self._parquet)
        [chunk] = footer.row_groups[0].columns
        place = chunk.place
        return memoryview(data)[place.start : place.end], chunk

    def writable(self) -> bool:
        return True

    def write(self, data: "bytes | memoryview") -> int:  # type: ignore[override]
        """Receive bytes of pyarrow's writer."""
        size = len(data)
        dropped = min(size, max(0, len(MAGIC) - self._received))
        self._received += size
        if self._end is not None:
            self._end += data
        elif dropped < size:
            self._file.write(memoryview(data)[dropped:])
        return size

    def tell(self) -> int:
        """Return the position in the file that pyarrow writes."""
        return self._received

    def begin_footer(self) -> None:
        """Keep the following bytes of pyarrow's writer, because they are its footer."""
        self.data_bytes = self._copied_end + self._received - len(MAGIC)
        self._end = bytearray()

    def finish(self, row_count: int) -> pq.FileMetaData:
        """Write the footer of all row groups, after pyarrow's writer has been closed. Return the footer.

        Args:
            row_count: number of rows that the file must have.
        """
        end = bytes(self._end or b"")
        length = footer_length(end[-TAIL_BYTES:])
        written = ParquetFooter.decode(end[:length])
        if len(end) != length + TAIL_BYTES or written.schema != self._schema:
            raise AssertionError("The row groups of a file cannot be joined: their footers do not fit.")
        shift = self._copied_end - len(MAGIC)
        moved = [group.moved(shift) for group in written.row_groups]
        footer = written.with_row_groups([*self._row_groups, *moved])
        if footer.row_count != row_count:
            raise AssertionError(f"The file has {footer.row_count} instead of {row_count} rows.")
        joined = footer.end_of_file()
        self._file.write(joined)
        return pq.read_metadata(pa.BufferReader(MAGIC + joined))


def _written(rows: pa.Table, parquet: ParquetFormat) -> tuple[bytes, ParquetFooter]:
    """Return a Parquet file with these rows, and its footer."""
    sink = pa.BufferOutputStream()
    with parquet.open_writer(sink, rows.schema, dictionary_columns(rows)) as writer:
        if rows.num_rows:
            writer.write_table(rows, row_group_size=rows.num_rows)
    data = sink.getvalue().to_pybytes()
    length = footer_length(data[-TAIL_BYTES:])
    return data, ParquetFooter.decode(data[-TAIL_BYTES - length : -TAIL_BYTES])
