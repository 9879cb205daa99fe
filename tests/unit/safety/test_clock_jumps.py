"""Times on the timeline always increase, even if the clock is set back, or was far ahead for a while."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

import pytest

from hudi_table_services.commits.undo_checks import require_dead
from hudi_table_services.contract.health import HealthRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.errors import InstantHeldError
from hudi_table_services.jobs.health.table_health import table_health
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage.locks.heartbeat import heartbeat_path
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from hudi_table_services.tables.table import TableAccess
from support.fixed_clock import FixedClock
from support.jobs_on_tables import JOBS, later, read_state
from support.small_tables import SmallTable
from support.undone_tables import a_table, updated

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
BACK = pytest.mark.parametrize("back", [timedelta(minutes=5), timedelta(days=1)], ids=["minutes", "a day"])
START = datetime.now(timezone.utc) - timedelta(hours=3)
A, B = FileGroupId("a", "f1"), FileGroupId("b", "f2")


def times(instants: Timeline | list[Instant]) -> list[str]:
    return [time for i in instants for time in (i.requested_time, i.completion_time) if time]


def assert_only_grew(before: Timeline, after: Timeline) -> None:
    """Check that new requested and completion times are later than all times that the timeline had before.

    A savepoint has the requested time of its commit, and a pending instant keeps its requested time. For these
    instants only the completion time is new.
    """
    known = {i.requested_time for i in before}
    ended = {i.completion_time for i in before}
    newest = max(times(before))
    for instant in after:
        if instant.requested_time not in known:
            assert instant.requested_time > newest, instant
        if instant.completion_time is not None and instant.completion_time not in ended:
            assert instant.completion_time > max(newest, instant.requested_time), instant
    completion_times = [i.completion_time for i in after if i.completion_time]
    assert len(set(completion_times)) == len(completion_times)


@VERSIONS
@BACK
def test_times_increase_if_the_clock_is_set_back_between_two_writes(
    version: TableVersion, back: timedelta
) -> None:
    table = a_table(version, START)
    for _ in range(4):
        before = table.timeline_store.load()
        table.clock.moment -= back
        newest = updated(table, A, B) if before.completed else table.commit(A, B)
        after = table.timeline_store.load()
        if before.completed:
            assert_only_grew(before, after)
        assert after.completed_writes[-1] == newest


@dataclass
class ClockSetBack(FixedClock):
    """A clock that is set back when it is read for the n-th time."""

    at: int = 0
    back: timedelta = field(default_factory=timedelta)
    reads: int = 0

    def now(self) -> datetime:
        self.reads += 1
        if self.reads == self.at:
            self.moment -= self.back
        return super().now()


@VERSIONS
@BACK
@pytest.mark.parametrize("job", JOBS)
def test_times_increase_if_the_clock_is_set_back_within_a_job(
    job: str, version: TableVersion, back: timedelta
) -> None:
    table = a_table(version, START)
    JOBS[job](table)(table.storage, later(1))
    new = read_state(table)
    for at in range(2, 200, 3):
        table = a_table(version, START)
        act = JOBS[job](table)
        old, before = read_state(table), table.timeline_store.load()
        clock = ClockSetBack(later(1).moment, timedelta(milliseconds=1), at=at, back=back)
        refused = False
        try:
            act(table.storage, clock)
        except InstantHeldError:  # the clock jumped back, so heartbeats seem fresh and the restore waits
            refused = job == "restore"
            assert refused
        if clock.reads < at:
            break
        assert_only_grew(before, table.timeline_store.load())
        assert read_state(table).live == (old if refused else new).live, at
        act(table.storage, later(3))
        assert read_state(table).writes == new.writes, at


@VERSIONS
def test_times_increase_after_the_clock_was_far_ahead(version: TableVersion) -> None:
    table = a_table(version, START)
    table.commit(A, B)
    right = table.clock.moment
    table.clock.moment += timedelta(days=365 * 50)
    ahead = updated(table, A)
    table.clock.moment = right
    before = table.timeline_store.load()
    for _ in range(3):
        assert updated(table, A, B).requested_time > ahead.requested_time
    assert_only_grew(before, table.timeline_store.load())
    newest = table.timeline_store.load().completed_writes[-1]
    assert {s.base_instant_time for s in load_snapshot(table.storage).all_slices} == {newest.requested_time}
    report = _health(table, FixedClock(right)).report
    assert report is not None
    assert report.measures["hours_ahead"] == pytest.approx(24 * 365 * 50, rel=0.01)
    assert [each.measure for each in report.findings if each.measure == "hours_ahead"] == ["hours_ahead"]


def _health(table: SmallTable, clock: FixedClock) -> JobResult:
    return table_health(HealthRequest(base_path="/t"), storage=table.storage, clock=clock)


@VERSIONS
def test_a_heartbeat_in_the_future_is_reported(version: TableVersion) -> None:
    table = a_table(version, START)
    table.commit(A, B)
    dead = table.begin()
    table.storage.write(heartbeat_path(dead.requested_time), b"")
    clock = FixedClock(datetime.now(timezone.utc) - timedelta(days=1))
    report = _health(table, clock).report
    assert report is not None
    (pending,) = report.pending
    assert pending.heartbeat == "ahead"
    assert "ahead of the clock" in pending.meaning
    assert heartbeat_path(dead.requested_time) in pending.next_step
    assert not pending.is_dead
    access = TableAccess(storage=table.storage, clock=clock, config=table.config)
    with pytest.raises(InstantHeldError, match=r"is 86\d{3} s ahead of the clock\..*delete the heartbeat"):
        require_dead(access, [dead])


def test_a_plan_whose_heartbeat_is_in_the_future_is_reported() -> None:
    table = a_table(TableVersion.V9, START)
    act = JOBS["cancel clustering"](table)
    (pending,) = (i for i in table.timeline_store.load().pending if i.action is Action.CLUSTERING)
    table.storage.write(heartbeat_path(pending.requested_time), b"")
    report = _health(table, FixedClock(datetime.now(timezone.utc) - timedelta(days=1))).report
    assert report is not None
    (instant,) = report.pending
    assert (instant.heartbeat, instant.is_dead) == ("ahead", False)
    act(table.storage, later(1))
    assert not table.timeline_store.load().pending
