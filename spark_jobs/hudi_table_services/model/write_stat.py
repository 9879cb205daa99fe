"""What a write did, as stored in a completed instant (HoodieWriteStat, HoodieCommitMetadata; Hudi 1.2)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

NEW_FILE_GROUP = "null"
"""The literal text Hudi stores as previous commit of a file group that did not exist before."""


class WriteOperation(str, Enum):
    """Values of ``operationType`` (WriteOperationType)."""

    INSERT = "INSERT"
    INSERT_PREPPED = "INSERT_PREPPED"
    UPSERT = "UPSERT"
    UPSERT_PREPPED = "UPSERT_PREPPED"
    BULK_INSERT = "BULK_INSERT"
    BULK_INSERT_PREPPED = "BULK_INSERT_PREPPED"
    DELETE = "DELETE"
    DELETE_PREPPED = "DELETE_PREPPED"
    BOOTSTRAP = "BOOTSTRAP"
    INSERT_OVERWRITE = "INSERT_OVERWRITE"
    INSERT_OVERWRITE_TABLE = "INSERT_OVERWRITE_TABLE"
    CLUSTER = "CLUSTER"
    DELETE_PARTITION = "DELETE_PARTITION"
    COMPACT = "COMPACT"
    LOG_COMPACT = "LOG_COMPACT"
    INDEX = "INDEX"
    ALTER_SCHEMA = "ALTER_SCHEMA"
    BUCKET_RESCALE = "BUCKET_RESCALE"
    UNKNOWN = "UNKNOWN"


OVERWRITE = (WriteOperation.INSERT_OVERWRITE, WriteOperation.INSERT_OVERWRITE_TABLE)
"""Operations that leave nothing but their own rows, in their partitions or in the table."""

MOVE_ROWS = (
    WriteOperation.CLUSTER,
    WriteOperation.COMPACT,
    WriteOperation.LOG_COMPACT,
    WriteOperation.BUCKET_RESCALE,
)
"""Operations of table services: the rows they write were in the table before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteStat:
    """What writing one base file did. Counts are rows, sizes are bytes.

    Attributes:
        path: file written, relative to the base path.
        prev_commit: base instant of the slice merged with, or `NEW_FILE_GROUP`.
        num_writes: every row of the new file, not only changed ones.
        file_size_bytes: exact length on storage; table versions 8 and 9 lose rows in incremental reads without it.
        prev_base_file: name of the base file merged with; None for a new file group.
    """

    file_id: str
    partition_path: str
    path: str
    prev_commit: str = NEW_FILE_GROUP
    num_writes: int = 0
    num_inserts: int = 0
    num_update_writes: int = 0
    num_deletes: int = 0
    file_size_bytes: int = 0
    prev_base_file: str | None = None
    total_write_errors: int = 0
    min_event_time: int | None = None
    max_event_time: int | None = None
    total_create_time_ms: int = 0
    total_upsert_time_ms: int = 0
    total_scan_time_ms: int = 0
    extra: Mapping[str, object] = field(default_factory=dict)
    """Fields of log-file stats and of other releases, kept by Hudi's names so that nothing read is lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitMetadata:
    """Content of a completed (or, as workload profile, inflight) commit.

    Attributes:
        partition_to_write_stats: partition path → stats, in the order written.
        extra_metadata: free text pairs; ``schema`` holds the Avro JSON without meta columns.
        partition_to_replace_file_ids: replace commits only; None for plain commits.
    """

    operation_type: WriteOperation
    partition_to_write_stats: Mapping[str, tuple[WriteStat, ...]]
    extra_metadata: Mapping[str, str] = field(default_factory=dict)
    compacted: bool = False
    partition_to_replace_file_ids: Mapping[str, tuple[str, ...]] | None = None

    @property
    def write_stats(self) -> tuple[WriteStat, ...]:
        return tuple(stat for stats in self.partition_to_write_stats.values() for stat in stats)
