"""Restores on tables without rows: undone instants, refused requests, and the completion of dead restores."""

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.clustering import ScheduleClusteringRequest
from hudi_table_services.contract.recovery import CreateSavepointRequest, RestoreRequest, RollbackRequest
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.errors import (
    CorruptTableError,
    InstantHeldError,
    InvalidRequestError,
    MalformedMetadataError,
    UnsupportedTableError,
)
from hudi_table_services.hudi_format.table_service_plans import (
    decode_restore_metadata,
    decode_restore_plan,
    encode_restore_plan,
)
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.clustering.cancel import finish_cancellations
from hudi_table_services.jobs.clustering.schedule import schedule_clustering
from hudi_table_services.jobs.recovery.restore import restore
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.jobs.recovery.savepoint import create_savepoint
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_service_plans import InstantReference, RestorePlan
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.locks.heartbeat import heartbeat_path
from hudi_table_services.storage.locks.lock import FileSystemLock
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config, update_properties
from hudi_table_services.tables.table import TableAccess
from support.faulty_storage import crashes_everywhere
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable, base_file_name
from support.undone_tables import a_table, clustered, finished, planned, state, updated

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
A, B, NEW, LATE = (FileGroupId(p, f) for p, f in (("a", "f1"), ("b", "f2"), ("a", "f3"), ("c", "f4")))


def later(days: int = 1) -> FixedClock:
    return FixedClock(datetime.now(timezone.utc) + timedelta(days=days), timedelta(milliseconds=1))


def restore_to(
    table: SmallTable, savepoint: str, *, storage: Storage | None = None, days: int = 1, **fields: Any
) -> JobResult:
    request = RestoreRequest(base_path="/t", savepoint=savepoint, **fields)
    return restore(request, storage=storage or table.storage, clock=later(days))


def save_commit(table: SmallTable, instant: Instant) -> str:
    request = CreateSavepointRequest(base_path="/t", instant=instant.requested_time)
    create_savepoint(request, storage=table.storage, clock=table.clock)
    return instant.requested_time


def add_instants_to_undo(
    table: SmallTable, visible_after_each: list[set[str]] | None = None
) -> tuple[Instant, ...]:
    """Commit an update, a clustering and an overwrite, schedule a plan and add a dead write; return these instants.

    Args:
        visible_after_each: a list to which the function adds the set of visible files after each commit.
    """
    commits = []
    for commit in (
        lambda: updated(table, A, B),
        lambda: clustered(table),
        lambda: table.commit(LATE, replaces={"b": ("f2",)}),
    ):
        commits.append(commit())
        if visible_after_each is not None:
            visible_after_each.append(state(table)[1])
    first, second, third = commits
    plan = planned(table)
    dead = table.begin()
    table.add_file("c", base_file_name("x", dead.requested_time))
    return dead, plan, third, second, first


def restores(table: SmallTable) -> list[Instant]:
    return [i for i in table.timeline_store.load() if i.action is Action.RESTORE]


@VERSIONS
def test_everything_after_the_savepoint_is_undone(version: TableVersion) -> None:
    table = a_table(version)
    saved = save_commit(table, table.commit(A, B))
    before = state(table)
    undone = add_instants_to_undo(table)
    after = state(table)
    preview = restore_to(table, saved, preview=True)
    assert preview.outcome is Outcome.PLANNED
    assert preview.report is not None
    assert (preview.report.file_count, preview.report.row_count) == (5, 6)
    assert state(table) == after
    result = restore_to(table, saved)
    assert (result.outcome, result.action) == (Outcome.COMPLETED, "restore")
    assert state(table) == before
    timeline = table.timeline_store.load()
    assert timeline.pending == ()
    assert [i.action for i in timeline.completed] == [Action.COMMIT, Action.SAVEPOINT, Action.RESTORE], (
        "like Hudi, a restore leaves no rollbacks on the timeline"
    )
    (done,) = restores(table)
    plan = decode_restore_plan(table.timeline_store.read_requested(done))
    assert [i.requested_time for i in plan.instants_to_rollback] == [i.requested_time for i in undone]
    assert (plan.version, plan.savepoint_to_restore) == (2, saved)
    metadata = decode_restore_metadata(table.timeline_store.read(done))
    assert metadata.instants_rolled_back == tuple(i.requested_time for i in undone)
    assert metadata.restored_instants == plan.instants_to_rollback
    assert sum(r.total_files_deleted for each in metadata.rollbacks.values() for r in each) == 5
    again = restore_to(table, saved, preview=True)
    assert (again.outcome, again.reason) == (
        Outcome.NOTHING_TO_DO,
        f"nothing has been written since savepoint {saved}",
    )
    assert restore_to(table, saved).outcome is Outcome.NOTHING_TO_DO


