"""Which groups of which partitions a plan takes when there is not room for all.

Hudi 1.2 takes the first ones in the order of its listing, so that partitions late in it may wait for ever.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hudi_table_services.model.clustering import (
    ClusteringInput,
    ClusteringOptions,
    PlannedGroup,
    SkippedPartition,
)
from hudi_table_services.planning.clustering.groups import usefulness
from hudi_table_services.planning.clustering.slices import PartitionGroups, no_room


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Groups of a plan, and those that wait for the next one."""

    taken: tuple[PlannedGroup, ...]
    waiting: tuple[PlannedGroup, ...]


def choose_groups(
    partitions: Iterable[PartitionGroups], options: ClusteringOptions, given: ClusteringInput
) -> Choice:
    """Partitions that waited come first; each in turn gives a group, the most useful of a turn first."""
    waited = frozenset(given.overdue_partitions)
    ranked = []
    rest: list[PlannedGroup] = []
    for partition in partitions:
        path = partition.partition_path
        # No partition can give more than a plan takes: those beyond need no rank.
        for turn, group in enumerate(partition.groups[: options.max_num_groups]):
            ranked.append(((path not in waited, turn, usefulness(group), path), group))
        rest.extend(partition.groups[options.max_num_groups :])
    ranked.sort(key=lambda r: r[0])
    return cut([*(group for _, group in ranked), *rest], options)


def cut(groups: Sequence[PlannedGroup], options: ClusteringOptions) -> Choice:
    """The first groups, as many as a plan may have."""
    most = options.max_num_groups
    return Choice(taken=tuple(groups[:most]), waiting=tuple(groups[most:]))


def waiting_partitions(
    groups: Iterable[PlannedGroup], options: ClusteringOptions
) -> tuple[SkippedPartition, ...]:
    """The partitions whose groups wait, as those with which the next plan begins."""
    slices: Counter[str] = Counter()
    for group in groups:
        slices[group.partition_path] += len(group.slices)
    return tuple(
        SkippedPartition(partition_path=path, reason=no_room(options), slices=count, is_overdue=True)
        for path, count in sorted(slices.items())
    )
