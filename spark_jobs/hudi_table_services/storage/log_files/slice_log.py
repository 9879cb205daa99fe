"""Find the valid blocks of a file slice, in merge order. For metadata tables, see `metadata_table.log_changes`."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from hudi_table_services.errors import UnsupportedTableError
from hudi_table_services.hudi_format.log_blocks import BlockType, HeaderKey
from hudi_table_services.model.data_file import LogFile
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.storage.file_slices import Visibility
from hudi_table_services.storage.log_files.located_blocks import LocatedBlock, LocatedLog, locate_blocks
from hudi_table_services.storage.log_files.valid_blocks import in_merge_order
from hudi_table_services.storage.parallel import map_in_parallel
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.storage.stores.storage import Storage

_READABLE = frozenset({BlockType.DELETE, BlockType.AVRO_DATA, BlockType.PARQUET_DATA})
_REFUSED: Mapping[int, str] = {
    BlockType.HFILE_DATA: "an HFile",
    BlockType.CDC_DATA: "change data (CDC)",
}
_KEPT_BYTES = 64 << 20
"""If the log files of a slice have more bytes in total, the contents of their blocks are not kept in memory."""
_COMPACT = "Compact the table with Hudi, so that no log file has such a block."


@dataclass(frozen=True, slots=True)
class SliceLog:
    """Blocks of a slice with rows and deletes.

    Attributes:
        blocks: in merge order, oldest first.
        incomplete: file and position of each block that a dying writer left incomplete. These blocks were skipped.
        empty: files of zero bytes.
    """

    blocks: tuple[LocatedBlock, ...]
    incomplete: tuple[tuple[str, int], ...] = ()
    empty: tuple[str, ...] = ()

    @property
    def skipped(self) -> tuple[tuple[str, int], ...]:
        """Return the file and the position of each incomplete block, and each empty file with position 0."""
        return (*self.incomplete, *((path, 0) for path in self.empty))


def read_slice_log(
    storage: Storage, file_slice: FileSlice, visibility: Visibility, *, as_of: str | None = None
) -> SliceLog:
    """Find the valid blocks of a slice. Files are read in parallel; contents of large files are not read.

    Memory: the headers, and up to 64 MiB of contents.

    In table version 6, a log file can contain blocks of several instants, so the visibility of each block is checked.
    From version 8 on, the instant in the name of a log file decides whether the whole file is visible.

    Args:
        file_slice: its log files must be sorted as `latest_slices` sorts them.
        as_of: ignore blocks of later instants; None reads all visible blocks.

    Raises:
        MalformedMetadataError: a block before the end of a file is damaged; the message names file and position.
        UnsupportedTableError: a valid block has a kind that this release cannot merge.
        CorruptTableError: see `in_merge_order`.
        ObjectNotFoundError: a log file does not exist.
    """
    partition = file_slice.file_group_id.partition_path
    by_name = visibility.has_own_log_instants
    logs = [log for log in file_slice.log_files if not by_name or visibility.sees(log.instant_time)]

    keeps_contents = sum(log.size_bytes for log in logs) <= _KEPT_BYTES

    def locate(log: LogFile) -> LocatedLog:
        path = join_path(partition, log.file_name)
        return locate_blocks(storage, path, log.size_bytes, keeps_contents=keeps_contents)

    located = map_in_parallel(locate, logs)
    blocks = (block for log in located for block in log.blocks)
    visible = _visible(blocks, None if by_name else visibility, as_of)
    base_time = file_slice.base_instant_time if file_slice.base_file is not None and by_name else ""
    valid = in_merge_order(visible, lambda instant: visibility.visible_from(instant) < base_time)
    for block in valid:
        _check(block)
    incomplete = tuple((log.path, log.incomplete_at) for log in located if log.incomplete_at is not None)
    empty = tuple(log.path for log in located if log.incomplete_at is None and not log.blocks)
    return SliceLog(valid, incomplete, empty)


def _visible(
    blocks: Iterable[LocatedBlock], visibility: Visibility | None, as_of: str | None
) -> Iterator[LocatedBlock]:
    """Yield all command blocks. Of the other blocks, yield those of visible instants.

    As in Hudi, the command of a rollback is valid before the rollback completes.
    """
    for block in blocks:
        is_late = as_of is not None and block.instant_time > as_of
        if block.is_command or not (is_late or (visibility and not visibility.sees(block.instant_time))):
            yield block


def _check(block: LocatedBlock) -> None:
    """Refuse a block that this release cannot merge."""
    if block.headers.get(HeaderKey.IS_PARTIAL, "").lower() == "true":
        raise UnsupportedTableError(
            f"{block.what} contains rows with only some of the columns (IS_PARTIAL), as MERGE INTO writes them.",
            hint=f"{_COMPACT} Set hoodie.spark.sql.merge.into.partial.updates=false for later MERGE INTO statements.",
        )
    if block.block_type in _READABLE:
        return
    kind = _REFUSED.get(block.block_type, f"of the unknown type {block.block_type}")
    raise UnsupportedTableError(f"{block.what} is {kind}, which this release does not merge.", hint=_COMPACT)
