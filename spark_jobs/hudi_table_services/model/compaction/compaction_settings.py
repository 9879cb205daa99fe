"""Settings of a compaction plan."""

from dataclasses import dataclass
from enum import Enum


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
        strategy: determines which slices a plan contains, in which order, and up to which bound.
        target_io_mb: limit of the mebibytes that a plan reads and writes. The slice that reaches the limit is the last
            slice of the plan.
        min_log_bytes: LOG_FILE_SIZE plans only slices with at least this number of bytes in log files.
        min_log_files: LOG_FILE_NUM plans only slices with at least this number of log files.
        target_partitions: DAY_BASED plans slices of this number of newest partitions.
        partition_pattern: regular expression that must match a part of the partition path; empty means no filter.
        selected_partitions: only these partition paths are considered; empty means all partitions.
        ranks_by_benefit: whether the slices with the largest `SliceLogs.log_ratio` come first; if not, the strategy
            determines the order.
        min_log_ratio: slices with a smaller `SliceLogs.log_ratio` wait, unless their oldest log file is too old; 0
            means that no slice waits.
        max_log_age_seconds: `min_log_ratio` does not apply to a slice whose oldest log file is at least this number of
            seconds old.
        max_task_seconds: limit of the expected duration of all tasks of a plan together, in seconds. The slice that
            reaches the limit is the last slice of the plan. 0 means no limit.
        default_bytes_per_second: assumed number of bytes that a task reads and writes per second, if no earlier
            compaction shows this speed.
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
