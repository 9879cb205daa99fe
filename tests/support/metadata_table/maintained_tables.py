"""Small tables with rows and a metadata table, jobs that change them without Spark, and checks of both."""

import io
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from functools import cache
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_table_services.commits.attempt import CommitAttempt
from hudi_table_services.commits.pending_writes import clear_pending_writes
from hudi_table_services.commits.plan_attempt import ClusteringAttempt
from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.clustering import CancelClusteringRequest
from hudi_table_services.contract.recovery import CreateSavepointRequest, RestoreRequest, RollbackRequest
from hudi_table_services.hudi_format.markers import MarkerKind
from hudi_table_services.hudi_format.metadata_table.file_groups import COLUMN_STATS
from hudi_table_services.hudi_format.partition_metadata import PARTITION_METAFILE, encode_partition_metadata
from hudi_table_services.hudi_format.table_service_plans import encode_requested_replace
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.clustering.cancel import cancel_clustering
from hudi_table_services.jobs.recovery.restore import restore
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.jobs.recovery.savepoint import create_savepoint
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.metadata_table import ColumnStats
from hudi_table_services.model.table_service_plans import ClusteringGroup, ClusteringPlan, ClusteringSlice
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import (
    NEW_FILE_GROUP,
    REQUEST_ID_KEY,
    CommitMetadata,
    WriteOperation,
    WriteStat,
)
from hudi_table_services.options.metadata_settings import DEFAULT_METADATA_SETTINGS
from hudi_table_services.options.metadata_settings_values import MetadataTableSettings
from hudi_table_services.options.writing_values import FailedWritesPolicy
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.file_listing import list_partitions
from hudi_table_services.storage.file_slices import Visibility
from hudi_table_services.storage.locks.heartbeat import heartbeat_path
from hudi_table_services.storage.locks.lock import FileSystemLock
from hudi_table_services.storage.markers import MarkerStore
from hudi_table_services.storage.metadata_table.table_listing import ListingOutcome, list_from_metadata_table
from hudi_table_services.storage.request_identity import find_completed
from hudi_table_services.storage.snapshot_loader import load_snapshot
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.table import TableAccess
from support.faulty_storage import Crash, FaultyStorage
from support.fixed_clock import FixedClock
from support.metadata_table.built_tables import build, records_in
from support.metadata_table.without_metadata_table import NO_METADATA_TABLE
from support.small_tables import SmallTable, base_file_name

A, B, C = FileGroupId("a", "f1-0"), FileGroupId("b", "f2-0"), FileGroupId("c", "f3-0")
START = datetime.now(timezone.utc) - timedelta(days=1)
SECOND = timedelta(seconds=1)
SCHEMA = (
    '{"type":"record","name":"r","fields":[{"name":"k","type":"string"},{"name":"n","type":"long"},'
    '{"name":"city","type":"string"}]}'
)
RunJob = Callable[[Storage, Clock], object]


def ticking(days: float = 0) -> FixedClock:
    """A clock that starts some days after the first instant of the tables, and moves by a second at each call."""
    return FixedClock(START + timedelta(days=days), SECOND)


