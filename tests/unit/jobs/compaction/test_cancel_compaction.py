"""Cancelling compactions: leftovers of dead executions, plans that are needed, and cancellations that died."""

from datetime import timedelta

import pytest

from hudi_table_services.contract.recovery import RollbackRequest
from hudi_table_services.contract.result import Outcome
from hudi_table_services.errors import InstantHeldError, InvalidRequestError
from hudi_table_services.hudi_format import timeline_schemas
from hudi_table_services.hudi_format.avro_container import encode_container
from hudi_table_services.hudi_format.markers import MarkerKind
from hudi_table_services.hudi_format.plan_codecs import ROLLBACK_PLAN
from hudi_table_services.hudi_format.table_service_plans import encode_rollback_plan
from hudi_table_services.jobs.compaction.cancel import finish_cancellations
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.options.locks import LockOptions
from hudi_table_services.planning.recovery.rollback_plan import plan_rollback
from hudi_table_services.storage.locks.heartbeat import heartbeat_path
from hudi_table_services.storage.locks.lock import table_lock
from hudi_table_services.storage.markers import MarkerStore
from hudi_table_services.tables.compaction.compaction_history import records_folder
from hudi_table_services.tables.table import TableAccess
from support.compaction.jobs_here import NOW, cancel, execute, report_of, schedule
from support.compaction.written_table import NORTH, Deleted, WrittenTable, a_row, new_storage
from support.fixed_clock import FixedClock
from support.jobs_on_tables import later
from support.log_golden import ARCHIVES

VERSIONS = pytest.mark.parametrize("version", list(ARCHIVES), ids=lambda version: f"v{version.value}")


def a_table(version: TableVersion = TableVersion.V9) -> WrittenTable:
    table = WrittenTable(new_storage(), version)
    table.insert({NORTH: [a_row("a", 1), a_row("b", 1)]})
    table.log({NORTH: [a_row("a", 2), Deleted("b")]})
    return table


def a_plan(table: WrittenTable) -> str:
    return schedule(table.storage, table.clock).instant_time or ""


def started(table: WrittenTable) -> str:
    """A plan whose execution wrote a file and a record, and died."""
    time = a_plan(table)
    (pending,) = table.timeline_store.load().pending
    table.timeline_store.start(pending)
    name = BaseFile(file_id=NORTH.file_id, write_token="0-7-7", instant_time=time).file_name
    MarkerStore(table.storage, time).mark(f"north/{name}", MarkerKind.MERGE)
    table.storage.write(f"north/{name}", b"PAR1")
    table.storage.write(f"{records_folder(time)}/x.json", b"{}")
    table.storage.write(heartbeat_path(time), b"dead/attempt")
    return time


def of_instant(table: WrittenTable, time: str) -> list[str]:
    return [f.path for f in table.storage.list_files() if time in f.path and "rollback" not in f.path]


@VERSIONS
def test_cancelling_removes_the_plan_and_records_a_rollback(version: TableVersion) -> None:
    table = a_table(version)
    time = a_plan(table)
    assert cancel(table.storage, table.clock, time).outcome is Outcome.COMPLETED
    assert of_instant(table, time) == []
    assert [i.action for i in table.timeline_store.load()][-1] is Action.ROLLBACK
    again = cancel(table.storage, table.clock, time)
    assert (again.outcome, again.reused) == (Outcome.COMPLETED, True)
    assert f"compaction {time} was cancelled" in again.reason
    schedule(table.storage, table.clock)
    execute(table.storage, table.clock)
    assert [row["ts"] for row in table.base_rows()] == [2]


@VERSIONS
def test_the_leftovers_of_a_dead_execution_are_deleted(version: TableVersion) -> None:
    table = a_table(version)
    before = {f.path for f in table.storage.list_files() if not f.path.startswith(".hoodie")}
    time = started(table)
    cancel(table.storage, later(1), time)
    assert of_instant(table, time) == []
    assert {f.path for f in table.storage.list_files() if not f.path.startswith(".hoodie")} == before


