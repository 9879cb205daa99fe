"""Count routed rows as the workload for file sizing, and assign staged rows to write tasks according to the plan."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from hudi_table_services.execution.file_groups import WriteTask
from hudi_table_services.execution.staging import StagedBatch, rank_range
from hudi_table_services.hudi_format.bucket_ids import with_bucket_number
from hudi_table_services.model.file_group import FileGroupId, FileSlice, LogTarget
from hudi_table_services.model.file_sizing import (
    BucketKind,
    FileSizingPlan,
    PartitionWorkload,
    UpdateWorkload,
    Workload,
    WriteBucket,
)
from hudi_table_services.model.table_snapshot import TableSnapshot

LogTargets = Callable[[FileSlice], LogTarget]
"""Function that names the new log file of a slice."""


def workload_of(batches: Iterable[StagedBatch], batch_record_size: float | None) -> Workload:
    """Count the routed rows: inserts per partition and changes per file group."""
    inserts: dict[str, dict[int | None, int]] = defaultdict(lambda: defaultdict(int))
    changes: dict[str, dict[str, list[StagedBatch]]] = defaultdict(lambda: defaultdict(list))
    for batch in batches:
        if batch.file_id is None:
            inserts[batch.partition_path][batch.index_bucket] += batch.row_count
        else:
            changes[batch.partition_path][batch.file_id].append(batch)
    partitions = tuple(
        PartitionWorkload(
            partition_path=path,
            insert_count=sum(inserts[path].values()),
            index_buckets={bucket: n for bucket, n in inserts[path].items() if bucket is not None},
            updates=tuple(
                UpdateWorkload(
                    file_id=file_id,
                    update_count=sum(b.row_count for b in of_file),
                    delete_count=sum(b.delete_count for b in of_file),
                )
                for file_id, of_file in sorted(changes[path].items())
            ),
        )
        for path in sorted({*inserts, *changes})
    )
    return Workload(partitions=partitions, batch_record_size=batch_record_size)


def assign_tasks(
    plan: FileSizingPlan,
    batches: Sequence[StagedBatch],
    snapshot: TableSnapshot,
    new_file_id: Callable[[], str],
    log_target: LogTargets | None = None,
) -> list[WriteTask]:
    """Create one task per write bucket. Inserts are assigned by their position in the batch.

    So each write bucket gets exactly the planned number of rows. If `log_target` is given, a task that only changes
    rows writes a log file, and a task that appends rows writes a base file. With a bucket index, every task for an
    existing file group writes a log file, because later writes find new keys in log files through this index. The tasks
    are sorted by bytes, the largest first, so that the tasks that finish last are small.
    """
    slices = {s.file_group_id: s for s in snapshot.all_slices}
    inserts, changes = _by_destination(batches)
    tasks: list[WriteTask] = []
    for sizing in plan.partitions:
        ranks: dict[int | None, int] = defaultdict(int)
        for bucket in sizing.buckets:
            place = (sizing.partition_path, bucket.index_bucket)
            task = _task(bucket, ranks[bucket.index_bucket], inserts[place], changes, slices, new_file_id)
            tasks.append(_as_log(task, log_target, appends=bucket.index_bucket is not None))
            ranks[bucket.index_bucket] += bucket.insert_count
    order = sorted(range(len(tasks)), key=lambda i: (-tasks[i].expected_bytes, i))
    return [replace(tasks[position], number=number) for number, position in enumerate(order)]


def _as_log(task: WriteTask, log_target: LogTargets | None, *, appends: bool) -> WriteTask:
    """Let the task write a log file if the file group exists.

    Args:
        appends: whether a log file may contain rows with new keys, in addition to changes.
    """
    if log_target is None or task.current is None or (task.inserts and not appends):
        return task
    size_bytes = sum(batch.size_bytes for batch in task.changes)
    size_bytes += sum(rows.batch.size_bytes for rows in task.inserts)
    return replace(task, log=log_target(task.current), expected_bytes=size_bytes)


def _by_destination(
    batches: Sequence[StagedBatch],
) -> tuple[dict[tuple[str, int | None], list[StagedBatch]], dict[FileGroupId, list[StagedBatch]]]:
    """Return the inserts by partition path and index bucket, and the changes by file group."""
    inserts: dict[tuple[str, int | None], list[StagedBatch]] = defaultdict(list)
    changes: dict[FileGroupId, list[StagedBatch]] = defaultdict(list)
    for batch in batches:
        if batch.file_id is None:
            inserts[batch.partition_path, batch.index_bucket].append(batch)
        else:
            changes[FileGroupId(batch.partition_path, batch.file_id)].append(batch)
    return inserts, changes


def _task(
    bucket: WriteBucket,
    rank: int,
    inserts: Sequence[StagedBatch],
    changes: Mapping[FileGroupId, Sequence[StagedBatch]],
    slices: Mapping[FileGroupId, FileSlice],
    new_file_id: Callable[[], str],
) -> WriteTask:
    runs = rank_range(inserts, rank, rank + bucket.insert_count) if bucket.insert_count else ()
    if bucket.kind is BucketKind.INSERT or bucket.file_id is None:
        file_id = new_file_id()
        if bucket.index_bucket is not None:
            file_id = with_bucket_number(file_id, bucket.index_bucket)
        return WriteTask(
            number=0,
            partition_path=bucket.partition_path,
            file_id=file_id,
            current=None,
            inserts=runs,
            expected_bytes=bucket.expected_size_bytes,
        )
    group = FileGroupId(bucket.partition_path, bucket.file_id)
    return WriteTask(
        number=0,
        partition_path=bucket.partition_path,
        file_id=bucket.file_id,
        current=slices[group],
        inserts=runs,
        changes=tuple(changes.get(group, ())),
        expected_bytes=bucket.expected_size_bytes,
    )
