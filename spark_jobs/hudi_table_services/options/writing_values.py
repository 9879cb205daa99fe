"""Typed options of a write; `options.writing` creates them from hoodie.* keys."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from hudi_table_services.contract.writing import TimestampsWithoutZone
from hudi_table_services.model.clustering import UpdatesStrategy
from hudi_table_services.model.concurrent_change import ConflictStrategy
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.file_sizing import FileSizingOptions
from hudi_table_services.model.table_config import RecordMergeMode
from hudi_table_services.model.table_version import TableType, TableVersion
from hudi_table_services.model.write_stat import WriteOperation
from hudi_table_services.options.base_files import BaseFileOptions
from hudi_table_services.options.keys.base_files import SMALL_ROW_GROUP
from hudi_table_services.options.keys.bucket_index import NUM_BUCKETS
from hudi_table_services.options.keys.clustering import (
    EXPIRATION_MINUTES,
    ROLLBACK_ON_CONFLICT,
    UPDATES_STRATEGY,
    WAIT_SECONDS,
)
from hudi_table_services.options.keys.log_files import LOG_BLOCK_FORMAT, LOG_BLOCK_SIZE
from hudi_table_services.options.locks import LockOptions
from hudi_table_services.options.metadata_settings_values import MetadataTableSettings


class IndexType(str, Enum):
    """``hoodie.index.type``: the scope in which a record key is unique, and how a write finds the files with a key."""

    SIMPLE = "SIMPLE"
    BLOOM = "BLOOM"
    GLOBAL_SIMPLE = "GLOBAL_SIMPLE"
    GLOBAL_BLOOM = "GLOBAL_BLOOM"
    RECORD_INDEX = "RECORD_INDEX"
    GLOBAL_RECORD_LEVEL_INDEX = "GLOBAL_RECORD_LEVEL_INDEX"
    """Name of RECORD_INDEX since Hudi 1.1."""
    RECORD_LEVEL_INDEX = "RECORD_LEVEL_INDEX"
    """Partitioned record index: each file group contains the keys of one partition of the table."""
    BUCKET = "BUCKET"
    """A hash of the key determines the file group of a row; see docs/bucket-index.md."""

    @property
    def is_global(self) -> bool:
        """Whether a record key is unique in the whole table. If not, the key is unique only in its partition path."""
        return self not in (
            IndexType.SIMPLE,
            IndexType.BLOOM,
            IndexType.RECORD_LEVEL_INDEX,
            IndexType.BUCKET,
        )

    @property
    def has_buckets(self) -> bool:
        """Whether the record key of a new row, and not the sizes of the files, determines the file group of the row."""
        return self is IndexType.BUCKET

    @property
    def uses_record_index(self) -> bool:
        """Whether a write finds the files with keys of the batch in the record index of the metadata table."""
        return self in (
            IndexType.RECORD_INDEX,
            IndexType.GLOBAL_RECORD_LEVEL_INDEX,
            IndexType.RECORD_LEVEL_INDEX,
        )

    @property
    def without_record_index(self) -> "IndexType":
        """Return the index type that has the same result but reads all files: GLOBAL_SIMPLE or SIMPLE."""
        return IndexType.GLOBAL_SIMPLE if self.is_global else IndexType.SIMPLE

    @property
    def uses_footers(self) -> bool:
        return self in (IndexType.BLOOM, IndexType.GLOBAL_BLOOM)


class InsertDupPolicy(str, Enum):
    """``hoodie.datasource.insert.dup.policy``: how an insert treats record keys that are already in the table."""

    NONE = "none"
    DROP = "drop"
    FAIL = "fail"


class FailedWritesPolicy(str, Enum):
    """``hoodie.cleaner.policy.failed.writes``: which dead writes of other jobs a job rolls back before it starts."""

    EAGER = "EAGER"
    LAZY = "LAZY"
    NEVER = "NEVER"


class ConcurrencyMode(str, Enum):
    """``hoodie.write.concurrency.mode``: whether other writers may write to the table at the same time."""

    SINGLE_WRITER = "SINGLE_WRITER"
    OPTIMISTIC_CONCURRENCY_CONTROL = "OPTIMISTIC_CONCURRENCY_CONTROL"


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingClusteringOptions:
    """Behaviour of a write that changes file groups of a pending clustering.

    Attributes:
        rolls_back: under `UpdatesStrategy.ALLOW`, whether the write rolls back the plan. If not, the job rejects the
            write, as in Hudi.
        wait_seconds: maximum time for which the write waits for the execution of a plan.
        expires_after_minutes: age at which an execution without a heartbeat counts as dead. Executions of Hudi have no
            heartbeat.
    """

    strategy: UpdatesStrategy = UPDATES_STRATEGY.default_value
    rolls_back: bool = ROLLBACK_ON_CONFLICT.default_value
    wait_seconds: int = WAIT_SECONDS.default_value
    expires_after_minutes: int = EXPIRATION_MINUTES.default_value


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """All options of a write. The declaration of each key contains its default.

    Attributes:
        table_version: version of a new table in the request; None if the request does not choose.
        table_type: type of a new table in the request; None if the request does not choose. An existing table of
            another type is refused.
        bucket_count: number of buckets of a partition. Only the bucket index uses this value.
        bucket_hash_fields: key fields that determine the bucket; empty means all key fields.
        update_partition_path: whether a row whose partition path changed moves to the new path. Only a global index
            uses this value.
        record_merge_mode: None means event-time ordering if the table has an ordering field.
        base_files: encoding of base files.
        small_row_group_bytes: see `SMALL_ROW_GROUP`.
        log_block: encoding of rows in log files, ``avro`` or ``parquet``.
        log_block_bytes: see `LOG_BLOCK_SIZE`.
        metadata: options of the metadata table.
        conflict_strategy: decides whether a pending plan of a table service prevents the commit.
        retries_on_conflict: maximum number of times that the job plans a write again because another writer changed
            file groups of the write. Hudi's default is 0.
        pending_clustering: how the write treats pending plans with file groups that the write changes.
        partitions_to_delete: patterns for `delete_partition`; ``*`` matches any characters.
        staging_path: folder for staged rows, below the base path.
        timestamps_without_zone: how to store timestamps without time zone. None means the default for the version.
        allows_empty_commits: whether a batch that changes no row of an existing table makes a commit.
        extra_metadata: pairs that the commit stores: options with a certain prefix, and the limits of file sizes.
        hoodie_options: all keys of the request, including its typed arguments.
        warnings: one sentence for each known key that has no effect in a write.
    """

    operation: WriteOperation
    ordering_fields: tuple[str, ...]
    table_version: TableVersion | None
    table_type: TableType | None = None
    database_name: str
    file_sizing: FileSizingOptions
    index_type: IndexType
    bucket_count: int = NUM_BUCKETS.default_value
    bucket_hash_fields: tuple[str, ...] = ()
    update_partition_path: bool
    combine_before_insert: bool
    combine_before_upsert: bool
    combine_before_delete: bool
    insert_dup_policy: InsertDupPolicy
    record_merge_mode: RecordMergeMode | None
    base_files: BaseFileOptions
    small_row_group_bytes: int = SMALL_ROW_GROUP.default_value
    log_block: str = LOG_BLOCK_FORMAT.default
    log_block_bytes: int = LOG_BLOCK_SIZE.default_value
    metadata: MetadataTableSettings
    concurrency_mode: ConcurrencyMode
    failed_writes_policy: FailedWritesPolicy
    lock: LockOptions
    conflict_strategy: ConflictStrategy
    retries_on_conflict: int
    pending_clustering: PendingClusteringOptions
    partitions_to_delete: tuple[str, ...]
    staging_path: str
    timestamps_without_zone: TimestampsWithoutZone | None = None
    allows_empty_commits: bool = False
    extra_metadata: Mapping[str, str] = field(default_factory=dict)
    hoodie_options: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def commits_without_rows(self, has_table: bool, slices: Sequence[FileSlice]) -> bool:
        """Whether a write without rows makes a commit.

        This is the case for an overwrite that empties the table and, if the options allow empty commits, for every
        write to an existing table.

        Args:
            slices: the file slices of the table.
        """
        empties_table = self.operation is WriteOperation.INSERT_OVERWRITE_TABLE and bool(slices)
        return empties_table or (self.allows_empty_commits and has_table)

    @property
    def new_table_type(self) -> TableType:
        """Return the type of a table that the write creates."""
        return self.table_type or TableType.COPY_ON_WRITE

    @property
    def new_table_version(self) -> TableVersion:
        """Return the version of a table that the write creates.

        The default is 6, because most readers support version 6. For merge-on-read tables, the default is 9: from
        version 8 on, completion times decide to which slice a log file belongs, and readers of different programs
        merge log files by the same rules.
        """
        is_merge_on_read = self.new_table_type is TableType.MERGE_ON_READ
        return self.table_version or (TableVersion.V9 if is_merge_on_read else TableVersion.V6)

    def with_warnings(self, warnings: tuple[str, ...]) -> "WriteOptions":
        """Return a copy with further warnings."""
        return replace(self, warnings=(*self.warnings, *warnings))
