"""Choose a file group for each row of a table with a bucket index (SparkBucketIndexPartitioner, Hudi 1.2).

The hash of a key determines its bucket, and each bucket of a partition has at most one file group. The number and the
sizes of files therefore depend only on the number of buckets.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.file_sizing import (
    FileSample,
    FileSizingOptions,
    FileSizingPlan,
    PartitionSizing,
    PartitionWorkload,
    Workload,
)
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.planning.file_sizing.file_sizing import room_of
from hudi_table_services.planning.file_sizing.record_size import estimate_record_sizes
from hudi_table_services.planning.file_sizing.write_buckets import (
    PartitionRoom,
    check_updatable,
    check_workload,
)

IndexBuckets = Mapping[FileGroupId, int]
"""Maps each file group of the snapshot to the number of its bucket."""


def plan_index_buckets(
    snapshot: TableSnapshot,
    workload: Workload,
    samples: Sequence[FileSample],
    options: FileSizingOptions,
    bucket_of: IndexBuckets,
) -> FileSizingPlan:
    """Assign every row of the batch to the file group of its bucket.

    A bucket without a file group gets a new file group. The order of the inputs does not change the result.

    Args:
        samples: rows and bytes of some base files of this table, for the expected sizes of the plan.

    Raises:
        InvalidRequestError: the workload contradicts itself.
        FileGroupConflictError: rows belong to a file group that no longer exists or is in a pending clustering.
    """
    check_workload(snapshot, workload)
    estimates = estimate_record_sizes(workload, samples, options)
    sizings = []
    for partition in sorted(workload.partitions, key=lambda each: each.partition_path):
        path = partition.partition_path
        room = room_of(snapshot, partition, estimates[path], workload.batch_record_size, options)
        groups = {bucket_of[each.file_group_id]: each.file_group_id for each in snapshot.slices_of(path)}
        for bucket in sorted(groups.keys() & partition.index_buckets.keys()):
            check_updatable(snapshot.clustering_file_groups, groups.values(), groups[bucket])
        sizings.append(_plan_partition(partition, room, groups, options))
    return FileSizingPlan(partitions=tuple(sizings))


def _plan_partition(
    partition: PartitionWorkload,
    room: PartitionRoom,
    groups: Mapping[int, FileGroupId],
    options: FileSizingOptions,
) -> PartitionSizing:
    numbers = {group.file_id: number for number, group in groups.items()}
    inserts = {number: count for number, count in partition.index_buckets.items() if count}
    added = {groups[number].file_id: count for number, count in inserts.items() if number in groups}
    changed = (
        replace(bucket, index_bucket=numbers[bucket.file_id])
        for bucket in room.update_buckets(added)
        if bucket.file_id is not None
    )
    new = [room.insert_bucket(inserts[number], number) for number in sorted(inserts.keys() - groups.keys())]
    return PartitionSizing(
        partition_path=room.partition_path,
        buckets=(*changed, *sorted(new, key=lambda bucket: -bucket.insert_count)),
        skipped=(),
        record_size=room.record_size,
        records_per_new_file=room.cost.records_per_file(options),
    )
