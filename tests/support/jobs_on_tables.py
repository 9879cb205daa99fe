"""The jobs that need no Spark, each with a table that gives the job work, and functions that read the table's state."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.contract.catalog.catalog_sync import SyncCatalogRequest
from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.clustering import CancelClusteringRequest, ScheduleClusteringRequest
from hudi_table_services.contract.compaction.compaction import (
    CancelCompactionRequest,
    ScheduleCompactionRequest,
)
from hudi_table_services.contract.config_check import CheckConfigRequest
from hudi_table_services.contract.health import HealthRequest
from hudi_table_services.contract.metadata_table import RebuildMetadataTableRequest
from hudi_table_services.contract.recovery import (
    CreateSavepointRequest,
    DeleteSavepointRequest,
    RepairOrphansRequest,
    RestoreRequest,
    RollbackRequest,
)
from hudi_table_services.hudi_format.markers import MarkerKind
from hudi_table_services.hudi_format.table_service_plans import decode_savepoint_metadata
from hudi_table_services.jobs.archival.archive import archive
from hudi_table_services.jobs.catalog import sync_catalog
from hudi_table_services.jobs.check_config import check_table_config
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.clustering.cancel import cancel_clustering
from hudi_table_services.jobs.clustering.schedule import schedule_clustering
from hudi_table_services.jobs.compaction.cancel import cancel_compaction
from hudi_table_services.jobs.compaction.schedule import schedule_compaction
from hudi_table_services.jobs.health.table_health import table_health
from hudi_table_services.jobs.metadata_table.rebuild import rebuild_metadata_table
from hudi_table_services.jobs.recovery.repair_orphans import repair_orphan_files
from hudi_table_services.jobs.recovery.restore import restore
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.jobs.recovery.savepoint import create_savepoint, delete_savepoint
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.locks.heartbeat import heartbeat_path
from hudi_table_services.storage.markers import MarkerStore
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.archived_tables import SMALL_LIMITS
from support.catalogs.memory_catalog import MemoryCatalog
from support.fixed_clock import FixedClock
from support.merge_on_read_jobs import add_log, as_merge_on_read
from support.small_tables import SmallTable, base_file_name
from support.undone_tables import clustered, planned, state, updated

A, B, C = FileGroupId("a", "f1"), FileGroupId("b", "f2"), FileGroupId("c", "f4")
SCHEMA = '{"type":"record","name":"r","fields":[{"name":"k","type":"string"}]}'
NO_LOCK_RETRIES = {"hoodie.write.lock.num_retries": "0", "hoodie.write.lock.client.num_retries": "0"}
RunJob = Callable[[Storage, Clock], object]


def later(days: int) -> FixedClock:
    return FixedClock(datetime.now(timezone.utc) + timedelta(days=days), timedelta(milliseconds=1))


def to_schedule(table: SmallTable) -> RunJob:
    for number in range(3):
        table.commit(FileGroupId("a", f"a{number}-0"), FileGroupId("b", f"b{number}-0"), schema=SCHEMA)
    request = ScheduleClusteringRequest(base_path="/t", request_id="same")
    return lambda storage, clock: schedule_clustering(request, storage=storage, clock=clock)


def to_cancel(table: SmallTable) -> RunJob:
    """A cancellation of a clustering whose execution died after it had written its first file."""
    table.commit(A, B)
    pending = table.timeline_store.start(planned(table))
    path = table.add_file("a", base_file_name("new", pending.requested_time))
    MarkerStore(table.storage, pending.requested_time).mark(path, MarkerKind.CREATE)
    request = CancelClusteringRequest(
        base_path="/t",
        instants=(pending.requested_time,),
        options={"hoodie.clustering.expiration.threshold.mins": "0"},
    )
    return lambda storage, clock: cancel_clustering(request, storage=storage, clock=clock)


def to_schedule_compaction(table: SmallTable) -> RunJob:
    base = table.commit(A, B)
    add_log(table, base, A)
    request = ScheduleCompactionRequest(base_path="/t", request_id="same", ignore_trigger=True)
    return lambda storage, clock: schedule_compaction(request, storage=as_merge_on_read(storage), clock=clock)


def to_cancel_compaction(table: SmallTable) -> RunJob:
    """A cancellation of a compaction whose execution died after it had written its first file."""
    to_schedule_compaction(table)(table.storage, table.clock)
    (requested,) = table.timeline_store.load().pending
    pending = table.timeline_store.start(requested)
    path = table.add_file("a", base_file_name("f1", pending.requested_time, token="9-9-9"))
    MarkerStore(table.storage, pending.requested_time).mark(path, MarkerKind.MERGE)
    request = CancelCompactionRequest(
        base_path="/t",
        instants=(pending.requested_time,),
        options={"hoodie.airflow.compaction.expiration.minutes": "0"},
    )
    return lambda storage, clock: cancel_compaction(request, storage=as_merge_on_read(storage), clock=clock)


def to_clean(table: SmallTable) -> RunJob:
    """A clean of a table with an emptied partition, a savepoint and a dead write, which the clean rolls back first."""
    saved = table.commit(A, B)
    for _ in range(2):
        updated(table, A, B)
    save = CreateSavepointRequest(base_path="/t", instant=saved.requested_time)
    create_savepoint(save, storage=table.storage, clock=table.clock)
    table.commit(FileGroupId("c", "f5"))
    table.commit(A, replaces={"c": ("f5",)})
    updated(table, A)
    add_dead_write(table)
    request = CleanRequest(base_path="/t", commits_retained=1)
    return lambda storage, clock: clean(request, storage=storage, clock=clock)


def add_dead_write(table: SmallTable) -> Instant:
    dead = table.begin()
    for folder in ("a", "new"):
        path = table.add_file(folder, base_file_name("dead", dead.requested_time))
        MarkerStore(table.storage, dead.requested_time).mark(path, MarkerKind.CREATE)
    table.storage.write(heartbeat_path(dead.requested_time), b"")
    return dead


def to_undo_a_dead_write(table: SmallTable) -> RunJob:
    table.commit(A, B)
    add_dead_write(table)
    request = RollbackRequest(base_path="/t", all_failed=True)
    return lambda storage, clock: rollback(request, storage=storage, clock=clock)


def to_undo_a_commit(table: SmallTable) -> RunJob:
    table.commit(A, B)
    newest = updated(table, A, B)
    request = RollbackRequest(base_path="/t", instants=(newest.requested_time,))
    return lambda storage, clock: rollback(request, storage=storage, clock=clock)


def to_undo_a_clustering(table: SmallTable) -> RunJob:
    table.commit(A, B)
    newest = clustered(table)
    request = RollbackRequest(base_path="/t", instants=(newest.requested_time,))
    return lambda storage, clock: rollback(request, storage=storage, clock=clock)


def to_restore(table: SmallTable) -> RunJob:
    saved = table.commit(A, B)
    save = CreateSavepointRequest(base_path="/t", instant=saved.requested_time)
    create_savepoint(save, storage=table.storage, clock=table.clock)
    updated(table, A, B)
    clustered(table)
    table.commit(C, replaces={"b": ("f2",)})
    planned(table)
    add_dead_write(table)
    request = RestoreRequest(base_path="/t", savepoint=saved.requested_time, request_id="same")
    return lambda storage, clock: restore(request, storage=storage, clock=clock)


def to_create_savepoint(table: SmallTable) -> RunJob:
    saved = table.commit(A, B)
    updated(table, A)
    request = CreateSavepointRequest(base_path="/t", instant=saved.requested_time)
    return lambda storage, clock: create_savepoint(request, storage=storage, clock=clock)


def to_delete_savepoint(table: SmallTable) -> RunJob:
    to_create_savepoint(table)(table.storage, table.clock)
    (saved,) = (i for i in table.timeline_store.load() if i.action is Action.SAVEPOINT)
    request = DeleteSavepointRequest(base_path="/t", instants=(saved.requested_time,))
    return lambda storage, clock: delete_savepoint(request, storage=storage, clock=clock)


def to_archive(table: SmallTable) -> RunJob:
    """An archival that appends to an existing archive."""
    request = ArchiveRequest(base_path="/t", options=SMALL_LIMITS, min_commits=2, max_commits=3)
    for _ in range(4):
        table.commit(FileGroupId("a", "f1"))
    archive(request, storage=table.storage, clock=table.clock)
    for _ in range(2):
        table.commit(FileGroupId("a", "f1"))
    return lambda storage, clock: archive(request, storage=storage, clock=clock)


def to_repair(table: SmallTable) -> RunJob:
    """A repair of a table with an orphan of each kind."""
    table.commit(A, B)
    newest = updated(table, A)
    dead = table.begin()
    table.timeline_store.remove(dead)
    table.add_file("a", base_file_name("f1", newest.requested_time, token="9-9-9"))
    table.add_file("c", base_file_name("x", dead.requested_time))
    table.storage.write(heartbeat_path(dead.requested_time), b"")
    request = RepairOrphansRequest(base_path="/t", execute=True)
    return lambda storage, clock: repair_orphan_files(request, storage=storage, clock=clock)


def to_drop_metadata_table(table: SmallTable) -> RunJob:
    """The removal of a metadata table that an earlier run of this job built."""
    table.commit(A, B)
    build = RebuildMetadataTableRequest(base_path="/t", partitions=("files",))
    rebuild_metadata_table(build, storage=table.storage, clock=table.clock)
    drop = RebuildMetadataTableRequest(base_path="/t", drop=("all",))
    return lambda storage, clock: rebuild_metadata_table(drop, storage=storage, clock=clock)


def to_report_health(table: SmallTable) -> RunJob:
    to_clean(table)
    planned(table)
    request = HealthRequest(base_path="/t")
    return lambda storage, clock: table_health(request, storage=storage, clock=clock)


def to_check_settings(table: SmallTable) -> RunJob:
    to_clean(table)
    planned(table)
    # With this option, the job also lists the partitions.
    options = {"hoodie.clean.partition.filter.regex": "a.*"}
    request = CheckConfigRequest(base_path="/t", options=options)
    return lambda storage, clock: check_table_config(request, storage=storage)


def to_sync_a_catalog(table: SmallTable) -> RunJob:
    to_clean(table)
    request = SyncCatalogRequest(base_path="/t")
    return lambda storage, clock: sync_catalog(request, storage=storage, catalog=MemoryCatalog())


def to_load_snapshot(table: SmallTable) -> RunJob:
    to_clean(table)
    return lambda storage, clock: load_snapshot(storage)


JOBS: dict[str, Callable[[SmallTable], RunJob]] = {
    "schedule clustering": to_schedule,
    "cancel clustering": to_cancel,
    "schedule compaction": to_schedule_compaction,
    "cancel compaction": to_cancel_compaction,
    "clean": to_clean,
    "rollback of a dead write": to_undo_a_dead_write,
    "rollback of a commit": to_undo_a_commit,
    "rollback of a clustering": to_undo_a_clustering,
    "restore": to_restore,
    "create savepoint": to_create_savepoint,
    "delete savepoint": to_delete_savepoint,
    "archive": to_archive,
    "repair orphans": to_repair,
    "drop metadata table": to_drop_metadata_table,
    "health": to_report_health,
    "check config": to_check_settings,
    "sync catalog": to_sync_a_catalog,
    "snapshot": to_load_snapshot,
}
READ_ONLY_JOBS = ("health", "check config", "sync catalog", "snapshot")


@dataclass(frozen=True)
class TableState:
    """State of a table, without the instant times of table services.

    Attributes:
        writes: completed writes, including archived ones.
        live: base files that readers see.
        pending: actions of the pending instants.
        kept: files that a savepoint keeps.
    """

    writes: frozenset[tuple[str, str]]
    live: frozenset[str]
    pending: tuple[str, ...]
    kept: frozenset[str]


def read_state(table: SmallTable) -> TableState:
    writes, live, present = state(table)
    assert live <= present, "visible files are missing"
    archived = [each.instant for each in ArchivedTimeline(table.storage, table.config).writes()]
    timeline = table.timeline_store.load()
    kept = frozenset(
        f"{path}/{name}"
        for i in timeline.completed
        if i.action is Action.SAVEPOINT
        for path, each in decode_savepoint_metadata(table.timeline_store.read(i)).partitions.items()
        for name in each.file_names
    )
    assert kept <= present, "files of a savepoint are missing"
    return TableState(
        frozenset(i.identity for i in (*writes, *archived)),  # type: ignore[misc]
        frozenset(live),
        tuple(sorted(i.action.value for i in timeline.pending)),
        kept,
    )


def files_outside_the_timeline(table: SmallTable) -> set[str]:
    """Data files, markers, heartbeats, the lock, and other files that a job may leave outside of the timeline."""
    places = (
        ".hoodie/.temp/",
        ".hoodie/.heartbeat/",
        ".hoodie/.aux/",
        ".hoodie/lock",
        "a/",
        "b/",
        "c/",
        "new/",
    )
    return {f.path for f in table.storage.list_files() if f.path.startswith(places)}


def files_after_clean_and_repair(table: SmallTable) -> set[str]:
    """Run a clean and a repair, and return the files that remain outside of the timeline."""
    clean(CleanRequest(base_path="/t", commits_retained=1), storage=table.storage, clock=later(6))
    request = RepairOrphansRequest(base_path="/t", execute=True)
    repair_orphan_files(request, storage=table.storage, clock=later(9))
    return files_outside_the_timeline(table)


def is_old_or_new_state(job: str, state_now: TableState, old: TableState, new: TableState) -> bool:
    """Whether readers see the old or the new state.

    A restore undoes one commit after another. Therefore, during a restore, readers may also see the states in between.
    """
    if job == "restore":
        return new.writes <= state_now.writes <= old.writes
    return (state_now.writes, state_now.live) in ((old.writes, old.live), (new.writes, new.live))
