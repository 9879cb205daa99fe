"""Settings of the metadata table in a request."""

from dataclasses import dataclass

from hudi_table_services.model.archival import ArchivalOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """Settings of the services of the metadata table.

    Attributes:
        max_delta_commits: ``hoodie.metadata.compact.max.delta.commits``: number of delta commits after which the
            metadata table is compacted.
        archival: settings of the archival of the metadata table. As in Hudi, the limits are one commit larger than the
            limits of the table.
    """

    max_delta_commits: int
    archival: ArchivalOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSettings:
    """Settings of the indexes that a job builds.

    Attributes:
        columns: columns with statistics, in addition to three meta columns. Empty means the columns of the existing
            index if `max_columns` is None, and otherwise the first columns of the table.
        max_columns: number of columns with statistics if `columns` is empty; None if the request does not contain the
            key.
        column_stats_groups, partition_stats_groups, bloom_filter_groups: numbers of file groups.
        min_groups, max_groups: bounds for the number of file groups of a record index.
        min_partition_groups, max_partition_groups: bounds for the number of file groups that a partitioned record index
            has for each partition of the table.
        is_partitioned_index: whether a new record index is partitioned; None if the request selects no kind of record
            index.
        growth_factor: expected growth of the number of keys of a record index.
        max_group_bytes: greatest size of a file group of a record index.
    """

    columns: tuple[str, ...]
    max_columns: int | None
    column_stats_groups: int
    partition_stats_groups: int
    bloom_filter_groups: int
    min_groups: int
    max_groups: int
    min_partition_groups: int
    max_partition_groups: int
    is_partitioned_index: bool | None
    growth_factor: float
    max_group_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewIndexes:
    """Indexes of a metadata table that a job creates, in addition to `files`.

    Attributes:
        column_stats: None means Hudi's default for the table version.
        partition_stats: None means that there are statistics of partitions if there are statistics of columns.
        record_index, partitioned_record_index: the kind of the record index. At most one of the two is True.
        settings: settings of these indexes.
    """

    column_stats: bool | None
    partition_stats: bool | None
    bloom_filters: bool
    record_index: bool
    partitioned_record_index: bool
    settings: IndexSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataTableSettings:
    """How a job treats the metadata table.

    Attributes:
        enable: ``hoodie.metadata.enable``. False means that a new table gets no metadata table, that the first change
            of the table deletes an active metadata table, and that the job lists folders. Otherwise every change
            updates an active metadata table, and the first write of a table creates the metadata table. True means that
            a write also creates the metadata table of a table that already has commits.
        services: settings of the services of the metadata table.
        new_indexes: indexes of a metadata table that a job creates.
        new_partition_groups: number of file groups that a partitioned record index gets for a new partition of the
            table.
    """

    enable: bool | None
    services: ServiceSettings
    new_indexes: NewIndexes
    new_partition_groups: int
