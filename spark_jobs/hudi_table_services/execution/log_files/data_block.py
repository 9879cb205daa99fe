"""Open a data block of the type AVRO_DATA or PARQUET_DATA, and read its keys.

To merge a slice, a reader at first needs only the keys and ordering values of all rows. Later, the reader decodes the
other columns, but only for the rows that are part of the result.
"""

from typing import TypeAlias

import numpy as np
import pyarrow as pa

from hudi_table_services.errors import MalformedMetadataError, UnsupportedTableError
from hudi_table_services.execution.base_file_writer import RECORD_KEY
from hudi_table_services.execution.log_files.avro_data_block import AvroDataBlock
from hudi_table_services.execution.log_files.parquet_data_block import ParquetDataBlock
from hudi_table_services.hudi_format.log_blocks import BlockType
from hudi_table_services.storage.log_files.located_blocks import LocatedBlock

DataBlock: TypeAlias = AvroDataBlock | ParquetDataBlock

ROW = "row"
"""Column of `read_keys` with the number of the row in its block."""


def open_data_block(block: LocatedBlock, content: bytes) -> DataBlock:
    """Open the content of a data block.

    Raises:
        MalformedMetadataError: the content is damaged, or an Avro block has no schema.
        UnsupportedTableError: blocks of this type contain no rows, or a column has a type that this release does not
            read.
    """
    if block.block_type == BlockType.AVRO_DATA:
        return AvroDataBlock(content, block.schema, block.what)
    if block.block_type == BlockType.PARQUET_DATA:
        return ParquetDataBlock(content, block.what)
    raise UnsupportedTableError(f"{block.what} has the type {block.block_type}, which contains no rows.")


def read_keys(block: DataBlock, what: str, ordering: pa.Schema) -> pa.Table:
    """Return keys and ordering values of all rows: the columns `RECORD_KEY`, those of `ordering`, and `ROW`.

    Args:
        what: name of the block, for error messages.
        ordering: ordering columns of the table, with their types.

    Raises:
        MalformedMetadataError: a row is damaged, or has no key.
        InvalidDataError, InvalidRequestError: see `AvroDataBlock.read`.
    """
    found = block.read(pa.schema([pa.field(RECORD_KEY, pa.string()), *ordering]))
    if found[RECORD_KEY].null_count:
        raise MalformedMetadataError(
            f"{what}: {found[RECORD_KEY].null_count} rows have no record key.",
            hint="Readers of Hudi fail on this block. Roll back the instant that wrote the file.",
        )
    return found.append_column(ROW, pa.array(np.arange(found.num_rows, dtype=np.int32)))
