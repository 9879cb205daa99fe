"""Merge-on-read tables with real rows, base files and log files, written step by step into any storage.

The steps write what Hudi writes: delta commits with base files or log files, and pending delta commits.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_table_services.execution.arrow_schema import arrow_schema
from hudi_table_services.execution.base_file_writer import BaseFileSpec, BaseFileWriter, BloomSettings
from hudi_table_services.execution.log_files.avro_encoder import encode_avro_block
from hudi_table_services.execution.log_files.parquet_data_block import encode_parquet_block
from hudi_table_services.execution.parquet_format import ParquetFormat
from hudi_table_services.hudi_format.avro_schema import to_avro_json
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.hudi_format.delete_block import DeleteRecord, encode_delete_block
from hudi_table_services.hudi_format.log_blocks import BlockType, HeaderKey, LogBlock, encode_block
from hudi_table_services.hudi_format.markers import MarkerKind
from hudi_table_services.hudi_format.ordering_values import UNCONDITIONAL, OrderingValue, Wrapper
from hudi_table_services.hudi_format.partition_metadata import encode_partition_metadata
from hudi_table_services.model.data_file import BaseFile, LogFile
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.schema import BOOLEAN, DOUBLE, LONG, STRING, Field, StructType
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.storage.locks.heartbeat import heartbeat_path
from hudi_table_services.storage.markers import MarkerStore
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import create_table
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.fixed_clock import FixedClock
from support.small_tables import table_properties

SCHEMA = StructType(
    (
        Field("id", STRING),
        Field("ts", LONG),
        Field("ts2", LONG),
        Field("v", DOUBLE),
        Field("s", STRING),
        Field("op", STRING),
        Field("_hoodie_is_deleted", BOOLEAN),
    )
)
Row = Mapping[str, Any]
NORTH, SOUTH = FileGroupId("north", "n1"), FileGroupId("south", "s1")


def new_storage() -> MemoryStorage:
    return MemoryStorage(uuid4().hex)


def a_row(key: str, ts: int, s: str = "", **values: Any) -> Row:
    """A row of `SCHEMA`."""
    return {"id": key, "ts": ts, "ts2": 0, "v": float(ts), "s": s or f"{key}-{ts}", **values}


@dataclass(frozen=True)
class Deleted:
    """A record of a delete block; without ordering values, it deletes unconditionally."""

    key: str
    ts: int | None = None
    ts2: int | None = None


@dataclass
class WrittenTable:
    """A merge-on-read table.

    Attributes:
        more_properties: properties of the table in addition to those of `SmallTable`.
        schema: columns of the user.
        complete: function that completes a delta commit; None creates only the completed file.
        has_ordering: whether the properties contain the usual ordering field, even if `more_properties` does not.
        is_new: whether to create the table.
    """

    storage: Storage
    version: TableVersion = TableVersion.V9
    clock: FixedClock = field(default_factory=FixedClock)
    more_properties: Mapping[str, str] = field(default_factory=dict)
    schema: StructType = SCHEMA
    complete: Callable[[Instant, CommitMetadata], Instant] | None = None
    has_ordering: bool = True
    is_new: bool = True

    def __post_init__(self) -> None:
        if self.is_new:
            create_table(self.storage, self.properties, self.clock)

    @property
    def properties(self) -> dict[str, str]:
        ordering = (
            {"hoodie.table.ordering.fields": "ts", "hoodie.record.merge.mode": "EVENT_TIME_ORDERING"}
            if self.version is TableVersion.V9
            else {"hoodie.table.precombine.field": "ts"}
        )
        if self.version is TableVersion.V8:
            ordering["hoodie.record.merge.mode"] = "EVENT_TIME_ORDERING"
        return {
            **table_properties(self.version),
            "hoodie.table.type": "MERGE_ON_READ",
            **(ordering if self.has_ordering else {}),
            **self.more_properties,
        }

    @property
    def config(self) -> TableConfig:
        return TableConfig(self.properties)

    @property
    def timeline_store(self) -> TimelineStore:
        return TimelineStore(self.storage, self.config, self.clock)

    @property
    def snapshot(self) -> TableSnapshot:
        return load_snapshot(self.storage)

    @property
    def has_own_times(self) -> bool:
        return self.version.layout.has_completion_time_in_names

    def insert(self, rows: Mapping[FileGroupId, Sequence[Row]]) -> Instant:
        """A delta commit with a base file for each of the new file groups."""
        pending = self.begin()
        stats = [self._base_file(group, found, pending.requested_time) for group, found in rows.items()]
        return self._complete(pending, WriteOperation.INSERT, stats)

    def log(
        self, records: Mapping[FileGroupId, Sequence[Row | Deleted]], *, as_parquet: bool = False
    ) -> Instant:
        """A delta commit with one log file for each of the file groups."""
        pending = self.begin(records)
        return self.finish(pending, records, as_parquet=as_parquet)

    def finish(
        self,
        pending: Instant,
        records: Mapping[FileGroupId, Sequence[Row | Deleted]],
        *,
        as_parquet: bool = False,
        named_by: str = "",
    ) -> Instant:
        """Write the log files of a delta commit that `begin` started, and complete it.

        Args:
            named_by: in table version 6, the instant in the names of the log files; empty for the instant of
                the slices.
        """
        stats = [
            self._log_file(group, found, pending.requested_time, as_parquet, named_by)
            for group, found in records.items()
        ]
        return self._complete(pending, WriteOperation.UPSERT, stats)

    def begin(self, groups: Mapping[FileGroupId, Any] | None = None) -> Instant:
        """Start a delta commit. Its workload profile names the groups."""
        store = self.timeline_store
        requested = store.request(Action.DELTA_COMMIT)
        return store.start(requested, self.profile_of(groups or {}))

    def profile_of(self, groups: Mapping[FileGroupId, Any]) -> bytes:
        """The workload profile of a delta commit that changes these groups."""
        stats = [
            WriteStat(file_id=g.file_id, partition_path=g.partition_path, path="", num_update_writes=1)
            for g in groups
        ]
        profile = self._metadata(WriteOperation.UPSERT, stats)
        return encode_commit_metadata(profile, self.version)

    def undo_newest(self) -> None:
        """Remove the newest delta commit and its log files."""
        store = self.timeline_store
        newest = store.load().completed_writes[-1]
        for stat in store.commit_metadata(newest).write_stats:
            self.storage.delete(stat.path)
        store.remove_completed(newest)
        store.remove(newest)

    def replace_groups(self, *groups: FileGroupId) -> Instant:
        """Replace file groups without new ones, as the deletion of a partition does."""
        store = self.timeline_store
        pending = store.start(store.request(Action.REPLACE_COMMIT))
        by_path: dict[str, tuple[str, ...]] = {}
        for group in groups:
            by_path[group.partition_path] = (*by_path.get(group.partition_path, ()), group.file_id)
        metadata = CommitMetadata(
            operation_type=WriteOperation.DELETE_PARTITION,
            partition_to_write_stats={},
            extra_metadata={"schema": self.schema_json},
            partition_to_replace_file_ids=by_path,
        )
        return store.complete(pending, encode_commit_metadata(metadata, self.version))

    @property
    def schema_json(self) -> str:
        return to_avro_json(self.schema, self.config.table_name, with_meta_fields=False)

    def _complete(self, pending: Instant, operation: WriteOperation, stats: Sequence[WriteStat]) -> Instant:
        metadata = self._metadata(operation, stats)
        if self.complete is not None:
            return self.complete(pending, metadata)
        return self.timeline_store.complete(pending, encode_commit_metadata(metadata, self.version))

    def _metadata(self, operation: WriteOperation, stats: Sequence[WriteStat]) -> CommitMetadata:
        by_path: dict[str, tuple[WriteStat, ...]] = {}
        for stat in stats:
            by_path[stat.partition_path] = (*by_path.get(stat.partition_path, ()), stat)
        return CommitMetadata(
            operation_type=operation,
            partition_to_write_stats=by_path,
            extra_metadata={"schema": self.schema_json},
        )

    def _records(self, group: FileGroupId, rows: Sequence[Row], instant_time: str) -> pa.Table:
        """Rows with all meta columns."""
        whole = arrow_schema(self.schema, with_meta_fields=True)
        filled = [
            {
                "_hoodie_commit_time": instant_time,
                "_hoodie_commit_seqno": f"{instant_time}_0_{number}",
                "_hoodie_record_key": row["id"],
                "_hoodie_partition_path": group.partition_path,
                "_hoodie_file_name": group.file_id,
                **row,
            }
            for number, row in enumerate(rows)
        ]
        return pa.Table.from_pylist(filled, schema=whole)

    def _base_file(self, group: FileGroupId, rows: Sequence[Row], instant_time: str) -> WriteStat:
        self._partition(group.partition_path)
        spec = BaseFileSpec(
            base_file=BaseFile(file_id=group.file_id, write_token="0-1-0", instant_time=instant_time),
            partition_path=group.partition_path,
            expected_rows=len(rows),
            data_schema=arrow_schema(self.schema, with_meta_fields=False),
            avro_schema_json=to_avro_json(self.schema, self.config.table_name, with_meta_fields=True),
            marker_kind=MarkerKind.CREATE,
        )
        with BaseFileWriter(self.storage, spec, ParquetFormat(), BloomSettings()) as writer:
            writer.write(self._records(group, rows, instant_time))
        MarkerStore(self.storage, instant_time).delete()
        return WriteStat(
            file_id=group.file_id,
            partition_path=group.partition_path,
            path=spec.path,
            num_writes=len(rows),
            num_inserts=len(rows),
            file_size_bytes=self.storage.size(spec.path),
        )

    def _log_file(
        self,
        group: FileGroupId,
        records: Sequence[Row | Deleted],
        instant_time: str,
        as_parquet: bool,
        named_by: str,
    ) -> WriteStat:
        self._partition(group.partition_path)
        log = self._next_log(group, instant_time, named_by)
        path = f"{group.partition_path}/{log.file_name}"
        rows = [record for record in records if not isinstance(record, Deleted)]
        deletes = [record for record in records if isinstance(record, Deleted)]
        content = b""
        schema = to_avro_json(self.schema, self.config.table_name, with_meta_fields=True)
        if rows:
            table = self._records(group, rows, instant_time)
            encoded = (
                encode_parquet_block(table, schema, ParquetFormat())
                if as_parquet
                else encode_avro_block(table, schema)
            )
            kind = BlockType.PARQUET_DATA if as_parquet else BlockType.AVRO_DATA
            content += _block(kind, instant_time, schema, encoded)
        for part in ([d for d in deletes if d.ts is None], [d for d in deletes if d.ts is not None]):
            if part:
                content += _block(BlockType.DELETE, instant_time, schema, _deletes(group, part))
        self.storage.write(path, content)
        return WriteStat(
            file_id=group.file_id,
            partition_path=group.partition_path,
            path=path,
            prev_commit=instant_time if self.has_own_times else log.instant_time,
            num_writes=len(rows),
            num_update_writes=len(rows),
            num_deletes=len(deletes),
            file_size_bytes=len(content),
            extra={
                "logVersion": log.version,
                "logOffset": 0,
                "baseFile": "",
                "logFiles": [log.file_name],
            },
        )

    def _next_log(self, group: FileGroupId, instant_time: str, named_by: str) -> LogFile:
        if self.has_own_times:
            return LogFile(file_id=group.file_id, instant_time=instant_time, version=1, write_token="1-1-1")
        current = {s.file_group_id: s for s in load_snapshot(self.storage, [group.partition_path]).all_slices}
        found = current.get(group)
        waiting = self.snapshot.compacting_file_groups.get(group, "")
        base_time = named_by or waiting or (found.base_instant_time if found else instant_time)
        logs = [log for log in found.log_files if log.instant_time == base_time] if found else []
        version = max((log.version for log in logs), default=0) + 1
        return LogFile(file_id=group.file_id, instant_time=base_time, version=version, write_token="1-1-1")

    def _partition(self, path: str) -> None:
        metafile = f"{path}/.hoodie_partition_metadata"
        if not self.storage.exists(metafile):
            self.storage.create(metafile, encode_partition_metadata("0", 1, self.clock.now()))

    def heartbeat(self, instant_time: str, owner: str) -> None:
        self.storage.write(heartbeat_path(instant_time), owner.encode())

    def base_rows(self) -> list[dict[str, Any]]:
        """Rows of the base files that readers see, by key: the result of a read-optimized query."""
        paths = [s.base_file_path for s in self.snapshot.all_slices if s.base_file_path]
        tables = [pq.ParquetFile(pa.BufferReader(self.storage.read(path))).read() for path in paths]
        rows = [row for table in tables for row in table.to_pylist()]
        return sorted(rows, key=lambda row: row["_hoodie_record_key"])


def _block(kind: BlockType, instant_time: str, schema: str, content: bytes) -> bytes:
    headers = {HeaderKey.INSTANT_TIME: instant_time, HeaderKey.SCHEMA: schema}
    return encode_block(LogBlock(block_type=kind, headers=headers, content=content))


def _deletes(group: FileGroupId, deletes: Sequence[Deleted]) -> bytes:
    return encode_delete_block(DeleteRecord(d.key, group.partition_path, _ordering(d)) for d in deletes)


def _ordering(deleted: Deleted) -> OrderingValue:
    if deleted.ts is None:
        return UNCONDITIONAL
    first = OrderingValue(Wrapper.LONG, deleted.ts)
    if deleted.ts2 is None:
        return first
    return OrderingValue(Wrapper.ARRAY, (first, OrderingValue(Wrapper.LONG, deleted.ts2)))


def values(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, int, str, str]]:
    """Key, ordering value, text and commit time of rows."""
    return [(r["_hoodie_record_key"], r["ts"], r["s"], r["_hoodie_commit_time"]) for r in rows]
