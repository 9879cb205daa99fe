"""Values of clustering: options, input and result of the planner. Sizes are in bytes. Times are instant times.

The timeline stores a plan as `model.table_service_plans.ClusteringPlan`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.write_stat import CommitMetadata


class PlanStrategyKind(str, Enum):
    """``hoodie.clustering.plan.strategy.class``. The values are the names of Hudi's classes."""

    SIZE_BASED = "SparkSizeBasedClusteringPlanStrategy"
    SINGLE_FILE_SORT = "SparkSingleFileSortPlanStrategy"
    COMMIT_BASED = "CommitBasedClusteringPlanStrategy"


class PartitionFilterMode(str, Enum):
    """``hoodie.clustering.plan.partition.filter.mode``: selects the partitions that the planner considers."""

    NONE = "NONE"
    RECENT_DAYS = "RECENT_DAYS"
    SELECTED_PARTITIONS = "SELECTED_PARTITIONS"
    DAY_ROLLING = "DAY_ROLLING"


class LayoutStrategy(str, Enum):
    """``hoodie.layout.optimize.strategy``: combines several sort columns into one order."""

    LINEAR = "LINEAR"
    ZORDER = "ZORDER"
    HILBERT = "HILBERT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Order of the rows in a file.

    Attributes:
        columns: sort columns, first to last. Empty means that rows stay in the order in which they are read.
    """

    columns: tuple[str, ...] = ()
    strategy: LayoutStrategy = LayoutStrategy.LINEAR

    @property
    def is_sorted(self) -> bool:
        return bool(self.columns)

    def __str__(self) -> str:
        return f"{self.strategy.value}({', '.join(self.columns)})" if self.columns else "as read"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringOptions:
    """Settings of a clustering plan. `options.keys.clustering` declares their keys and defaults.

    Attributes:
        layout: order of the rows in the new files.
        small_file_limit_bytes: the plan contains only slices below this size, even if the plan sorts the rows.
        target_file_max_bytes: target size of the new files.
        max_bytes_per_group: largest number of bytes that one group rewrites. Each group needs at least one Spark stage.
        max_num_groups: largest number of groups of one plan, over all partitions.
        single_group_enabled: whether one slice alone can be a group. Without `parity`, this slice must also need
            sorting.
        lookback_partitions, skip_from_latest: settings of RECENT_DAYS. A look-back of 0 or less means no limit.
        begin_partition, end_partition: bounds of SELECTED_PARTITIONS, both inclusive; empty means no bound.
        selected_partitions: only these partition paths are considered. The filter mode also applies to them, but the
            pattern does not.
        partition_pattern: regular expression that must match the whole partition path. Common expressions have the same
            meaning in Java and Python.
        earliest_commit: requested time. The commit-based strategy considers only slices that were written by commits
            with a later requested time.
        slices_sort_by: ``SIZE`` or ``INSTANT_TIME``: with `parity`, the order in which slices are packed.
        parity: plan the same groups as Hudi, instead of the better groups of this project.
        log_weight: one byte of a log file counts as this number of bytes of a base file.
        split_above_bytes: a slice of at least this size is divided into files of the target size; 0 means that no slice
            is divided. Without effect with `parity`.
        size_tolerance: fraction by which a file may exceed the target before it is split in two.
        groups_per_plan: maximum number of groups of one instant. With several instants, a failure loses less work. 0
            means that one instant contains all groups.
        max_pending_plans: the job makes no new plan while this many plans are pending; 0 means no limit.
    """

    plan_strategy: PlanStrategyKind
    layout: Layout
    small_file_limit_bytes: int
    target_file_max_bytes: int
    max_bytes_per_group: int
    max_num_groups: int
    single_group_enabled: bool
    partition_filter_mode: PartitionFilterMode
    lookback_partitions: int
    skip_from_latest: int
    begin_partition: str
    end_partition: str
    selected_partitions: tuple[str, ...]
    partition_pattern: str
    earliest_commit: str
    slices_sort_by: tuple[str, ...]
    parity: bool
    log_weight: float
    split_above_bytes: int
    size_tolerance: float
    groups_per_plan: int
    max_pending_plans: int


class UpdatesStrategy(str, Enum):
    """``hoodie.clustering.updates.strategy``: behaviour of a write that changes file groups of a pending plan.

    The first two values are Hudi's; they are the names of Hudi's classes.
    """

    REJECT = "SparkRejectUpdateStrategy"
    """The write fails."""
    ALLOW = "SparkAllowUpdateStrategy"
    """The write rolls back the plan, or fails; see ``hoodie.clustering.rollback.pending.replacecommit.on.conflict``."""
    GIVE_WAY = "GiveWayUpdateStrategy"
    """A value of this project: the write releases the file groups. If a job is executing the plan, the write waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitGate:
    """Minimum number of commits between the last clustering and a new plan.

    Attributes:
        wanted: number of commits that must have completed; 0 means no minimum.
        key: name of the option that sets the minimum; messages name this option.
    """

    wanted: int = 0
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitCount:
    """Completed writes since the last clustering.

    Attributes:
        count: number of these writes, without the writes in `not_counted`.
        since: the newest clustering, whether it is completed or pending; None if the active timeline contains no
            clustering.
        instants: requested times of the counted writes, oldest first.
        not_counted: number of the other completed writes since that clustering, such as compactions.
        is_complete: False if the caller needed no higher count, so that older archived writes were not read. Then
            `since` is None, and `count` is a lower bound.
    """

    count: int
    since: Instant | None = None
    instants: tuple[str, ...] = ()
    not_counted: int = 0
    is_complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledSlice:
    """Settings with which a clustering wrote a slice.

    Attributes:
        layout: order of the rows in the slice.
        target_file_max_bytes: target size of the clustering; None if unknown.
    """

    layout: Layout
    target_file_max_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringInput:
    """Input of the planner in addition to the snapshot.

    Attributes:
        settled: maps each file group whose latest slice was written by a clustering to the settings of that clustering.
        overdue_partitions: partitions that did not fit into the last plan. The next plan considers them first.
        hour: hour of the day in the time zone of the table, 0 to 23; input of DAY_ROLLING.
        commits: completed writes with their commit metadata, oldest first; input of the commit-based strategy.
    """

    settled: Mapping[FileGroupId, SettledSlice] = field(default_factory=dict)
    overdue_partitions: tuple[str, ...] = ()
    hour: int = 0
    commits: tuple[tuple[Instant, CommitMetadata], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedGroup:
    """File slices of one partition to be rewritten together.

    Attributes:
        slices: the file slices, in the order in which a rewrite without sorting reads them.
        output_files: number of new files.
        input_bytes: total size of the base files and of the log files; the size of log files is weighted by
            `log_weight`.
        reason: what the group improves, e.g. ``80 files into 1``.
    """

    partition_path: str
    slices: tuple[FileSlice, ...]
    output_files: int
    input_bytes: int
    reason: str

    @property
    def files_removed(self) -> int:
        """Return the decrease in the number of files; 0 if the group improves only the order of the rows."""
        return len(self.slices) - self.output_files


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class SkippedPartition:
    """Slices of one partition that the plan does not contain, all for the same reason.

    Attributes:
        slices: number of slices.
        is_overdue: whether the next plan considers this partition first, because the slices did not fit into this plan.
    """

    partition_path: str
    reason: str
    slices: int
    is_overdue: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringProposal:
    """Result of the planner.

    Attributes:
        groups: the groups, most useful first.
        skipped: the slices that the plan does not contain, ordered by partition, then by reason.
        partitions_considered: number of partitions that passed the filters.
        partitions_total: number of all partitions.
        reason: why there are no groups; empty if there are groups.
        checkpoint: the last commit that the commit-based strategy considered; empty for other strategies.
    """

    groups: tuple[PlannedGroup, ...] = ()
    skipped: tuple[SkippedPartition, ...] = ()
    partitions_considered: int = 0
    partitions_total: int = 0
    reason: str = ""
    checkpoint: str = ""

    @property
    def overdue_partitions(self) -> tuple[str, ...]:
        """Return the partitions that the next plan should consider first, sorted by path."""
        return tuple(sorted({s.partition_path for s in self.skipped if s.is_overdue}))
