"""Plans and results of table services, as stored in timeline files (Avro model classes, Hudi 1.2).

File paths in plans are absolute, with or without scheme, unless said otherwise. Times are instant times.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

CLUSTER = "CLUSTER"
SORT_AND_SIZE_STRATEGY = "org.apache.hudi.client.clustering.run.strategy.SparkSortAndSizeExecutionStrategy"
SINGLE_FILE_SORT_STRATEGY = (
    "org.apache.hudi.client.clustering.run.strategy.SparkSingleFileSortExecutionStrategy"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStrategy:
    """Java class that executes a plan, with its parameters.

    Hudi on Spark takes the class from its own configuration, but fails on a clustering plan without this record.
    """

    class_name: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringSlice:
    """A file slice to be rewritten (HoodieSliceInfo). `data_file_path` is absolute; None: log files only."""

    file_id: str
    partition_path: str
    data_file_path: str | None = None
    delta_file_paths: tuple[str, ...] = ()
    bootstrap_file_path: str | None = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringGroup:
    """Slices rewritten together, into about `output_file_groups` new file groups."""

    slices: tuple[ClusteringSlice, ...]
    metrics: Mapping[str, float] = field(default_factory=dict)
    output_file_groups: int = 1
    extra_metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringPlan:
    """Groups to be rewritten (HoodieClusteringPlan). Its file groups are reserved while it is pending.

    Attributes:
        preserve_hoodie_metadata: rows keep their commit time and sequence number; None means no.
        missing_schedule_partitions: partitions left for a later plan.
    """

    groups: tuple[ClusteringGroup, ...]
    strategy: PlanStrategy = field(default_factory=lambda: PlanStrategy(class_name=SORT_AND_SIZE_STRATEGY))
    extra_metadata: Mapping[str, str] = field(default_factory=dict)
    preserve_hoodie_metadata: bool | None = True
    missing_schedule_partitions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedReplace:
    """Content of a requested replace commit (HoodieRequestedReplaceMetadata).

    Attributes:
        operation_type: `CLUSTER` with a plan; None: an overwrite that wrote no fields.
        clustering_plan: None: an overwrite, which has no plan.
    """

    operation_type: str | None = None
    clustering_plan: ClusteringPlan | None = None
    extra_metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionOperation:
    """Merging the log files of one slice into a new base file.

    In plans of version 2 `data_file_path` and `delta_file_paths` are bare file names.
    """

    base_instant_time: str | None
    file_id: str
    partition_path: str = ""
    data_file_path: str | None = None
    delta_file_paths: tuple[str, ...] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)
    bootstrap_file_path: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionPlan:
    """Slices to be compacted (HoodieCompactionPlan). Its file groups are reserved while it is pending.

    Attributes:
        version: 1: absolute paths; 2: bare file names.
    """

    operations: tuple[CompactionOperation, ...]
    extra_metadata: Mapping[str, str] = field(default_factory=dict)
    version: int = 2
    strategy: PlanStrategy | None = None
    preserve_hoodie_metadata: bool = False
    missing_schedule_partitions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RetainedInstant:
    """Earliest instant that a clean retains (HoodieActionInstant): action and state as text, e.g. ``COMPLETED``."""

    requested_time: str
    action: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanFile:
    """A file to be deleted, by absolute path."""

    path: str
    is_bootstrap_base_file: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanPlan:
    """Files to be deleted (HoodieCleanerPlan).

    Attributes:
        policy: ``KEEP_LATEST_COMMITS``, ``KEEP_LATEST_FILE_VERSIONS`` or ``KEEP_LATEST_BY_HOURS``.
        file_names_to_delete: plans of version 1: partition path → bare file names.
        files_to_delete: plans of version 2: partition path → files.
        partitions_to_delete: partitions in which no file is left.
    """

    policy: str
    earliest_instant_to_retain: RetainedInstant | None = None
    last_completed_commit_time: str = ""
    file_names_to_delete: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    version: int = 2
    files_to_delete: Mapping[str, tuple[CleanFile, ...]] = field(default_factory=dict)
    partitions_to_delete: tuple[str, ...] = ()
    extra_metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanPartition:
    """Result of a clean in one partition. Files are bare names."""

    partition_path: str
    policy: str
    delete_path_patterns: tuple[str, ...] = ()
    deleted_files: tuple[str, ...] = ()
    failed_files: tuple[str, ...] = ()
    is_partition_deleted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanMetadata:
    """Result of a clean (HoodieCleanMetadata). `earliest_commit_to_retain` is ``""`` if there is none."""

    start_clean_time: str
    time_taken_ms: int
    total_files_deleted: int
    partitions: Mapping[str, CleanPartition]
    earliest_commit_to_retain: str = ""
    last_completed_commit_time: str = ""
    version: int = 2
    bootstrap_partitions: Mapping[str, CleanPartition] = field(default_factory=dict)
    extra_metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstantReference:
    """An instant named in a plan (HoodieInstantInfo); the action as in file names."""

    requested_time: str
    action: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackRequest:
    """Files of one partition that the rollback of an instant deletes.

    Attributes:
        file_id: ``""`` if the plan was made by listing.
        latest_base_instant: the undone instant for base files; ``""`` if the plan was made by listing.
        files_to_delete: absolute paths.
        log_blocks_to_delete: table version 6: log file → bytes; a rollback block is appended for them.
    """

    partition_path: str
    file_id: str | None = ""
    latest_base_instant: str | None = ""
    files_to_delete: tuple[str, ...] = ()
    log_blocks_to_delete: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackPlan:
    """Plan to undo an instant (HoodieRollbackPlan)."""

    instant_to_rollback: InstantReference | None
    requests: tuple[RollbackRequest, ...] = ()
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackPartition:
    """Result of a rollback in one partition. Files are paths as in the plan; log files map to bytes."""

    partition_path: str
    deleted_files: tuple[str, ...] = ()
    failed_files: tuple[str, ...] = ()
    rollback_log_files: Mapping[str, int] = field(default_factory=dict)
    log_files_of_failed_commit: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackMetadata:
    """Result of a rollback (HoodieRollbackMetadata)."""

    start_rollback_time: str
    time_taken_ms: int
    total_files_deleted: int
    commits_rolled_back: tuple[str, ...]
    partitions: Mapping[str, RollbackPartition]
    version: int = 1
    instants_rolled_back: tuple[InstantReference, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SavepointPartition:
    """Files of one partition that a savepoint keeps, as bare names."""

    partition_path: str
    file_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SavepointMetadata:
    """Files that a savepoint keeps (HoodieSavepointMetadata). `saved_at_ms` is epoch milliseconds."""

    saved_by: str
    saved_at_ms: int
    comments: str
    partitions: Mapping[str, SavepointPartition]
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RestorePlan:
    """Instants to be undone, latest first (HoodieRestorePlan)."""

    instants_to_rollback: tuple[InstantReference, ...] = ()
    version: int = 2
    savepoint_to_restore: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreMetadata:
    """Result of a restore (HoodieRestoreMetadata): undone instant → its rollbacks."""

    start_restore_time: str
    time_taken_ms: int
    instants_rolled_back: tuple[str, ...]
    rollbacks: Mapping[str, tuple[RollbackMetadata, ...]]
    version: int = 1
    restored_instants: tuple[InstantReference, ...] = ()