@VERSIONS
def test_a_retry_does_not_restore_the_table_again(version: TableVersion) -> None:
    table = a_table(version)
    saved = save_commit(table, table.commit(A))
    updated(table, A)
    first = restore_to(table, saved, request_id="once")
    table.clock.moment += timedelta(days=2)
    since = table.commit(B)
    again = restore_to(table, saved, request_id="once", days=3)
    assert (again.reused, again.instant_time) == (True, first.instant_time)
    assert since in state(table)[0]
    restore_to(table, saved, request_id="another", days=4)
    assert since not in state(table)[0]


@VERSIONS
def test_a_restore_compares_completion_times_if_the_table_records_them(
    version: TableVersion,
) -> None:
    """The test uses a write that began before the savepointed commit, and completed after it."""
    table = a_table(version)
    slow, saved_commit = table.begin(), table.commit(A)
    saved = save_commit(table, saved_commit)
    completed = finished(table, slow, B)
    updated(table, A)
    restore_to(table, saved)
    expected = {saved_commit, completed} if version is TableVersion.V6 else {saved_commit}
    assert set(state(table)[0]) == expected


@VERSIONS
def test_impossible_restores_are_refused(version: TableVersion) -> None:
    table = a_table(version)
    first = table.commit(A)
    with pytest.raises(InvalidRequestError, match="no savepoint") as refused:
        restore_to(table, first.requested_time)
    assert refused.value.hint == "Savepoints of the table: none."
    saved = save_commit(table, first)
    second = updated(table, A)
    later_savepoint = save_commit(table, second)
    with pytest.raises(InvalidRequestError, match=f"Savepoint {later_savepoint} protects"):
        restore_to(table, saved)
    running = table.begin()
    table.storage.write(heartbeat_path(running.requested_time), b"")
    with pytest.raises(InstantHeldError, match="may be alive"):
        restore_to(table, later_savepoint, days=0)
    table.storage.delete(f"a/{base_file_name('f1', second.requested_time)}")
    with pytest.raises(InvalidRequestError, match="lacks 1 file, for example"):
        restore_to(table, later_savepoint)
    assert restores(table) == []
    assert state(table)[0] == (first, second)


@VERSIONS
def test_a_missing_metadata_table_is_refused_or_switched_off_before_a_restore(version: TableVersion) -> None:
    table = a_table(version)
    saved = save_commit(table, table.commit(A))
    updated(table, A)
    update_properties(table.storage, {"hoodie.table.metadata.partitions": "files"}, table.clock)
    with pytest.raises(CorruptTableError, match="metadata table"):
        restore_to(table, saved)
    restore_to(table, saved, options={"hoodie.metadata.enable": "false"})
    assert read_table_config(table.storage).metadata_partitions == ()


@VERSIONS
def test_after_a_crash_at_any_change_the_next_run_completes_the_restore(version: TableVersion) -> None:
    tables: list[tuple[SmallTable, str, Any]] = []
    visible_after_each: list[set[str]] = []
    moment = datetime.now(timezone.utc) - timedelta(hours=2)

    def start() -> Storage:
        table = a_table(version, moment)
        saved = save_commit(table, table.commit(A, B))
        before = tables[0][2] if tables else state(table)
        add_instants_to_undo(table, visible_after_each if not tables else None)
        tables.append((table, saved, before))
        return table.storage

    runs = 0
    for _ in crashes_everywhere(lambda s: restore_to(*tables[-1][:2], storage=s), start):
        runs += 1
        table, saved, before = tables[-1]
        assert state(table)[1] in (before[1], *visible_after_each), (
            "readers see the table as it was after one of the commits"
        )
        result = restore_to(table, saved)
        assert result.outcome in (Outcome.COMPLETED, Outcome.NOTHING_TO_DO)
        assert state(table) == before
        timeline = table.timeline_store.load()
        assert timeline.pending == ()
        (done,) = restores(table)
        assert len(decode_restore_metadata(table.timeline_store.read(done)).instants_rolled_back) == 5
    assert runs >= 21


