"""Build the write buckets of a partition: one per existing file group that gets rows, and one per new file."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from hudi_table_services.errors import FileGroupConflictError, InvalidRequestError
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.file_sizing import (
    BucketKind,
    PartitionWorkload,
    RecordSizeEstimate,
    UpdateWorkload,
    Workload,
    WriteBucket,
)
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.planning.file_sizing.file_cost import FileCost


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRoom:
    """Sizes, updates and row estimates of one partition, before the plan assigns inserts to file groups.

    Attributes:
        sizes: maps each file id to the bytes of the latest slice.
        updates: maps each file id to the updates of the file group; file groups without updates are missing.
        record_size: estimate for the rows of the partition.
        incoming_record_size: bytes of one row of the batch; the estimate for the partition if the batch was not
            measured.
        counts_growth: whether the plan accounts for growth by updates; Hudi's plan does not.
    """

    partition_path: str
    sizes: Mapping[str, int]
    updates: Mapping[str, UpdateWorkload]
    cost: FileCost
    record_size: RecordSizeEstimate
    incoming_record_size: float
    counts_growth: bool = True

    def growth_bytes(self, file_id: str) -> int:
        """Return the expected growth of the file by the batch's own updates, in bytes; never below 0.

        An update replaces a row of the usual size by a row of the batch. A row that moves to this file from another
        partition counts as an additional row. A delete counts as 0 bytes, because the freed bytes are known only after
        the file has been written.
        """
        update = self.updates.get(file_id)
        if update is None or not self.counts_growth:
            return 0
        changed = max(update.update_count - update.delete_count - update.inserted_by_move, 0)
        per_change = max(self.incoming_record_size - self.record_size.bytes_per_record, 0.0)
        return math.ceil(changed * per_change) + self._added_bytes(file_id, update.inserted_by_move)

    def record_count(self, file_id: str) -> int:
        """Return the estimated number of rows in the file before the batch."""
        return self.cost.records_in(self.sizes[file_id])

    def update_buckets(self, padding: Mapping[str, int]) -> tuple[WriteBucket, ...]:
        """Return one bucket per file group that gets updates or inserts, in the order of file ids."""
        return tuple(
            self._update_bucket(file_id, padding.get(file_id, 0))
            for file_id in sorted(self.updates.keys() | padding.keys())
        )

    def insert_bucket(self, records: int, index_bucket: int | None = None) -> WriteBucket:
        """Return the bucket of a new file group with this number of rows.

        Args:
            index_bucket: see `WriteBucket`.
        """
        return WriteBucket(
            kind=BucketKind.INSERT,
            partition_path=self.partition_path,
            file_id=None,
            update_count=0,
            insert_count=records,
            current_size_bytes=0,
            expected_size_bytes=self.cost.file_bytes(records),
            index_bucket=index_bucket,
        )

    def _update_bucket(self, file_id: str, inserts: int) -> WriteBucket:
        update = self.updates.get(file_id)
        current = self.sizes[file_id]
        return WriteBucket(
            kind=BucketKind.UPDATE,
            partition_path=self.partition_path,
            file_id=file_id,
            update_count=update.update_count if update else 0,
            insert_count=inserts,
            current_size_bytes=current,
            expected_size_bytes=current + self.growth_bytes(file_id) + self._added_bytes(file_id, inserts),
        )

    def _added_bytes(self, file_id: str, records: int) -> int:
        # Most file groups get no rows. Skip the estimate for these file groups: it is the most expensive step.
        return self.cost.added_bytes(records, existing_records=self.record_count(file_id)) if records else 0


def sizes_of(snapshot: TableSnapshot, partition_path: str) -> Mapping[str, int]:
    """Map each file id to the bytes of the latest slice; 0 if the size is unknown."""
    return {s.file_group_id.file_id: max(s.size_bytes, 0) for s in snapshot.slices_of(partition_path)}


def updates_of(partition: PartitionWorkload) -> Mapping[str, UpdateWorkload]:
    """Map each file id to the updates of the file group; entries without rows are left out."""
    return {u.file_id: u for u in partition.updates if u.update_count > 0}


def check_workload(snapshot: TableSnapshot, workload: Workload) -> None:
    """Refuse a workload if no plan is possible for the workload.

    Raises:
        InvalidRequestError: a count is below 0, or a partition or file group is named twice.
        FileGroupConflictError: the workload updates a file group that is in a pending clustering or no longer exists.
    """
    paths = [p.partition_path for p in workload.partitions]
    if len(set(paths)) < len(paths):
        raise InvalidRequestError(
            "The workload names a partition twice; add up the counts of each partition first."
        )
    reserved = snapshot.clustering_file_groups
    for partition in workload.partitions:
        _check_counts(partition)
        known = {s.file_group_id for s in snapshot.slices_of(partition.partition_path)}
        for file_id in sorted(updates_of(partition)):
            check_updatable(reserved, known, FileGroupId(partition.partition_path, file_id))


def _check_counts(partition: PartitionWorkload) -> None:
    place = partition.partition_path or "the table"
    ids = [u.file_id for u in partition.updates]
    if len(set(ids)) < len(ids):
        raise InvalidRequestError(
            f"The workload of {place} names a file group twice; add up the counts of each file group first."
        )
    counts = [partition.insert_count]
    for update in partition.updates:
        counts += [update.update_count, update.inserted_by_move, update.delete_count]
    if min(counts) < 0:
        raise InvalidRequestError(f"The workload of {place} has a row count below 0.")


def check_updatable(
    reserved: Mapping[FileGroupId, str], known: Collection[FileGroupId], group: FileGroupId
) -> None:
    """Refuse to change a file group that is not in `known`, or that is in a pending clustering.

    Raises:
        FileGroupConflictError: the message names the file group and the plan.
    """
    if group not in known:
        raise FileGroupConflictError(
            f"The batch updates file group {group}, which the table no longer has.",
            hint="Run the request again, so that the job loads the table and finds the file groups of the keys again.",
        )
    plan = reserved.get(group)
    if plan is not None:
        raise FileGroupConflictError(
            f"The batch updates file group {group}, which is in the pending plan {plan}.",
            hint="Execute or cancel that plan, then run the request again.",
        )
