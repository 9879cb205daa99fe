"""Open a base file of a metadata table. A small file is read with one request, a large file by byte ranges."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import BinaryIO

from hudi_table_services.hudi_format.hfile.reader import HFileReader
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.storage.damage import naming
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.storage.table_store import METADATA_TABLE

_AT_ONCE_BYTES = 4 << 20
"""Largest size of a file that is read with one request; about 150,000 entries of `files`. Reading a file by ranges
takes one request for its length, one for its end, and one or two for each piece of 8 MiB."""


@contextmanager
def open_base_file(table: MetadataTable, file_slice: FileSlice) -> Iterator[tuple[HFileReader, str]]:
    """Open the base file of a slice; yield its reader, and its path relative to the base path of the table.

    The slice must have a base file.

    Raises:
        CorruptTableError: the end of the file is damaged.
        ObjectNotFoundError: the file does not exist.
    """
    base = file_slice.base_file
    assert base is not None  # noqa: S101 - callers check it
    path = join_path(file_slice.file_group_id.partition_path, base.file_name)
    full_path = join_path(METADATA_TABLE, path)
    with _opened(table, path, base.size_bytes) as stream:
        with naming(full_path):
            reader = HFileReader(_range_reader(stream), base.size_bytes, path)
        yield reader, full_path


def _opened(table: MetadataTable, path: str, size_bytes: int) -> BinaryIO:
    if size_bytes <= _AT_ONCE_BYTES:
        return BytesIO(table.storage.read(path))
    return table.storage.open_reader(path)


def _range_reader(stream: BinaryIO) -> Callable[[int, int], bytes]:
    def read(offset: int, length: int) -> bytes:
        stream.seek(offset)
        return stream.read(length)

    return read
