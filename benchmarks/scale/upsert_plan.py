"""Plan an upsert as the write job does, from the load of the table to the write tasks, without Spark."""

from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.execution.file_groups import WriteTask, new_file_id
from hudi_table_services.execution.staging import StagedBatch
from hudi_table_services.execution.writing.record_index import RoutedBatch
from hudi_table_services.execution.writing.stage_input import StagedInput
from hudi_table_services.execution.writing.task_assignment import assign_tasks
from hudi_table_services.jobs.writing.batch_placement import PlacedBatch, plan_batch
from hudi_table_services.jobs.writing.log_settings import log_targets
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.options.writing import resolve_options
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from hudi_table_services.tables.table import TableAccess
from scale.shapes import BYTES_OF_A_ROW, GROUPS_OF_A_PARTITION, MB, TableShape, partition_path

_OPTIONS = {
    "hoodie.parquet.max.file.size": str(300 * MB),
    "hoodie.parquet.small.file.limit": str(250 * MB),
}


def plan_placed_upsert(table: TableAccess, shape: TableShape, rows: int, partitions: int) -> list[WriteTask]:
    """Plan an upsert of `rows` rows into `partitions` partitions, or into all partitions if there are fewer."""
    used = min(partitions, shape.partitions)
    paths = tuple(partition_path(number * shape.partitions // used) for number in range(used))
    options = resolve_options(
        UpsertRequest(
            base_path=table.storage.uri, record_key=("id",), partition_by=("day",), options=_OPTIONS
        )
    )
    snapshot = load_snapshot(table.storage, paths)
    batches = _batches(snapshot, paths, rows // used)
    placed = PlacedBatch(
        staged=StagedInput(batches=batches), routed=RoutedBatch(batches=batches), snapshot=snapshot
    )
    plan = plan_batch(table, placed, options)
    time = table.timeline_store.new_instant_time()
    targets = log_targets(snapshot, time) if shape.kind.has_logs else None
    return assign_tasks(plan, batches, snapshot, new_file_id, targets)


def _batches(snapshot: TableSnapshot, paths: tuple[str, ...], rows: int) -> tuple[StagedBatch, ...]:
    """Divide the rows of each partition: one half are new rows, the other half changes all file groups equally."""
    found = []
    for path in paths:
        changed = rows // 2 // GROUPS_OF_A_PARTITION
        groups = [each.file_group_id.file_id for each in snapshot.slices_of(path)]
        found += [_batch(path, changed, file_id) for file_id in groups]
        found.append(_batch(path, rows - changed * len(groups), None))
    return tuple(found)


def _batch(path: str, rows: int, file_id: str | None) -> StagedBatch:
    return StagedBatch(
        path=f".hoodie/.aux/staged/{path}",
        batch_index=0,
        first_row=0,
        row_count=rows,
        partition_path=path,
        file_id=file_id,
        size_bytes=rows * BYTES_OF_A_ROW,
    )
