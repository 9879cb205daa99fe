"""The rollback job on tables without rows: undone instants, refused requests, and recovery after a crash."""

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from hudi_table_services.commits.undo import finish_pending_rollbacks
from hudi_table_services.contract.recovery import CreateSavepointRequest, RollbackRequest
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.errors import (
    CorruptTableError,
    InstantHeldError,
    InvalidRequestError,
    UnsupportedTableError,
)
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.hudi_format.table_service_plans import (
    decode_rollback_metadata,
    encode_clean_plan,
    encode_rollback_plan,
)
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.jobs.recovery.savepoint import create_savepoint
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_service_plans import (
    CleanPlan,
)
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.planning.recovery.rollback_plan import plan_rollback
from hudi_table_services.storage.locks.heartbeat import heartbeat_path
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config, update_properties
from hudi_table_services.tables.table import TableAccess
from support.faulty_storage import crashes_everywhere
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable, base_file_name
from support.undone_tables import a_table, clustered, planned, state, updated

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
A, B, NEW = FileGroupId("a", "f1"), FileGroupId("b", "f2"), FileGroupId("a", "f3")


def undo(
    table: SmallTable, *instants: Instant, storage: Storage | None = None, alive: bool = False, **fields: Any
) -> JobResult:
    request = RollbackRequest(
        base_path="/t", instants=tuple(i.requested_time for i in instants), all_failed=not instants, **fields
    )
    now = datetime.now(timezone.utc) + timedelta(days=0 if alive else 1)
    return rollback(
        request, storage=storage or table.storage, clock=FixedClock(now, timedelta(milliseconds=1))
    )


def report(result: JobResult) -> Any:
    assert result.report is not None
    return result.report


@VERSIONS
def test_the_newest_commit_is_undone(version: TableVersion) -> None:
    table = a_table(version)
    table.commit(A, B)
    before = state(table)
    newest = updated(table, A, B)
    speculative = table.add_file("a", base_file_name("f1", newest.requested_time, token="9-9-9"))
    preview = undo(table, newest, preview=True)
    assert preview.outcome is Outcome.PLANNED
    (undone,) = report(preview).undone
    assert (undone.file_count, undone.size_bytes, undone.row_count, undone.operation) == (3, 12, 6, "upsert")
    assert speculative in undone.file_names
    assert newest in state(table)[0]
    result = undo(table, newest)
    assert (result.outcome, result.action) == (Outcome.COMPLETED, "rollback")
    assert state(table) == before
    done = [i for i in table.timeline_store.load() if i.action is Action.ROLLBACK]
    metadata = decode_rollback_metadata(table.timeline_store.read(done[0]))
    assert metadata.commits_rolled_back == (newest.requested_time,)
    assert metadata.total_files_deleted == 3
    again = undo(table, newest)
    assert (again.outcome, again.reused) == (Outcome.COMPLETED, True), "a retry of the first try"
    assert again.reason == f"{newest.requested_time} was undone by {done[0].requested_time}"
    assert undo(table, newest, preview=True).outcome is Outcome.NOTHING_TO_DO


@VERSIONS
def test_several_commits_are_undone_newest_first(version: TableVersion) -> None:
    table = a_table(version)
    table.commit(A)
    before = state(table)
    second, third = updated(table, A), updated(table, A)
    assert [u.instant_time for u in report(undo(table, second, third)).undone] == [
        third.requested_time,
        second.requested_time,
    ]
    assert state(table) == before


@VERSIONS
@pytest.mark.parametrize("kind", ["clustering", "overwrite"])
def test_the_rollback_of_a_replace_commit_restores_the_replaced_files(
    version: TableVersion, kind: str
) -> None:
    table = a_table(version)
    table.commit(A)
    before = state(table)
    newest = clustered(table) if kind == "clustering" else table.commit(NEW, replaces={"a": ("f1",)})
    assert state(table)[1] == {f"a/{base_file_name('f3', newest.requested_time)}"}
    undo(table, newest)
    assert state(table) == before
    assert table.timeline_store.load().pending == ()


