"""Find the valid blocks of a slice and the order in which readers merge them (BaseHoodieLogRecordReader, Hudi 1.2).

All blocks of one instant are merged at the position of the instant's first block. A rollback removes all earlier blocks
of its target. Each block of a log compaction lists the instants whose blocks it replaces. The new blocks take the
position of the newest replaced instant, because later blocks may overwrite rows of the new blocks. Log compactions can
replace the blocks of earlier log compactions.
"""

from collections.abc import Callable, Iterable

from hudi_table_services.errors import CorruptTableError, UnsupportedTableError
from hudi_table_services.hudi_format.log_blocks import HeaderKey
from hudi_table_services.storage.log_files.located_blocks import LocatedBlock

_ROLLBACK = "0"
_Groups = dict[str, list[LocatedBlock]]


def in_merge_order(
    blocks: Iterable[LocatedBlock], is_in_base_file: Callable[[str], bool] = lambda instant: False
) -> tuple[LocatedBlock, ...]:
    """Return the blocks with rows and deletes, oldest first.

    Args:
        blocks: visible blocks of a slice and all of its commands, in the order of the log files.
        is_in_base_file: whether the slice's base file already contains the rows of an instant. If this is true for all
            instants that a log compaction replaces, the blocks of the log compaction are skipped. Such a log compaction
            completed after a compaction of the same log files was scheduled.

    Raises:
        UnsupportedTableError: a command is not a rollback.
        CorruptTableError: a rollback names no target, or a log compaction replaces no block of the slice.
    """
    groups = {
        instant: found
        for instant, found in _by_instant(blocks).items()
        if not _is_outdated(found[0], is_in_base_file)
    }
    replaced_by: dict[str, str] = {}
    placed: list[str] = []
    for instant in reversed(groups):
        originals = _compacted_instants(groups[instant][0])
        if originals:
            final = replaced_by.get(instant, instant)
            replaced_by.update(dict.fromkeys(originals, final))
            continue
        final = replaced_by.get(instant, instant)
        if final not in placed:
            placed.append(final)
    for instant, found in groups.items():
        if _compacted_instants(found[0]) and instant not in placed and instant not in replaced_by:
            raise CorruptTableError(
                f"{found[0].what} is the result of a log compaction, but the blocks that it replaces are missing.",
                path=found[0].path,
                hint="Restore the log files of this file group from a backup.",
            )
    return tuple(block for instant in reversed(placed) for block in groups[instant])


def _is_outdated(block: LocatedBlock, is_in_base_file: Callable[[str], bool]) -> bool:
    replaced = _compacted_instants(block)
    return bool(replaced) and all(is_in_base_file(instant) for instant in replaced)


def _by_instant(blocks: Iterable[LocatedBlock]) -> _Groups:
    """Map each instant to its blocks, in the order of the first blocks, without blocks that a rollback removes."""
    groups: _Groups = {}
    for block in blocks:
        if not block.is_command:
            groups.setdefault(block.instant_time, []).append(block)
        elif block.headers.get(HeaderKey.COMMAND_BLOCK_TYPE) == _ROLLBACK:
            groups.pop(block.header(HeaderKey.TARGET_INSTANT_TIME), None)
        else:
            raise UnsupportedTableError(
                f"{block.what} is a command that this release does not know.",
                hint="Compact the table with the program that wrote the block.",
            )
    return groups


def _compacted_instants(block: LocatedBlock) -> list[str]:
    """Return the instants whose blocks this block replaces; empty if no log compaction wrote this block."""
    text = block.headers.get(HeaderKey.COMPACTED_BLOCK_TIMES, "")
    return [instant.strip() for instant in text.split(",") if instant.strip()]
