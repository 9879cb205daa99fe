"""Values of clustering: options, input and result of the planner. Sizes are bytes, times are instant times.

The plan that is stored on the timeline is `model.table_service_plans.ClusteringPlan`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.write_stat import CommitMetadata


class PlanStrategyKind(str, Enum):
    """``hoodie.clustering.plan.strategy.class``, by the names of Hudi's classes."""

    SIZE_BASED = "SparkSizeBasedClusteringPlanStrategy"
    SINGLE_FILE_SORT = "SparkSingleFileSortPlanStrategy"
    COMMIT_BASED = "CommitBasedClusteringPlanStrategy"


class PartitionFilterMode(str, Enum):
    """``hoodie.clustering.plan.partition.filter.mode``: selects the partitions that are considered."""

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
        columns: sort columns, first to last; empty: rows stay in the order in which they are read.
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
    """Settings of a clustering plan. Defaults are Hudi's unless a comment says otherwise.

    Attributes:
        layout: order of the rows in the new files.
        small_file_limit_bytes: only smaller slices are planned, even if rows are to be sorted.
        target_file_max_bytes: target size of the new files.
        max_bytes_per_group: largest number of bytes that one group rewrites; each group takes at least one Spark stage.
        max_num_groups: largest number of groups of one plan, over all partitions.
        single_group_enabled: whether one slice alone can be a group. In our own plans only if its rows get sorted.
        lookback_partitions, skip_from_latest: RECENT_DAYS; 0 or less sets no limit to the look-back.
        begin_partition, end_partition: SELECTED_PARTITIONS, both inclusive; empty: no bound.
        selected_partitions: only these partition paths; the filter mode applies to them too, the pattern does not.
        partition_pattern: regular expression that must match the whole partition path (Java's and Python's agree on
            the common ones).
        earliest_commit: commit-based: only slices written by later commits, without this one.
        slices_sort_by: parity: ``SIZE`` and ``INSTANT_TIME``, the order in which slices are packed.
        parity: Hudi's own groups instead of our better ones.
        log_weight: bytes of a base file that one byte of a log file counts for.
        size_tolerance: fraction by which a file may exceed the target before it is split in two.
        groups_per_plan: groups of one instant, so that a failure loses less work; 0: all groups in one instant.
        max_pending_plans: no new plan is made while this many are pending; 0: no limit.
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
    size_tolerance: float
    groups_per_plan: int
    max_pending_plans: int


class UpdatesStrategy(str, Enum):
    """``hoodie.clustering.updates.strategy``: behaviour of a write that changes file groups of a pending plan.

    The first two are Hudi's, by the names of their classes.
    """

    REJECT = "SparkRejectUpdateStrategy"
    """The write fails."""
    ALLOW = "SparkAllowUpdateStrategy"
    """The write continues; the plan is rolled back."""
    GIVE_WAY = "GiveWayUpdateStrategy"
    """Ours: a plan that is not under execution releases the file groups; otherwise the write waits for its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitGate:
    """Minimum number of commits since the last clustering for a new plan (section 3.1 of Hudi's scheduler).

    Attributes:
        wanted: commits that must have completed; 0: no minimum.
        key: the option that sets it, for messages.
    """

    wanted: int = 0
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitCount:
    """Completed writes since the last clustering.

    Attributes:
        count: number of writes that count.
        since: the newest clustering, completed or pending; None: the active timeline has none.
        instants: requested times of the writes counted, oldest first.
        not_counted: number of completed writes since then that do not count, such as compactions.
    """

    count: int
    since: Instant | None = None
    instants: tuple[str, ...] = ()
    not_counted: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledSlice:
    """Settings with which a clustering wrote a slice.

    Attributes:
        layout: order of its rows.
        target_file_max_bytes: target size of the clustering; None: not known.
    """

    layout: Layout
    target_file_max_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringInput:
    """Input of the planner besides the snapshot.

    Attributes:
        settled: file groups whose latest slice was written by a clustering.
        overdue_partitions: partitions that did not fit into the last plan; they come first.
        hour: hour of the day in the table's zone, 0 to 23, for DAY_ROLLING.
        commits: commit-based: completed writes, oldest first, with their commit metadata.
    """

    settled: Mapping[FileGroupId, SettledSlice] = field(default_factory=dict)
    overdue_partitions: tuple[str, ...] = ()
    hour: int = 0
    commits: tuple[tuple[Instant, CommitMetadata], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedGroup:
    """File slices of one partition to be rewritten together.

    Attributes:
        slices: in the order in which a stitch reads them.
        output_files: number of new files.
        input_bytes: bytes of base files and weighted log files.
        reason: the improvement by the group, e.g. ``80 files into 1``.
    """

    partition_path: str
    slices: tuple[FileSlice, ...]
    output_files: int
    input_bytes: int
    reason: str

    @property
    def files_removed(self) -> int:
        """Reduction of the number of files; 0 if only the order improves."""
        return len(self.slices) - self.output_files


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class SkippedPartition:
    """Slices of one partition that were left out, for one reason.

    Attributes:
        slices: number of slices.
        is_overdue: the slices did not fit into this plan; the next plan begins with this partition.
    """

    partition_path: str
    reason: str
    slices: int
    is_overdue: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringProposal:
    """Result of the planner.

    Attributes:
        groups: most useful first.
        skipped: by partition, then reason.
        partitions_considered, partitions_total: number of partitions that passed the filters, and of all partitions.
        reason: why there are no groups; empty if there are some.
        checkpoint: commit-based: the last commit considered; empty otherwise.
    """

    groups: tuple[PlannedGroup, ...] = ()
    skipped: tuple[SkippedPartition, ...] = ()
    partitions_considered: int = 0
    partitions_total: int = 0
    reason: str = ""
    checkpoint: str = ""

    @property
    def overdue_partitions(self) -> tuple[str, ...]:
        """Partitions the next plan should begin with, in order."""
        return tuple(sorted({s.partition_path for s in self.skipped if s.is_overdue}))
