"""Group the slices of one partition into few files near the target size, without useless rewrites.

This module replaces SparkSizeBasedClusteringPlanStrategy and SparkSingleFileSortPlanStrategy (Hudi 1.2), but differs
from them in three points. First, it packs slices by best fit; the strategies fill one group after another. Second, a
group must reduce the number of files, put rows in order, or divide a file that is too large. Third, if a clustering
with the same options wrote a file, the file counts as already clustered (settled) and is rewritten only together with
other files. The module `clustering.parity` forms the same groups as Hudi's strategies.
"""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from hudi_table_services.contract.text import counted, human_bytes
from hudi_table_services.model.clustering import ClusteringOptions, PlannedGroup, PlanStrategyKind
from hudi_table_services.options.keys.clustering import SINGLE_GROUP_ENABLED
from hudi_table_services.planning.clustering.slices import (
    Candidate,
    Candidates,
    PartitionGroups,
    planned_group,
    skipped_partitions,
)

IN_ORDER = "already in the requested order"
SETTLED = "already clustered with these options"
ALONE_IN_GROUP = f"not in order, but alone in its group: {SINGLE_GROUP_ENABLED}=false"
NOT_FEWER = "a clustering would not reduce the number of files"
NOT_BETTER = "a clustering would neither reduce the number of files nor improve the order of their rows"

LONE_FILE_BYTES = 1 << 20
"""Below this size, a file usually has one row group with one page per column, so queries cannot skip a part of it."""

_OPEN_BINS = 1_000
"""Maximum number of open bins. If there are more bins, the fullest bins are closed. This limits the cost of packing and
hardly changes the result."""


@dataclass(frozen=True, slots=True)
class _Bin:
    """Slices that could become one group.

    Attributes:
        output_files: number of new files if the slices become a group.
        improves: whether rewriting the slices improves the table.
    """

    members: list[Candidate]
    output_files: int
    improves: bool

    @property
    def files_after(self) -> int:
        return self.output_files if self.improves else len(self.members)


