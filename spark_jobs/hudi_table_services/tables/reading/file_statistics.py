"""Look up column statistics and locations of record keys in the metadata table, so that a read can skip files."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hudi_table_services.errors import InvalidRequestError, MalformedMetadataError, UnsupportedTableError
from hudi_table_services.hudi_format.metadata_table.file_groups import (
    COLUMN_STATS,
    PARTITION_STATS,
    RECORD_INDEX,
)
from hudi_table_services.hudi_format.metadata_table.keys import (
    column_stats_key,
    file_group_of,
    partition_stats_key,
)
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.metadata_table import ColumnStats, FileColumnRange
from hudi_table_services.model.reading.predicate import ColumnPredicate
from hudi_table_services.model.reading.scan import ColumnRanges, SkippingFacts
from hudi_table_services.model.schema import StructType
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_version import TableType
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.planning.metadata_table.indexed_columns import IndexedColumn, indexed_columns
from hudi_table_services.planning.metadata_table.stored_ranges import stored_range
from hudi_table_services.planning.reading.record_keys import wanted_keys
from hudi_table_services.planning.table.key_generator import key_generator_config
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.metadata_table.record_locations import (
    RecordIndexGroups,
    open_partitioned_record_index,
    open_record_index,
)
from hudi_table_services.storage.metadata_table.stored_statistics import read_statistics
from hudi_table_services.storage.metadata_table.unusable import Reason, UnusableMetadataTable
from hudi_table_services.storage.parallel import map_in_parallel
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.metadata_table import used_definitions

_MOST_RECORDS = 200_000
"""Largest number of statistics that a read looks up. For more statistics, reading the footers in tasks costs less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactsReader:
    """Reads the indexes of a metadata table in the state that a timeline shows.

    Attributes:
        is_latest: whether the read returns the latest state. Statistics of partitions and the record index describe
            only this state.
    """

    storage: Storage
    config: TableConfig
    timeline: Timeline
    clock: Clock
    schema: StructType
    is_latest: bool

    def facts(self, predicates: Sequence[ColumnPredicate], slices: Sequence[FileSlice]) -> SkippingFacts:
        """Look up the statistics of the columns in the conditions, and the locations of the wanted record keys.

        Raises:
            StorageError: a request failed for a reason other than a missing file.
        """
        if not predicates or not slices or not self.config.metadata_partitions:
            return SkippingFacts()
        notes: list[str] = []
        columns = self._columns(predicates, notes)
        return SkippingFacts(
            file_ranges=self._of_files(columns, slices, notes),
            partition_ranges=self._of_partitions(columns, slices, notes),
            located=self._located(self.wanted_keys(predicates), slices, notes),
            notes=tuple(notes),
        )

    def _columns(self, predicates: Iterable[ColumnPredicate], notes: list[str]) -> tuple[IndexedColumn, ...]:
        """The columns of the conditions that have statistics."""
        names = {each.column for each in predicates}
        try:
            version = self.config.table_version
            definitions = used_definitions(self.storage, self.config.metadata_partitions, version)
        except MalformedMetadataError as error:
            notes.append(f"The statistics of columns were not used: {error.message}")
            return ()
        found = indexed_columns(self.schema, definitions.get(COLUMN_STATS))
        return tuple(column for column in found if column.name in names)

    def _of_files(
        self, columns: Sequence[IndexedColumn], slices: Sequence[FileSlice], notes: list[str]
    ) -> ColumnRanges:
        wanted = {
            column_stats_key(column.name, each.file_group_id.partition_path, name): (
                join_path(each.file_group_id.partition_path, name),
                column,
            )
            for column in columns
            for each in slices
            for name in _names(each)
        }
        return self._ranges(COLUMN_STATS, wanted, notes)

    def _of_partitions(
        self, columns: Sequence[IndexedColumn], slices: Sequence[FileSlice], notes: list[str]
    ) -> ColumnRanges:
        """Ranges of partitions of copy-on-write tables.

        In merge-on-read tables, not every writer records the values of log files. Bounds of floating-point columns are
        not used, because a file with NaN has the bounds 0 and 0.
        """
        if not self.is_latest or self.config.table_type is not TableType.COPY_ON_WRITE:
            return {}
        wanted = {
            partition_stats_key(column.name, path): (path, column)
            for column in columns
            if not column.is_floating
            for path in {each.file_group_id.partition_path for each in slices}
        }
        return self._ranges(PARTITION_STATS, wanted, notes)

    def _ranges(
        self, name: str, wanted: Mapping[str, tuple[str, IndexedColumn]], notes: list[str]
    ) -> ColumnRanges:
        if not wanted or name not in self.config.metadata_partitions:
            return {}
        if len(wanted) > _MOST_RECORDS:
            notes.append(f"{name} was not used: the read would look up {len(wanted):,} records.")
            return {}
        stored = read_statistics(self.storage, self.config, self.timeline, self.clock, name, wanted.keys())
        if isinstance(stored, UnusableMetadataTable):
            notes.append(_not_used(name, stored))
            return {}
        return _by_path(wanted, stored)

    def wanted_keys(self, predicates: Sequence[ColumnPredicate]) -> frozenset[str] | None:
        """The record keys that rows of the result can have; None if the conditions do not limit them."""
        return wanted_keys(predicates, self._key_columns()) if predicates else None

    def _located(
        self, keys: frozenset[str] | None, slices: Sequence[FileSlice], notes: list[str]
    ) -> frozenset[FileGroupId] | None:
        if keys is None or not self.is_latest or RECORD_INDEX not in self.config.metadata_partitions:
            return None
        found = self._groups_with(keys, {each.file_group_id.partition_path for each in slices})
        if isinstance(found, UnusableMetadataTable):
            notes.append(_not_used(RECORD_INDEX, found))
            return None
        return found

    def _key_columns(self) -> tuple[str, ...]:
        """The record key columns; empty if this release cannot compute keys."""
        try:
            return key_generator_config(self.config, {}, existing_key="").record_key_fields
        except (InvalidRequestError, UnsupportedTableError):
            return ()

    def _groups_with(
        self, keys: frozenset[str], partitions: set[str]
    ) -> frozenset[FileGroupId] | UnusableMetadataTable:
        arguments = (self.storage, self.config, self.timeline, self.clock)
        opened = open_record_index(*arguments)
        if isinstance(opened, RecordIndexGroups):
            return _located_in([opened], keys)
        if opened.reason is not Reason.UNSUPPORTED:
            return opened
        by_partition = open_partitioned_record_index(*arguments)
        if isinstance(by_partition, UnusableMetadataTable):
            return by_partition
        return _located_in([groups for path, groups in by_partition.items() if path in partitions], keys)


