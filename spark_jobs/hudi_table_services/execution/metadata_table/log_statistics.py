"""Compute statistics of the rows in the data blocks of a log file.

The rows are encoded as Parquet in memory, so that the statistics are computed by the same code as those of base files.
Deletes have no statistics. So a log file that contains only deletes has no statistics of any column.
"""

from collections.abc import Collection, Iterable

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_table_services.errors import UnsupportedTableError
from hudi_table_services.execution.arrow_schema import conform
from hudi_table_services.execution.log_files.data_block import open_data_block
from hudi_table_services.execution.metadata_table.written_statistics import StatisticsCollector
from hudi_table_services.execution.parquet_format import ParquetFormat, dictionary_columns
from hudi_table_services.hudi_format.log_blocks import BlockType
from hudi_table_services.model.metadata_table import FileStatistics
from hudi_table_services.storage.log_files.located_blocks import locate_blocks, read_content
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.storage.stores.storage import Storage

_FORMAT = ParquetFormat(codec="none", codec_level=None, row_group_bytes=64 << 20)
_NO_COLUMNS = pa.schema([])
_DATA = (BlockType.AVRO_DATA, BlockType.PARQUET_DATA)


def log_statistics(
    storage: Storage, partition_path: str, file_name: str, columns: Collection[str]
) -> FileStatistics:
    """Return the statistics of a log file on storage. The rows of only one block are in memory at a time.

    In table version 6, the rows include those of writes that were rolled back, so the bounds can be wider than
    necessary.

    Raises:
        MalformedMetadataError, UnsupportedTableError: a block cannot be read, or has columns that the first block does
            not have.
        ObjectNotFoundError: the file does not exist.
    """
    located = locate_blocks(storage, join_path(partition_path, file_name))
    blocks = [
        block for block in located.blocks if not block.is_command and block.block_type != BlockType.DELETE
    ]
    for block in blocks:
        if block.block_type not in _DATA:
            raise UnsupportedTableError(
                f"{block.what} has the type {block.block_type}, whose rows this release does not read.",
                hint="Compact the table with Hudi, so that no log file has such a block.",
            )
    opened = (open_data_block(block, read_content(storage, block)) for block in blocks)
    top_level = {column.partition(".")[0] for column in columns}
    rows = (each.read(_NO_COLUMNS, None, top_level) for each in opened)
    return statistics_of_rows(partition_path, file_name, rows, columns)


def statistics_of_rows(
    partition_path: str, file_name: str, rows: Iterable[pa.Table], columns: Collection[str]
) -> FileStatistics:
    """Return the statistics of rows that are written into a log file.

    Args:
        rows: tables of rows, one for each data block. Later tables are converted to the types of the first one.
        columns: see `StatisticsCollector`. Other columns have no statistics.

    Raises:
        UnsupportedTableError: a later table has a column that the first one does not have.
    """
    top_level = {column.partition(".")[0] for column in columns}
    collector, sink = StatisticsCollector(columns), pa.BufferOutputStream()
    writer: pq.ParquetWriter | None = None
    schema = _NO_COLUMNS
    row_count = 0
    for table in rows:
        kept = table.select([name for name in table.schema.names if name in top_level]).combine_chunks()
        row_count += table.num_rows
        if not kept.num_columns or not kept.num_rows:
            continue
        if writer is None:
            schema = kept.schema
            writer = _FORMAT.open_writer(sink, schema, dictionary_columns(kept), collector.footers)
        _require_no_more_columns(join_path(partition_path, file_name), kept.schema, schema)
        conformed = conform(kept, schema)
        collector.add(conformed)
        writer.write_table(conformed, row_group_size=conformed.num_rows)
    if writer is None:
        return FileStatistics(
            partition_path=partition_path, file_name=file_name, row_count=row_count, ranges=()
        )
    writer.close()
    return collector.statistics(partition_path, file_name)


def _require_no_more_columns(path: str, found: pa.Schema, first: pa.Schema) -> None:
    """Refuse a block with a column that the first block lacks, because the statistics would leave out the column."""
    added = sorted(set(found.names) - set(first.names))
    if added:
        raise UnsupportedTableError(
            f"A block of the log file {path} has the column {added[0]!r}, which an earlier block does not have, so "
            "this release does not compute statistics of the file.",
            path=path,
            hint="Compact the table, and clean it until the file is deleted.",
        )