@VERSIONS
def test_files_of_a_dead_execution_of_hudi_are_found_without_markers(version: TableVersion) -> None:
    table = a_table(version)
    time = a_plan(table)
    (pending,) = table.timeline_store.load().pending
    table.timeline_store.start(pending)
    name = BaseFile(file_id=NORTH.file_id, write_token="0-7-7", instant_time=time).file_name
    table.storage.write(f"north/{name}", b"PAR1")
    cancel(table.storage, later(1), time, options=NOW)
    assert of_instant(table, time) == []


def test_in_version_6_a_plan_with_later_log_files_is_not_cancelled() -> None:
    table = a_table(TableVersion.V6)
    time = a_plan(table)
    table.log({NORTH: [a_row("a", 3)]})
    with pytest.raises(
        InstantHeldError, match=rf"the log file north/\.n1_{time}.* belongs to the file slice"
    ):
        cancel(table.storage, table.clock, time)
    assert cancel(table.storage, later(1), older_than_minutes=0).outcome is Outcome.NOTHING_TO_DO
    assert len(table.timeline_store.load().pending) == 1


def test_in_version_6_a_plan_is_not_cancelled_beside_a_pending_delta_commit() -> None:
    table = a_table(TableVersion.V6)
    time = a_plan(table)
    pending = table.begin({NORTH: ()})
    with pytest.raises(InstantHeldError, match=f"pending delta commit {pending.requested_time} may write"):
        cancel(table.storage, table.clock, time)


@pytest.mark.parametrize("version", [TableVersion.V8, TableVersion.V9])
def test_in_later_versions_a_plan_is_cancelled_beside_later_log_files(version: TableVersion) -> None:
    table = a_table(version)
    time = a_plan(table)
    table.log({NORTH: [a_row("a", 3)]})
    table.begin({NORTH: ()})
    cancel(table.storage, table.clock, time)
    schedule(table.storage, table.clock)
    execute(table.storage, table.clock)
    assert [row["ts"] for row in table.base_rows()] == [3]


def test_a_plan_that_is_being_executed_is_not_cancelled() -> None:
    table = a_table()
    time = a_plan(table)
    table.storage.write(heartbeat_path(time), b"other/attempt")
    with pytest.raises(InstantHeldError, match=f"Compaction {time} is being executed"):
        cancel(table.storage, table.clock, time)
    assert cancel(table.storage, table.clock, older_than_minutes=0).outcome is Outcome.NOTHING_TO_DO


def test_a_completed_compaction_and_other_instants_cannot_be_cancelled() -> None:
    table = a_table()
    time = a_plan(table)
    execute(table.storage, table.clock)
    with pytest.raises(InvalidRequestError, match=f"Compaction {time} is completed"):
        cancel(table.storage, table.clock, time)
    write = table.timeline_store.load().completed_writes[0].requested_time
    with pytest.raises(InvalidRequestError, match=f"{write} is a deltacommit, not a compaction"):
        cancel(table.storage, table.clock, write)
    with pytest.raises(InvalidRequestError, match="no instant 20200101000000000"):
        cancel(table.storage, table.clock, "20200101000000000")


def test_only_plans_that_are_old_enough_are_cancelled_and_a_preview_changes_nothing() -> None:
    table = a_table()
    a_plan(table)
    assert cancel(table.storage, table.clock, older_than_minutes=30).outcome is Outcome.NOTHING_TO_DO
    clock = FixedClock(table.clock.moment + timedelta(minutes=31))
    before = {f.path for f in table.storage.list_files()}
    previewed = cancel(table.storage, clock, older_than_minutes=30, preview=True)
    assert previewed.outcome is Outcome.PLANNED
    assert [plan.state for plan in report_of(previewed).plans] == ["previewed"]
    assert {f.path for f in table.storage.list_files()} == before
    assert cancel(table.storage, clock, older_than_minutes=30).outcome is Outcome.COMPLETED


def begin_cancellation(table: WrittenTable, time: str) -> Instant:
    """A cancellation whose job died after it had requested the rollback."""
    (pending,) = (i for i in table.timeline_store.load().pending if i.requested_time == time)
    plan = plan_rollback(pending, (), table.storage.base_path)
    return table.timeline_store.request(Action.ROLLBACK, encode_rollback_plan(plan))


