"""Find the rows of a file slice that have given keys, as readers see them before and after a write adds a log file.

To update an index of the metadata table, a write must know which of these rows exist before and after the write, and
the values of indexed columns at both times. The module merges the slice by the rule that readers use. So a late row
that loses against the stored row changes no index.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_table_services.execution.arrow_schema import conform
from hudi_table_services.execution.base_file_reader import columns_of, open_base_file
from hudi_table_services.execution.base_file_writer import RECORD_KEY
from hudi_table_services.execution.log_files.data_block import open_data_block, read_keys
from hudi_table_services.execution.log_merging.base_changes import BASE_ROW, DELETES, BaseMerge
from hudi_table_services.execution.log_merging.delete_entries import entries_of_delete_block
from hudi_table_services.execution.log_merging.log_entries import (
    BLOCK,
    KEY,
    ROW,
    entries_of_rows,
    ordering_names,
)
from hudi_table_services.execution.log_merging.log_winners import merge_log_entries
from hudi_table_services.execution.log_merging.slice_blocks import ordering_schema
from hudi_table_services.execution.log_merging.slice_reading import SliceReading
from hudi_table_services.hudi_format.log_blocks import BlockType
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.storage.log_files.located_blocks import LocatedBlock, read_content
from hudi_table_services.storage.log_files.slice_log import read_slice_log
from hudi_table_services.storage.stores.storage import Storage


@dataclass(frozen=True, slots=True)
class RowVersions:
    """Rows of a slice that have given keys, with the requested columns.

    Attributes:
        before: the rows without the new log file.
        after: the rows with the new log file.
        after_compaction: the rows with the new log file if a compaction has first merged all other files of the slice.
            These rows can differ from `after`, because the base file of the compaction contains neither deletes nor the
            rows that lost against deletes.
    """

    before: pa.Table
    after: pa.Table
    after_compaction: pa.Table


@dataclass(frozen=True, slots=True)
class NewLog:
    """The content of a new log file.

    Attributes:
        rows: the rows of its data blocks, with at least the record key and the requested columns.
        deletes: the contents of its delete blocks, which follow the data blocks.
    """

    rows: pa.Table
    deletes: Sequence[bytes]


def row_versions(
    storage: Storage, file_slice: FileSlice, reading: SliceReading, keys: pa.Array, new: NewLog
) -> RowVersions:
    """Read the rows with these keys. The function needs memory for all versions of these rows, and for one block.

    Args:
        file_slice: the slice to which the new log file is added.
        reading: how the slice is read. The merge rule must have `Fill.NOTHING`, because the function returns
            the winning rows unchanged.
        keys: all keys of the new log file, each key once.

    Raises:
        MalformedMetadataError, UnsupportedTableError: see `read_slice_log` and `SliceBlocks.entries`.
        InvalidDataError, InvalidRequestError: a value does not fit the type of its column.
        ObjectNotFoundError: a file of the slice does not exist.
    """
    versions = _Versions(storage, reading, keys)
    base = versions.base_rows(file_slice)
    log = read_slice_log(storage, file_slice, reading.merging.visibility) if file_slice.log_files else None
    for block in log.blocks if log is not None else ():
        versions.add_stored(block)
    before = versions.merged(base)
    alone = _Versions(storage, reading, keys)
    for each in (versions, alone):
        each.add_rows(new.rows)
        for content in new.deletes:
            each.add_deletes(content, "the new log file")
    return RowVersions(before, versions.merged(base), alone.merged(before))


@dataclass(slots=True)
class _Versions:
    """Collects the log entries and log rows with the given keys, block by block, in merge order."""

    storage: Storage
    reading: SliceReading
    keys: pa.Array
    entries: list[pa.Table] = field(default_factory=list)
    rows: list[pa.Table] = field(default_factory=list)

    def base_rows(self, file_slice: FileSlice) -> pa.Table:
        """Return the rows of the base file that have one of the keys."""
        return pa.concat_tables([self.reading.columns.empty_table(), *self._base_rows(file_slice)])

    def _base_rows(self, file_slice: FileSlice) -> Iterator[pa.Table]:
        path = file_slice.base_file_path
        if file_slice.base_file is None or path is None:
            return
        with open_base_file(self.storage, path, file_slice.base_file.size_bytes) as file:
            for found in columns_of(file, self.reading.columns):
                yield self._of_keys(found, RECORD_KEY)

    def add_stored(self, block: LocatedBlock) -> None:
        """Add the records of a block of the slice."""
        content = read_content(self.storage, block)
        if block.block_type == BlockType.DELETE:
            self.add_deletes(content, block.what)
        else:
            columns = self.reading.data_columns
            self.add_rows(read_keys(open_data_block(block, content), block.what, columns))

    def add_rows(self, rows: pa.Table) -> None:
        """Add the rows of data blocks."""
        kept = conform(self._of_keys(rows, RECORD_KEY).combine_chunks(), self.reading.columns)
        self.entries.append(entries_of_rows(self.reading.rule, kept, len(self.rows)))
        self.rows.append(kept)

    def add_deletes(self, content: bytes, what: str) -> None:
        """Add the records of a delete block.

        Args:
            what: name of the block, for error messages.
        """
        ordering = ordering_schema(self.reading.rule, self.reading.schema)
        found = entries_of_delete_block(self.reading.rule, content, len(self.rows), ordering, what)
        self.entries.append(self._of_keys(found, KEY))
        self.rows.append(self.reading.columns.empty_table())

    def merged(self, base: pa.Table) -> pa.Table:
        """Return the rows that result if all added blocks are merged with these rows of the base file."""
        if not any(found.num_rows for found in self.entries):
            return base
        rule = self.reading.rule
        merge = BaseMerge(rule, merge_log_entries(rule, pa.concat_tables(self.entries)))
        numbers = pa.array(np.arange(base.num_rows, dtype=np.int64))
        stored = base.select([RECORD_KEY, *rule.ordering_fields])
        stored = stored.rename_columns([KEY, *ordering_names(rule)]).append_column(BASE_ROW, numbers)
        changes = merge.changes(stored)
        kept = base.filter(pc.invert(pc.is_in(numbers, value_set=changes[BASE_ROW].combine_chunks())))
        replacing = changes.filter(pc.invert(changes[DELETES]))
        places = pa.concat_tables([replacing, merge.appended()])
        starts = np.cumsum([0, *(rows.num_rows for rows in self.rows)])
        positions = starts[places[BLOCK].to_numpy()] + places[ROW].to_numpy()
        log_rows = pa.concat_tables(self.rows).take(pa.array(positions))
        return pa.concat_tables([kept, log_rows])

    def _of_keys(self, rows: pa.Table, column: str) -> pa.Table:
        return rows.filter(pc.is_in(rows[column], value_set=self.keys))
