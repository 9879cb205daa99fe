"""Read the blocks of one file slice: all log entries, and later the rows of data blocks that a merge needs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from hudi_table_services.execution.base_file_writer import RECORD_KEY
from hudi_table_services.execution.log_files.data_block import DataBlock, open_data_block, read_keys
from hudi_table_services.execution.log_merging.delete_entries import entries_of_delete_block
from hudi_table_services.execution.log_merging.log_entries import entries_of_rows, row_columns
from hudi_table_services.hudi_format.log_blocks import BlockType
from hudi_table_services.model.merging.merge_rule import MergeRule
from hudi_table_services.storage.log_files.located_blocks import LocatedBlock, read_content
from hudi_table_services.storage.stores.storage import Storage


@dataclass(slots=True)
class SliceBlocks:
    """Reads the blocks of a slice one after another, so that the content of only one block is in memory at a time.

    Attributes:
        blocks: the blocks in merge order.
        data_schema: Arrow schema of the user's columns, in which the rows are returned.
        row_counts: number of records of each block, set while `entries` is consumed.
    """

    storage: Storage
    blocks: Sequence[LocatedBlock]
    rule: MergeRule
    data_schema: pa.Schema
    row_counts: list[int] = field(default_factory=list)

    @property
    def record_count(self) -> int:
        """Number of records of the blocks whose entries were read."""
        return sum(self.row_counts)

    def entries(self) -> Iterator[pa.Table]:
        """Yield the log entries of each block, in merge order.

        Raises:
            MalformedMetadataError: a block is damaged.
            UnsupportedTableError: a block or an ordering value has a type that this release does not read.
            InvalidDataError, InvalidRequestError: a value does not fit the type of the table's column.
        """
        self.row_counts = []
        for number, block in enumerate(self.blocks):
            content = read_content(self.storage, block)
            if block.block_type == BlockType.DELETE:
                found = entries_of_delete_block(self.rule, content, number, self._ordering, block.what)
            else:
                found = self._row_entries(open_data_block(block, content), number, block.what)
            self.row_counts.append(found.num_rows)
            yield found

    def open(self, number: int) -> DataBlock:
        """Open the data block with this number."""
        block = self.blocks[number]
        return open_data_block(block, read_content(self.storage, block))

    def _row_entries(self, block: DataBlock, number: int, what: str) -> pa.Table:
        names = [name for name in row_columns(self.rule)[1:] if name in self.data_schema.names]
        rows = read_keys(block, what, pa.schema([_nullable(self.data_schema.field(name)) for name in names]))
        return entries_of_rows(self.rule, rows, number)

    @property
    def _ordering(self) -> pa.Schema:
        return ordering_schema(self.rule, self.data_schema)


def ordering_schema(rule: MergeRule, data_schema: pa.Schema) -> pa.Schema:
    """Return the ordering columns of the table, all of them nullable."""
    return pa.schema([_nullable(data_schema.field(name)) for name in rule.ordering_fields])


def key_schema(rule: MergeRule, data_schema: pa.Schema) -> pa.Schema:
    """Return the schema of the record key and the ordering columns of a base file."""
    return pa.schema([pa.field(RECORD_KEY, pa.string()), *ordering_schema(rule, data_schema)])


def _nullable(column: pa.Field) -> pa.Field:
    return column.with_nullable(True)
