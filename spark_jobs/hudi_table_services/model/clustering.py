"""Clustering: what may be asked of it, and what the planner answers. Sizes are bytes, times instant times.

The plan that is stored on the timeline is `model.table_service_plans.ClusteringPlan`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.write_stat import CommitMetadata


class PlanStrategyKind(str, Enum):
    """``hoodie.clustering.plan.strategy.class``, by what the classes of Hudi do."""

    SIZE_BASED = "SparkSizeBasedClusteringPlanStrategy"
    SINGLE_FILE_SORT = "SparkSingleFileSortPlanStrategy"
    COMMIT_BASED = "CommitBasedClusteringPlanStrategy"


class PartitionFilterMode(str, Enum):
    """``hoodie.clustering.plan.partition.filter.mode``: which of the partitions are looked at."""

    NONE = "NONE"
    RECENT_DAYS = "RECENT_DAYS"
    SELECTED_PARTITIONS = "SELECTED_PARTITIONS"
    DAY_ROLLING = "DAY_ROLLING"


class LayoutStrategy(str, Enum):
    """``hoodie.layout.optimize.strategy``: how several sort columns become one order."""

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
    """What a plan should look like. Defaults are Hudi's unless a comment says otherwise.

    Attributes:
        layout: order of the rows in the new files.
        small_file_limit_bytes: only smaller slices are planned, also where rows are to be sorted.
        target_file_max_bytes: size the new files should have.
        max_bytes_per_group: most bytes rewritten together; one Spark stage at least per group.
        max_num_groups: groups of one plan, over all partitions.
        single_group_enabled: whether a slice may be a group alone. Ours: only if that brings its rows in order.
        lookback_partitions, skip_from_latest: RECENT_DAYS; 0 or less looks back without end.
        begin_partition, end_partition: SELECTED_PARTITIONS, both inclusive; empty: open.
        selected_partitions: these partition paths, before any filter mode; the pattern does not count then.
        partition_pattern: regular expression that must fit the whole partition path (Java's and Python's agree on
            the common ones).
        earliest_commit: commit-based: slices written by later commits, this one excluded.
        slices_sort_by: parity: ``SIZE`` and ``INSTANT_TIME``, the order in which slices are packed.
        parity: Hudi's own groups instead of the better ones.
        log_weight: bytes of a base file that a byte of log is worth.
        size_tolerance: share by which a file may exceed the target before it is split in two.
        groups_per_plan: groups of one instant, so that a failure loses less; 0: all in one.
        max_pending_plans: no new plan while as many wait; 0: no cap.
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
    """``hoodie.clustering.updates.strategy``: what a write does whose rows are in file groups under a pending plan.

    The first two are Hudi's, by the names of their classes.
    """

    REJECT = "SparkRejectUpdateStrategy"
    """The write fails."""
    ALLOW = "SparkAllowUpdateStrategy"
    """The write goes on; the plan is rolled back."""
    GIVE_WAY = "GiveWayUpdateStrategy"
    """Ours: a plan that nobody executes yet gives the file groups up, one being executed is waited for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitGate:
    """Whether enough was committed since the last clustering for another (section 3.1 of Hudi's scheduler).

    Attributes:
        wanted: commits that must have completed; 0: no gate.
        key: the option that says so, for messages.
    """

    wanted: int = 0
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitCount:
    """Completed writes since the last clustering.

    Attributes:
        count: those that count.
        since: the newest clustering, completed or pending; None: the active timeline has none.
        instants: requested times of the writes counted, oldest first.
        not_counted: completed writes since then that do not count, such as compactions.
    """

    count: int
    since: Instant | None = None
    instants: tuple[str, ...] = ()
    not_counted: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledSlice:
    """What is known of a slice that a clustering wrote.

    Attributes:
        layout: order of its rows.
        target_file_max_bytes: size its clustering aimed at; None: not known.
    """

    layout: Layout
    target_file_max_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringInput:
    """What the planner knows beside the snapshot.

    Attributes:
        settled: file groups whose latest slice was written by a clustering.
        overdue_partitions: partitions that the last plan had no room for; they come first.
        hour: hour of the day in the table's zone, 0 to 23, for DAY_ROLLING.
        commits: commit-based: completed writes, oldest first, with what they wrote.
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
        output_files: new files.
        input_bytes: base files and weighed logs.
        reason: what the group improves, e.g. ``80 files into 1``.
    """

    partition_path: str
    slices: tuple[FileSlice, ...]
    output_files: int
    input_bytes: int
    reason: str

    @property
    def files_removed(self) -> int:
        """How many fewer files there are afterwards; 0 where only the order improves."""
        return len(self.slices) - self.output_files


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class SkippedPartition:
    """Slices of one partition that were left out, for one reason.

    Attributes:
        slices: how many.
        is_overdue: there was no room in this plan; the next one begins here.
    """

    partition_path: str
    reason: str
    slices: int
    is_overdue: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringProposal:
    """The planner's answer.

    Attributes:
        groups: most useful first.
        skipped: by partition, then reason.
        partitions_considered, partitions_total: how many passed the filters, and how many there are.
        reason: why there are no groups, in words; empty if there are some.
        checkpoint: commit-based: the last commit looked at; empty otherwise.
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