@cache
def rows(city: str, number: int) -> bytes:
    """A Parquet file with two rows."""
    keys = [f"{city}-{number}-{each}" for each in range(2)]
    columns = {
        "_hoodie_commit_time": ["0", "0"],
        "_hoodie_record_key": keys,
        "_hoodie_partition_path": [city, city],
        "k": keys,
        "n": pa.array([number, number + 1], pa.int64()),
        "city": [city, city],
    }
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
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
    """A request to write new versions of file groups, which a second run does not repeat.

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
        table, lock = access(storage, clock, self.metadata), FileSystemLock(storage, clock=clock)
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
                write_file(storage, attempt.instant_time, stat.path, self.number)
            instant = attempt.complete(content)
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


def write_file(storage: Storage, time: str, path: str, number: int) -> None:
    """Write marker and file as a task does."""
    MarkerStore(storage, time).mark(path, MarkerKind.CREATE)
    storage.write(path, rows(path.partition("/")[0], number))


@cache
def maintained(version: TableVersion) -> Storage:
    """A table with two writes in partitions a and b, and a metadata table with statistics. Copy it before a change."""
    table = SmallTable(MemoryStorage(uuid4().hex), version, ticking())
    for path in "abc":
        metafile = encode_partition_metadata("0", 1, table.clock.now())
        table.storage.write(f"{path}/{PARTITION_METAFILE}", metafile)
    Write((A, B), "w1", 1, metadata=NO_METADATA_TABLE)(table.storage, table.clock)
    build(table.storage, *indexes(version), clock=table.clock)
    Write((A, B), "w2", 2)(table.storage, table.clock)
    return table.storage


def indexes(version: TableVersion) -> tuple[str, ...]:
    return (
        ("files", COLUMN_STATS) if version < TableVersion.V8 else ("files", COLUMN_STATS, "partition_stats")
    )


def to_write(storage: Storage, clock: Clock) -> RunJob:
    return Write((A, C), "w3", 3)


def to_write_and_compact(storage: Storage, clock: Clock) -> RunJob:
    return Write((A, C), "w3", 3, metadata=compacting())


def to_replace(storage: Storage, clock: Clock) -> RunJob:
    return Write((A,), "w3", 3, replaces={"b": (B.file_id,)})


def to_clean(storage: Storage, clock: Clock) -> RunJob:
    """A clean of two versions, and of a partition that becomes empty, after a dead write."""
    Write((A,), "w3", 3, replaces={"b": (B.file_id,)})(storage, clock)
    Write((A,), "w4", 4)(storage, clock)
    add_dead_write(storage, clock)
    request = CleanRequest(base_path="/t", commits_retained=1, request_id="clean")
    return lambda storage, clock: clean(request, storage=storage, clock=clock)


def add_dead_write(storage: Storage, clock: Clock) -> Instant:
    table = access(storage, clock)
    dead = table.timeline_store.start(table.timeline_store.request(Action.COMMIT))
    write_file(storage, dead.requested_time, f"a/{base_file_name('dead-0', dead.requested_time)}", 9)
    storage.write(heartbeat_path(dead.requested_time), b"")
    return dead


def half_completed(storage: Storage, moment: datetime, run: RunJob) -> Instant:
    """Run a write that dies when the metadata table has its delta commit, and the table no completed file.

    Returns:
        The pending write.
    """
    trial = FaultyStorage(copied(storage))
    run(trial, FixedClock(moment, SECOND))
    table = access(trial, ticking())
    done = table.load_timeline().completed_writes[-1]
    number = trial.log.index(f"create {table.timeline_store.path_of(done)}") + 1
    with suppress(Crash):
        run(FaultyStorage(storage, number), FixedClock(moment, SECOND))
    storage.delete(".hoodie/lock")
    (pending,) = (i for i in access(storage, ticking()).load_timeline().pending)
    assert pending.requested_time == done.requested_time
    return pending


def to_undo_a_dead_write(storage: Storage, clock: Clock) -> RunJob:
    half_completed(storage, clock.now(), Write((A, C), "dead", 8))
    request = RollbackRequest(base_path="/t", all_failed=True)
    return lambda storage, clock: rollback(request, storage=storage, clock=clock)


def to_undo_a_commit(storage: Storage, clock: Clock) -> RunJob:
    newest = Write((A, C), "w3", 3)(storage, clock)
    request = RollbackRequest(base_path="/t", instants=(newest.requested_time,))
    return lambda storage, clock: rollback(request, storage=storage, clock=clock)


def to_restore(storage: Storage, clock: Clock) -> RunJob:
    """A restore that undoes an update, a clustering, a replacing write and a dead write."""
    saved = access(storage, clock).load_timeline().completed_writes[-1].requested_time
    save = CreateSavepointRequest(base_path="/t", instant=saved)
    create_savepoint(save, storage=storage, clock=clock)
    Write((A,), "w3", 3)(storage, clock)
    to_cluster(storage, clock)(storage, clock)
    Write((C,), "w4", 4, replaces={"b": (B.file_id,)})(storage, clock)
    add_dead_write(storage, clock)
    request = RestoreRequest(base_path="/t", savepoint=saved, request_id="restore")
    return lambda storage, clock: restore(request, storage=storage, clock=clock)


def planned(storage: Storage, clock: Clock) -> Instant:
    """Request a plan that clusters file group A."""
    table = access(storage, clock)
    (found,) = (s for s in load_snapshot(storage).all_slices if s.file_group_id == A)
    piece = ClusteringSlice(file_id=A.file_id, partition_path="a", data_file_path=found.base_file_path)
    content = encode_requested_replace(ClusteringPlan(groups=(ClusteringGroup(slices=(piece,)),)))
    is_new = table.config.table_version.layout.has_completion_time_in_names
    return table.timeline_store.request(Action.CLUSTERING if is_new else Action.REPLACE_COMMIT, content)


def to_cluster(storage: Storage, clock: Clock) -> RunJob:
    """The execution of a plan that replaces the file of group A."""
    plan = planned(storage, clock)

    def run(storage: Storage, clock: Clock) -> object:
        table = access(storage, clock)
        if any(i.is_completed for i in table.load_timeline().find(plan.requested_time)):
            return None
        pending = next(i for i in table.load_timeline().pending if i.requested_time == plan.requested_time)
        lock = FileSystemLock(storage, clock=clock)
        with ClusteringAttempt(table, pending, lock, request_id="cluster") as attempt:
            snapshot = load_snapshot(storage, metadata_enable=False)
            path = f"a/{base_file_name('new-0', plan.requested_time)}"
            write_file(storage, plan.requested_time, path, 7)
            stat = WriteStat(
                file_id="new-0", partition_path="a", path=path, file_size_bytes=len(rows("a", 7))
            )
            content = CommitMetadata(
                operation_type=WriteOperation.CLUSTER,
                partition_to_write_stats={"a": (stat,)},
                extra_metadata={"schema": SCHEMA},
                partition_to_replace_file_ids={"a": (A.file_id,)},
            )
            return attempt.complete(snapshot, lambda _: content)

    return run


def to_cancel(storage: Storage, clock: Clock) -> RunJob:
    """The cancellation of an execution that died after the metadata table had its delta commit."""
    run = to_cluster(storage, clock)
    dead = half_completed(storage, clock.now(), run)
    request = CancelClusteringRequest(
        base_path="/t",
        instants=(dead.requested_time,),
        options={"hoodie.clustering.expiration.threshold.mins": "0"},
    )
    return lambda storage, clock: cancel_clustering(request, storage=storage, clock=clock)


JOBS: dict[str, Callable[[Storage, Clock], RunJob]] = {
    "write": to_write,
    "write that compacts": to_write_and_compact,
    "replacing write": to_replace,
    "clean": to_clean,
    "rollback of a dead write": to_undo_a_dead_write,
    "rollback of a commit": to_undo_a_commit,
    "restore": to_restore,
    "clustering": to_cluster,
    "cancel clustering": to_cancel,
}

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
    live = {
        (s.base_file_path or "").rpartition("/")[2]
        for s in load_snapshot(storage, metadata_enable=False).all_slices
    }
    found = {}
    for key, record in records_in(storage, COLUMN_STATS).items():
        payload = record.payload
        if isinstance(payload, ColumnStats) and payload.file_name in live:
            found[key] = payload
    return found


def rebuilt_statistics(storage: Storage) -> dict[str, ColumnStats]:
    copy = copied(storage)
    for pending in access(copy, ticking()).load_timeline().pending:
        access(copy, ticking()).timeline_store.remove(pending)
    build(copy, *indexes(read_table_config(copy).table_version), clock=ticking(9))
    return statistics(copy)


def compacting(*, every: int = 1) -> MetadataTableSettings:
    """Options with which the metadata table is compacted after this number of delta commits."""
    services = replace(DEFAULT_METADATA_SETTINGS.services, max_delta_commits=every)
    return replace(DEFAULT_METADATA_SETTINGS, services=services)