@VERSIONS
def test_a_commit_whose_previous_files_were_cleaned_is_not_undone(version: TableVersion) -> None:
    table = a_table(version)
    first = table.commit(A)
    newest = updated(table, A)
    table.storage.delete(f"a/{base_file_name('f1', first.requested_time)}")
    with pytest.raises(InvalidRequestError, match="cleaning has deleted the previous versions of 1 file"):
        undo(table, newest)
    replacing = table.commit(NEW, replaces={"a": ("f1",)})
    table.storage.delete(f"a/{base_file_name('f1', newest.requested_time)}")
    with pytest.raises(InvalidRequestError, match="a/f1"):
        undo(table, replacing)
    assert replacing in state(table)[0]


@VERSIONS
def test_the_error_names_the_later_commit_or_savepoint_that_prevents_a_rollback(
    version: TableVersion,
) -> None:
    table = a_table(version)
    first = table.commit(A)
    second = updated(table, A)
    third = table.commit(B)
    with pytest.raises(InvalidRequestError, match=f"{third.requested_time} .completed.\\."):
        undo(table, second)
    with pytest.raises(InvalidRequestError, match="has no instant 20200101000000000"):
        rollback(RollbackRequest(base_path="/t", instants=("20200101000000000",)), storage=table.storage)
    create_savepoint(CreateSavepointRequest(base_path="/t"), storage=table.storage)
    with pytest.raises(InvalidRequestError, match=f"Savepoint {third.requested_time} protects commit"):
        undo(table, third)
    with pytest.raises(InvalidRequestError, match=f"Savepoint {third.requested_time} protects commit"):
        undo(table, third, second, first)
    assert state(table)[0] == (first, second, third)


@VERSIONS
def test_a_commit_with_files_in_a_pending_plan_is_not_undone(version: TableVersion) -> None:
    table = a_table(version)
    table.commit(A)
    newest = updated(table, A)
    plan = planned(table, f"/t/a/{base_file_name('f1', newest.requested_time)}")
    with pytest.raises(InvalidRequestError, match=f"{plan.requested_time} .requested.\\."):
        undo(table, newest)
    with pytest.raises(InvalidRequestError, match="is the plan of a table service") as refused:
        undo(table, plan)
    assert f"cancel_clustering.py --instant {plan.requested_time}" in refused.value.hint
    table.timeline_store.remove(plan)
    clean = table.begin(Action.CLEAN, encode_clean_plan(CleanPlan(policy="KEEP_LATEST_COMMITS")))
    with pytest.raises(InvalidRequestError, match=f"Clean {clean.requested_time} is pending"):
        undo(table, newest)
    with pytest.raises(InvalidRequestError, match="is a clean; only writes"):
        undo(table, clean)
    assert newest in state(table)[0]


@VERSIONS
def test_dead_writes_are_undone_and_writes_with_a_fresh_heartbeat_are_kept(version: TableVersion) -> None:
    table = a_table(version)
    table.commit(A)
    before = state(table)
    dead, running = table.begin(), table.begin()
    for pending in (dead, running):
        table.add_file("b", base_file_name("x", pending.requested_time))
    table.storage.write(heartbeat_path(running.requested_time), b"")
    result = undo(table, alive=True)
    assert [u.instant_time for u in report(result).undone] == [dead.requested_time]
    assert f"{running.requested_time} may be alive: its heartbeat is 0 s old" in report(result).left_alone[0]
    with pytest.raises(InstantHeldError, match="may be alive"):
        undo(table, running, alive=True)
    with pytest.raises(InvalidRequestError, match="Later writes may depend on it"):
        undo(table, before[0][0], alive=True)
    undo(table, running)
    assert state(table) == before
    assert undo(table).outcome is Outcome.NOTHING_TO_DO


def test_the_newest_commit_is_not_undone_while_an_older_write_is_running() -> None:
    table = a_table()
    table.commit(A)
    running = table.begin()
    newest = updated(table, A)
    table.storage.write(heartbeat_path(running.requested_time), b"")
    with pytest.raises(InstantHeldError, match=running.requested_time):
        undo(table, newest, alive=True)
    undo(table, newest)  # at this time the heartbeat has expired
    assert newest not in state(table)[0]


