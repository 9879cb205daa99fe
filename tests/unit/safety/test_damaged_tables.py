"""Damaged files below ``.hoodie``: each job succeeds, or ends with an error that names the damaged file.

No job deletes a data file that readers see. ``TEST_DEPTH=all`` damages every file (two minutes); by default each test
damages every 24th file (``FAIL_EVERY``).
"""

import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from functools import cache
from pathlib import PurePosixPath
from uuid import uuid4

import pytest

from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.contract.catalog.catalog_sync import SyncCatalogRequest
from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.clustering import ScheduleClusteringRequest
from hudi_table_services.contract.compaction.compaction import ScheduleCompactionRequest
from hudi_table_services.contract.config_check import CheckConfigRequest
from hudi_table_services.contract.health import HealthRequest
from hudi_table_services.contract.metadata_table import RebuildMetadataTableRequest
from hudi_table_services.contract.recovery import (
    CreateSavepointRequest,
    RepairOrphansRequest,
    RestoreRequest,
    RollbackRequest,
)
from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.hudi_format.markers import MarkerKind
from hudi_table_services.hudi_format.table_service_plans import (
    encode_clean_plan,
    encode_restore_plan,
    encode_rollback_plan,
)
from hudi_table_services.jobs.archival.archive import archive
from hudi_table_services.jobs.catalog import sync_catalog
from hudi_table_services.jobs.check_config import check_table_config
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.clustering.schedule import schedule_clustering
from hudi_table_services.jobs.compaction.schedule import schedule_compaction
from hudi_table_services.jobs.health.table_health import table_health
from hudi_table_services.jobs.metadata_table.rebuild import rebuild_metadata_table
from hudi_table_services.jobs.recovery.repair_orphans import repair_orphan_files
from hudi_table_services.jobs.recovery.restore import restore
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.jobs.recovery.savepoint import create_savepoint
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_service_plans import (
    CleanFile,
    CleanPlan,
    InstantReference,
    RestorePlan,
    RollbackPlan,
)
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage import table_store, timeline_store
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.locks.heartbeat import heartbeat_path
from hudi_table_services.storage.markers import MarkerStore
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import BACKUP, PROPERTIES
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.archived_tables import SMALL_LIMITS
from support.catalogs.memory_catalog import MemoryCatalog
from support.depth import number_from
from support.fail_points import tried
from support.fixed_clock import FixedClock
from support.merge_on_read_jobs import as_merge_on_read
from support.small_tables import SmallTable, base_file_name
from support.undone_tables import a_table, clustered, planned, updated

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
A, B = FileGroupId("a", "f1"), FileGroupId("b", "f2")
EVERY = int(number_from("FAIL_EVERY", 24, 1))
NO_LOCK_RETRIES = {"hoodie.write.lock.num_retries": "0", "hoodie.write.lock.client.num_retries": "0"}
RunJob = Callable[[Storage, Clock], object]


def later(days: int = 2) -> FixedClock:
    return FixedClock(datetime.now(timezone.utc) + timedelta(days=days), timedelta(milliseconds=1))


