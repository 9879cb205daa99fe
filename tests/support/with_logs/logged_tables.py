"""Merge-on-read tables without rows: base files of a few bytes, and log files with real blocks without records.

`seen` shows what readers see: for each file group, the base file and the instants of the log blocks in merge order.
"""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta, timezone
from uuid import uuid4

from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.hudi_format.log_blocks import (
    BlockType,
    HeaderKey,
    LogBlock,
    encode_block,
    encode_records,
)
from hudi_table_services.hudi_format.markers import MarkerKind
from hudi_table_services.hudi_format.partition_metadata import (
    PARTITION_METAFILE,
    encode_partition_metadata,
)
from hudi_table_services.hudi_format.table_service_plans import encode_compaction_plan
from hudi_table_services.model.data_file import LogFile
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.table_service_plans import CompactionOperation, CompactionPlan
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import NEW_FILE_GROUP, CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.storage.file_slices import Visibility
from hudi_table_services.storage.log_files.slice_log import read_slice_log
from hudi_table_services.storage.markers import MarkerStore
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.fixed_clock import FixedClock
from support.log_golden import PARTITION, log_table
from support.small_tables import SmallTable, base_file_name

A, B = FileGroupId("a", "f1"), FileGroupId("b", "f2")
_SCHEMA = '{"type":"record","name":"r","fields":[]}'


def data_block(instant_time: str) -> bytes:
    """A data block without records."""
    headers = {HeaderKey.INSTANT_TIME: instant_time, HeaderKey.SCHEMA: _SCHEMA}
    return encode_block(LogBlock(block_type=BlockType.AVRO_DATA, headers=headers, content=encode_records([])))


