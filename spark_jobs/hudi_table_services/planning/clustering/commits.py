"""Plan the clustering of files that certain commits wrote (CommitBasedClusteringPlanStrategy; Hudi 1.2).

The strategy considers completed writes requested after ``earliest.commit.to.cluster``. The plan contains no file that
was written by a replace commit, and no file group that was replaced by a replace commit. This planner plans the latest
slice of each file group once. Hudi plans one version of a file group for each commit that wrote the file group, even if
the version no longer exists. The plan also stores a checkpoint: the commit after which the next plan begins. With this
strategy, Hudi plans files of any size, and Hudi's checkpoint skips files that do not fit into the plan. This planner
applies the small-file limit, and its checkpoint precedes the first commit with a file that has to wait for a later
plan. Parity mode follows Hudi.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hudi_table_services.model.clustering import ClusteringInput, ClusteringOptions, SkippedPartition
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.write_stat import CommitMetadata
from hudi_table_services.planning.clustering.parity import pack_as_hudi
from hudi_table_services.planning.clustering.slices import (
    UNKNOWN_SIZE,
    PartitionGroups,
    no_room,
    obstacle,
    skipped_partitions,
)

NO_BASE_FILE = "in a partition in which the commits wrote only log files"


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenSince:
    """The file groups that the considered commits wrote.

    Attributes:
        commits: requested times of the considered commits, oldest first.
        file_groups: maps each written file group to the requested time of the first commit that wrote the file group.
            File groups that one of the commits replaced are left out.
    """

    commits: tuple[str, ...]
    file_groups: Mapping[FileGroupId, str]


def written_since(options: ClusteringOptions, given: ClusteringInput) -> WrittenSince:
    """Return the file groups that commits after `earliest_commit` wrote."""
    file_groups: dict[FileGroupId, str] = {}
    replaced: set[FileGroupId] = set()
    commits = _commits(options, given)
    for instant, metadata in commits:
        replaced.update(_replaced(metadata))
        for file_group in _written(instant, metadata):
            file_groups.setdefault(file_group, instant.requested_time)
    return WrittenSince(
        commits=tuple(instant.requested_time for instant, _ in commits),
        file_groups={group: time for group, time in file_groups.items() if group not in replaced},
    )


def checkpoint(written: WrittenSince, waiting: Collection[FileGroupId], options: ClusteringOptions) -> str:
    """Return the last commit before the first commit with waiting files; `earliest_commit` if no commit precedes it."""
    stop = min((written.file_groups[g] for g in waiting if g in written.file_groups), default=None)
    finished = [time for time in written.commits if stop is None or time < stop]
    return finished[-1] if finished else options.earliest_commit


def group_commits_as_hudi(
    snapshot: TableSnapshot, partitions: Sequence[str], options: ClusteringOptions, given: ClusteringInput
) -> tuple[tuple[PartitionGroups, ...], str]:
    """Return the groups that Hudi would form, in Hudi's order, and the last considered commit.

    The slices of a partition are grouped as soon as they reach ``max.bytes.per.group``. All remaining slices are
    grouped at the end. Grouping stops after the commit that fills the plan. In Hudi a hash map determines the order of
    partitions; this function uses the order of `partitions`.
    """
    eligible, skipped = _eligible(snapshot, partitions, options, written_since(options, given))
    open_slices: dict[str, list[FileSlice]] = {path: [] for path in partitions}
    grouped: list[PartitionGroups] = []
    last = options.earliest_commit
    for instant, metadata in _commits(options, given):
        last = instant.requested_time
        touched = set()
        for file_group in _written(instant, metadata):
            if (file_slice := eligible.pop(file_group, None)) is not None:
                open_slices[file_group.partition_path].append(file_slice)
                touched.add(file_group.partition_path)
        for path in sorted(touched):
            if _base_bytes(open_slices[path]) >= options.max_bytes_per_group:
                grouped.append(pack_as_hudi(path, open_slices.pop(path), Counter(), options))
                open_slices[path] = []
        if _is_full(grouped, options):
            break
    for path in partitions:
        if not _is_full(grouped, options) and _base_bytes(open_slices[path]) > 0:
            grouped.append(pack_as_hudi(path, open_slices.pop(path), Counter(), options))
    ungrouped = Counter(path for path, slices in open_slices.items() for _ in slices)
    ungrouped.update(file_group.partition_path for file_group in eligible)
    return (*grouped, *_left_out(skipped, ungrouped, _is_full(grouped, options), options)), last


def _eligible(
    snapshot: TableSnapshot, partitions: Sequence[str], options: ClusteringOptions, written: WrittenSince
) -> tuple[dict[FileGroupId, FileSlice], dict[str, Counter[str]]]:
    """Return the slices that the commits wrote, and for each partition the reasons why other slices are left out."""
    eligible: dict[FileGroupId, FileSlice] = {}
    skipped: dict[str, Counter[str]] = {path: Counter() for path in partitions}
    for path in partitions:
        for file_slice in snapshot.slices_of(path):
            reason = obstacle(file_slice, snapshot, options, written.file_groups.keys())
            if reason is None and file_slice.base_file and file_slice.base_file.size_bytes < 0:
                reason = UNKNOWN_SIZE
            if reason is None:
                eligible[file_slice.file_group_id] = file_slice
            else:
                skipped[path][reason] += 1
    return eligible, skipped


def _left_out(
    skipped: Mapping[str, Counter[str]],
    ungrouped: Counter[str],
    plan_is_full: bool,
    options: ClusteringOptions,
) -> Iterator[PartitionGroups]:
    """Yield the slices that are in no group. Each result describes one partition and contains no groups."""
    for path, reasons in skipped.items():
        rest = SkippedPartition(
            partition_path=path,
            reason=no_room(options) if plan_is_full else NO_BASE_FILE,
            slices=ungrouped[path],
            is_overdue=plan_is_full,
        )
        left_out = skipped_partitions(path, reasons) + ((rest,) if ungrouped[path] else ())
        if left_out:
            yield PartitionGroups(partition_path=path, groups=(), skipped=left_out)


def _commits(options: ClusteringOptions, given: ClusteringInput) -> list[tuple[Instant, CommitMetadata]]:
    later = [c for c in given.commits if c[0].requested_time > options.earliest_commit and c[0].is_completed]
    return sorted(later, key=lambda c: c[0])


def _written(instant: Instant, metadata: CommitMetadata) -> Iterator[FileGroupId]:
    """Yield each file group that a commit wrote, once and in order. A replace commit yields no file groups."""
    if instant.action.comparable is not Action.REPLACE_COMMIT:
        yield from sorted({FileGroupId(s.partition_path, s.file_id) for s in metadata.write_stats})


def _replaced(metadata: CommitMetadata) -> Iterator[FileGroupId]:
    for path, file_ids in (metadata.partition_to_replace_file_ids or {}).items():
        for file_id in file_ids:
            yield FileGroupId(path, file_id)


def _base_bytes(file_slices: Sequence[FileSlice]) -> int:
    return sum(s.base_file.size_bytes for s in file_slices if s.base_file)


def _is_full(grouped: Sequence[PartitionGroups], options: ClusteringOptions) -> bool:
    return sum(len(p.groups) for p in grouped) >= options.max_num_groups
