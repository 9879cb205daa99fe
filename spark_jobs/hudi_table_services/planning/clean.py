"""Which files of a partition a clean deletes (CleanPlanner, Hudi 1.2): pure, one partition at a time.

Beyond Hudi: files of replaced groups follow one rule under every policy, with the floor's grace for running readers,
and files that a pending plan is going to read are kept by name.
"""

from collections.abc import Collection

from hudi_table_services.model.clean import (
    CleanOptions,
    CleanPolicy,
    DoomedFiles,
    FileGroupVersions,
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
) -> DoomedFiles:
    """The files that go, and whether nothing of the partition stays.

    Args:
        retention: see `retain_from`.
        floor_cutoff: what readers stopped to see after this instant time stays.
        pinned: names of files that stay whatever the policy says.
    """
    sizes: dict[str, int] = {}
    kept = 0
    for group in partition.groups:
        doomed = _doomed(group, options, retention, floor_cutoff)
        going = [s for s in doomed if pinned_free(s, pinned)]
        for each in going:
            sizes.update(each.sizes)
        kept += len(group.slices) - len(going)
    is_emptied = bool(sizes) and kept == 0 and not partition.has_other_files
    return DoomedFiles(partition_path=partition.partition_path, sizes=sizes, is_emptied=is_emptied)


def pinned_free(file_slice: SliceFiles, pinned: Collection[str]) -> bool:
    """A slice is kept whole if one of its files is: a base file without its log files is another state."""
    return not any(name in pinned for name in file_slice.sizes)


def _doomed(
    group: FileGroupVersions, options: CleanOptions, retention: Retention, floor_cutoff: str
) -> tuple[SliceFiles, ...]:
    by_versions = options.policy is CleanPolicy.KEEP_LATEST_FILE_VERSIONS
    earliest = retention.earliest.requested_time if retention.earliest else None
    if group.replaced_by is not None:
        is_old = by_versions or (earliest is not None and group.replaced_by < earliest)
        return group.slices if is_old and group.replaced_at < floor_cutoff else ()
    if by_versions:
        kept = options.file_versions_retained
        newer = group.slices[kept - 1 :]
        return tuple(
            s
            for s, next_one in zip(group.slices[kept:], newer, strict=False)
            if next_one.visible_at < floor_cutoff
        )
    if earliest is None:
        return ()
    older = [s for s in group.slices[1:] if s.base_instant_time < earliest]
    newest_is_older = bool(group.slices) and group.slices[0].base_instant_time < earliest
    # Who reads the table as of the earliest retained commit needs the newest version from before it.
    return tuple(older) if newest_is_older else tuple(older[1:])