@VERSIONS
@pytest.mark.parametrize("kind", [Action.COMMIT, Action.REPLACE_COMMIT], ids=lambda a: a.value)
def test_a_restore_that_hudi_began_is_completed(version: TableVersion, kind: Action) -> None:
    table = a_table(version)
    saved = save_commit(table, table.commit(A))
    before = state(table)
    newest = updated(table, A) if kind is Action.COMMIT else clustered(table)
    plan = RestorePlan(
        instants_to_rollback=(InstantReference(requested_time=newest.requested_time, action=kind.value),),
        savepoint_to_restore=saved,
    )
    begun = table.begin(Action.RESTORE, encode_restore_plan(plan))
    result = restore_to(table, saved)
    assert result.report is not None
    assert result.report.finished == (begun.requested_time,)
    assert (result.outcome, result.action) == (Outcome.COMPLETED, None)
    assert result.reason == f"nothing has been written since savepoint {saved}"
    assert state(table) == before


def other_jobs(table: SmallTable) -> list[Callable[[], object]]:
    storage, clock = table.storage, later()
    return [
        lambda: clean(CleanRequest(base_path="/t"), storage=storage, clock=clock),
        lambda: rollback(RollbackRequest(base_path="/t", all_failed=True), storage=storage, clock=clock),
        lambda: create_savepoint(CreateSavepointRequest(base_path="/t"), storage=storage, clock=clock),
        lambda: finish_cancellations(
            TableAccess(storage=storage, clock=clock, config=table.config), FileSystemLock(storage), "r", 0
        ),
        lambda: schedule_clustering(ScheduleClusteringRequest(base_path="/t"), storage=storage, clock=clock),
    ]


@pytest.mark.parametrize(
    "number", range(5), ids=["clean", "rollback", "create_savepoint", "execute", "schedule"]
)
def test_while_a_restore_is_pending_other_jobs_fail_with_a_hint(number: int) -> None:
    table = a_table()
    saved = save_commit(table, table.commit(A))
    table.begin(Action.RESTORE, encode_restore_plan(RestorePlan(savepoint_to_restore=saved)))
    with pytest.raises(UnsupportedTableError, match=r"between two states.*restore\.py"):
        other_jobs(table)[number]()


def test_a_requested_restore_without_a_plan_is_removed() -> None:
    table = a_table()
    saved = save_commit(table, table.commit(A))
    table.timeline_store.request(Action.RESTORE)
    assert restore_to(table, saved).outcome is Outcome.NOTHING_TO_DO
    assert restores(table) == []


def test_an_inflight_restore_without_a_plan_is_an_error() -> None:
    table = a_table()
    saved = save_commit(table, table.commit(A))
    begun = table.begin(Action.RESTORE)
    with pytest.raises(
        MalformedMetadataError, match=rf"{begun.requested_time}.*is empty although the restore"
    ):
        restore_to(table, saved)
    assert len(restores(table)) == 1


@VERSIONS
def test_cleaning_works_after_a_restore(version: TableVersion) -> None:
    """The restore undoes commits that the last clean retained. Later cleans keep all files that readers see."""
    table = a_table(version)
    saved = save_commit(table, table.commit(A, B))
    for _ in range(4):
        updated(table, A)
    clean(CleanRequest(base_path="/t", commits_retained=1), storage=table.storage, clock=later())
    restore_to(table, saved, days=2)
    table.clock.moment += timedelta(days=3)
    for number in range(4):
        updated(table, A, B)
        clean(
            CleanRequest(base_path="/t", commits_retained=1), storage=table.storage, clock=later(5 + number)
        )
        _, visible, files = state(table)
        assert visible <= files
        assert {f"a/{base_file_name('f1', saved)}", f"b/{base_file_name('f2', saved)}"} <= files
