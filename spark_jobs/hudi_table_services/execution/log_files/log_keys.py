"""Keys of the rows in the log files of a file slice.

Usually every key of a log file is also in the base file of the slice. Writers whose index finds keys in log files, such
as those with a bucket index, also add new keys to log files.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from hudi_table_services.execution.base_file_writer import RECORD_KEY
from hudi_table_services.execution.log_files.data_block import open_data_block, read_keys
from hudi_table_services.hudi_format.log_blocks import BlockType
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.storage.file_slices import Visibility
from hudi_table_services.storage.log_files.located_blocks import read_content
from hudi_table_services.storage.log_files.slice_log import read_slice_log
from hudi_table_services.storage.stores.storage import Storage

_NO_COLUMNS = pa.schema([])


@dataclass(frozen=True, slots=True)
class SearchedLogs:
    """The log files of a slice, and the instants whose blocks count."""

    file_slice: FileSlice
    visibility: Visibility

    def keys(self, storage: Storage) -> Iterator[pa.ChunkedArray]:
        """Yield the keys of each data block, also keys that a later block deletes. Memory: one block.

        Raises:
            MalformedMetadataError, UnsupportedTableError: see `read_slice_log`, `open_data_block` and `read_keys`.
            ObjectNotFoundError: a log file does not exist.
        """
        for block in read_slice_log(storage, self.file_slice, self.visibility).blocks:
            if block.block_type != BlockType.DELETE:
                rows = open_data_block(block, read_content(storage, block))
                yield read_keys(rows, block.what, _NO_COLUMNS)[RECORD_KEY]
