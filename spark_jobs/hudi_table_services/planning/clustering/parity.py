"""Form groups as Hudi does, for users who want the plan that Hudi would schedule.

This module follows SparkSizeBasedClusteringPlanStrategy, SparkSingleFileSortPlanStrategy and
PartitionAwareClusteringPlanStrategy (Hudi 1.2). The size of the base file alone decides whether a slice is eligible; a
missing base file counts as 0 bytes. Slices are packed by next fit, where a missing base file counts as 120 MiB. The
number of output files is the group's size divided by the target, rounded up. If the options exclude groups with a
single slice, only the last group of a partition is left out for this reason. Sizes are compared as long integers,
whereas Hudi narrows their difference to 32 bits and so misorders files that differ by 2 GiB. Slices that compare equal
are ordered by base instant time and file id, whereas Hudi uses the order of its view.
"""

from collections import Counter
from collections.abc import Callable, Sequence

from hudi_table_services.contract.text import counted
from hudi_table_services.model.clustering import (
    ClusteringOptions,
    PlannedGroup,
    PlanStrategyKind,
    SkippedPartition,
)
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.options.keys.clustering import SINGLE_GROUP_ENABLED
from hudi_table_services.planning.clustering.option_checks import SORT_BY_INSTANT_TIME, SORT_BY_SIZE
from hudi_table_services.planning.clustering.slices import (
    UNKNOWN_SIZE,
    Candidate,
    PartitionGroups,
    above_limit,
    arrival_order,
    no_room,
    obstacle,
    planned_group,
    skipped_partitions,
)

PARQUET_MAX_FILE_SIZE = 125_829_120
"""Default of ``hoodie.parquet.max.file.size``: the size that Hudi assumes for a slice without a base file."""

ALONE = f"alone in the last group: {SINGLE_GROUP_ENABLED}=false"

_Key = tuple[int | str, ...]
_SORT_KEYS: dict[str, Callable[[Candidate], int | str]] = {
    SORT_BY_SIZE: lambda c: -c.size_bytes,
    SORT_BY_INSTANT_TIME: lambda c: c.file_slice.base_instant_time,
}


def group_partition_as_hudi(
    snapshot: TableSnapshot, partition_path: str, options: ClusteringOptions
) -> PartitionGroups:
    """Return the groups that Hudi would form in one partition, in Hudi's order, and the slices in no group."""
    chosen = []
    skipped: Counter[str] = Counter()
    for file_slice in snapshot.slices_of(partition_path):
        reason = obstacle(file_slice, snapshot, options, None) or _too_large(file_slice, options)
        if reason is None:
            chosen.append(file_slice)
        else:
            skipped[reason] += 1
    return pack_as_hudi(partition_path, chosen, skipped, options)


def pack_as_hudi(
    partition_path: str,
    file_slices: Sequence[FileSlice],
    skipped: Counter[str],
    options: ClusteringOptions,
) -> PartitionGroups:
    """Group slices of known size, and add slices that are in no group to the skipped slices."""
    candidates = in_hudi_order(file_slices, options)
    bins, waiting = _bins(candidates, options)
    packs = options.plan_strategy is not PlanStrategyKind.SINGLE_FILE_SORT
    if packs and not options.single_group_enabled and bins and not waiting and len(bins[-1]) == 1:
        bins.pop()
        skipped = skipped + Counter([ALONE])
    overdue = SkippedPartition(
        partition_path=partition_path, reason=no_room(options), slices=len(waiting), is_overdue=True
    )
    return PartitionGroups(
        partition_path=partition_path,
        groups=tuple(_group(partition_path, members, options) for members in bins),
        skipped=skipped_partitions(partition_path, skipped) + ((overdue,) if waiting else ()),
    )


def in_hudi_order(file_slices: Sequence[FileSlice], options: ClusteringOptions) -> list[Candidate]:
    """Return the slices in the order of ``file.slices.sort.by``, each with the size that Hudi uses for packing."""

    def key(candidate: Candidate) -> tuple[_Key, tuple[str, str]]:
        return tuple(_SORT_KEYS[by](candidate) for by in options.slices_sort_by), arrival_order(
            candidate.file_slice
        )

    return sorted((Candidate(s, _packed_bytes(s)) for s in file_slices), key=key)


def _packed_bytes(file_slice: FileSlice) -> int:
    return file_slice.base_file.size_bytes if file_slice.base_file else PARQUET_MAX_FILE_SIZE


def _too_large(file_slice: FileSlice, options: ClusteringOptions) -> str | None:
    base_bytes = file_slice.base_file.size_bytes if file_slice.base_file else 0
    if base_bytes < 0:
        return UNKNOWN_SIZE
    return above_limit(options) if base_bytes >= options.small_file_limit_bytes else None


def _bins(
    candidates: Sequence[Candidate], options: ClusteringOptions
) -> tuple[list[list[Candidate]], Sequence[Candidate]]:
    """Pack slices into bins, up to the maximum number of groups. Also return the slices for which no bin is left."""
    if options.plan_strategy is PlanStrategyKind.SINGLE_FILE_SORT:
        return [[c] for c in candidates], ()
    bins: list[list[Candidate]] = []
    total = 0
    for number, candidate in enumerate(candidates):
        if not bins or total + candidate.size_bytes > options.max_bytes_per_group:
            if len(bins) >= options.max_num_groups:
                return bins, candidates[number:]
            bins.append([])
            total = 0
        bins[-1].append(candidate)
        total += candidate.size_bytes
    return bins, ()


def _group(partition_path: str, members: Sequence[Candidate], options: ClusteringOptions) -> PlannedGroup:
    total = sum(c.size_bytes for c in members)
    # Hudi plans 0 output files for a group of 0 bytes; its rows still need one file.
    outputs = max(-(-total // options.target_file_max_bytes), 1)
    if options.plan_strategy is PlanStrategyKind.SINGLE_FILE_SORT:
        outputs = 1
    order = f", ordered by {options.layout}" if options.layout.is_sorted else ""
    return planned_group(
        partition_path, members, outputs, f"{counted(len(members), 'file')} into {outputs}{order}"
    )
