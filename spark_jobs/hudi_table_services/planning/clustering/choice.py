"""Choose the groups of a plan when more groups exist than the plan may have.

Hudi 1.2 chooses the first groups in the order of its listing, so partitions late in the listing may wait indefinitely.
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
from hudi_table_services.planning.clustering.groups import usefulness_order
from hudi_table_services.planning.clustering.slices import PartitionGroups, no_room


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The groups that a plan contains, and the groups that wait for the next plan."""

    taken: tuple[PlannedGroup, ...]
    waiting: tuple[PlannedGroup, ...]


def choose_groups(
    partitions: Iterable[PartitionGroups], options: ClusteringOptions, given: ClusteringInput
) -> Choice:
    """Choose groups in rounds. Each round adds one group per partition, the most useful groups first.

    Partitions that have waited since an earlier plan precede all others.
    """
    waited = frozenset(given.overdue_partitions)
    ranked = []
    rest: list[PlannedGroup] = []
    for partition in partitions:
        path = partition.partition_path
        # A plan has at most `max_num_groups` groups, so a partition's groups beyond this number need no rank.
        for round_number, group in enumerate(partition.groups[: options.max_num_groups]):
            ranked.append(((path not in waited, round_number, usefulness_order(group), path), group))
        rest.extend(partition.groups[options.max_num_groups :])
    ranked.sort(key=lambda r: r[0])
    return first_groups([*(group for _, group in ranked), *rest], options)


def first_groups(groups: Sequence[PlannedGroup], options: ClusteringOptions) -> Choice:
    """Choose the first groups, up to the maximum number of a plan."""
    limit = options.max_num_groups
    return Choice(taken=tuple(groups[:limit]), waiting=tuple(groups[limit:]))


def waiting_partitions(
    groups: Iterable[PlannedGroup], options: ClusteringOptions
) -> tuple[SkippedPartition, ...]:
    """Return the partitions with waiting groups. The next plan begins with these partitions."""
    slices: Counter[str] = Counter()
    for group in groups:
        slices[group.partition_path] += len(group.slices)
    return tuple(
        SkippedPartition(partition_path=path, reason=no_room(options), slices=count, is_overdue=True)
        for path, count in sorted(slices.items())
    )
