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
    waits = False
    for group in partition.groups:
        outdated = _outdated(group, options, retention)
        going = [s for s in outdated if _may_go(group, s, floor_cutoff, pinned)]
        for each in going:
            sizes.update(each.sizes)
        waits = waits or len(going) < len(outdated)
        kept += len(group.slices) - len(going)
    is_emptied = bool(sizes) and kept == 0 and not partition.has_other_files
    return DoomedFiles(
        partition_path=partition.partition_path, sizes=sizes, is_emptied=is_emptied, waits=waits
    )


def _outdated(
    group: FileGroupVersions, options: CleanOptions, retention: Retention
) -> tuple[SliceFiles, ...]:
    """What the policy does not keep."""
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
    # Who reads the table as of the earliest retained commit needs the newest version from before it.
    return older[1:]


def _may_go(
    group: FileGroupVersions, file_slice: SliceFiles, floor_cutoff: str, pinned: Collection[str]
) -> bool:
    """Whether readers stopped to see it long enough ago, and nothing else needs it.

    A slice is kept whole if one of its files is: a base file without its log files is another state.
    """
    if any(name in pinned for name in file_slice.sizes):
        return False
    newer = [s.visible_at for s in group.slices if s.base_instant_time > file_slice.base_instant_time]
    times = [time for time in (min(newer, default=""), group.replaced_at) if time]
    return min(times, default="") < floor_cutoff
