"""Small tables with rows and a metadata table, jobs that change them without Spark, and checks of both."""

import io
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from functools import cache
from uuid import UUID, uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_table_services.commits.attempt import CommitAttempt
from hudi_table_services.commits.measured_lock import measured_lock
from hudi_table_services.commits.pending_writes import clear_pending_writes
from hudi_table_services.commits.stopwatch import Stopwatch
from hudi_table_services.execution.base_file_writer import utf8_buffers
from hudi_table_services.hudi_format.bloom_filter import SimpleBloomFilter
from hudi_table_services.hudi_format.footer import base_file_footer
from hudi_table_services.hudi_format.markers import MarkerKind
from hudi_table_services.hudi_format.metadata_table.file_groups import COLUMN_STATS
from hudi_table_services.hudi_format.partition_metadata import PARTITION_METAFILE, encode_partition_metadata
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.metadata_table import ColumnStats
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import (
    NEW_FILE_GROUP,
    REQUEST_ID_KEY,
    CommitMetadata,
    WriteOperation,
    WriteStat,
)
from hudi_table_services.options.locks import LockOptions
from hudi_table_services.options.metadata_settings import DEFAULT_METADATA_SETTINGS
from hudi_table_services.options.metadata_settings_values import MetadataTableSettings
from hudi_table_services.options.writing_values import FailedWritesPolicy
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.file_listing import list_partitions
from hudi_table_services.storage.file_slices import Visibility
from hudi_table_services.storage.markers import MarkerStore
from hudi_table_services.storage.metadata_table.table_listing import ListingOutcome, list_from_metadata_table
from hudi_table_services.storage.request_identity import find_completed
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from hudi_table_services.tables.table import TableAccess
from support.fixed_clock import FixedClock
from support.metadata_table.built_tables import build, records_in
from support.metadata_table.staged_facts import collected_facts
from support.metadata_table.without_metadata_table import NO_METADATA_TABLE
from support.small_tables import SmallTable, base_file_name

A, B, C = (FileGroupId(path, f"{UUID(int=number)}-0") for number, path in enumerate("abc", start=1))
CLUSTERED = f"{UUID(int=9)}-0"
"""Id of the file group that a clustering writes. A record index stores only ids that are UUIDs."""
START = datetime.now(timezone.utc) - timedelta(days=1)
SECOND = timedelta(seconds=1)
SCHEMA = (
    '{"type":"record","name":"r","fields":[{"name":"k","type":"string"},{"name":"n","type":"long"},'
    '{"name":"city","type":"string"}]}'
)


def ticking(days: float = 0) -> FixedClock:
    """A clock that starts some days after the first instant of the tables, and moves by a second at each call."""
    return FixedClock(START + timedelta(days=days), SECOND)


@cache
def rows(city: str, number: int) -> bytes:
    """A Parquet file with two rows and all meta columns, so that hudi-rs can read it."""
    keys = [f"{city}-{number}-{each}" for each in range(2)]
    columns = {
        "_hoodie_commit_time": ["0", "0"],
        "_hoodie_commit_seqno": ["0_0_0", "0_0_1"],
        "_hoodie_record_key": keys,
        "_hoodie_partition_path": [city, city],
        "_hoodie_file_name": ["", ""],
        "k": keys,
        "n": pa.array([number, number + 1], pa.int64()),
        "city": [city, city],
    }
    bloom = SimpleBloomFilter.sized_for(2, 0.01, 10)
    bloom.add_keys(*utf8_buffers(pa.array(keys)))
    footer = base_file_footer(SCHEMA, bloom, keys[0], keys[-1])
    out = io.BytesIO()
    pq.write_table(pa.table(columns).replace_schema_metadata(footer), out)
    return out.getvalue()


def copied(storage: Storage) -> MemoryStorage:
    copy = MemoryStorage(uuid4().hex)
    for stored in storage.list_files():
        copy.write(stored.path, storage.read(stored.path))
    return copy


def access(
    storage: Storage, clock: Clock, metadata: MetadataTableSettings = DEFAULT_METADATA_SETTINGS
) -> TableAccess:
    return TableAccess(storage=storage, clock=clock, config=read_table_config(storage), metadata=metadata)


