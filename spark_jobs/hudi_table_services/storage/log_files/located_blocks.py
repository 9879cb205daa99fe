"""Find the blocks of one log file, and read their contents when they are needed."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.hudi_format.log_blocks import BlockType, HeaderKey
from hudi_table_services.hudi_format.log_headers import BlockHead, ReadRange, ScannedLog, scan_log
from hudi_table_services.storage.damage import naming
from hudi_table_services.storage.stores.storage import Storage

_AT_ONCE_BYTES = 1 << 20
"""Largest log file that is read with one request and kept. A larger file takes one request for each block, and another
request for the content of each block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatedBlock:
    """One block of a log file.

    Attributes:
        path: the log file, relative to the base path.
        position: position of the block in the file.
        headers: maps the ordinal of each header key to the value of the header.
        instant_time: requested time of the instant that wrote the block.
        content_position: position of the content in the file.
        content: the content if it has been read with the headers.
    """

    path: str
    position: int
    block_type: int
    headers: Mapping[int, str] = field(hash=False)
    instant_time: str
    content_position: int
    content_bytes: int
    content: bytes | None = field(default=None, repr=False, compare=False)

    @property
    def what(self) -> str:
        """Name of the block for error messages."""
        return f"{self.path}: block at position {self.position}"

    @property
    def is_command(self) -> bool:
        return self.block_type == BlockType.COMMAND

    @property
    def schema(self) -> str:
        """Avro schema of the rows. Raises MalformedMetadataError if the block has none."""
        return self.header(HeaderKey.SCHEMA)

    def header(self, key: HeaderKey) -> str:
        """A header that the block must have. Raises MalformedMetadataError if it is missing or empty."""
        value = self.headers.get(key)
        if not value:
            raise MalformedMetadataError(
                f"{self.what} has no header {key.name}.",
                path=self.path,
                hint="Readers of Hudi fail on this block. Roll back the instant that wrote the file.",
            )
        return value


@dataclass(frozen=True, slots=True)
class LocatedLog:
    """The blocks of one log file, in the sequence in which the file contains them.

    Attributes:
        incomplete_at: as in `ScannedLog`.
    """

    path: str
    blocks: tuple[LocatedBlock, ...]
    incomplete_at: int | None


def locate_blocks(
    storage: Storage, path: str, size_bytes: int = -1, *, keeps_contents: bool = True
) -> LocatedLog:
    """Find the blocks of a log file.

    Args:
        size_bytes: length of the file; -1 if unknown, which takes one more request. Bytes that a writer appends later
            are not read.
        keeps_contents: whether the blocks of a small file keep their contents in memory.

    Raises:
        MalformedMetadataError: a block before the end of the file is damaged, or has no instant, or the file is shorter
            than `size_bytes`; the message names file and position.
        ObjectNotFoundError: the file does not exist.
    """
    size = size_bytes if size_bytes >= 0 else storage.size(path)
    with naming(path):
        if size <= _AT_ONCE_BYTES:
            data = storage.read(path)[:size]
            if len(data) < size:
                raise MalformedMetadataError(_too_short(size, len(data)))
            scanned = scan_log(lambda offset, length: data[offset : offset + length], len(data))
            return _located(path, scanned, data if keeps_contents else None)
        with _range_reader(storage, path) as read:
            return _located(path, scan_log(read, size), None)


def read_content(storage: Storage, block: LocatedBlock) -> bytes:
    """Content of a block.

    Raises:
        MalformedMetadataError: the file has become shorter.
        ObjectNotFoundError: the file does not exist any more.
    """
    if block.content is not None:
        return block.content
    with naming(block.path), _range_reader(storage, block.path) as read:
        return read(block.content_position, block.content_bytes)


def _too_short(needed_bytes: int, size_bytes: int) -> str:
    return (
        f"the file has {size_bytes} bytes, but its listing or the header of a block requires at least {needed_bytes} "
        "bytes."
    )


@contextmanager
def _range_reader(storage: Storage, path: str) -> Iterator[ReadRange]:
    with storage.open_reader(path) as stream:

        def read(offset: int, length: int) -> bytes:
            stream.seek(offset)
            found = stream.read(length)
            if len(found) != length:
                raise MalformedMetadataError(_too_short(offset + length, storage.size(path)))
            return found

        yield read


def _located(path: str, scanned: ScannedLog, data: bytes | None) -> LocatedLog:
    blocks = tuple(_block(path, head, data) for head in scanned.heads)
    return LocatedLog(path, blocks, scanned.incomplete_at)


def _block(path: str, head: BlockHead, data: bytes | None) -> LocatedBlock:
    block = LocatedBlock(
        path=path,
        position=head.position,
        block_type=head.block_type,
        headers=head.headers,
        instant_time=head.headers.get(HeaderKey.INSTANT_TIME, ""),
        content_position=head.content_position,
        content_bytes=head.content_bytes,
        content=None
        if data is None
        else data[head.content_position : head.content_position + head.content_bytes],
    )
    block.header(HeaderKey.INSTANT_TIME)
    return block
