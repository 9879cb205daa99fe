"""Repair of orphans on tables without rows: which files the job deletes, and which files the job never changes."""

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.recovery import (
    CreateSavepointRequest,
    RepairOrphansRequest,
    RestoreRequest,
    RollbackRequest,
)
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.errors import (
    CorruptTableError,
    InvalidRequestError,
    StorageError,
)
from hudi_table_services.hudi_format.markers import MarkerKind
from hudi_table_services.hudi_format.table_service_plans import encode_rollback_metadata
from hudi_table_services.jobs.archival.archive import archive
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.recovery.repair_orphans import repair_orphan_files
from hudi_table_services.jobs.recovery.restore import restore
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.jobs.recovery.savepoint import create_savepoint
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_service_plans import InstantReference, RollbackMetadata
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.planning.recovery.orphans import DISPLACED, NO_INSTANT, NOT_NAMED, ROLLED_BACK
from hudi_table_services.storage.locks.heartbeat import has_heartbeat, heartbeat_path
from hudi_table_services.storage.markers import MarkerStore
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config, update_properties
from support.faulty_storage import FaultyStorage, crashes_everywhere
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable, base_file_name
from support.undone_tables import a_table, clustered, planned, state, updated

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
A, B = FileGroupId("a", "f1"), FileGroupId("b", "f2")


def repair(
    table: SmallTable, *, storage: Storage | None = None, hours_later: int = 48, **fields: Any
) -> JobResult:
    backup = fields.pop("backup", None)
    clock = FixedClock(datetime.now(timezone.utc) + timedelta(hours=hours_later))
    request = RepairOrphansRequest(base_path="/t", **fields)
    return repair_orphan_files(request, storage=storage or table.storage, clock=clock, backup=backup)


def report(result: JobResult) -> Any:
    assert result.report is not None
    return result.report


def reasons(result: JobResult) -> dict[str, str]:
    return {each.path: each.reason for each in report(result).files}


def undo(table: SmallTable, instant: Instant) -> None:
    clock = FixedClock(datetime.now(timezone.utc) + timedelta(days=1), timedelta(milliseconds=1))
    request = RollbackRequest(base_path="/t", instants=(instant.requested_time,))
    rollback(request, storage=table.storage, clock=clock)


def add_orphans(table: SmallTable) -> dict[str, str]:
    """Make a table with orphans of each kind, and return the reason by path."""
    table.commit(A, B)
    newest = updated(table, A)
    undone = updated(table, B)
    undo(table, undone)
    dead = table.begin()
    table.timeline_store.remove(dead)
    late = table.add_file("b", base_file_name("f2", undone.requested_time))
    not_named = table.add_file("a", base_file_name("f1", newest.requested_time, token="9-9-9"))
    lost = table.add_file("c", base_file_name("x", dead.requested_time))
    hidden = f"no/partition/{base_file_name('y', dead.requested_time)}"
    table.storage.write(hidden, b"PAR1")
    table.storage.write("a/notes.txt", b"other notes")
    table.storage.write(f"a/.f1_{dead.requested_time}.log.1_0-1-0", b"log")
    return {late: ROLLED_BACK, not_named: NOT_NAMED, lost: NO_INSTANT, hidden: NO_INSTANT}


@VERSIONS
def test_a_run_without_execute_reports_orphans_and_their_reasons(version: TableVersion) -> None:
    table = a_table(version)
    orphans = add_orphans(table)
    before = {f.path for f in table.storage.list_files()}
    result = repair(table)
    assert result.outcome is Outcome.PLANNED
    assert reasons(result) == orphans
    assert (report(result).file_count, report(result).size_bytes) == (4, 16)
    assert report(result).by_reason == {ROLLED_BACK: 1, NOT_NAMED: 1, NO_INSTANT: 2}
    assert {f.path for f in table.storage.list_files()} == before


@VERSIONS
def test_only_orphans_are_deleted(version: TableVersion) -> None:
    table = a_table(version)
    orphans = add_orphans(table)
    before, files = state(table), {f.path for f in table.storage.list_files()}
    result = repair(table, execute=True)
    assert result.outcome is Outcome.COMPLETED
    assert report(result).deleted_count == 4
    assert files - {f.path for f in table.storage.list_files()} == set(orphans)
    assert state(table)[0] == before[0]
    assert repair(table, execute=True).outcome is Outcome.NOTHING_TO_DO


class WholeSeconds(MemoryStorage):
    """A storage whose listings give times in milliseconds, and whose answers about one object give whole seconds."""

    def modified_ms(self, path: str) -> int:
        return super().modified_ms(path) // 1000 * 1000


