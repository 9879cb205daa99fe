"""Log files of the metadata table: blocks of records, blocks of deleted keys, and rollbacks.

Each block names the instant that wrote the block. A reader must ignore blocks of instants that are not completed, and
blocks whose instant is the target of a later rollback block (HoodieLogFormat, AbstractHoodieLogRecordReader; Hudi 1.2).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from hudi_table_services.errors import MalformedMetadataError, UnsupportedTableError
from hudi_table_services.hudi_format.hfile.cells import Entry
from hudi_table_services.hudi_format.hfile.reader import HFileReader, open_hfile
from hudi_table_services.hudi_format.hfile.writer import HFileOptions, encode_hfile
from hudi_table_services.hudi_format.log_blocks import (
    BlockType,
    HeaderKey,
    LogBlock,
    decode_blocks,
    encode_block,
)
from hudi_table_services.hudi_format.metadata_table.deleted_keys import (
    decode_deleted_keys,
    encode_deleted_keys,
)

_ROLLBACK = "0"


@dataclass(frozen=True, slots=True)
class RecordsBlock:
    """Records of one instant. `records` reads the entries, and the schema with which to decode the entries."""

    instant_time: str
    records: HFileReader


@dataclass(frozen=True, slots=True)
class DeletedKeysBlock:
    """Keys that one instant deleted. The block with which Hudi creates a file group has no keys."""

    instant_time: str
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RollbackBlock:
    """A rollback of an instant whose blocks are earlier in the same file slice (table version 6)."""

    instant_time: str
    target_instant_time: str


MetadataLogBlock: TypeAlias = RecordsBlock | DeletedKeysBlock | RollbackBlock


def encode_records_block(entries: Iterable[Entry], instant_time: str, options: HFileOptions) -> bytes:
    """Encode a block of records.

    Args:
        entries: keys and values in ascending order of the keys.

    Raises:
        MalformedMetadataError: for the same reasons as in `encode_hfile`.
    """
    headers: dict[int, str] = {HeaderKey.INSTANT_TIME: instant_time, HeaderKey.SCHEMA: options.schema}
    content = encode_hfile(entries, options)
    return encode_block(LogBlock(block_type=BlockType.HFILE_DATA, headers=headers, content=content))


def encode_deleted_keys_block(keys: Sequence[str], partition: str, instant_time: str, schema: str) -> bytes:
    """Encode a block that deletes keys of one partition of the metadata table."""
    headers: dict[int, str] = {HeaderKey.INSTANT_TIME: instant_time, HeaderKey.SCHEMA: schema}
    content = encode_deleted_keys(keys, partition)
    return encode_block(LogBlock(block_type=BlockType.DELETE, headers=headers, content=content))


def encode_first_block(instant_time: str) -> bytes:
    """Encode the block with which Hudi creates a file group: a block of deleted keys without any key."""
    content = encode_deleted_keys((), "")
    headers: dict[int, str] = {HeaderKey.INSTANT_TIME: instant_time}
    return encode_block(LogBlock(block_type=BlockType.DELETE, headers=headers, content=content))


def encode_rollback_block(instant_time: str, target_instant_time: str) -> bytes:
    """Encode a block that rolls back the blocks of an instant."""
    headers: dict[int, str] = {
        HeaderKey.INSTANT_TIME: instant_time,
        HeaderKey.TARGET_INSTANT_TIME: target_instant_time,
        HeaderKey.COMMAND_BLOCK_TYPE: _ROLLBACK,
    }
    return encode_block(LogBlock(block_type=BlockType.COMMAND, headers=headers))


def decode_log_file(data: bytes, what: str, *, skips_incomplete: bool = False) -> Iterator[MetadataLogBlock]:
    """Yield the blocks of a log file in order. Records are decoded when they are read.

    Args:
        what: name of the file, for error messages.
        skips_incomplete: as in `decode_blocks`.

    Raises:
        MalformedMetadataError: the file is damaged.
        UnsupportedTableError: the file has a block that does not occur in metadata tables.
    """
    for number, block in enumerate(decode_blocks(data, skips_incomplete=skips_incomplete), start=1):
        yield _typed(block, f"{what}: block {number}")


def _typed(block: LogBlock, what: str) -> MetadataLogBlock:
    instant_time = _header(block, HeaderKey.INSTANT_TIME, what)
    match block.block_type:
        case BlockType.HFILE_DATA:
            return RecordsBlock(instant_time, open_hfile(block.content, what))
        case BlockType.DELETE:
            return DeletedKeysBlock(instant_time, decode_deleted_keys(block.content, what))
        case BlockType.COMMAND:
            if block.headers.get(HeaderKey.COMMAND_BLOCK_TYPE) != _ROLLBACK:
                raise UnsupportedTableError(f"{what}: the command is not a rollback.")
            return RollbackBlock(instant_time, _header(block, HeaderKey.TARGET_INSTANT_TIME, what))
        case _:
            raise UnsupportedTableError(
                f"{what}: block type {block.block_type} does not occur in a metadata table."
            )


def _header(block: LogBlock, key: HeaderKey, what: str) -> str:
    value = block.headers.get(key)
    if not value:
        raise MalformedMetadataError(f"{what}: the block has no header {key.name}.")
    return value