@dataclass(frozen=True)
class Write:
    """A write of new versions of file groups. A second run with the same request id writes nothing.

    Attributes:
        replaces: partition path → ids of file groups that the write replaces.
        policy: which pending writes the job rolls back first.
        warnings: the warnings of all runs.
    """

    groups: tuple[FileGroupId, ...]
    request_id: str
    number: int = 1
    replaces: Mapping[str, tuple[str, ...]] | None = None
    metadata: MetadataTableSettings = DEFAULT_METADATA_SETTINGS
    policy: FailedWritesPolicy = FailedWritesPolicy.EAGER
    warnings: list[str] = field(default_factory=list, compare=False)

    def __call__(self, storage: Storage, clock: Clock) -> Instant:
        table = access(storage, clock, self.metadata)
        lock = measured_lock(storage, LockOptions(), clock, Stopwatch(), "")
        clear_pending_writes(table, lock, self.request_id, self.policy)
        done = find_completed(table.timeline_store, table.load_timeline(), self.request_id)
        if done is not None:
            return done[0]
        snapshot = load_snapshot(storage, metadata_enable=False)
        action = Action.COMMIT if self.replaces is None else Action.REPLACE_COMMIT
        with CommitAttempt(table, snapshot, action, lock, self.request_id) as attempt:
            before = {s.file_group_id: s.base_instant_time for s in snapshot.all_slices}
            stats = {g.partition_path: (self._stat(g, attempt.instant_time, before),) for g in self.groups}
            content = CommitMetadata(
                operation_type=WriteOperation.UPSERT,
                partition_to_write_stats=stats,
                extra_metadata={"schema": SCHEMA, REQUEST_ID_KEY: self.request_id},
                partition_to_replace_file_ids=self.replaces,
            )
            attempt.start(content)
            for stat in content.write_stats:
                write_file(storage, attempt.instant_time, stat.path, rows(stat.partition_path, self.number))
            with collected_facts(table, snapshot, content) as facts:
                instant = attempt.complete(content, facts=facts)
            self.warnings.extend(attempt.warnings)
            return instant

    def _stat(self, group: FileGroupId, time: str, before: Mapping[FileGroupId, str]) -> WriteStat:
        data = rows(group.partition_path, self.number)
        return WriteStat(
            file_id=group.file_id,
            partition_path=group.partition_path,
            path=f"{group.partition_path}/{base_file_name(group.file_id, time)}",
            prev_commit=before.get(group, NEW_FILE_GROUP),
            num_update_writes=2,
            file_size_bytes=len(data),
        )


def write_file(storage: Storage, time: str, path: str, data: bytes) -> None:
    """Write marker and file as a task does."""
    MarkerStore(storage, time).mark(path, MarkerKind.CREATE)
    storage.write(path, data)


@cache
def maintained(version: TableVersion) -> Storage:
    """A table with two writes in partitions a and b, and a metadata table with statistics. Copy it before a change."""
    table = empty_table(version)
    Write((A, B), "w1", 1, metadata=NO_METADATA_TABLE)(table.storage, table.clock)
    build(table.storage, *indexes(version), clock=table.clock)
    Write((A, B), "w2", 2)(table.storage, table.clock)
    return table.storage


def empty_table(version: TableVersion) -> SmallTable:
    """A table without writes, and the partition metafiles of its partitions."""
    table = SmallTable(MemoryStorage(uuid4().hex), version, ticking())
    for path in "abc":
        metafile = encode_partition_metadata("0", 1, table.clock.now())
        table.storage.write(f"{path}/{PARTITION_METAFILE}", metafile)
    return table


def indexes(version: TableVersion) -> tuple[str, ...]:
    return (
        ("files", COLUMN_STATS) if version < TableVersion.V8 else ("files", COLUMN_STATS, "partition_stats")
    )


Files = Mapping[str, frozenset[str]]


def visible_files(storage: Storage) -> Files:
    """Partition path → data files of completed instants, from the folders."""
    table = access(storage, ticking())
    layout = table.config.table_version.layout
    visibility = Visibility.of(
        table.load_timeline(), has_own_log_instants=layout.has_completion_time_in_names
    )
    return {
        path: frozenset(
            f.name for f in files if f.name.endswith(".parquet") and visibility.sees(_time(f.name))
        )
        for path, files in list_partitions(storage).items()
    }


def _time(name: str) -> str:
    return name.removesuffix(".parquet").rpartition("_")[2]


def listing(storage: Storage) -> ListingOutcome:
    table = access(storage, ticking())
    return list_from_metadata_table(storage, table.config, table.load_timeline(), table.clock)


def listed_files(outcome: ListingOutcome) -> Files:
    return {p: frozenset(f.name for f in each) for p, each in outcome.files.items()}  # type: ignore[union-attr]


def files_in(files: Files) -> frozenset[str]:
    return frozenset(f"{path}/{name}" for path, names in files.items() for name in names)


def live_files(storage: Storage) -> frozenset[str]:
    """Base files that readers of the newest state see."""
    return frozenset(s.base_file_path or "" for s in load_snapshot(storage, metadata_enable=False).all_slices)


def statistics(storage: Storage) -> dict[str, ColumnStats]:
    """Column statistics of the live files, by key."""
    live = {path.rpartition("/")[2] for path in live_files(storage)}
    return {
        key: record.payload
        for key, record in records_in(storage, COLUMN_STATS).items()
        if isinstance(record.payload, ColumnStats) and record.payload.file_name in live
    }


def rebuilt_statistics(storage: Storage) -> dict[str, ColumnStats]:
    copy = copied(storage)
    for pending in access(copy, ticking()).load_timeline().pending:
        access(copy, ticking()).timeline_store.remove(pending)
    build(copy, *indexes(read_table_config(copy).table_version)[1:], clock=ticking(9))
    return statistics(copy)


def compacting(*, every: int = 1) -> MetadataTableSettings:
    """Options with which the metadata table is compacted after this number of delta commits."""
    services = replace(DEFAULT_METADATA_SETTINGS.services, max_delta_commits=every)
    return replace(DEFAULT_METADATA_SETTINGS, services=services)
