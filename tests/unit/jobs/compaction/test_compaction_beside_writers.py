"""Writers of Hudi that take no table lock, beside schedules, executions and cancellations of a compaction."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from hudi_table_services.contract.compaction.compaction import ExecuteCompactionRequest
from hudi_table_services.contract.result import Outcome
from hudi_table_services.errors import FileGroupConflictError, InstantHeldError
from hudi_table_services.execution.compaction.merge_slice import CompactionJob, SliceTask
from hudi_table_services.execution.compaction.run import MergedSlices
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.jobs.compaction.execute import CompactionExecution
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_version import TableVersion
from support.compaction.jobs_here import cancel, execute, merge_here, schedule
from support.compaction.written_table import NORTH, WrittenTable, a_row, new_storage
from support.faulty_storage import FaultyStorage
from support.jobs_on_tables import later

WITH_OWN_TIMES = pytest.mark.parametrize("version", [TableVersion.V8, TableVersion.V9])


def a_table(version: TableVersion = TableVersion.V6) -> WrittenTable:
    table = WrittenTable(new_storage(), version)
    table.insert({NORTH: [a_row("a", 1), a_row("b", 1)]})
    table.log({NORTH: [a_row("a", 2)]})
    return table


def keys(table: WrittenTable) -> list[tuple[str, int]]:
    return [(row["_hoodie_record_key"], row["ts"]) for row in table.base_rows()]


def all_keys(table: WrittenTable) -> list[tuple[str, int]]:
    """The rows that a snapshot query would return. This function runs another compaction and reads its base files."""
    schedule(table.storage, table.clock)
    execute(table.storage, table.clock)
    return keys(table)


@dataclass
class OlderWrite:
    """A delta commit of Hudi in table version 6 that chooses its instant time before a compaction is scheduled.

    Its log file belongs to the slice that the compaction merges.
    """

    table: WrittenTable
    time: str = field(init=False)
    base_time: str = field(init=False)

    def __post_init__(self) -> None:
        self.time = self.table.timeline_store.new_instant_time()
        (current,) = self.table.snapshot.all_slices
        self.base_time = current.base_instant_time

    def begin(self) -> Instant:
        store = self.table.timeline_store
        after = self.table.begin({NORTH: ()})
        profile = store.commit_metadata(after)
        store.remove(after)
        requested = store.request(Action.DELTA_COMMIT, b"", self.time)
        return store.start(requested, encode_commit_metadata(profile, self.table.version))

    def finish(self, pending: Instant) -> None:
        self.table.finish(pending, {NORTH: [a_row("b", 7)]}, named_by=self.base_time)


def test_in_version_6_an_execution_merges_a_log_file_that_the_plan_does_not_name() -> None:
    """The delta commit began before the plan and completed after it. Hudi 0.15 loses its rows."""
    table = a_table()
    older = OlderWrite(table)
    schedule(table.storage, table.clock)
    older.finish(older.begin())
    assert execute(table.storage, table.clock).outcome is Outcome.COMPLETED
    assert keys(table) == [("a", 2), ("b", 7)]


def test_in_version_6_an_execution_waits_for_a_delta_commit_that_began_before_the_plan() -> None:
    table = a_table()
    older = OlderWrite(table)
    schedule(table.storage, table.clock)
    pending = older.begin()
    with pytest.raises(FileGroupConflictError, match=f"delta commit {older.time} began before") as refused:
        execute(table.storage, table.clock)
    assert refused.value.retryable
    older.finish(pending)
    execute(table.storage, table.clock)
    assert keys(table) == [("a", 2), ("b", 7)]


def execute_while(table: WrittenTable, act: Callable[[], object]) -> None:
    """Execute the plan. Another writer acts after the slices are merged."""

    def merge(job: CompactionJob, tasks: Sequence[SliceTask], what: str) -> MergedSlices:
        merged = merge_here(job, tasks, what)
        act()
        return merged

    request = ExecuteCompactionRequest(base_path="/t", request_id="same")
    CompactionExecution(request, table.storage, table.clock, merge).run(())


@pytest.mark.parametrize("ends", [False, True])
def test_in_version_6_an_execution_is_refused_if_an_older_delta_commit_appears_during_the_execution(
    ends: bool,
) -> None:
    table = a_table()
    older = OlderWrite(table)
    schedule(table.storage, table.clock)
    begun: list[Instant] = []

    def act() -> None:
        begun.append(older.begin())
        if ends:
            older.finish(begun[0])

    with pytest.raises(FileGroupConflictError, match=older.time):
        execute_while(table, act)
    assert all(i.action is not Action.COMMIT for i in table.timeline_store.load().completed)
    if not ends:
        older.finish(begun[0])
    execute(table.storage, table.clock, request_id="same")
    assert keys(table) == [("a", 2), ("b", 7)]


def test_in_version_6_a_delta_commit_that_begins_after_the_plan_does_not_disturb_the_execution() -> None:
    table = a_table()
    time = schedule(table.storage, table.clock).instant_time or ""
    wait_a_moment(table)
    pending = table.begin({NORTH: ()})
    execute(table.storage, table.clock)
    table.finish(pending, {NORTH: [a_row("b", 7)]}, named_by=time)
    assert all_keys(table) == [("a", 2), ("b", 7)]


def wait_a_moment(table: WrittenTable) -> None:
    """Wait until new files have another modification time than the plan."""
    (pending,) = table.timeline_store.load().pending
    planned_ms = table.timeline_store.modified_ms(pending)
    table.storage.write("clock", b"")
    while table.storage.modified_ms("clock") <= planned_ms:
        table.storage.write("clock", b"")


@WITH_OWN_TIMES
def test_a_log_file_whose_delta_commit_completed_before_the_plan_by_a_slow_clock_is_merged(
    version: TableVersion,
) -> None:
    table = a_table(version)
    completion_time = table.timeline_store.new_instant_time()
    schedule(table.storage, table.clock)
    completed = table.log({NORTH: [a_row("b", 7)]})
    store = table.timeline_store
    slow = replace(completed, completion_time=completion_time)
    table.storage.write(store.path_of(slow), store.read(completed))
    table.storage.delete(store.path_of(completed))
    execute(table.storage, table.clock)
    assert keys(table) == [("a", 2), ("b", 7)]


@dataclass
class Beside(FaultyStorage):
    """The storage of a table whose other writer acts once, right after or right before a change of a plan's file.

    Attributes:
        on: the operation, ``create`` or ``delete``.
    """

    act: Callable[[], object] = lambda: None
    on: str = "create"
    has_acted: bool = False

    def _change(self, operation: Callable[..., Any], *arguments: Any) -> Any:
        is_plan = str(arguments[0]).endswith(".compaction.requested") and operation.__name__ == self.on
        acts = is_plan and not self.has_acted
        if acts:
            self.has_acted = True
        if acts and self.on == "delete":
            self.act()
        done = operation(*arguments)
        if acts and self.on == "create":
            self.act()
        return done


def test_in_version_6_a_plan_stays_if_a_writer_began_right_after_it() -> None:
    """The writer read the plan, so it names its log file after the plan."""
    table = a_table()
    begun: list[Instant] = []
    storage = Beside(table.storage, act=lambda: begun.append(table.begin({NORTH: ()})))
    scheduled = schedule(storage, table.clock)
    (warning,) = (each for each in scheduled.warnings if "does not use the table lock" in each)
    assert scheduled.instant_time in warning
    table.finish(begun[0], {NORTH: [a_row("b", 7)]}, named_by=scheduled.instant_time or "")
    execute(table.storage, table.clock)
    assert all_keys(table) == [("a", 2), ("b", 7)]


@pytest.mark.parametrize("is_finished", [False, True])
def test_in_version_6_a_plan_is_written_back_if_a_writer_begins_during_its_cancellation(
    is_finished: bool,
) -> None:
    table = a_table()
    time = schedule(table.storage, table.clock).instant_time or ""
    (plan,) = table.timeline_store.load().pending
    content = table.timeline_store.read_requested(plan)
    begun: list[Instant] = []

    def act() -> None:
        begun.append(table.begin({NORTH: ()}))
        if is_finished:
            table.finish(begun[0], {NORTH: [a_row("b", 7)]}, named_by=time)

    with pytest.raises(InstantHeldError, match=f"Compaction {time} cannot be cancelled"):
        cancel(Beside(table.storage, act=act, on="delete"), table.clock, time)
    assert table.timeline_store.read_requested(plan) == content
    if not is_finished:
        table.finish(begun[0], {NORTH: [a_row("b", 7)]}, named_by=time)
    execute(table.storage, table.clock)
    assert all_keys(table) == [("a", 2), ("b", 7)]


def test_in_version_6_a_cancellation_by_age_skips_a_plan_if_a_writer_reads_it_at_the_same_time() -> None:
    table = a_table()
    time = schedule(table.storage, table.clock).instant_time or ""
    storage = Beside(table.storage, act=lambda: table.begin({NORTH: ()}), on="delete")
    result = cancel(storage, later(1), older_than_minutes=0)
    assert storage.has_acted
    assert result.outcome is Outcome.NOTHING_TO_DO
    assert time in {i.requested_time for i in table.timeline_store.load().pending}
