"""Values of compaction: options, input and result of the planner. Times are instant times.

The timeline stores a plan as `model.table_service_plans.CompactionPlan`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timezone, tzinfo
from enum import Enum

from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.instant import Instant


class CompactionTrigger(str, Enum):
    """``hoodie.compact.inline.trigger.strategy``: what makes a compaction due (CompactionTriggerStrategy)."""

    NUM_COMMITS = "NUM_COMMITS"
    NUM_COMMITS_AFTER_LAST_REQUEST = "NUM_COMMITS_AFTER_LAST_REQUEST"
    TIME_ELAPSED = "TIME_ELAPSED"
    NUM_AND_TIME = "NUM_AND_TIME"
    NUM_OR_TIME = "NUM_OR_TIME"


class CompactionStrategyKind(str, Enum):
    """``hoodie.compaction.strategy``. The values are the names of Hudi's classes."""

    LOG_FILE_SIZE = "LogFileSizeBasedCompactionStrategy"
    LOG_FILE_NUM = "LogFileNumBasedCompactionStrategy"
    BOUNDED_IO = "BoundedIOCompactionStrategy"
    UNBOUNDED = "UnBoundedCompactionStrategy"
    DAY_BASED = "DayBasedCompactionStrategy"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionOptions:
    """Settings of a compaction plan. `options.keys.compaction` declares their keys and defaults.

    Attributes:
        trigger: condition under which a compaction is due.
        max_delta_commits: number of delta commits that the trigger requires, at least 1.
        max_delta_seconds: number of seconds that the trigger requires.
        strategy: order, filter and bound of the planned slices.
        target_io_mb: a plan ends with the slice that reaches this number of mebibytes, read and written.
        min_log_bytes: LOG_FILE_SIZE plans only slices with at least this number of bytes in log files.
        min_log_files: LOG_FILE_NUM plans only slices with at least this number of log files.
        target_partitions: DAY_BASED plans slices of this number of newest partitions.
        partition_pattern: regular expression that must match a part of the partition path; empty means no filter.
        selected_partitions: only these partition paths are considered; empty means all.
        ranks_by_benefit: whether the slices with the largest `SliceLogs.log_ratio` come first, instead of the order of
            the strategy.
        min_log_ratio: slices with a smaller `SliceLogs.log_ratio` wait, unless their oldest log file is too old; 0
            means that no slice waits.
        max_log_age_seconds: age of the oldest log file from which on `min_log_ratio` does not apply.
        max_task_seconds: a plan ends with the slice that reaches this expected duration of all tasks together, in
            seconds; 0 means no bound.
        default_bytes_per_second: bytes that a task reads and writes per second, if no earlier compaction shows it.
        new_base_file_bytes: size that Hudi assumes for the new base file of a slice without a base file.
    """

    trigger: CompactionTrigger
    max_delta_commits: int
    max_delta_seconds: int
    strategy: CompactionStrategyKind
    target_io_mb: int
    min_log_bytes: int
    min_log_files: int
    target_partitions: int
    partition_pattern: str
    selected_partitions: tuple[str, ...]
    ranks_by_benefit: bool
    min_log_ratio: float
    max_log_age_seconds: int
    max_task_seconds: int
    default_bytes_per_second: int
    new_base_file_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionDue:
    """Whether a compaction is due.

    Attributes:
        reason: one sentence with the counted delta commits, the elapsed time and the limits of the options.
        delta_commits: number of completed delta commits whose log files no compaction has merged.
        not_counted: number of log compactions among them, which `delta_commits` does not contain.
        since: the compaction after which the delta commits count; None if the active timeline has no compaction.
        elapsed_seconds: seconds since `since`, or since the first delta commit; None without a delta commit.
    """

    is_due: bool
    reason: str
    delta_commits: int
    not_counted: int = 0
    since: Instant | None = None
    elapsed_seconds: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionInput:
    """Input of the planner in addition to the snapshot.

    Attributes:
        instant_time: requested time of the compaction to plan. The ages of log files are measured at this time.
        zone: time zone of the timeline.
        open_file_groups: maps each file group to which a pending delta commit may write log files to the requested
            time of the delta commit. Used for table version 6 only.
        unknown_delta_commits: requested times of pending delta commits whose file groups are not known, for example
            because they are only requested. Used for table version 6 only.
        bytes_per_second: bytes that a task of earlier compactions read and wrote per second; None if not known.
    """

    instant_time: str
    zone: tzinfo = timezone.utc
    open_file_groups: Mapping[FileGroupId, str] = field(default_factory=dict)
    unknown_delta_commits: tuple[str, ...] = ()
    bytes_per_second: float | None = None