def test_orphans_are_deleted_although_times_of_single_objects_are_in_seconds() -> None:
    table = a_table(TableVersion.V9, storage=WholeSeconds(uuid4().hex))
    add_orphans(table)
    assert report(repair(table, execute=True)).deleted_count == 4


@VERSIONS
def test_young_files_are_kept(version: TableVersion) -> None:
    table = a_table(version)
    add_orphans(table)
    result = repair(table, execute=True, hours_later=23)
    assert (result.outcome, report(result).too_young) == (Outcome.NOTHING_TO_DO, 4)
    assert "the table contains 4 orphans younger than 24 h" in result.reason
    assert report(repair(table, hours_later=23, older_than_hours=20)).file_count == 4


@VERSIONS
def test_files_of_pending_planned_savepointed_or_archived_instants_are_kept(version: TableVersion) -> None:
    table = a_table(version)
    first = table.commit(A)
    create_savepoint(CreateSavepointRequest(base_path="/t"), storage=table.storage, clock=table.clock)
    table.add_file("a", base_file_name("old", "20200101000000000"))
    running, dead = table.begin(), table.begin()
    table.timeline_store.remove(dead)
    table.add_file("a", base_file_name("x", running.requested_time))
    needed = table.add_file("a", base_file_name("f1", dead.requested_time))
    planned(table, f"/t/{needed}")
    unknown = table.begin()
    table.timeline_store.remove(unknown)
    table.add_file("a", base_file_name("z", unknown.requested_time))
    later = FixedClock(datetime.now(timezone.utc) + timedelta(hours=48))
    living = AliveLater(table.storage, unknown.requested_time, later.moment)
    table.storage.write(heartbeat_path(unknown.requested_time), b"")
    assert repair(table, storage=living).outcome is Outcome.NOTHING_TO_DO
    assert set(reasons(repair(table))) == {f"a/{base_file_name('z', unknown.requested_time)}"}
    assert first in state(table)[0]


class AliveLater(FaultyStorage):
    """A storage on which one heartbeat has a modification time in the future."""

    def __init__(self, inner: Storage, time: str, moment: datetime) -> None:
        super().__init__(inner)
        self._path, self._ms = heartbeat_path(time), int(moment.timestamp() * 1000)

    def modified_ms(self, path: str) -> int:
        return self._ms if path == self._path else super().modified_ms(path)


@VERSIONS
@pytest.mark.parametrize("action", ["commit", "replacecommit"])
def test_files_of_old_commits_that_were_rolled_back_are_orphans(version: TableVersion, action: str) -> None:
    """A file of a rolled-back commit is an orphan: as soon as the rollback is archived, readers would see the file.

    A file of a rolled-back clustering is kept, because the clustering may have been executed again.
    """
    table = a_table(version)
    time = "20200101000000000"
    path = table.add_file("a", base_file_name("f9", time))
    metadata = RollbackMetadata(
        start_rollback_time=time,
        time_taken_ms=0,
        total_files_deleted=0,
        commits_rolled_back=(time,),
        partitions={},
        instants_rolled_back=(InstantReference(requested_time=time, action=action),),
    )
    table.timeline_store.complete(table.begin(Action.ROLLBACK, b"x"), encode_rollback_metadata(metadata))
    table.commit(A)
    assert reasons(repair(table)) == ({path: ROLLED_BACK} if action == "commit" else {})


@VERSIONS
def test_files_of_commits_that_a_restore_undid_are_orphans(version: TableVersion) -> None:
    table = a_table(version)
    saved = table.commit(A)
    create_savepoint(CreateSavepointRequest(base_path="/t"), storage=table.storage, clock=table.clock)
    undone = clustered(table)
    later = FixedClock(datetime.now(timezone.utc) + timedelta(days=1), timedelta(milliseconds=1))
    request = RestoreRequest(base_path="/t", savepoint=saved.requested_time)
    restore(request, storage=table.storage, clock=later)
    path = table.add_file("a", base_file_name("f3", undone.requested_time))
    assert reasons(repair(table)) == {path: ROLLED_BACK}


@VERSIONS
def test_copies_in_other_folders_are_deleted_and_the_original_is_kept(version: TableVersion) -> None:
    table = a_table(version)
    name = base_file_name("f1", table.commit(A, B).requested_time)
    copies = {table.add_file("b", name), f"no/partition/{name}"}
    table.storage.write(f"no/partition/{name}", b"PAR1")
    table.storage.write(f"b/.f2_{newest_time(table)}.log.1_0-1-0", b"log")
    assert reasons(repair(table)) == dict.fromkeys(copies, DISPLACED)
    assert report(repair(table, hours_later=23, execute=True)).too_young == 2
    assert report(repair(table, execute=True)).deleted_count == 2
    assert not any(table.storage.exists(path) for path in copies)
    assert table.storage.exists(f"a/{name}")


