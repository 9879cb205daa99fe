"""Write one log file of a delta commit: its marker, then the whole file (HoodieAppendHandle, Hudi 0.15 and 1.2).

The file is new and contains only blocks of this delta commit. So the undo of a failed write can delete the file, in
every table version.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hudi_table_services.execution.running_commit import require_running
from hudi_table_services.hudi_format.log_blocks import BlockType, HeaderKey, LogBlock, encode_block
from hudi_table_services.hudi_format.markers import MarkerKind, marker_path
from hudi_table_services.model.data_file import LogFile
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.storage.stores.storage import Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFileSpec:
    """One log file to be written.

    Attributes:
        instant_time: requested time of the delta commit. In table version 6, the name of the file contains another
            time; see `LogFile`.
        schema: Avro schema of the rows with meta columns, for the headers of the blocks.
    """

    log_file: LogFile
    partition_path: str
    instant_time: str
    schema: str

    @property
    def path(self) -> str:
        return join_path(self.partition_path, self.log_file.file_name)

    @property
    def marker_path(self) -> str:
        """Path of the marker. Table version 6 marks log files as APPEND, later versions as CREATE."""
        is_own_time = self.log_file.instant_time == self.instant_time
        kind = MarkerKind.CREATE if is_own_time else MarkerKind.APPEND
        return marker_path(self.instant_time, self.path, kind)


def write_log_file(storage: Storage, spec: LogFileSpec, blocks: Iterable[tuple[BlockType, bytes]]) -> int:
    """Write a log file, and return its length in bytes.

    Args:
        blocks: type and content of each block, in the order in which readers apply them.

    Raises:
        ObjectExistsError: a file with this name exists. Names contain a write token that is unique for every attempt
            of every task, so another program has created the file.
        InstantVanishedError: see `require_running`.
    """
    headers: Mapping[int, str] = {HeaderKey.INSTANT_TIME: spec.instant_time, HeaderKey.SCHEMA: spec.schema}
    data = b"".join(
        encode_block(LogBlock(block_type=kind, headers=headers, content=content)) for kind, content in blocks
    )
    storage.write(spec.marker_path, b"")
    require_running(storage, spec)
    storage.create(spec.path, data)
    require_running(storage, spec)
    return len(data)
