"""Plans and results of table services, as stored in timeline files (Avro model classes, Hudi 1.2).

File paths in plans are absolute, with or without scheme, unless a docstring says otherwise. Times are instant times.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

CLUSTER = "CLUSTER"
SORT_AND_SIZE_STRATEGY = "org.apache.hudi.client.clustering.run.strategy.SparkSortAndSizeExecutionStrategy"
SINGLE_FILE_SORT_STRATEGY = (
    "org.apache.hudi.client.clustering.run.strategy.SparkSingleFileSortExecutionStrategy"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStrategy:
    """Java class that executes a plan, with its parameters.

    Hudi on Spark reads the class from its own configuration, but fails on a clustering plan without this record.
    """

    class_name: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringSlice:
    """A file slice to rewrite (HoodieSliceInfo). `data_file_path` is absolute; None if the slice has only log files."""

    file_id: str
    partition_path: str
    data_file_path: str | None = None
    delta_file_paths: tuple[str, ...] = ()
    bootstrap_file_path: str | None = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringGroup:
    """Slices that one clustering rewrites together into about `output_file_groups` new file groups."""

    slices: tuple[ClusteringSlice, ...]
    metrics: Mapping[str, float] = field(default_factory=dict)
    output_file_groups: int = 1
    extra_metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringPlan:
    """Groups to rewrite (HoodieClusteringPlan). A pending plan reserves its file groups.

    Attributes:
        preserve_hoodie_metadata: whether rows keep their commit time and sequence number; None means that they do not.
        missing_schedule_partitions: partitions that a later plan has to cover.
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
        operation_type: `CLUSTER` with a plan; None if the instant is an overwrite whose file contains only nulls.
        clustering_plan: None if the instant is an overwrite, because an overwrite has no plan.
    """

    operation_type: str | None = None
    clustering_plan: ClusteringPlan | None = None
    extra_metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionOperation:
    """One slice whose log files the compaction merges into a new base file.

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
    """Slices to compact (HoodieCompactionPlan). A pending plan reserves its file groups.

    Attributes:
        version: 1 for absolute paths, 2 for bare file names.
    """

    operations: tuple[CompactionOperation, ...]
    extra_metadata: Mapping[str, str] = field(default_factory=dict)
    version: int = 2
    strategy: PlanStrategy | None = None
    preserve_hoodie_metadata: bool = False
    missing_schedule_partitions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RetainedInstant:
    """Earliest instant that a clean retains (HoodieActionInstant). Action and state are strings, e.g. ``COMPLETED``."""

    requested_time: str
    action: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanFile:
    """A file to delete, by absolute path."""

    path: str
    is_bootstrap_base_file: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanPlan:
    """Files to delete (HoodieCleanerPlan).

    Attributes:
        policy: ``KEEP_LATEST_COMMITS``, ``KEEP_LATEST_FILE_VERSIONS`` or ``KEEP_LATEST_BY_HOURS``.
        file_names_to_delete: in plans of version 1, maps each partition path to bare file names.
        files_to_delete: in plans of version 2, maps each partition path to files.
        partitions_to_delete: partitions that contain no file after the clean.
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
    """Result of a clean in one partition. Files are given by their bare names."""

    partition_path: str
    policy: str
    delete_path_patterns: tuple[str, ...] = ()
    deleted_files: tuple[str, ...] = ()
    failed_files: tuple[str, ...] = ()
    is_partition_deleted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanMetadata:
    """Result of a clean (HoodieCleanMetadata). `earliest_commit_to_retain` is ``""`` if there is no such commit."""

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
    """An instant that a plan names (HoodieInstantInfo). The action is written as in file names."""

    requested_time: str
    action: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackRequest:
    """Files of one partition that the rollback of an instant deletes.

    Attributes:
        file_id: ``""`` if the plan was made from a listing of files.
        latest_base_instant: for base files, the requested time of the instant to undo; ``""`` if the plan was made by
            listing files.
        files_to_delete: absolute paths.
        log_blocks_to_delete: in table version 6, maps the path of each log file to its size in bytes. The rollback
            appends a rollback block to the log file.
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

    @property
    def undone_time(self) -> str:
        """Return the requested time of the undone instant; empty if the plan names no instant."""
        return "" if self.instant_to_rollback is None else self.instant_to_rollback.requested_time


class UndoReason(str, Enum):
    """Why a job of this project undid an instant."""

    DEAD_WRITER = "dead_writer"
    EARLIER_ATTEMPT = "earlier_attempt"
    FAILED_JOB = "failed_job"
    INTERRUPTED_JOB = "interrupted_job"
    ASKED_FOR = "asked_for"
    CANCELLED_PLAN = "cancelled_plan"
    OUTDATED_PLAN = "outdated_plan"


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoNote:
    """Values that this project stores in the header of a rollback plan, because the record has no field for them.

    Attributes:
        reason: None if it is unknown, as for rollbacks of Hudi.
        request_id: request of the job that requested the rollback; empty if it is unknown.
    """

    reason: UndoReason | None = None
    request_id: str = ""


NO_UNDO_NOTE = UndoNote()


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackPartition:
    """Result of a rollback in one partition. File paths are written as in the plan.

    `rollback_log_files` and `log_files_of_failed_commit` map the path of each log file to its size in bytes.
    """

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
    """Files that a savepoint keeps (HoodieSavepointMetadata). `saved_at_ms` is milliseconds since 1970 in UTC."""

    saved_by: str
    saved_at_ms: int
    comments: str
    partitions: Mapping[str, SavepointPartition]
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RestorePlan:
    """Instants to undo, latest first (HoodieRestorePlan)."""

    instants_to_rollback: tuple[InstantReference, ...] = ()
    version: int = 2
    savepoint_to_restore: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreMetadata:
    """Result of a restore (HoodieRestoreMetadata).

    `rollbacks` maps the requested time of each undone instant to the results of its rollbacks.
    """

    start_restore_time: str
    time_taken_ms: int
    instants_rolled_back: tuple[str, ...]
    rollbacks: Mapping[str, tuple[RollbackMetadata, ...]]
    version: int = 1
    restored_instants: tuple[InstantReference, ...] = ()