@cache
def table_content(version: TableVersion, pending: str) -> tuple[dict[str, bytes], str]:
    """A table with instants of many actions, an archive, markers, a heartbeat, a lock, and a pending table service.

    Returns:
        Content by path, and the requested time of the commit with a savepoint.
    """
    table = a_table(version)
    storage, clock = table.storage, table.clock
    for _ in range(6):
        updated(table, A, B) if table.timeline_store.load().completed else table.commit(A, B)
    clean(CleanRequest(base_path="/t", commits_retained=1), storage=storage, clock=later(1))
    few = ArchiveRequest(base_path="/t", options=SMALL_LIMITS, min_commits=2, max_commits=3)
    archive(few, storage=storage, clock=later(1))
    clock.moment = datetime.now(timezone.utc) + timedelta(days=1, hours=1)
    saved = updated(table, A)
    create_savepoint(CreateSavepointRequest(base_path="/t"), storage=storage, clock=clock)
    newest = updated(table, B)
    undo = RollbackRequest(base_path="/t", instants=(newest.requested_time,))
    rollback(undo, storage=storage, clock=later(1))
    clustered(table)
    updated(table, B)
    PENDING[pending](table)
    dead = table.begin()
    path = table.add_file("a", base_file_name("dead", dead.requested_time))
    MarkerStore(storage, dead.requested_time).mark(path, MarkerKind.CREATE)
    folder = f".hoodie/.temp/{dead.requested_time}"
    storage.write(f"{folder}/MARKERS.type", b"TIMELINE_SERVER_BASED")
    storage.write(
        f"{folder}/MARKERS0", f"a/{base_file_name('dead2', dead.requested_time)}.marker.CREATE\n".encode()
    )
    storage.write(heartbeat_path(dead.requested_time), b"other writer/1")
    storage.write(BACKUP, storage.read(PROPERTIES))
    storage.write(".hoodie/lock", b'{"lockThreadName":"hudi_table_services 1"}')
    return {f.path: storage.read(f.path) for f in storage.list_files()}, saved.requested_time


def a_pending_clean(table: SmallTable) -> None:
    old = next(f.path for f in table.storage.list_files("a") if f.name.endswith(".parquet"))
    plan = CleanPlan(
        policy="KEEP_LATEST_COMMITS",
        files_to_delete={"a": (CleanFile(path=f"{table.storage.base_path}/{old}"),)},
    )
    table.begin(Action.CLEAN, encode_clean_plan(plan))


def a_pending_rollback(table: SmallTable) -> None:
    dead = table.begin()
    undone = InstantReference(requested_time=dead.requested_time, action="commit")
    table.begin(Action.ROLLBACK, encode_rollback_plan(RollbackPlan(instant_to_rollback=undone)))


def a_pending_restore(table: SmallTable) -> None:
    (saved,) = (i for i in table.timeline_store.load() if i.action is Action.SAVEPOINT)
    table.begin(Action.RESTORE, encode_restore_plan(RestorePlan(savepoint_to_restore=saved.requested_time)))


def a_pending_clustering(table: SmallTable) -> None:
    planned(table)
    table.timeline_store.start(planned(table))


PENDING: dict[str, Callable[[SmallTable], None]] = {
    "clean": a_pending_clean,
    "rollback": a_pending_rollback,
    "restore": a_pending_restore,
    "clustering": a_pending_clustering,
}


def copied(content: dict[str, bytes]) -> MemoryStorage:
    storage = MemoryStorage(uuid4().hex)
    for path, data in content.items():
        storage.write(path, data)
    return storage


