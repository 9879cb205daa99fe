"""Build the metadata that a commit stores: the workload profile and the final metadata (HoodieCommitMetadata)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from hudi_table_services.errors import FileGroupConflictError
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.file_sizing import BucketKind, FileSizingPlan
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation, WriteStat


def workload_profile(
    plan: FileSizingPlan,
    snapshot: TableSnapshot,
    operation: WriteOperation,
    extra_metadata: Mapping[str, str],
    replaced: Mapping[str, tuple[str, ...]] | None,
) -> CommitMetadata:
    """Return the content of the inflight instant: the planned rows per file group, and the file groups to be replaced.

    Other writers read the profile to detect conflicts. Each partition first lists the inserts, under an empty file id,
    and then each file group to be rewritten, with the slice into which the rows are merged.
    """
    current = {s.file_group_id: s.base_instant_time for s in snapshot.all_slices}
    stats: dict[str, tuple[WriteStat, ...]] = {}
    for partition in plan.partitions:
        path = partition.partition_path
        inserts = sum(b.insert_count for b in partition.buckets if b.kind is BucketKind.INSERT)
        rewritten = [b for b in partition.buckets if b.file_id is not None]
        stats[path] = (
            WriteStat(file_id="", partition_path=path, path="", num_inserts=inserts),
            *(
                WriteStat(
                    file_id=b.file_id or "",
                    partition_path=path,
                    path="",
                    prev_commit=current[FileGroupId(path, b.file_id or "")],
                    num_update_writes=b.update_count,
                    num_inserts=b.insert_count,
                )
                for b in rewritten
            ),
        )
    return CommitMetadata(
        operation_type=operation,
        partition_to_write_stats=stats,
        extra_metadata=extra_metadata,
        partition_to_replace_file_ids=replaced,
    )


def commit_metadata(
    stats: Iterable[WriteStat],
    operation: WriteOperation,
    extra_metadata: Mapping[str, str],
    replaced: Mapping[str, tuple[str, ...]] | None,
) -> CommitMetadata:
    """Return the content of the completed instant, with partitions and files in a stable order."""
    by_partition: dict[str, list[WriteStat]] = defaultdict(list)
    for stat in stats:
        by_partition[stat.partition_path].append(stat)
    return CommitMetadata(
        operation_type=operation,
        partition_to_write_stats={
            path: tuple(sorted(by_partition[path], key=lambda s: s.path)) for path in sorted(by_partition)
        },
        extra_metadata=extra_metadata,
        partition_to_replace_file_ids=replaced,
    )


ReplacedIds = dict[str, tuple[str, ...]]
"""Maps partition paths to the ids of the file groups that a write replaces."""


def replaced_file_ids(snapshot: TableSnapshot, partition_paths: Iterable[str]) -> ReplacedIds:
    """Return the file groups that an overwrite of the given partitions replaces.

    Raises:
        FileGroupConflictError: a pending plan of a table service contains one of these file groups.
    """
    replaced = {
        path: snapshot.slices_of(path) for path in sorted(partition_paths) if snapshot.slices_of(path)
    }
    for group in sorted(s.file_group_id for slices in replaced.values() for s in slices):
        if group in snapshot.reserved_file_groups:
            raise FileGroupConflictError(
                f"File group {group} cannot be replaced: the pending plan {snapshot.reserved_file_groups[group]} "
                "reserves it.",
                hint="Execute or cancel that plan, then run the request again.",
            )
    return {path: tuple(sorted(s.file_group_id.file_id for s in slices)) for path, slices in replaced.items()}