@VERSIONS
def test_a_delta_commit_with_log_files_is_not_undone(version: TableVersion) -> None:
    table = a_table(version)
    first = table.commit(A)
    pending = table.begin(Action.DELTA_COMMIT)
    log = table.add_file("a", f".f1_{first.requested_time}.log.1_0-1-0")
    stat = WriteStat(file_id="f1", partition_path="a", path=log, prev_commit=first.requested_time)
    metadata = CommitMetadata(operation_type=WriteOperation.UPSERT, partition_to_write_stats={"a": (stat,)})
    delta = table.timeline_store.complete(pending, encode_commit_metadata(metadata, version))
    with pytest.raises(UnsupportedTableError, match="appended to a/.f1_"):
        undo(table, delta)
    assert table.storage.exists(log)
    assert delta in state(table)[0]


@VERSIONS
def test_a_missing_metadata_table_is_refused_or_switched_off_before_a_commit_is_undone(
    version: TableVersion,
) -> None:
    table = a_table(version)
    table.commit(A)
    newest = updated(table, A)
    update_properties(table.storage, {"hoodie.table.metadata.partitions": "files"}, table.clock)
    for preview in (True, False):
        with pytest.raises(CorruptTableError, match="metadata table"):
            undo(table, newest, preview=preview)
    undo(table, newest, options={"hoodie.metadata.enable": "false"})
    assert read_table_config(table.storage).metadata_partitions == ()


@VERSIONS
@pytest.mark.parametrize("kind", ["commit", "clustering"])
def test_a_requested_rollback_is_removed_if_later_commits_exist(version: TableVersion, kind: str) -> None:
    """Hudi would execute the rollback, and delete files that later commits have updated."""
    table = a_table(version)
    table.commit(A)
    second = clustered(table) if kind == "clustering" else updated(table, A)
    file_id = "f3" if kind == "clustering" else "f1"
    path = f"a/{base_file_name(file_id, second.requested_time)}"
    plan = plan_rollback(second, [path], table.storage.base_path, by_listing=True)
    table.timeline_store.request(Action.ROLLBACK, encode_rollback_plan(plan))
    third = updated(table, FileGroupId("a", file_id))
    access = TableAccess(storage=table.storage, clock=table.clock, config=table.config)
    assert finish_pending_rollbacks(access, access.load_timeline()) == ()
    assert table.timeline_store.load().pending == ()
    assert {second, third} <= set(state(table)[0])
    assert table.storage.exists(path)


@VERSIONS
@pytest.mark.parametrize("kind", ["commit", "clustering", "failed"])
def test_after_a_crash_at_any_change_the_next_run_completes_the_rollback(
    version: TableVersion, kind: str
) -> None:
    tables: list[tuple[SmallTable, Instant, Any, Any]] = []

    def start() -> Storage:
        table = a_table(version)
        table.commit(A, B)
        before = state(table)
        if kind == "commit":
            newest = updated(table, A, B)
        elif kind == "clustering":
            newest = clustered(table)
        else:
            newest = table.begin()
            for group in (A, B):
                table.add_file(group.partition_path, base_file_name("x", newest.requested_time))
        tables.append((table, newest, before, state(table)))
        return table.storage

    runs = 0
    for _ in crashes_everywhere(lambda s: undo(tables[-1][0], tables[-1][1], storage=s), start):
        runs += 1
        table, newest, before, after = tables[-1]
        _, visible, files = state(table)
        assert visible in (before[1], after[1]), "readers see the old or the new state"
        assert visible <= files, "all visible files exist"
        assert undo(table, newest).outcome is Outcome.COMPLETED
        assert state(table) == before
        assert table.timeline_store.load().pending == ()
        rollbacks = [i for i in table.timeline_store.load() if i.action is Action.ROLLBACK]
        assert len(rollbacks) == 1
    assert runs >= 9
