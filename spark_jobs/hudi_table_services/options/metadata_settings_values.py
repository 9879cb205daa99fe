"""Settings of the metadata table in a request."""

from dataclasses import dataclass

from hudi_table_services.model.archival import ArchivalOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """Settings of the services of the metadata table.

    Attributes:
        max_delta_commits: ``hoodie.metadata.compact.max.delta.commits``: number of delta commits after which the
            metadata table is compacted.
        archival: settings of its archival. As in Hudi, one commit more stays than in the table.
    """

    max_delta_commits: int
    archival: ArchivalOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class NewIndexes:
    """Indexes of a metadata table that a job creates, besides `files`.

    Attributes:
        column_stats: None means Hudi's default for the table version.
    """

    column_stats: bool | None = None
    bloom_filters: bool = False
    record_index: bool = False
    partitioned_record_index: bool = False


_DEFAULT_INDEXES = NewIndexes()


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataTableSettings:
    """How a job treats the metadata table.

    Attributes:
        enable: ``hoodie.metadata.enable``. False means that the first change of the table switches an active metadata
            table off, and that files are listed from folders. Otherwise every change updates an active metadata table.
            True means that a write creates a metadata table if the table has none.
        services: settings of the services of the metadata table.
        new_indexes: indexes of a metadata table that a job creates.
        new_partition_groups: number of file groups that a partitioned record index gets for a new partition of the
            table.
    """

    enable: bool | None
    services: ServiceSettings
    new_indexes: NewIndexes = _DEFAULT_INDEXES
    new_partition_groups: int = 1