@VERSIONS
@pytest.mark.parametrize("left", [None, b"", b"PAR1PAR1"], ids=["gone", "emptied", "longer"])
def test_a_displaced_file_is_kept_unless_the_original_has_the_same_size(
    version: TableVersion, left: bytes | None
) -> None:
    table = a_table(version)
    name = base_file_name("f1", table.commit(A, B).requested_time)
    moved = table.add_file("b", name)
    table.storage.delete(f"a/{name}")
    if left is not None:
        table.storage.write(f"a/{name}", left)
    assert repair(table, execute=True).outcome is Outcome.NOTHING_TO_DO
    assert table.storage.exists(moved)


@VERSIONS
def test_a_copy_of_a_file_of_an_archived_write_is_an_orphan_while_the_original_exists(
    version: TableVersion,
) -> None:
    table = a_table(version)
    name = base_file_name("f9", table.commit(FileGroupId("a", "f9")).requested_time)
    for _ in range(35):
        table.commit(A)
    later = FixedClock(datetime.now(timezone.utc) + timedelta(days=1))
    archive(ArchiveRequest(base_path="/t"), storage=table.storage, clock=later)
    copy = table.add_file("b", name)
    assert name.removesuffix(".parquet").rpartition("_")[2] not in {i.requested_time for i in state(table)[0]}
    assert reasons(repair(table)) == {copy: DISPLACED}
    table.storage.delete(f"a/{name}")
    assert reasons(repair(table)) == {}


def test_a_copy_in_a_savepoint_is_kept() -> None:
    table = a_table()
    copy = table.add_file("b", base_file_name("f1", table.commit(A).requested_time))
    assert set(reasons(repair(table))) == {copy}
    create_savepoint(CreateSavepointRequest(base_path="/t"), storage=table.storage, clock=table.clock)
    assert repair(table, execute=True).outcome is Outcome.NOTHING_TO_DO


@VERSIONS
def test_foreign_files_are_reported_and_kept(version: TableVersion) -> None:
    table = a_table(version)
    table.commit(A)
    assert repair(table).reason == "every data file belongs to an instant"
    for path in ("a/my_copy.parquet", "a/_SUCCESS", "a/.x.parquet.crc", "no/partition/notes.txt"):
        table.storage.write(path, b"PAR1")
    result = repair(table, execute=True)
    assert (result.outcome, report(result).foreign_files) == (Outcome.NOTHING_TO_DO, 1)
    assert result.reason.endswith(
        "an instant; the partitions contain 1 foreign file; no job touches foreign files"
    )
    table.storage.write("a/notes.txt", b"PAR1")
    assert "2 foreign files" in repair(table).reason
    assert table.storage.exists("a/my_copy.parquet")


def newest_time(table: SmallTable) -> str:
    return state(table)[0][-1].requested_time


def test_a_table_without_writes_has_no_orphans() -> None:
    table = a_table()
    table.add_file("a", base_file_name("x", "20200101000000000"))
    assert repair(table).outcome is Outcome.NOTHING_TO_DO


@VERSIONS
def test_a_cleaned_table_has_no_orphans(version: TableVersion) -> None:
    table = a_table(version)
    table.commit(A)
    for _ in range(4):
        updated(table, A)
    later = FixedClock(datetime.now(timezone.utc) + timedelta(days=1))
    clean(CleanRequest(base_path="/t", commits_retained=1), storage=table.storage, clock=later)
    assert repair(table).outcome is Outcome.NOTHING_TO_DO


@VERSIONS
def test_markers_heartbeats_and_staged_rows_of_ended_jobs_are_deleted(version: TableVersion) -> None:
    table = a_table(version)
    over, running = table.commit(A), table.begin()
    for instant in (over, running):
        MarkerStore(table.storage, instant.requested_time).mark("a/x", MarkerKind.CREATE)
        table.storage.write(heartbeat_path(instant.requested_time), b"")
    table.storage.write(".hoodie/.aux/staging/job/part-0", b"rows")
    assert repair(table, hours_later=23, older_than_hours=1).report.folders == (  # type: ignore[union-attr]
        f".hoodie/.temp/{over.requested_time}",
    )
    result = repair(table, execute=True)
    assert report(result).folders == (f".hoodie/.temp/{over.requested_time}", ".hoodie/.aux/staging/job")
    assert report(result).heartbeats == (over.requested_time,)
    assert table.storage.list_folder(".hoodie/.temp").folders == (running.requested_time,)
    assert list(table.storage.list_files(".hoodie/.aux/staging")) == []
    assert not has_heartbeat(table.storage, over.requested_time)
    assert has_heartbeat(table.storage, running.requested_time)


