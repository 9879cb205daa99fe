"""Read row groups of a Parquet file as bytes, together with their descriptions in the footer."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO

from hudi_table_services.errors import CorruptTableError, MalformedMetadataError
from hudi_table_services.hudi_format.parquet.footers import (
    MAGIC,
    TAIL_BYTES,
    ColumnChunk,
    ParquetFooter,
    RowGroup,
    footer_length,
)
from hudi_table_services.storage.stores.storage import Storage

_MOST_GAP_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class EncodedColumn:
    """One column of a row group: its description, with the position in the old file, and its pages."""

    chunk: ColumnChunk
    pages: memoryview


@dataclass(frozen=True, slots=True)
class EncodedRowGroups:
    """The row groups of an open file.

    Attributes:
        path: path of the file, for messages.
        file: the open file.
        data_end: position of the footer.
    """

    path: str
    file: BinaryIO
    footer: ParquetFooter
    data_end: int

    def is_readable(self, number: int) -> bool:
        """Whether a row group can be copied as bytes: its pages can move, and are together in this file."""
        group = self.footer.row_groups[number]
        if not group.can_move:
            return False
        start, end = _span(group.columns)
        size = sum(column.place.length for column in group.columns)
        return (
            len(MAGIC) <= start and end <= self.data_end and 0 <= end - start - size <= _MOST_GAP_SHARE * size
        )

    def has_codec(self, number: int, codec: int) -> bool:
        """Whether all columns of a row group are compressed with this codec."""
        return all(column.codec == codec for column in self.footer.row_groups[number].columns)

    def read(self, number: int) -> tuple[RowGroup, list[EncodedColumn]]:
        """Read a row group for which `is_readable` is True.

        Raises:
            CorruptTableError: the file is shorter than its footer states.
            StorageError: the file cannot be read.
        """
        group = self.footer.row_groups[number]
        start, end = _span(group.columns)
        self.file.seek(start)
        data = memoryview(self.file.read(end - start))
        if len(data) != end - start:
            raise CorruptTableError(f"{self.path} ends within its row group {number}.", path=self.path)
        columns = []
        for chunk in group.columns:
            place = chunk.place
            columns.append(EncodedColumn(chunk, data[place.start - start : place.end - start]))
        return group, columns


def _span(columns: tuple[ColumnChunk, ...]) -> tuple[int, int]:
    places = [column.place for column in columns]
    return min(place.start for place in places), max(place.end for place in places)


@contextmanager
def open_encoded(storage: Storage, path: str) -> Iterator[EncodedRowGroups]:
    """Open a Parquet file and read its footer.

    Raises:
        MalformedMetadataError: this module cannot read the footer. pyarrow may nevertheless read the file.
        StorageError: the file cannot be read.
    """
    with storage.open_reader(path) as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - TAIL_BYTES))
        length = footer_length(file.read(TAIL_BYTES))
        data_end = size - TAIL_BYTES - length
        if data_end < len(MAGIC):
            raise MalformedMetadataError(f"Parquet footer: the length {length} exceeds the file.")
        file.seek(data_end)
        yield EncodedRowGroups(path, file, ParquetFooter.decode(file.read(length)), data_end)
