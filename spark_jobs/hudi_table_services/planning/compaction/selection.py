"""Filter and sort the slices for a plan, and bound the plan (subclasses of CompactionStrategy; Hudi 1.2.0).

Each strategy drops slices below its threshold, sorts the remaining slices, and takes slices until the plan reads and
writes ``hoodie.compaction.target.io``:

| strategy | filter | order | bound |
|---|---|---|---|
| LogFileSizeBasedCompactionStrategy | bytes of log files | bytes of log files, descending | yes |
| LogFileNumBasedCompactionStrategy | number of log files | number of log files, descending | yes |
| BoundedIOCompactionStrategy | none | order of the listing | yes |
| DayBasedCompactionStrategy | newest partitions | newest partition first | yes |
| UnBoundedCompactionStrategy | none | order of the listing | no |

As in BoundedIOCompactionStrategy, the slice that reaches the bound is in the plan, and all later slices wait. The
bound counts whole mebibytes of each slice, so slices below one mebibyte count as 0. In this module, the order of the
listing is the order of partition paths and file ids; in Hudi, it is the order of the partition list and of a hash map.
Slices that compare equal keep the order of the listing.

Options of this project add a rank by benefit, a minimum ratio of log bytes, and a bound on the duration of the tasks.
By default these options have no effect, so a plan has the same slices as Hudi's plan.
"""

from collections.abc import Callable, Mapping, Sequence

from hudi_table_services.contract.text import human_time
from hudi_table_services.model.compaction.compaction_proposal import CompactionInput, SkippedSlice
from hudi_table_services.model.compaction.compaction_settings import CompactionOptions, CompactionStrategyKind
from hudi_table_services.model.compaction.slice_logs import SliceLogs
from hudi_table_services.options.keys.compaction import (
    LOG_FILE_NUM_THRESHOLD,
    LOG_FILE_SIZE_THRESHOLD,
    MAX_LOG_AGE_SECONDS,
    MAX_TASK_SECONDS,
    MIN_LOG_RATIO,
    TARGET_IO,
)
from hudi_table_services.planning.metadata_table.instant_times import instant_millis
from hudi_table_services.planning.slice_metrics import io_mib

Order = Callable[[SliceLogs], tuple[float, ...]]

_ORDERS: Mapping[CompactionStrategyKind, Order] = {
    CompactionStrategyKind.LOG_FILE_SIZE: lambda s: (-s.log_bytes,),
    CompactionStrategyKind.LOG_FILE_NUM: lambda s: (-s.log_files,),
}


def split_by_threshold(
    candidates: Sequence[SliceLogs], options: CompactionOptions, given: CompactionInput
) -> tuple[list[SliceLogs], list[SkippedSlice]]:
    """Divide the slices into those that may be planned and those below the strategy's threshold or the minimum ratio.

    The minimum ratio does not apply to a slice whose oldest log file has reached the maximum age.
    """
    kept: list[SliceLogs] = []
    skipped: list[SkippedSlice] = []
    age = _age_measure(given)
    for candidate in candidates:
        reason = _below_threshold(candidate, options) or _below_ratio(candidate, options, age)
        if reason is None:
            kept.append(candidate)
        else:
            skipped.append(SkippedSlice(candidate.file_slice.file_group_id, reason))
    return kept, skipped


def in_plan_order(
    candidates: Sequence[SliceLogs], options: CompactionOptions, partitions: Sequence[str]
) -> list[SliceLogs]:
    """Sort the slices in the order in which slices are added to a plan.

    Args:
        candidates: slices, sorted by partition path, then by file id.
        partitions: the considered partitions in the order of the plan.
    """
    if options.ranks_by_benefit:
        return sorted(candidates, key=lambda s: (-s.log_ratio, -s.log_bytes))
    if options.strategy is CompactionStrategyKind.DAY_BASED:
        places = {path: place for place, path in enumerate(partitions)}
        return sorted(candidates, key=lambda s: places[s.file_slice.file_group_id.partition_path])
    order = _ORDERS.get(options.strategy)
    return list(candidates) if order is None else sorted(candidates, key=order)


def split_by_bound(
    ordered: Sequence[SliceLogs], options: CompactionOptions, bytes_per_second: float
) -> tuple[list[SliceLogs], list[SkippedSlice]]:
    """Divide the slices in two: those up to and including the slice that reaches a bound, and all later slices."""
    has_io_bound = options.strategy is not CompactionStrategyKind.UNBOUNDED
    remaining_mib = options.target_io_mb
    remaining_bytes = options.max_task_seconds * bytes_per_second
    for number, candidate in enumerate(ordered, start=1):
        remaining_mib -= io_mib(candidate.base_bytes, candidate.log_bytes, options.new_base_file_bytes).total
        remaining_bytes -= candidate.rewrite_bytes
        if has_io_bound and remaining_mib <= 0:
            return _cut(ordered, number, f"{TARGET_IO}={options.target_io_mb}")
        if options.max_task_seconds and remaining_bytes <= 0:
            return _cut(ordered, number, f"{MAX_TASK_SECONDS}={options.max_task_seconds}")
    return list(ordered), []


def _cut(ordered: Sequence[SliceLogs], number: int, bound: str) -> tuple[list[SliceLogs], list[SkippedSlice]]:
    reason = f"no room in this plan: {bound}"
    return list(ordered[:number]), [
        SkippedSlice(s.file_slice.file_group_id, reason) for s in ordered[number:]
    ]


def _below_threshold(candidate: SliceLogs, options: CompactionOptions) -> str | None:
    if (
        options.strategy is CompactionStrategyKind.LOG_FILE_SIZE
        and candidate.log_bytes < options.min_log_bytes
    ):
        return f"log files are smaller than {LOG_FILE_SIZE_THRESHOLD}={options.min_log_bytes}"
    if (
        options.strategy is CompactionStrategyKind.LOG_FILE_NUM
        and candidate.log_files < options.min_log_files
    ):
        return f"fewer log files than {LOG_FILE_NUM_THRESHOLD}={options.min_log_files}"
    return None


def _below_ratio(candidate: SliceLogs, options: CompactionOptions, age: Callable[[str], float]) -> str | None:
    if (
        candidate.log_ratio >= options.min_log_ratio
        or age(candidate.oldest_log) >= options.max_log_age_seconds
    ):
        return None
    return (
        f"log bytes per byte of the base file are below {MIN_LOG_RATIO}={options.min_log_ratio:g}, and no log file is "
        f"older than {human_time(options.max_log_age_seconds)} ({MAX_LOG_AGE_SECONDS})"
    )


def _age_measure(given: CompactionInput) -> Callable[[str], float]:
    """Return a function that computes the age of an instant in seconds.

    The log files of many slices come from a few instants, so the function parses each instant time only once.
    """
    ages: dict[str, float] = {}

    def age(instant_time: str) -> float:
        if instant_time not in ages:
            now, then = (instant_millis(t, given.zone) for t in (given.instant_time, instant_time))
            ages[instant_time] = (now - then) / 1000
        return ages[instant_time]

    return age