class LoggedTable(SmallTable):
    """A merge-on-read table, and the steps with which a writer and a compaction change it."""

    @property
    def properties(self) -> dict[str, str]:
        more = {"hoodie.table.type": "MERGE_ON_READ", "hoodie.record.merge.mode": "COMMIT_TIME_ORDERING"}
        return {**super().properties, **more}

    @property
    def has_own_log_instants(self) -> bool:
        return self.version.layout.has_completion_time_in_names

    def delta(
        self,
        *,
        bases: Collection[FileGroupId] = (),
        logs: Collection[FileGroupId] = (),
        pending: Instant | None = None,
    ) -> Instant:
        """Commit base files of some file groups, and log files of others."""
        pending = pending or self.begin(Action.DELTA_COMMIT)
        stats = self.write(pending, bases=bases, logs=logs)
        return self.finish(pending, stats)

    def finish(self, pending: Instant, stats: Mapping[str, tuple[WriteStat, ...]]) -> Instant:
        metadata = CommitMetadata(
            operation_type=WriteOperation.UPSERT,
            partition_to_write_stats=stats,
            extra_metadata={"schema": _SCHEMA},
        )
        return self.timeline_store.complete(pending, encode_commit_metadata(metadata, self.version))

    def write(
        self,
        pending: Instant,
        *,
        bases: Collection[FileGroupId] = (),
        logs: Collection[FileGroupId] = (),
        marks: bool = False,
    ) -> dict[str, tuple[WriteStat, ...]]:
        """Write the files of a delta commit, and return their write stats."""
        time = pending.requested_time
        known = {s.file_group_id: s for s in load_snapshot(self.storage).all_slices}
        stats: dict[str, tuple[WriteStat, ...]] = {}
        for group in (*bases, *logs):
            before = known[group].base_instant_time if group in known else NEW_FILE_GROUP
            data = b"PAR1" if group in bases else data_block(time)
            name = base_file_name(group.file_id, time) if group in bases else self.log_name(group, time)
            if marks:
                self.mark(time, join_path(group.partition_path, name), group in bases)
            own_time = time if group in logs and self.has_own_log_instants else before
            stat = WriteStat(
                file_id=group.file_id,
                partition_path=group.partition_path,
                path=self.add_file(group.partition_path, name, data),
                prev_commit=own_time,
                num_writes=1,
                file_size_bytes=len(data),
            )
            stats[group.partition_path] = (*stats.get(group.partition_path, ()), stat)
        return stats

    def mark(self, time: str, path: str, is_base: bool) -> None:
        kind = MarkerKind.CREATE if is_base or self.has_own_log_instants else MarkerKind.APPEND
        MarkerStore(self.storage, time).mark(path, kind)

    def log_name(self, group: FileGroupId, time: str) -> str:
        """Name of the next log file of a file group, as a writer of this table version names it."""
        if self.has_own_log_instants:
            return LogFile(file_id=group.file_id, instant_time=time, version=1, write_token="0-1-0").file_name
        snapshot = load_snapshot(self.storage)
        slices = {s.file_group_id: s for s in snapshot.all_slices}
        planned = snapshot.reserved_file_groups.get(group)
        base_time = planned or (slices[group].base_instant_time if group in slices else time)
        versions = [
            LogFile.from_file_name(f.name).version
            for f in self.storage.list_folder(group.partition_path).files
            if f.name.startswith(f".{group.file_id}_{base_time}.log.")
        ]
        version = max(versions, default=0) + 1
        return LogFile(
            file_id=group.file_id, instant_time=base_time, version=version, write_token="0-1-0"
        ).file_name

    def plan_compaction(self, *groups: FileGroupId) -> Instant:
        """Schedule a compaction of the latest slices of file groups."""
        slices = {s.file_group_id: s for s in load_snapshot(self.storage).all_slices}
        operations = tuple(
            CompactionOperation(
                base_instant_time=slices[group].base_instant_time,
                file_id=group.file_id,
                partition_path=group.partition_path,
                data_file_path=(slices[group].base_file_path or "").rpartition("/")[2] or None,
                delta_file_paths=tuple(log.file_name for log in slices[group].log_files),
                metrics={"TOTAL_LOG_FILES": float(len(slices[group].log_files))},
            )
            for group in groups
        )
        plan = CompactionPlan(operations=operations)
        return self.timeline_store.request(Action.COMPACTION, encode_compaction_plan(plan))

    def run_compaction(self, planned: Instant, *groups: FileGroupId) -> Instant:
        """Execute a scheduled compaction."""
        store = self.timeline_store
        before = {s.file_group_id: s.base_instant_time for s in load_snapshot(self.storage).all_slices}
        pending = store.start(planned) if planned.state is InstantState.REQUESTED else planned
        stats: dict[str, tuple[WriteStat, ...]] = {}
        for group in groups:
            path = self.add_file(group.partition_path, base_file_name(group.file_id, planned.requested_time))
            stat = WriteStat(
                file_id=group.file_id,
                partition_path=group.partition_path,
                path=path,
                prev_commit=before[group],
                num_writes=1,
                file_size_bytes=4,
            )
            stats[group.partition_path] = (*stats.get(group.partition_path, ()), stat)
        metadata = CommitMetadata(
            operation_type=WriteOperation.COMPACT, partition_to_write_stats=stats, compacted=True
        )
        return store.complete(pending, encode_commit_metadata(metadata, self.version))

    def compact(self, *groups: FileGroupId) -> Instant:
        return self.run_compaction(self.plan_compaction(*groups), *groups)

    def seen(self) -> dict[str, tuple[str, tuple[str, ...]]]:
        """Map each file group to its base file and to the instants of its valid log blocks, in merge order."""
        snapshot = load_snapshot(self.storage, metadata_enable=False)
        visibility = Visibility.of(snapshot.timeline, has_own_log_instants=self.has_own_log_instants)
        found = {}
        for each in snapshot.all_slices:
            blocks = read_slice_log(self.storage, each, visibility).blocks
            base = (each.base_file_path or "").rpartition("/")[2]
            found[str(each.file_group_id)] = (base, tuple(block.instant_time for block in blocks))
        return found

    def data_files(self) -> set[str]:
        """Paths of all base files and log files."""
        return {
            f.path
            for f in self.storage.list_files()
            if not f.path.startswith(".hoodie") and ".hoodie_partition_metadata" not in f.path
        }


def golden_logged_table(version: TableVersion, name: str) -> LoggedTable:
    """A table of real Hudi (`log_golden`), as a table that tests can change. Its clock is a day ahead."""
    golden = log_table(version, name)
    path = f"{PARTITION}/{PARTITION_METAFILE}"
    golden.storage.write(path, encode_partition_metadata("0", 1, datetime.now(timezone.utc)))
    clock = FixedClock(datetime.now(timezone.utc) + timedelta(days=1), step=timedelta(minutes=1))
    return LoggedTable.existing(golden.storage, version, clock)


def a_logged_table(
    version: TableVersion = TableVersion.V9, start: datetime | None = None, storage: Storage | None = None
) -> LoggedTable:
    """An empty table whose clock advances by a minute whenever a writer reads the time; see `undone_tables.a_table`."""
    clock = FixedClock(start or datetime.now(timezone.utc) - timedelta(hours=9), step=timedelta(minutes=1))
    return LoggedTable(storage or MemoryStorage(uuid4().hex), version, clock)