@dataclass(frozen=True, slots=True)
class SliceLogs:
    """The log files of one slice that no compaction has merged: the read amplification of the slice.

    Attributes:
        base_bytes: size of the base file in bytes; 0 if the slice has no base file.
        log_bytes: total size of the log files in bytes.
        oldest_log: requested time of the delta commit that wrote the oldest log file. Names of log files of table
            version 6 do not contain it; then it is the earliest possible time.
    """

    file_slice: FileSlice
    base_bytes: int
    log_bytes: int
    oldest_log: str

    @property
    def log_files(self) -> int:
        return len(self.file_slice.log_files)

    @property
    def log_ratio(self) -> float:
        """Return the log bytes per byte of the base file that a compaction rewrites; infinite without a base file."""
        return self.log_bytes / self.base_bytes if self.base_bytes > 0 else math.inf

    @property
    def rewrite_bytes(self) -> int:
        """Return the bytes that a compaction of the slice reads and writes, if the new file is as large as its input.

        Without a base file, the new file is counted as large as the log files.
        """
        return self.base_bytes + self.log_bytes + (self.base_bytes or self.log_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAmplification:
    """What a snapshot query reads in addition to base files.

    Attributes:
        slices: the slices with log files, by partition path, then by file id.
        slices_total: number of all slices.
        base_bytes_total: total size of the base files of all slices in bytes.
    """

    slices: tuple[SliceLogs, ...] = ()
    slices_total: int = 0
    base_bytes_total: int = 0

    @property
    def log_files(self) -> int:
        return sum(s.log_files for s in self.slices)

    @property
    def log_bytes(self) -> int:
        return sum(s.log_bytes for s in self.slices)

    @property
    def oldest_log(self) -> str | None:
        """Return the requested time of the oldest unmerged log file; None if there are no log files."""
        return min((s.oldest_log for s in self.slices), default=None)

    @property
    def log_ratio(self) -> float:
        """Return the log bytes per byte of all base files; infinite if the table has only log files."""
        if not self.log_bytes:
            return 0.0
        return self.log_bytes / self.base_bytes_total if self.base_bytes_total > 0 else math.inf


@dataclass(frozen=True, slots=True, order=True)
class SkippedSlice:
    """A slice with log files that the plan does not contain.

    Attributes:
        waits: whether a later plan may contain the slice with the same options.
    """

    file_group_id: FileGroupId
    reason: str
    waits: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionProposal:
    """Result of the planner.

    Attributes:
        operations: the slices to compact, in the order of the plan.
        skipped: all other slices with log files, by partition path, then by file id.
        partitions_considered: number of partitions that passed the filters.
        partitions_total: number of all partitions with files.
        reason: why there are no operations; empty if there are operations.
        bytes_per_second: assumed speed of a task.
        is_measured: whether earlier compactions show this speed; if not, it is the default of the options.
    """

    operations: tuple[SliceLogs, ...] = ()
    skipped: tuple[SkippedSlice, ...] = ()
    partitions_considered: int = 0
    partitions_total: int = 0
    reason: str = ""
    bytes_per_second: float
    is_measured: bool = False

    @property
    def expected_task_seconds(self) -> float:
        """Return the expected duration of all tasks of the plan together, in seconds."""
        return sum(o.rewrite_bytes for o in self.operations) / self.bytes_per_second

    @property
    def waiting_partitions(self) -> tuple[str, ...]:
        """Return the partitions with slices that wait for a later plan, in order."""
        return tuple(sorted({s.file_group_id.partition_path for s in self.skipped if s.waits}))
