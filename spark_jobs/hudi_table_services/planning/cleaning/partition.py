"""Choose the files of one partition that a clean deletes (CleanPlanner, Hudi 1.2).

This planner differs from Hudi in three points. First, the policies by commits and by hours treat replaced file groups
in the same way: a file group is outdated if it was replaced before the earliest retained commit. Second, under every
policy, a file is kept for ``hoodie.airflow.clean.floor.hours`` after it became outdated, because running queries may
read it. Third, this planner identifies by name the files that a pending plan will read, and keeps these files.

In merge-on-read tables, a version is deleted as a whole: the base file with all its log files.
"""

from collections.abc import Collection, Iterable, Sequence

from hudi_table_services.model.cleaning import (
    CleanOptions,
    CleanPolicy,
    FileGroupVersions,
    FilesToDelete,
    KeptFiles,
    PartitionFiles,
    Retention,
    SliceFiles,
)


def plan_partition(
    partition: PartitionFiles,
    options: CleanOptions,
    retention: Retention,
    *,
    floor_cutoff: str,
    pinned: Collection[str],
) -> FilesToDelete:
    """Choose the files to delete, and report whether the partition is empty after their deletion.

    Args:
        retention: see `retain_from`.
        floor_cutoff: instant time; a version that became outdated at or after this time is kept.
        pinned: names of files that are kept under every policy.
    """
    sizes: dict[str, int] = {}
    remaining = 0
    kept = KeptFiles()
    for group in partition.groups:
        permitted = _not_retained(group, options, retention)
        to_delete = [s for s in permitted if _is_deletable(group, s, floor_cutoff, pinned)]
        for each in to_delete:
            sizes.update(each.sizes)
        remaining += len(group.slices) - len(to_delete)
        kept += _kept(group, permitted, to_delete, pinned)
    is_emptied = bool(sizes) and remaining == 0 and not partition.has_other_files
    return FilesToDelete(
        partition_path=partition.partition_path, sizes=sizes, is_emptied=is_emptied, kept=kept
    )


def _kept(
    group: FileGroupVersions,
    permitted: Sequence[SliceFiles],
    to_delete: Sequence[SliceFiles],
    pinned: Collection[str],
) -> KeptFiles:
    """Count the outdated files of a file group that the clean keeps.

    Args:
        permitted: the versions that the policy does not keep.
    """
    outdated = group.slices if group.replaced_by is not None else group.slices[1:]
    pinned_files = _file_count(s for s in permitted if _is_pinned(s, pinned))
    return KeptFiles(
        by_policy=_file_count(outdated) - _file_count(permitted),
        for_queries=_file_count(permitted) - _file_count(to_delete) - pinned_files,
        pinned=pinned_files,
    )


def _file_count(slices: Iterable[SliceFiles]) -> int:
    return sum(len(each.sizes) for each in slices)


def _not_retained(
    group: FileGroupVersions, options: CleanOptions, retention: Retention
) -> tuple[SliceFiles, ...]:
    """Return the versions of a file group that the policy does not keep."""
    by_versions = options.policy is CleanPolicy.KEEP_LATEST_FILE_VERSIONS
    earliest = retention.earliest.requested_time if retention.earliest else None
    if group.replaced_by is not None:
        is_old = by_versions or (earliest is not None and group.replaced_by < earliest)
        return group.slices if is_old else ()
    if by_versions:
        return group.slices[options.file_versions_retained :]
    if earliest is None:
        return ()
    older = tuple(s for s in group.slices if s.base_instant_time < earliest)
    # The newest of these versions stays: if the earliest retained commit did not change the file group, a query as of
    # that commit reads this version.
    return older[1:]


def _is_deletable(
    group: FileGroupVersions, file_slice: SliceFiles, floor_cutoff: str, pinned: Collection[str]
) -> bool:
    """Whether the slice became outdated before the cutoff, and none of its files is pinned.

    One pinned file keeps the whole slice, because a base file without its log files, or log files without their base
    file, would give readers wrong rows.
    """
    if _is_pinned(file_slice, pinned):
        return False
    newer = [s.visible_at for s in group.slices if s.base_instant_time > file_slice.base_instant_time]
    times = [time for time in (min(newer, default=""), group.replaced_at) if time]
    return min(times, default="") < floor_cutoff


def _is_pinned(file_slice: SliceFiles, pinned: Collection[str]) -> bool:
    return any(name in pinned for name in file_slice.sizes)