def jobs(saved: str) -> dict[str, RunJob]:
    few = ArchiveRequest(base_path="/t", options=SMALL_LIMITS | NO_LOCK_RETRIES, min_commits=2, max_commits=3)
    cleaning = CleanRequest(base_path="/t", commits_retained=1, options=NO_LOCK_RETRIES)
    restoring = RestoreRequest(base_path="/t", savepoint=saved or "1" * 17, options=NO_LOCK_RETRIES)
    return {
        "clean": lambda s, c: clean(cleaning, storage=s, clock=c),
        "archive": lambda s, c: archive(few, storage=s, clock=c),
        "rollback": lambda s, c: rollback(
            RollbackRequest(base_path="/t", all_failed=True, options=NO_LOCK_RETRIES), storage=s, clock=c
        ),
        "restore": lambda s, c: restore(restoring, storage=s, clock=c),
        "savepoint": lambda s, c: create_savepoint(
            CreateSavepointRequest(base_path="/t", options=NO_LOCK_RETRIES), storage=s, clock=c
        ),
        "repair": lambda s, c: repair_orphan_files(
            RepairOrphansRequest(base_path="/t", execute=True, options=NO_LOCK_RETRIES), storage=s, clock=c
        ),
        "rebuild": lambda s, c: rebuild_metadata_table(
            RebuildMetadataTableRequest(base_path="/t", partitions=("files",), options=NO_LOCK_RETRIES),
            storage=s,
            clock=c,
        ),
        "health": lambda s, c: table_health(HealthRequest(base_path="/t"), storage=s, clock=c),
        "sync catalog": lambda s, c: sync_catalog(
            SyncCatalogRequest(base_path="/t"), storage=s, catalog=MemoryCatalog()
        ),
        "check config": lambda s, c: check_table_config(CheckConfigRequest(base_path="/t"), storage=s),
        "snapshot": lambda s, c: load_snapshot(s),
        "schedule": lambda s, c: schedule_clustering(
            ScheduleClusteringRequest(base_path="/t", options=NO_LOCK_RETRIES), storage=s, clock=c
        ),
        "schedule compaction": lambda s, c: schedule_compaction(
            ScheduleCompactionRequest(base_path="/t", options=NO_LOCK_RETRIES),
            storage=as_merge_on_read(s),
            clock=c,
        ),
    }


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "half": lambda data: data[: len(data) // 2],
    "cut": lambda data: data[:-1],
    "noise": lambda data: bytes(byte ^ 0x5A for byte in data),
}


def kind_of(path: str) -> str:
    """The path with ``#`` in place of each number and ``*`` in place of each random id."""
    return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "*", re.sub(r"\d+", "#", path))


def files_to_damage(content: dict[str, bytes]) -> list[str]:
    """The newest file of each kind among the files below ``.hoodie`` and the files with partition metadata."""
    found = {
        kind_of(path): path
        for path in sorted(content)
        if path.startswith(".hoodie/") or path.endswith(".hoodie_partition_metadata")
    }
    return sorted(found.values())


def names_file(error: HudiTableServiceError, path: str) -> bool:
    """Whether the message contains the name of the file or the time of its instant."""
    name = PurePosixPath(path).name
    times = re.findall(r"\d{17}", path)
    return name in str(error) or any(time in str(error) for time in times)


def outcome(act: RunJob, storage: Storage) -> HudiTableServiceError | None:
    try:
        act(storage, later())
    except HudiTableServiceError as error:
        return error
    return None


def files_of(storage: Storage) -> set[str]:
    return {f.path for f in storage.list_files() if f.name.endswith(".parquet") and ".hoodie" not in f.path}


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let jobs read damaged files again without a pause."""
    monkeypatch.setattr(timeline_store, "_PAUSES", (0.0,))
    monkeypatch.setattr(table_store, "_READ_PAUSE_SECONDS", 0.0)


@VERSIONS
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("pending", PENDING)
@pytest.mark.parametrize("job", jobs(""))
def test_a_job_names_a_damaged_file_and_deletes_no_live_file(
    version: TableVersion, pending: str, job: str, damage: str
) -> None:
    content, saved = table_content(version, pending)
    act = jobs(saved)[job]
    whole = copied(content)
    live = {s.base_file_path or "" for s in load_snapshot(whole).all_slices}
    usual = outcome(act, whole)
    stays = live & files_of(whole)
    faults = []
    first = (list(PENDING).index(pending) + list(DAMAGES).index(damage)) % EVERY
    for path in files_to_damage(content)[first::EVERY]:
        storage = copied({**content, path: DAMAGES[damage](content[path])})
        tried(f"damage, {job}")
        try:
            error = outcome(act, storage)
        except Exception as unexpected:
            faults.append(f"{path}: {unexpected!r}")
            continue
        if error is not None and type(error) is not type(usual) and not names_file(error, path):
            faults.append(f"{path} is not named: {error!r}")
        if gone := stays - files_of(storage):
            faults.append(f"{path}: live files were deleted: {sorted(gone)}")
    assert not faults, "\n".join(faults)
