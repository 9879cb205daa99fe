"""Repair of orphans on tables without rows: which files the job deletes, and which files the job never changes."""

from datetime import datetime, timedelta, timezone
from uuid import uuid4

import pytest
from repaired_tables import VERSIONS, A, add_orphans, reasons, repair, report

from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.recovery import CreateSavepointRequest, RestoreRequest
from hudi_table_services.contract.result import Outcome
from hudi_table_services.hudi_format.markers import MarkerKind
from hudi_table_services.hudi_format.table_service_plans import encode_rollback_metadata
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.recovery.restore import restore
from hudi_table_services.jobs.recovery.savepoint import create_savepoint
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_service_plans import InstantReference, RollbackMetadata
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.planning.recovery.orphans import NO_INSTANT, NOT_NAMED, ROLLED_BACK
from hudi_table_services.storage.locks.heartbeat import has_heartbeat, heartbeat_path
from hudi_table_services.storage.markers import MarkerStore
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage
from support.faulty_storage import FaultyStorage
from support.fixed_clock import FixedClock
from support.small_tables import base_file_name
from support.undone_tables import a_table, clustered, planned, state, updated


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
    """A storage that lists modification times in milliseconds, but returns the time of one object in whole seconds."""

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
