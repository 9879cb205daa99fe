"""Choose a file group for each row of a batch, so that base files reach their target size and keep it.

The planner has the same purpose as UpsertPartitioner (Hudi 1.2), with four differences. Each file gets exactly the
planned number of rows. The largest small file is padded first. The free space of a file accounts for the batch's own
updates. No file gets only a tiny remainder.
`docs/file-sizing.md` explains each step. With `FileSizingOptions.parity` the plan is the same as Hudi's.
"""

from collections.abc import Mapping, Sequence

from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.file_sizing import (
    FileSample,
    FileSizingOptions,
    FileSizingPlan,
    PartitionSizing,
    PartitionWorkload,
    RecordSizeEstimate,
    SkippedFileGroup,
    Workload,
)
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.planning.file_sizing.bin_packing import divide_records
from hudi_table_services.planning.file_sizing.file_cost import FileCost
from hudi_table_services.planning.file_sizing.hudi_parity import plan_as_hudi
from hudi_table_services.planning.file_sizing.record_size import estimate_record_sizes, incoming_record_size
from hudi_table_services.planning.file_sizing.small_files import (
    NO_INSERTS_LEFT,
    NO_ROOM,
    NO_ROOM_AFTER_UPDATES,
    SmallFiles,
    find_small_files,
    skip,
)
from hudi_table_services.planning.file_sizing.write_buckets import (
    PartitionRoom,
    check_workload,
    sizes_of,
    updates_of,
)


def plan_file_sizing(
    snapshot: TableSnapshot,
    workload: Workload,
    samples: Sequence[FileSample],
    options: FileSizingOptions,
    *,
    pad_small_files: bool = True,
) -> FileSizingPlan:
    """Assign every row of the batch to a file group.

    Each update goes to the file group that contains its key. Inserts fill small files, the largest first, and then new
    files. The order of the inputs does not change the result. File groups of a pending plan get no rows.

    Args:
        samples: rows and bytes of some base files of this table. More samples improve the estimate of the record size.
            Parity mode does not use the samples.
        pad_small_files: False for operations that only open new file groups (bulk_insert, insert_overwrite).

    Raises:
        InvalidRequestError: the workload contradicts itself.
        FileGroupConflictError: the workload updates a file group that no longer exists or is in a pending plan.
    """
    check_workload(snapshot, workload)
    if options.parity:
        return plan_as_hudi(snapshot, workload, options, pad_small_files=pad_small_files)
    estimates = estimate_record_sizes(workload, samples, options)
    sizings = []
    for partition in sorted(workload.partitions, key=lambda p: p.partition_path):
        path = partition.partition_path
        room = room_of(snapshot, partition, estimates[path], workload.batch_record_size, options)
        small_files = find_small_files(snapshot, path, options, pad_small_files=pad_small_files)
        sizings.append(_plan_partition(partition.insert_count, room, small_files, options))
    return FileSizingPlan(partitions=tuple(sizings))


def room_of(
    snapshot: TableSnapshot,
    partition: PartitionWorkload,
    estimate: RecordSizeEstimate,
    batch_record_size: float | None,
    options: FileSizingOptions,
) -> PartitionRoom:
    """Return the sizes, updates and row estimates of a partition, with which the planner assigns inserts to files.

    Args:
        batch_record_size: see `Workload`.
    """
    incoming = incoming_record_size(partition, batch_record_size)
    return PartitionRoom(
        partition_path=partition.partition_path,
        sizes=sizes_of(snapshot, partition.partition_path),
        updates=updates_of(partition),
        cost=FileCost.of(estimate.bytes_per_record, options),
        record_size=estimate,
        incoming_record_size=estimate.bytes_per_record if incoming is None else incoming,
    )


def _plan_partition(
    inserts: int, room: PartitionRoom, small_files: SmallFiles, options: FileSizingOptions
) -> PartitionSizing:
    padding, not_padded = _pad(inserts, room, small_files.candidates, options)
    per_file = room.cost.records_per_file(options)
    division = divide_records(inserts - sum(padding.values()), per_file, len(padding), options)
    padding = {
        file_id: count + more
        for (file_id, count), more in zip(padding.items(), division.absorbed, strict=True)
    }
    skipped = tuple(sorted(small_files.skipped + not_padded)) if inserts else ()
    return PartitionSizing(
        partition_path=room.partition_path,
        buckets=room.update_buckets(padding) + tuple(room.insert_bucket(n) for n in division.new_files),
        skipped=skipped,
        record_size=room.record_size,
        records_per_new_file=per_file,
    )


def _pad(
    inserts: int, room: PartitionRoom, candidates: Sequence[FileSlice], options: FileSizingOptions
) -> tuple[Mapping[str, int], tuple[SkippedFileGroup, ...]]:
    """Map the id of each padded file to its number of inserts; also return the candidates that are not padded.

    The largest candidate is padded first, because it needs the fewest rows to reach the target size. A file that has
    reached the target size is not padded again.
    """
    padding: dict[str, int] = {}
    not_padded = []
    left = inserts
    for candidate in sorted(candidates, key=lambda s: (-s.size_bytes, s.file_group_id)):
        file_id = candidate.file_group_id.file_id
        if left == 0:
            not_padded.append(skip(candidate, NO_INSERTS_LEFT))
            continue
        growth = room.growth_bytes(file_id)
        free = options.max_file_size_bytes - candidate.size_bytes - growth
        fitting = room.cost.records_within(free, existing_records=room.record_count(file_id))
        if fitting == 0:
            not_padded.append(skip(candidate, NO_ROOM_AFTER_UPDATES if growth else NO_ROOM))
            continue
        padding[file_id] = min(fitting, left)
        left -= padding[file_id]
    return padding, tuple(not_padded)
