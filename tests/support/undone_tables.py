"""Tables without rows for tests that undo writes, and the state of these tables."""

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from uuid import uuid4

from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.hudi_format.table_service_plans import encode_requested_replace
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_service_plans import ClusteringGroup, ClusteringPlan, ClusteringSlice
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import NEW_FILE_GROUP, CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable, base_file_name


def a_table(
    version: TableVersion = TableVersion.V9, start: datetime | None = None, storage: Storage | None = None
) -> SmallTable:
    """An empty table. The clock of its writers advances by a minute whenever a writer reads the time.

    Args:
        start: time of the clock at the beginning; tables with the same start get the same instant times. None means
            two hours ago.
        storage: an empty storage; None means a new storage in memory.
    """
    clock = FixedClock(start or datetime.now(timezone.utc) - timedelta(hours=2), step=timedelta(minutes=1))
    return SmallTable(storage or MemoryStorage(uuid4().hex), version, clock)


def updated(table: SmallTable, *groups: FileGroupId, rows: int = 3) -> Instant:
    """Commit an update that writes a new version of each given file group."""
    before = {s.file_group_id: s.base_instant_time for s in load_snapshot(table.storage).all_slices}
    return finished(table, table.begin(), *groups, rows=rows, before=before)


def finished(
    table: SmallTable,
    pending: Instant,
    *groups: FileGroupId,
    rows: int = 3,
    before: Mapping[FileGroupId, str] | None = None,
) -> Instant:
    """Write a base file for each given file group, and complete the pending commit.

    Args:
        before: instant times of the previous versions of the file groups; all other file groups are new.
    """
    time = pending.requested_time
    stats = {
        group.partition_path: (
            WriteStat(
                file_id=group.file_id,
                partition_path=group.partition_path,
                path=table.add_file(group.partition_path, base_file_name(group.file_id, time)),
                prev_commit=(before or {}).get(group, NEW_FILE_GROUP),
                num_update_writes=rows,
                file_size_bytes=4,
            ),
        )
        for group in groups
    }
    metadata = CommitMetadata(operation_type=WriteOperation.UPSERT, partition_to_write_stats=stats)
    return table.timeline_store.complete(pending, encode_commit_metadata(metadata, table.version))


def planned(table: SmallTable, path: str | None = None) -> Instant:
    """Request a clustering plan for file group f1 of partition a. In the plan, `path` is the path of the base file."""
    is_new = table.version.layout.has_completion_time_in_names
    piece = ClusteringSlice(file_id="f1", partition_path="a", data_file_path=path)
    plan = encode_requested_replace(ClusteringPlan(groups=(ClusteringGroup(slices=(piece,)),)))
    return table.timeline_store.request(Action.CLUSTERING if is_new else Action.REPLACE_COMMIT, plan)


def clustered(table: SmallTable) -> Instant:
    """Complete a clustering that replaces file group f1 of partition a by f3."""
    pending = table.timeline_store.start(planned(table))
    path = table.add_file("a", base_file_name("f3", pending.requested_time))
    metadata = CommitMetadata(
        operation_type=WriteOperation.CLUSTER,
        partition_to_write_stats={"a": (WriteStat(file_id="f3", partition_path="a", path=path),)},
        partition_to_replace_file_ids={"a": ("f1",)},
    )
    return table.timeline_store.complete(pending, encode_commit_metadata(metadata, table.version))


def state(table: SmallTable) -> tuple[tuple[Instant, ...], set[str], set[str]]:
    """Completed writes, base files that readers see, and all base files of the table."""
    snapshot = load_snapshot(table.storage)
    files = {f.path for f in table.storage.list_files() if f.name.endswith(".parquet")}
    return (
        snapshot.timeline.completed_writes,
        {s.base_file_path or "" for s in snapshot.all_slices},
        files,
    )