def test_more_orphans_than_allowed_are_refused() -> None:
    table = a_table()
    orphans = add_orphans(table)
    with pytest.raises(
        InvalidRequestError,
        match="The table contains 4 orphans, but the request allows the deletion of at most 3 files",
    ):
        repair(table, execute=True, max_files=3)
    assert all(table.storage.exists(path) for path in orphans)
    assert repair(table, max_files=3).outcome is Outcome.PLANNED


def test_orphans_are_copied_before_their_deletion(tmp_path: Path) -> None:
    table = a_table()
    orphans = add_orphans(table)
    result = repair(table, execute=True, backup_path=str(tmp_path / "copies"))
    assert report(result).backup_path == str(tmp_path / "copies")
    assert {path: (tmp_path / "copies" / path).read_bytes() for path in orphans} == dict.fromkeys(
        orphans, b"PAR1"
    )
    assert not any(table.storage.exists(path) for path in orphans)


class ShortCopies(FaultyStorage):
    """A storage that reports one byte less for each file."""

    def size(self, path: str) -> int:
        return super().size(path) - 1


def test_an_incomplete_copy_prevents_every_deletion() -> None:
    table = a_table()
    orphans = add_orphans(table)
    with pytest.raises(StorageError, match="has 3 bytes instead of 4"):
        repair(table, execute=True, backup_path="/b", backup=ShortCopies(MemoryStorage(uuid4().hex)))
    assert all(table.storage.exists(path) for path in orphans)


def test_a_backup_inside_the_table_is_refused(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path / "t"))
    SmallTable(storage)
    with pytest.raises(InvalidRequestError, match="inside the table"):
        repair_orphan_files(
            RepairOrphansRequest(
                base_path=str(tmp_path / "t"), execute=True, backup_path=str(tmp_path / "t" / "copies")
            )
        )


class ActsAfterLock(FaultyStorage):
    """A storage on which another job acts directly after the repair has taken the lock."""

    after_lock: Any = None

    def create(self, path: str, data: bytes) -> None:
        super().create(path, data)
        if path == ".hoodie/lock" and self.after_lock is not None:
            self.after_lock, act = None, self.after_lock
            act()


def test_a_file_whose_instant_appears_before_the_deletion_is_kept() -> None:
    table = a_table()
    table.commit(A)
    pending = table.begin()
    table.timeline_store.remove(pending)
    path = table.add_file("a", base_file_name("x", pending.requested_time))
    storage = ActsAfterLock(table.storage)
    storage.after_lock = lambda: table.timeline_store.request(Action.COMMIT, b"", pending.requested_time)
    result = repair(table, storage=storage, execute=True)
    assert (report(result).spared, report(result).deleted_count) == ((path,), 0)
    assert table.storage.exists(path)


def test_a_missing_metadata_table_is_refused_or_switched_off_before_the_files_are_deleted() -> None:
    table = a_table()
    add_orphans(table)
    update_properties(table.storage, {"hoodie.table.metadata.partitions": "files"}, table.clock)
    assert repair(table).outcome is Outcome.PLANNED
    with pytest.raises(CorruptTableError, match="metadata table"):
        repair(table, execute=True)
    repair(table, execute=True, options={"hoodie.metadata.enable": "false"})
    assert read_table_config(table.storage).metadata_partitions == ()


@VERSIONS
def test_after_a_crash_at_any_change_the_next_run_completes_the_repair(version: TableVersion) -> None:
    tables: list[tuple[SmallTable, dict[str, str], set[str]]] = []

    def start() -> Storage:
        table = a_table(version)
        orphans = add_orphans(table)
        tables.append((table, orphans, {f.path for f in table.storage.list_files()} - set(orphans)))
        return table.storage

    attempts = crashes_everywhere(lambda s: repair(tables[-1][0], storage=s, execute=True), start)
    for attempt, left in enumerate(attempts, start=1):  # noqa: B007 - the last number is asserted below
        table, orphans, sound = tables[-1]
        assert sound <= {f.path for f in left.list_files()}
        left.delete(".hoodie/lock")  # simulates that the lock has expired
        repair(table, execute=True)
        assert not any(left.exists(path) for path in orphans)
        assert sound <= {f.path for f in left.list_files()}
    assert attempt >= 6
