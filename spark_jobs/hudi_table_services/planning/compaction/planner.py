"""Plan a compaction: choose slices whose log files are merged into new base files.

The planner has the same purpose as BaseHoodieCompactionPlanGenerator and CompactionStrategy (Hudi 1.2.0). `exclusions`
and `selection` describe the differences. This module does not check whether a compaction is due, so that a user can
plan at any time; the module `trigger` makes this check.
"""

from collections import Counter
from collections.abc import Collection, Sequence

from hudi_table_services.contract.text import counted
from hudi_table_services.model.compaction.compaction_proposal import (
    CompactionInput,
    CompactionProposal,
    SkippedSlice,
)
from hudi_table_services.model.compaction.compaction_settings import CompactionOptions, CompactionStrategyKind
from hudi_table_services.model.compaction.slice_logs import ReadAmplification, SliceLogs
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.options.keys.compaction import TARGET_PARTITIONS
from hudi_table_services.planning.compaction.day_order import newest_first
from hudi_table_services.planning.compaction.exclusions import partition_obstacle, slice_obstacle
from hudi_table_services.planning.compaction.selection import (
    in_plan_order,
    split_by_bound,
    split_by_threshold,
)
from hudi_table_services.planning.compaction.unmerged_logs import read_amplification

_NAMED_REASONS = 3


def plan_compaction(
    snapshot: TableSnapshot, options: CompactionOptions, given: CompactionInput
) -> CompactionProposal:
    """Choose slices with log files, and give the reason for each slice with log files that is not chosen.

    The order of the inputs does not change the result. File groups of a pending plan are not chosen.

    Raises:
        InvalidRequestError: the pattern is not a regular expression, or the strategy needs partition paths that
            begin with a date, and a path has none.
        MalformedMetadataError: an instant of the timeline has no valid time, and ages of log files are needed.
    """
    before = read_amplification(snapshot)
    partitions, skipped = _select_partitions(snapshot, options)
    candidates, excluded = _candidates(snapshot, before, partitions, given)
    kept, below = split_by_threshold(candidates, options, given)
    speed = given.bytes_per_second or float(options.default_bytes_per_second)
    taken, waiting = split_by_bound(in_plan_order(kept, options, partitions), options, speed)
    skipped += [*excluded, *below, *waiting]
    return CompactionProposal(
        before=before,
        operations=tuple(taken),
        skipped=tuple(sorted(skipped, key=_place)),
        partitions_considered=len(partitions),
        partitions_total=len(snapshot.partitions),
        reason="" if taken else _no_operations(skipped),
        bytes_per_second=speed,
        is_measured=bool(given.bytes_per_second),
    )


def _select_partitions(
    snapshot: TableSnapshot, options: CompactionOptions
) -> tuple[list[str], list[SkippedSlice]]:
    """Return the considered partitions in the order of the plan, and the slices with log files in other partitions."""
    obstacle = partition_obstacle(options)
    reasons = {path: obstacle(path) for path in snapshot.partitions}
    considered = [path for path, reason in reasons.items() if reason is None]
    if options.strategy is CompactionStrategyKind.DAY_BASED:
        ordered = newest_first(considered)
        considered = ordered[: options.target_partitions]
        too_old = f"partition is not among the newest {options.target_partitions} ({TARGET_PARTITIONS})"
        reasons.update(dict.fromkeys(ordered[options.target_partitions :], too_old))
    skipped = [
        SkippedSlice(file_slice.file_group_id, reason, waits=False)
        for path, reason in reasons.items()
        if reason is not None
        for file_slice in snapshot.slices_of(path)
        if file_slice.log_files
    ]
    return considered, skipped


def _candidates(
    snapshot: TableSnapshot, before: ReadAmplification, partitions: Collection[str], given: CompactionInput
) -> tuple[list[SliceLogs], list[SkippedSlice]]:
    obstacle = slice_obstacle(snapshot, given)
    considered = frozenset(partitions)
    chosen: list[SliceLogs] = []
    skipped: list[SkippedSlice] = []
    for logs in before.slices:
        if logs.file_slice.file_group_id.partition_path not in considered:
            continue
        found = obstacle(logs.file_slice)
        if found is None:
            chosen.append(logs)
        else:
            skipped.append(found)
    return chosen, skipped


def _place(skipped: SkippedSlice) -> tuple[str, str]:
    """Return a sort key, because comparing the dataclasses would be much slower. Each file group occurs only once."""
    return skipped.file_group_id.partition_path, skipped.file_group_id.file_id


def _no_operations(skipped: Sequence[SkippedSlice]) -> str:
    """Return the reason why a plan has no operations, in one sentence."""
    if not skipped:
        return "no file slice of the table has log files"
    common = sorted(Counter(s.reason for s in skipped).items(), key=lambda r: (-r[1], r[0]))[:_NAMED_REASONS]
    named = "; ".join(f"{reason} ({counted(count, 'slice')})" for reason, count in common)
    return f"no file slice with log files can be compacted: {named}"