@VERSIONS
def test_the_next_execution_finishes_a_cancellation_that_died(version: TableVersion) -> None:
    table = a_table(version)
    time = a_plan(table)
    begin_cancellation(table, time)
    result = execute(table.storage, later(1))
    assert result.outcome is Outcome.NOTHING_TO_DO
    assert of_instant(table, time) == []
    assert table.timeline_store.load().pending == ()


@VERSIONS
@pytest.mark.parametrize("is_started", [False, True])
def test_a_rollback_of_an_execution_by_hudi_keeps_the_plan(version: TableVersion, is_started: bool) -> None:
    """Hudi rolls an inflight compaction back before it executes the plan again, and keeps the plan."""
    table = a_table(version)
    time = a_plan(table)
    (pending,) = table.timeline_store.load().pending
    inflight = table.timeline_store.start(pending)
    name = BaseFile(file_id=NORTH.file_id, write_token="0-7-7", instant_time=time).file_name
    table.storage.write(f"north/{name}", b"PAR1")
    plan = plan_rollback(inflight, (f"north/{name}",), table.storage.base_path, by_listing=True)
    content = encode_container(timeline_schemas.ROLLBACK_PLAN, ROLLBACK_PLAN.to_avro(plan))
    rollback = table.timeline_store.request(Action.ROLLBACK, content)
    if is_started:
        table.timeline_store.start(rollback)
    result = execute(table.storage, later(1), options=NOW)
    assert (result.outcome, result.instant_time) == (Outcome.COMPLETED, time)
    assert not table.storage.exists(f"north/{name}")
    assert [(row["_hoodie_record_key"], row["ts"]) for row in table.base_rows()] == [("a", 2)]
    assert table.timeline_store.load().pending == ()


def test_in_version_6_a_cancellation_is_given_up_if_the_plan_is_needed_by_now() -> None:
    table = a_table(TableVersion.V6)
    time = a_plan(table)
    begin_cancellation(table, time)
    table.log({NORTH: [a_row("a", 3)]})
    access = TableAccess(storage=table.storage, clock=later(1), config=table.config)
    finish_cancellations(access, table_lock(table.storage, LockOptions()), "request", 60)
    assert [i.action for i in table.timeline_store.load().pending] == [Action.COMPACTION]
    execute(table.storage, later(1))
    schedule(table.storage, later(1))
    execute(table.storage, later(1))
    assert [row["ts"] for row in table.base_rows()] == [3]


@pytest.mark.parametrize("is_committed", [True, False], ids=["log file", "pending delta commit"])
def test_in_version_6_a_rollback_does_not_finish_a_cancellation_of_a_plan_that_is_needed_by_now(
    is_committed: bool,
) -> None:
    table = a_table(TableVersion.V6)
    time = a_plan(table)
    begin_cancellation(table, time)
    records = {NORTH: [a_row("a", 3)]}
    pending = table.begin(records)
    if is_committed:
        table.finish(pending, records)
    before = of_instant(table, time)
    request = RollbackRequest(base_path="/t", instants=(time,))
    with pytest.raises(InstantHeldError, match=f"cancellation of compaction {time} cannot be finished"):
        rollback(request, storage=table.storage, clock=table.clock)
    assert of_instant(table, time) == before
    if not is_committed:
        table.finish(pending, records)
    execute(table.storage, later(1))
    schedule(table.storage, later(1))
    execute(table.storage, later(1))
    assert [row["ts"] for row in table.base_rows()] == [3]


@VERSIONS
def test_a_rollback_finishes_a_cancellation_of_a_plan_that_no_file_needs(version: TableVersion) -> None:
    table = a_table(version)
    time = a_plan(table)
    begin_cancellation(table, time)
    rollback(RollbackRequest(base_path="/t", instants=(time,)), storage=table.storage, clock=table.clock)
    assert of_instant(table, time) == []
    assert table.timeline_store.load().pending == ()