def _located_in(
    indexes: Sequence[RecordIndexGroups], keys: frozenset[str]
) -> frozenset[FileGroupId] | UnusableMetadataTable:
    def locate(index: RecordIndexGroups) -> set[FileGroupId] | UnusableMetadataTable:
        by_group: list[set[bytes]] = [set() for _ in range(index.count)]
        for key in keys:
            by_group[file_group_of(key, index.count)].add(key.encode())
        return index.locate([frozenset(each) for each in by_group])

    found: set[FileGroupId] = set()
    for each in map_in_parallel(locate, indexes):
        if isinstance(each, UnusableMetadataTable):
            return each
        found |= each
    return frozenset(found)


def _names(file_slice: FileSlice) -> list[str]:
    names = [log.file_name for log in file_slice.log_files]
    return names if file_slice.base_file is None else [file_slice.base_file.file_name, *names]


def _by_path(
    wanted: Mapping[str, tuple[str, IndexedColumn]], stored: Mapping[str, ColumnStats]
) -> ColumnRanges:
    found: dict[str, dict[str, FileColumnRange]] = {}
    for key, stats in stored.items():
        path, column = wanted[key]
        usable = stored_range(stats, column)
        if usable is not None:
            found.setdefault(path, {})[column.name] = usable
    return found


def _not_used(name: str, why: UnusableMetadataTable) -> str:
    return f"{name} was not used: {why.reason.value}. {why.message}"
