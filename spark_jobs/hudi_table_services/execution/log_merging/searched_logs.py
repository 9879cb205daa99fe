"""Find keys of a batch in the log files of a slice, and find out whether the rows with these keys still exist.

A log file can delete a row, although the base file still has the key of the row. A write must add a new row with this
key to the same slice, because other writers find the key in the base file, and would update the row there. But if
another slice has an existing row with the key, the write updates only that row. Log files can contain keys that the
base file lacks: writers whose index finds keys in log files, such as a bucket index, add new keys to log files.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_table_services.execution.log_merging.base_changes import BASE_ROW, DELETES, BaseMerge
from hudi_table_services.execution.log_merging.log_entries import KEY, KIND, EntryKind, ordering_names
from hudi_table_services.execution.log_merging.log_winners import merge_log_entries
from hudi_table_services.execution.log_merging.slice_blocks import SliceBlocks, key_schema
from hudi_table_services.execution.numpy_types import Flags
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.merging.merge_rule import MergeRule
from hudi_table_services.storage.file_slices import Visibility
from hudi_table_services.storage.log_files.slice_log import read_slice_log
from hudi_table_services.storage.stores.storage import Storage


@dataclass(frozen=True, slots=True)
class LogReading:
    """How the log files of a table are read.

    Attributes:
        schema: ordering columns and, if the table has it, the column that marks deletes, in the types of the table.
    """

    rule: MergeRule
    schema: pa.Schema

    @property
    def base_columns(self) -> pa.Schema:
        """Columns of the base file that are compared with the log files: key and ordering columns."""
        return key_schema(self.rule, self.schema)


@dataclass(frozen=True, slots=True)
class FoundKeys:
    """Keys of a batch in the log files of a slice.

    Attributes:
        deleted: mask of the searched base rows that the log files delete.
        added: keys that are not among the searched base rows and whose row exists.
    """

    deleted: Flags
    added: pa.Array


@dataclass(frozen=True, slots=True)
class SearchedLogs:
    """The log files of one slice, and the instants whose blocks readers see."""

    file_slice: FileSlice
    reading: LogReading
    visibility: Visibility

    def find(self, storage: Storage, keys: pa.Array, base: pa.Table) -> FoundKeys:
        """Find keys. The method needs memory for the log entries of these keys, and for one block.

        Args:
            keys: distinct keys to look for.
            base: the rows of the base file with these keys, with the columns `LogReading.base_columns`.

        Raises:
            MalformedMetadataError, UnsupportedTableError: see `read_slice_log` and `SliceBlocks.entries`.
            ObjectNotFoundError: a log file does not exist.
        """
        reading = self.reading
        log = read_slice_log(storage, self.file_slice, self.visibility)
        blocks = SliceBlocks(storage, log.blocks, reading.rule, reading.schema)
        found = [entries.filter(pc.is_in(entries[KEY], value_set=keys)) for entries in blocks.entries()]
        deleted = np.zeros(base.num_rows, dtype=bool)
        if not any(entries.num_rows for entries in found):
            return FoundKeys(deleted, keys.slice(0, 0))
        winners = merge_log_entries(reading.rule, pa.concat_tables(found))
        stored = base.rename_columns([KEY, *ordering_names(reading.rule)])
        numbered = stored.append_column(BASE_ROW, pa.array(np.arange(base.num_rows, dtype=np.int64)))
        changes = BaseMerge(reading.rule, winners).changes(numbered)
        deleted[changes.filter(changes[DELETES])[BASE_ROW].to_numpy()] = True
        is_row = winners.entries[KIND].to_numpy() == EntryKind.ROW
        is_new = ~pc.is_in(winners.keys, value_set=stored[KEY].combine_chunks()).to_numpy(
            zero_copy_only=False
        )
        return FoundKeys(deleted, winners.keys.filter(pa.array(is_row & is_new)))
