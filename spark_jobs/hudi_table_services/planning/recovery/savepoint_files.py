"""Choose the files that a savepoint keeps: the latest versions as of its commit (SavepointActionExecutor, Hudi 1.2).

Hudi compares requested times. In a merge-on-read table with completion times, this module compares completion times: if
a compaction was requested during the savepointed delta commit, the log files of this delta commit belong to the slice
of the compaction, although the requested time of the compaction is later.
"""

from collections.abc import Collection, Iterable

from hudi_table_services.model.cleaning import FileGroupVersions, PartitionFiles, SliceFiles
from hudi_table_services.model.table_service_plans import SavepointPartition


def savepoint_partitions(
    partitions: Iterable[PartitionFiles],
    requested_time: str,
    *,
    seen_at: str = "",
    later_files: Collection[str] = (),
) -> dict[str, SavepointPartition]:
    """Map each partition path to the files that it had as of a commit. Leave out partitions that had no files.

    Args:
        requested_time: requested time of the commit.
        seen_at: completion time of the commit, from which readers see it; empty for tables without completion times.
            If given, this time decides which versions are kept. A write or a compaction may have begun before this time
            and completed after it. Then the files of the version before this write are kept, too, because a restore
            undoes the write.
        later_files: names of files that were written after the commit.
    """
    found = {}
    for partition in partitions:
        names = [
            name
            for group in partition.groups
            for each in _versions_as_of(group, requested_time, seen_at)
            for name in each.sizes
            if name not in later_files
        ]
        if names:
            path = partition.partition_path
            found[path] = SavepointPartition(partition_path=path, file_names=tuple(sorted(names)))
    return found


def _versions_as_of(group: FileGroupVersions, requested_time: str, seen_at: str) -> tuple[SliceFiles, ...]:
    as_of = seen_at or requested_time
    if group.replaced_by is not None and (group.replaced_at if seen_at else group.replaced_by) <= as_of:
        return ()
    versions = [s for s in group.slices if s.base_instant_time <= as_of]
    seen = next((place for place, s in enumerate(versions) if not seen_at or s.visible_at <= seen_at), 0)
    return tuple(versions[: seen + 1])
