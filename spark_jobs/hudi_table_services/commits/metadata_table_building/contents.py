"""Provide the records that a build of a metadata table writes into each partition."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from hudi_table_services.commits.metadata_table_building.new_partition import (
    NewFiles,
    NewPartition,
    records_writer,
)
from hudi_table_services.execution.metadata_table.data_file_facts import DataFile, DataFileReader
from hudi_table_services.hudi_format.metadata_table.file_groups import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    FILES,
    PARTITION_STATS,
    RECORD_INDEX,
)
from hudi_table_services.hudi_format.metadata_table.keys import bloom_filter_key, file_group_of
from hudi_table_services.model.metadata_table import FileStatistics, IndexDefinition, MetadataRecord
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import WriteStat
from hudi_table_services.options.metadata_settings_values import IndexSettings
from hudi_table_services.planning.metadata_table.bloom_records import bloom_filter_records
from hudi_table_services.planning.metadata_table.build_plan import (
    BuildPlan,
    RecordIndexSize,
    group_count,
    partitioned_index_size,
)
from hudi_table_services.planning.metadata_table.column_stats import column_stat_records
from hudi_table_services.planning.metadata_table.file_records import first_records
from hudi_table_services.planning.metadata_table.index_choice import (
    DEFAULT_MAX_COLUMNS,
    column_stats_definition,
)
from hudi_table_services.planning.metadata_table.indexed_columns import IndexedColumn, indexed_columns
from hudi_table_services.planning.metadata_table.partition_stats import PartitionFiles, partition_stat_records
from hudi_table_services.planning.metadata_table.partitioned_record_index import is_partitioned_index
from hudi_table_services.storage.metadata_table.group_files import write_base_file
from hudi_table_services.storage.stores.paths import file_name
from hudi_table_services.tables.metadata_content import TableContent


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildSettings:
    """Options of a build.

    Attributes:
        columns: columns with statistics, in addition to three meta columns. Empty means the columns in the table's
            definition or, without a definition, the first columns of the table.
        max_columns: number of columns with statistics if `columns` is empty and the table has no definition; None means
            Hudi's default. A number replaces the table's definition.
        record_index: settings for the number of file groups of a record index.
        group_counts: maps partitions of the metadata table to their numbers of file groups; for other partitions,
            Hudi's defaults apply.
        partitioned_index: settings for the number of file groups of each partition of the table, if the record index is
            partitioned.
        is_partitioned_index: whether a record index is partitioned; None means that the table's definition decides.
            Without a definition, the record index is not partitioned.
    """

    columns: tuple[str, ...] = ()
    max_columns: int | None = None
    record_index: RecordIndexSize = field(default_factory=RecordIndexSize)
    group_counts: Mapping[str, int] = field(default_factory=dict)
    partitioned_index: RecordIndexSize = field(default_factory=partitioned_index_size)
    is_partitioned_index: bool | None = None

    @classmethod
    def of(cls, settings: IndexSettings) -> "BuildSettings":
        """Settings of a request."""
        return cls(
            columns=settings.columns,
            max_columns=settings.max_columns,
            record_index=RecordIndexSize(
                min_groups=settings.min_groups,
                max_groups=settings.max_groups,
                growth_factor=settings.growth_factor,
                max_group_bytes=settings.max_group_bytes,
            ),
            group_counts={
                COLUMN_STATS: settings.column_stats_groups,
                PARTITION_STATS: settings.partition_stats_groups,
                BLOOM_FILTERS: settings.bloom_filter_groups,
            },
            partitioned_index=RecordIndexSize(
                min_groups=settings.min_partition_groups,
                max_groups=settings.max_partition_groups,
                growth_factor=settings.growth_factor,
                max_group_bytes=settings.max_group_bytes,
            ),
            is_partitioned_index=settings.is_partitioned_index,
        )

    def group_count(self, partition: str) -> int:
        """Number of file groups of a new partition of the metadata table that is not a record index."""
        return self.group_counts.get(partition) or group_count(partition)

    def record_index_is_partitioned(self, stored: Mapping[str, IndexDefinition]) -> bool:
        """Whether a new record index is partitioned.

        Args:
            stored: definitions of the indexes that the table has or had.
        """
        if self.is_partitioned_index is not None:
            return self.is_partitioned_index
        return is_partitioned_index(stored)

    def column_stats_definition(
        self, content: TableContent, version: TableVersion, stored: Mapping[str, IndexDefinition]
    ) -> IndexDefinition | None:
        """Definition of the index `column_stats` after the build; None in table version 6.

        Raises:
            InvalidRequestError: see `index_choice.column_stats_definition`.
        """
        known = stored.get(COLUMN_STATS)
        if known is not None and not self.columns and self.max_columns is None:
            return known
        return column_stats_definition(
            content.schema,
            version,
            columns=self.columns,
            max_columns=self.max_columns or DEFAULT_MAX_COLUMNS,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """The facts from which a build writes partitions.

    Attributes:
        definition: definition of the index `column_stats`.
        statistics: statistics of all data files, or of the live data files if only `partition_stats` is built.
        has_partition_stats: whether the table has the index `partition_stats` after the build.
        record_index: the record index, if the plan has one.
        secondary: maps the names of the secondary indexes of the plan to the new indexes.
    """

    content: TableContent
    reader: DataFileReader
    definition: IndexDefinition | None = None
    columns: tuple[IndexedColumn, ...] = ()
    statistics: tuple[FileStatistics, ...] = ()
    has_partition_stats: bool = False
    record_index: NewPartition | None = None
    secondary: Mapping[str, NewPartition] = field(default_factory=dict)

    def partition(self, name: str) -> NewPartition:
        """Return the partition of this name, with the function that writes its records.

        The number of file groups is Hudi's default, except in a record index and in a secondary index. For these
        indexes, the number of rows of the table has already determined the number of file groups.
        """
        if name == RECORD_INDEX:
            assert self.record_index is not None  # noqa: S101 - `read_contents`
            return self.record_index
        if name in self.secondary:
            return self.secondary[name]
        writers = {
            FILES: records_writer(lambda: first_records(self.content.files)),
            COLUMN_STATS: records_writer(self._column_stats),
            PARTITION_STATS: records_writer(self._partition_stats),
            BLOOM_FILTERS: self._write_bloom_filters,
        }
        return NewPartition(
            name=name,
            group_count=group_count(name),
            write_base_files=writers[name],
            definition=self.definition if name == COLUMN_STATS else None,
        )

    def _column_stats(self) -> Iterator[MetadataRecord]:
        return column_stat_records(
            self.statistics, self.columns, has_partition_stats=self.has_partition_stats
        )

    def _partition_stats(self) -> Iterator[MetadataRecord]:
        by_partition: dict[str, list[FileStatistics]] = {}
        for found in self.statistics:
            by_partition.setdefault(found.partition_path, []).append(found)
        for path, names in _live_names(self.content).items():
            files = PartitionFiles(
                partition_path=path, live_files=names, statistics=tuple(by_partition.get(path, ()))
            )
            yield from partition_stat_records(files, self.columns)

    def _write_bloom_filters(self, new: NewFiles) -> Sequence[WriteStat]:
        """Write the base files.

        Bloom filters are large, so only the filters of one file group are in memory at a time.
        """
        groups: dict[int, list[DataFile]] = {}
        for file in base_files(self.content):
            number = file_group_of(_bloom_key(file), len(new.groups))
            groups.setdefault(number, []).append(file)
        stats = []
        for number in sorted(groups):
            ordered = sorted(groups[number], key=lambda file: _bloom_key(file).encode())
            records = bloom_filter_records(self.reader.blooms(ordered))
            first = next(records, None)
            if first is not None:
                every = chain([first], records)
                stats.append(
                    write_base_file(new.storage, new.groups[number], every, new.instant_time, new.form)
                )
        return stats


def read_contents(
    content: TableContent,
    reader: DataFileReader,
    plan: BuildPlan,
    definition: IndexDefinition | None,
    *,
    has_partition_stats: bool,
    record_index: NewPartition | None = None,
) -> Contents:
    """Read the statistics that the partitions of a plan need. This can take a long time.

    Raises:
        UnsupportedTableError: the table has log blocks or columns whose statistics this project cannot read.
        CorruptTableError, MalformedMetadataError: a data file is damaged.
    """
    if not {COLUMN_STATS, PARTITION_STATS} & set(plan.partitions):
        return Contents(content=content, reader=reader, record_index=record_index)
    files = data_files(content) if COLUMN_STATS in plan.partitions else live_files(content)
    columns = indexed_columns(content.schema, definition)
    return Contents(
        content=content,
        reader=reader,
        definition=definition,
        columns=columns,
        statistics=tuple(reader.statistics(files, [column.name for column in columns])),
        has_partition_stats=has_partition_stats,
        record_index=record_index,
    )


def data_files(content: TableContent) -> list[DataFile]:
    """All base files and log files that readers see, including older versions."""
    return [
        DataFile(path, name, size)
        for path, sizes in sorted(content.files.items())
        for name, size in sorted(sizes.items())
    ]


def base_files(content: TableContent) -> list[DataFile]:
    """All base files that readers see, including older versions."""
    return [file for file in data_files(content) if not file.is_log_file]


def live_files(content: TableContent) -> list[DataFile]:
    """The base files and log files of the newest file slices."""
    live = _live_names(content)
    return [file for file in data_files(content) if file.file_name in live.get(file.partition_path, ())]


def live_base_files(content: TableContent) -> list[DataFile]:
    """The base files of the newest file slices."""
    return [file for file in live_files(content) if not file.is_log_file]


def _live_names(content: TableContent) -> dict[str, frozenset[str]]:
    return {
        path: frozenset(file_name(each) for found in slices for each in found.paths)
        for path, slices in sorted(content.live_slices.items())
    }


def _bloom_key(file: DataFile) -> str:
    return bloom_filter_key(file.partition_path, file.file_name)
