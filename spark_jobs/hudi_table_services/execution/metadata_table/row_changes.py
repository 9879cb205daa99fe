"""Stage the changes that a task makes to the rows of one file group, for the indexes of the metadata table.

The record index needs the keys of new and deleted rows. A secondary index also needs the old and the new value of the
indexed column in every changed row (SecondaryIndexStreamingTracker, Hudi 1.2).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType

import pyarrow as pa
import pyarrow.compute as pc

from hudi_table_services.execution.base_file_reader import columns_of, open_base_file
from hudi_table_services.execution.base_file_writer import RECORD_KEY
from hudi_table_services.execution.log_merging.merged_slice import rows_of_slice
from hudi_table_services.execution.log_merging.slice_reading import LogMerging
from hudi_table_services.execution.metadata_table.secondary_keys import (
    SecondaryKeyGroups,
    all_secondary_keys,
    secondary_keys,
)
from hudi_table_services.execution.metadata_table.staged_keys import (
    KeyStager,
    KeyStaging,
    StagedKeys,
)
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.metadata_table import SecondaryIndex
from hudi_table_services.storage.stores.storage import Storage


@dataclass(frozen=True, slots=True)
class SecondaryStaging:
    """Settings with which the tasks of a commit stage the keys of a secondary index.

    Attributes:
        index: the index as it was when the commit began.
        staging: staging folder and number of file groups of the index.
    """

    index: SecondaryIndex
    staging: KeyStaging


@dataclass(frozen=True, slots=True)
class StagedSecondaryKeys:
    """Keys of a secondary index that one task staged."""

    index: SecondaryIndex
    keys: StagedKeys


@dataclass(frozen=True, slots=True)
class StagedRowChanges:
    """The keys that one task staged: for the record index, and for each secondary index whose entries change.

    Attributes:
        depends_on_compaction: whether the indexes need other keys as soon as a pending compaction of the file slice
            completes.
    """

    keys: StagedKeys | None = None
    secondary: tuple[StagedSecondaryKeys, ...] = ()
    depends_on_compaction: bool = False

    @property
    def deleted_count(self) -> int:
        return self.keys.deleted_count if self.keys is not None else 0

    @property
    def size_bytes(self) -> int:
        found = [each.keys for each in self.secondary]
        return sum(each.size_bytes for each in [*found, *([self.keys] if self.keys is not None else [])])


class RowChangeStager:
    """Stages the changes of the rows of one file group. If an error ends the `with` block, the files are deleted.

    The tables that are passed to the methods need only the columns in `columns`.

    Args:
        key_staging: None if the table has no record index.
        secondary: the secondary indexes of the table.
    """

    def __init__(
        self,
        storage: Storage,
        key_staging: KeyStaging | None,
        secondary: Sequence[SecondaryStaging],
        file_group_id: FileGroupId,
    ) -> None:
        self._keys = KeyStager(storage, key_staging, file_group_id)
        self._secondary = [
            (each.index, KeyStager(storage, each.staging, file_group_id)) for each in secondary
        ]
        self._files = ExitStack()
        self.columns = (RECORD_KEY, *_top_level_columns(secondary))
        """The columns that the methods read."""

    def __enter__(self) -> "RowChangeStager":
        for stager in (self._keys, *(stager for _, stager in self._secondary)):
            self._files.enter_context(stager)
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._files.__exit__(error_type, error, traceback)

    def inserted(self, rows: pa.Table) -> None:
        """Stage new rows of the file group, and stored rows whose keys the commit deletes from other file groups."""
        self._keys.add_new(rows[RECORD_KEY])
        self._each(rows, KeyStager.add_new)

    def deleted(self, rows: pa.Table) -> None:
        """Stage stored rows that the commit deletes from the file group."""
        self._keys.add_deleted(rows[RECORD_KEY])
        self._each(rows, KeyStager.add_deleted)

    def updated(self, before: pa.Table, after: pa.Table) -> None:
        """Stage updates: rows of `after` replace stored rows of `before`. The tables have the same keys, row by row."""
        for index, stager in self._secondary:
            is_changed = pc.not_equal(secondary_keys(index, before), secondary_keys(index, after))
            stager.add_deleted(all_secondary_keys(index, before.filter(is_changed)))
            stager.add_new(all_secondary_keys(index, after.filter(is_changed)))

    def replaced(self, before: pa.Table, after: pa.Table) -> None:
        """Stage the difference between the rows of some keys before and after the commit.

        Unlike in `updated`, the tables can have different keys, and several rows with one key.
        """
        old, new = before[RECORD_KEY], after[RECORD_KEY]
        self._keys.add_deleted(_without(old, new))
        self._keys.add_new(_without(new, old))
        for index, stager in self._secondary:
            old, new = all_secondary_keys(index, before), all_secondary_keys(index, after)
            stager.add_deleted(_without(old, new))
            stager.add_new(_without(new, old))

    def differ(self, some: pa.Table, others: pa.Table) -> bool:
        """Whether the indexes have different keys for the rows of two tables."""
        pairs = [(some[RECORD_KEY], others[RECORD_KEY])]
        for index, _ in self._secondary:
            pairs.append((all_secondary_keys(index, some), all_secondary_keys(index, others)))
        return any(len(_without(one, other)) or len(_without(other, one)) for one, other in pairs)

    def close(self) -> StagedRowChanges:
        """Complete the staged files."""
        found = [(index, stager.close()) for index, stager in self._secondary]
        secondary = [StagedSecondaryKeys(index, keys) for index, keys in found if keys is not None]
        return StagedRowChanges(self._keys.close(), tuple(secondary))

    def _each(self, rows: pa.Table, add: Callable[[KeyStager, pa.ChunkedArray], None]) -> None:
        if rows.num_rows:
            for index, stager in self._secondary:
                add(stager, all_secondary_keys(index, rows))


def secondary_staging(folder: str, index: SecondaryIndex, group_count: int) -> SecondaryStaging:
    """Return the settings with which the tasks stage the keys of a secondary index.

    Args:
        folder: staging folder of the job, which must exist until the commit is complete.
        group_count: number of file groups of the index, at least 1.
    """
    groups = SecondaryKeyGroups(index.is_grouped_by_value).of
    return SecondaryStaging(index, KeyStaging(folder, group_count, groups=groups))


def stage_replaced_rows(
    storage: Storage,
    key_staging: KeyStaging | None,
    secondary: Sequence[SecondaryStaging],
    data_schema: pa.Schema,
    replaced: FileSlice,
    merging: LogMerging | None = None,
) -> StagedRowChanges:
    """Stage all rows of a replaced file group as deleted, on an executor.

    `KeyChanges` leaves out the deletions of keys that the same commit writes again.

    Args:
        data_schema: columns of the table.
        merging: how the log files of the slice are merged; None if the table is copy-on-write.

    Raises:
        MalformedMetadataError, UnsupportedTableError, InvalidDataError, ObjectNotFoundError: see `rows_of_slice`.
    """
    with RowChangeStager(storage, key_staging, secondary, replaced.file_group_id) as stager:
        if merging is None or not replaced.log_files:
            found = _base_rows(storage, replaced, data_schema, stager.columns)
        else:
            found = rows_of_slice(storage, replaced, merging.reading(data_schema, stager.columns))
        for rows in found:
            stager.deleted(rows)
        return stager.close()


def _base_rows(
    storage: Storage, file_slice: FileSlice, data_schema: pa.Schema, columns: Sequence[str]
) -> Iterator[pa.Table]:
    path = file_slice.base_file_path
    if file_slice.base_file is None or path is None:
        return
    schema = pa.schema([pa.field(RECORD_KEY, pa.string()), *data_schema])
    with open_base_file(storage, path, file_slice.base_file.size_bytes) as file:
        yield from columns_of(file, pa.schema([schema.field(name) for name in columns]))


def _without(keys: pa.ChunkedArray, others: pa.ChunkedArray) -> pa.ChunkedArray:
    return keys.filter(pc.invert(pc.is_in(keys, value_set=others.combine_chunks())))


def _top_level_columns(secondary: Sequence[SecondaryStaging]) -> tuple[str, ...]:
    names = (each.index.column.partition(".")[0] for each in secondary)
    return tuple(dict.fromkeys(name for name in names if name != RECORD_KEY))