class _Rules:
    """Rules for a group, derived from the options."""

    def __init__(self, options: ClusteringOptions) -> None:
        self.cap_bytes = options.max_bytes_per_group
        self.target_bytes = options.target_file_max_bytes
        self.layout = options.layout
        self.single_file = options.plan_strategy is PlanStrategyKind.SINGLE_FILE_SORT
        self._single_group = options.single_group_enabled
        self._max_file_bytes = max(int(options.target_file_max_bytes * (1 + options.size_tolerance)), 1)

    def evaluate(self, members: list[Candidate]) -> _Bin:
        """Choose the smallest number of output files that do not exceed the target size plus the tolerance.

        A group has at most one output file per slice, even if the files then exceed this size.
        """
        count = len(members)
        total = sum([c.size_bytes for c in members])
        outputs = min(max(-(-total // self._max_file_bytes), 1), count)
        return _Bin(members, outputs, self._improves(members, outputs))

    def _improves(self, members: list[Candidate], outputs: int) -> bool:
        count = len(members)
        if not self.single_file:
            if all(c.is_settled for c in members):
                return False
            if outputs < count:
                return True
            if count == 1 and not self._single_group:
                return False
        return not all(c.is_in_order for c in members)

    def reason(self, group: _Bin) -> str:
        """Describe how the group improves the table."""
        count = counted(len(group.members), "file")
        if group.output_files == len(group.members):
            return f"{count} not in order {self.layout}"
        order = f", ordered by {self.layout}" if self.layout.is_sorted else ""
        return f"{count} into {group.output_files}{order}"

    def left_out(self, candidate: Candidate, bin_size: int) -> str:
        """Return the reason why a slice is in no group."""
        if self.single_file:
            return IN_ORDER
        if candidate.is_settled:
            return SETTLED
        if bin_size == 1 and not candidate.is_in_order:
            return ALONE_IN_GROUP
        return NOT_BETTER if self.layout.is_sorted else NOT_FEWER


def group_partition(
    partition_path: str, candidates: Candidates, options: ClusteringOptions
) -> PartitionGroups:
    """Return the groups that improve the table, most useful first, and count the other slices by reason."""
    rules = _Rules(options)
    single = [rules.evaluate([c]) for c in candidates.chosen] if rules.single_file else None
    bins = _pack(candidates.chosen, rules) if single is None else single
    skipped = Counter(candidates.skipped)
    for dropped in (b for b in bins if not b.improves):
        skipped.update(rules.left_out(c, len(dropped.members)) for c in dropped.members)
    groups = [
        planned_group(partition_path, b.members, b.output_files, rules.reason(b)) for b in bins if b.improves
    ]
    groups += [_divided(partition_path, large, options) for large in candidates.large]
    return PartitionGroups(
        partition_path=partition_path,
        groups=tuple(sorted(groups, key=usefulness_order)),
        skipped=skipped_partitions(partition_path, skipped),
    )


def warn_of_lone_files(groups: Sequence[PlannedGroup], options: ClusteringOptions) -> tuple[str, ...]:
    """Return a warning if groups only sort the rows of one small file, which queries read completely in any case."""
    lone = [g for g in groups if len(g.slices) == g.output_files == 1 and g.input_bytes < LONE_FILE_BYTES]
    asks_for_single_files = options.plan_strategy is PlanStrategyKind.SINGLE_FILE_SORT
    if not lone or not options.layout.is_sorted or asks_for_single_files:
        return ()
    return (
        f"Of {counted(len(groups), 'group')} of the plan, {len(lone)} only {'sorts' if len(lone) == 1 else 'sort'} a "
        f"single file below {human_bytes(LONE_FILE_BYTES)}. Queries read such a file completely, whatever the order of "
        f"its rows is. To leave such groups out, set {SINGLE_GROUP_ENABLED}=false.",
    )


def _divided(partition_path: str, candidate: Candidate, options: ClusteringOptions) -> PlannedGroup:
    outputs = max(-(-candidate.size_bytes // options.target_file_max_bytes), 2)
    order = f", ordered by {options.layout}" if options.layout.is_sorted else ""
    reason = f"1 file of at least {options.split_above_bytes} bytes into {outputs}{order}"
    return planned_group(partition_path, [candidate], outputs, reason)


def usefulness_order(group: PlannedGroup) -> tuple[int, float, int, tuple[str, ...]]:
    """Return the sort key that puts the most useful group first.

    First come the groups that reduce the number of files, sorted by removed files per byte. The groups that only put
    rows in order, or divide a file, follow, sorted by size.
    """
    tie = tuple(s.file_group_id.file_id for s in group.slices[:1])
    if group.files_removed > 0:
        return (0, -group.files_removed / max(group.input_bytes, 1), -group.input_bytes, tie)
    return (1, 0.0, -group.input_bytes, tie)


def _pack(candidates: Sequence[Candidate], rules: _Rules) -> list[_Bin]:
    """Return the best of three packings.

    The first packing fills bins up to the largest allowed multiple of the target size, the second fills bins up to the
    maximum group size, and the third is Hudi's packing. The packing with the fewest files wins. If several packings
    have the fewest files, the one with the fewest bins wins, because larger bins sort more rows together. The first
    packing uses a multiple of the target size, because a bin of 2.5 target sizes would produce three files of 0.83
    target sizes. Hudi's packing is included, because best fit is worse in rare cases.
    """
    if not candidates:
        return []
    whole = rules.cap_bytes // rules.target_bytes * rules.target_bytes or rules.cap_bytes
    packings = [_best_fit(candidates, cap) for cap in dict.fromkeys((whole, rules.cap_bytes))]
    packings.append(_next_fit(candidates, rules.cap_bytes))
    evaluated = [_join_leftover([rules.evaluate(members) for members in p], rules) for p in packings]
    return min(evaluated, key=lambda bins: (sum([b.files_after for b in bins]), len(bins)))


def _best_fit(candidates: Sequence[Candidate], cap: int) -> list[list[Candidate]]:
    """Put each slice, largest first, into the fullest bin with enough room."""
    bins: list[list[Candidate]] = []
    rooms: list[tuple[int, int]] = []
    smallest = candidates[-1].size_bytes
    for candidate in candidates:
        size = candidate.size_bytes
        at = bisect_left(rooms, (size, -1))
        if at < len(rooms):
            room, number = rooms.pop(at)
            bins[number].append(candidate)
        else:
            room, number = cap, len(bins)
            bins.append([candidate])
        if room - size >= smallest:
            insort(rooms, (room - size, number))
            del rooms[:-_OPEN_BINS]
    return bins


def _next_fit(candidates: Sequence[Candidate], cap: int) -> list[list[Candidate]]:
    """Put each slice, largest first, into the last bin if it fits, else into a new bin."""
    bins: list[list[Candidate]] = []
    room = 0
    for candidate in candidates:
        if not bins or candidate.size_bytes > room:
            bins.append([])
            room = cap
        bins[-1].append(candidate)
        room -= candidate.size_bytes
    return bins


def _join_leftover(bins: list[_Bin], rules: _Rules) -> list[_Bin]:
    """Move a slice from the bin with the most slices to a bin that has one slice and would be left out of the plan.

    Otherwise the single slice would be left out, and the next plan would rewrite it together with the files that this
    plan writes. No slice is moved if the move would result in more files.
    """
    lone = [b for b in bins if len(b.members) == 1 and not b.improves and not b.members[0].is_settled]
    donor = max(bins, key=lambda b: len(b.members))
    if not lone or len(donor.members) <= 2:
        return bins
    leftover, companion = lone[-1], donor.members[-1]
    if leftover.members[0].size_bytes + companion.size_bytes > rules.cap_bytes:
        return bins
    fewer, more = rules.evaluate(donor.members[:-1]), rules.evaluate([*leftover.members, companion])
    if fewer.files_after + more.files_after > donor.files_after + 1:
        return bins
    return [*(b for b in bins if b is not leftover and b is not donor), fewer, more]
