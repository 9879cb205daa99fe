"""Choose file slices to be rewritten into fewer or better ordered files.

The planner has the same purpose as ClusteringPlanStrategy and its subclasses (Hudi 1.2). It selects the same partitions
and small slices, but forms different groups; `docs/adr/0022` explains the differences. With `ClusteringOptions.parity`
the planner forms Hudi's groups.
"""

from collections import Counter
from collections.abc import Sequence

from hudi_table_services.contract.text import counted
from hudi_table_services.model.clustering import (
    ClusteringInput,
    ClusteringOptions,
    ClusteringProposal,
    PlanStrategyKind,
    SkippedPartition,
)
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.options.keys.clustering import SELECTED_PARTITIONS
from hudi_table_services.planning.clustering.choice import (
    Choice,
    choose_groups,
    first_groups,
    waiting_partitions,
)
from hudi_table_services.planning.clustering.commits import (
    WrittenSince,
    checkpoint,
    group_commits_as_hudi,
    written_since,
)
from hudi_table_services.planning.clustering.groups import group_partition
from hudi_table_services.planning.clustering.option_checks import check_clustering_options
from hudi_table_services.planning.clustering.parity import group_partition_as_hudi
from hudi_table_services.planning.clustering.partitions import PartitionSelection, select_partitions
from hudi_table_services.planning.clustering.slices import PartitionGroups, find_candidates

_NAMED_REASONS = 3


def plan_clustering(
    snapshot: TableSnapshot, options: ClusteringOptions, given: ClusteringInput
) -> ClusteringProposal:
    """Plan the groups worth rewriting, and report every other slice with the reason why it is left out.

    The order of the inputs does not change the result. File groups of a pending plan are in no group.

    Raises:
        InvalidRequestError: an option is impossible or contradicts another option, see `check_clustering_options`.
    """
    check_clustering_options(options)
    selection = select_partitions(snapshot.partitions, options, given.hour)
    partitions, choice, mark = _plan(snapshot, selection.partitions, options, given)
    skipped = [s for p in partitions for s in p.skipped]
    skipped += waiting_partitions(choice.waiting, options)
    return ClusteringProposal(
        groups=choice.taken,
        skipped=tuple(sorted([*_added_up(skipped), *_unknown(selection)])),
        partitions_considered=len(selection.partitions),
        partitions_total=selection.total,
        reason="" if choice.taken else _no_groups(skipped, selection, options),
        checkpoint=mark,
    )


def _plan(
    snapshot: TableSnapshot, paths: Sequence[str], options: ClusteringOptions, given: ClusteringInput
) -> tuple[Sequence[PartitionGroups], Choice, str]:
    """Return the possible groups of each partition, the chosen groups, and the checkpoint of a commit-based plan."""
    by_commits = options.plan_strategy is PlanStrategyKind.COMMIT_BASED
    if options.parity:
        mark = ""
        if by_commits:
            partitions, mark = group_commits_as_hudi(snapshot, paths, options, given)
        else:
            partitions = tuple(group_partition_as_hudi(snapshot, path, options) for path in paths)
        return partitions, first_groups([g for p in partitions for g in p.groups], options), mark
    written = written_since(options, given) if by_commits else None
    partitions = tuple(_group_partition(snapshot, path, options, given, written) for path in paths)
    choice = choose_groups(partitions, options, given)
    if written is None:
        return partitions, choice, ""
    waiting = _waiting_file_groups(choice) | snapshot.reserved_file_groups.keys()
    return partitions, choice, checkpoint(written, waiting, options)


def _group_partition(
    snapshot: TableSnapshot,
    path: str,
    options: ClusteringOptions,
    given: ClusteringInput,
    written: WrittenSince | None,
) -> PartitionGroups:
    file_groups = None if written is None else written.file_groups.keys()
    return group_partition(path, find_candidates(snapshot, path, options, given, file_groups), options)


def _waiting_file_groups(choice: Choice) -> set[FileGroupId]:
    return {s.file_group_id for group in choice.waiting for s in group.slices}


def _added_up(skipped: Sequence[SkippedPartition]) -> list[SkippedPartition]:
    """Add up the skipped slices of each partition and reason."""
    slices: Counter[tuple[str, str, bool]] = Counter()
    for line in skipped:
        slices[line.partition_path, line.reason, line.is_overdue] += line.slices
    return [
        SkippedPartition(partition_path=path, reason=reason, slices=count, is_overdue=overdue)
        for (path, reason, overdue), count in slices.items()
    ]


def _unknown(selection: PartitionSelection) -> list[SkippedPartition]:
    reason = f"named in {SELECTED_PARTITIONS}, but the table has no such partition"
    return [SkippedPartition(partition_path=path, reason=reason, slices=0) for path in selection.unknown]


def _no_groups(
    skipped: Sequence[SkippedPartition], selection: PartitionSelection, options: ClusteringOptions
) -> str:
    """Return the reason why a plan has no groups, in one sentence."""
    if not selection.total:
        return "the table has no files"
    if not selection.partitions:
        return selection.reason
    where = f"{selection.reason}; no file of these partitions" if selection.reason else "no file of the table"
    reasons: Counter[str] = Counter()
    for line in skipped:
        reasons[line.reason] += line.slices
    common = sorted(reasons.items(), key=lambda r: (-r[1], r[0]))[:_NAMED_REASONS]
    named = "; ".join(f"{counted(count, 'file')}: {reason}" for reason, count in common)
    return f"{where} can be clustered ({named})"
