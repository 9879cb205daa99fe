"""Find the instants that wrote the blocks of a log file, without reading the contents of the blocks.

From table version 8 on, the name of a log file contains its instant. In table version 6 the name contains the base
instant of the file slice, so only the blocks show which instants wrote the file.
"""

from dataclasses import dataclass

from hudi_table_services.hudi_format.log_blocks import HeaderKey
from hudi_table_services.storage.log_files.located_blocks import LocatedBlock, locate_blocks
from hudi_table_services.storage.stores.storage import Storage

_ROLLBACK = "0"


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockInstants:
    """The instants of the complete blocks of a log file.

    Attributes:
        writers: instants of the blocks with rows or deletes.
        undone_after: instants whose blocks a rollback block in the same file removes. As in Hudi, a rollback block acts
            only on earlier blocks, so this set does not contain an instant that wrote a later block.
        has_commands: whether the file contains rollback blocks.
    """

    writers: frozenset[str]
    undone_after: frozenset[str] = frozenset()
    has_commands: bool = False

    def belongs_to(self, instant_time: str) -> bool:
        """Whether only this instant can have written the file.

        A file without complete blocks belongs to any instant. A file with a rollback block belongs to no instant.
        """
        return not self.has_commands and self.writers <= {instant_time}


def block_instants(storage: Storage, path: str, size_bytes: int = -1) -> BlockInstants:
    """Read the headers of all blocks of a log file.

    Args:
        size_bytes: length of the file; -1 if unknown, which takes one more request.

    Raises:
        MalformedMetadataError: a block before the end of the file is damaged; the message names file and position.
        ObjectNotFoundError: the file does not exist.
    """
    blocks = locate_blocks(storage, path, size_bytes, keeps_contents=False).blocks
    undone: set[str] = set()
    for block in blocks:
        if block.is_command:
            undone |= _target(block)
        else:
            undone.discard(block.instant_time)
    return BlockInstants(
        writers=frozenset(block.instant_time for block in blocks if not block.is_command),
        undone_after=frozenset(undone),
        has_commands=any(block.is_command for block in blocks),
    )


def _target(block: LocatedBlock) -> set[str]:
    if block.headers.get(HeaderKey.COMMAND_BLOCK_TYPE) != _ROLLBACK:
        return set()
    return {block.headers.get(HeaderKey.TARGET_INSTANT_TIME, "")} - {""}
