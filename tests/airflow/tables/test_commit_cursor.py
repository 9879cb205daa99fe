"""A cursor that follows a timeline reports every completed write once, whatever the order of events."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airflow_hudi_provider.tables import commit_cursor
from airflow_hudi_provider.tables.commit_cursor import CommitCursor
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.timeline import Timeline

FIRST = 20260101000000000
SKEW = 3
"""Maximum error of a writer's clock; less than the time between two requests."""

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("request"), st.integers(-SKEW, SKEW)),
        st.tuples(st.just("complete"), st.integers(0, 9)),
        st.tuples(st.just("archive"), st.integers(1, 4)),
        st.tuples(st.just("look"), st.integers(1, 3)),
    ),
    max_size=60,
)


class Table:
    """A table whose writers have different clocks. Writes complete in any order, and are archived oldest first."""

    def __init__(self) -> None:
        self.active: dict[str, Instant] = {}
        self.archived: list[Instant] = []
        self.clock = 1000

    def request(self, skew: int) -> None:
        self.clock += 5
        time = f"{FIRST + self.clock + skew}"
        if time in self.active or time in {i.requested_time for i in self.archived}:
            return  # no two writes of a table have the same requested time
        self.active[time] = Instant(requested_time=time, action=Action.COMMIT, state=InstantState.INFLIGHT)

    def complete(self, number: int) -> None:
        pending = sorted(time for time, i in self.active.items() if not i.is_completed)
        if pending:
            time = pending[number % len(pending)]
            self.active[time] = replace(self.active[time], state=InstantState.COMPLETED)

    def archive(self, count: int) -> None:
        for time in sorted(self.active)[:count]:
            if not self.active[time].is_completed:
                return  # archival stops at a pending write
            if int(time) >= FIRST + self.clock + 5 - SKEW:
                return  # archival keeps the newest writes, so a new request has a later time than all archived writes
            self.archived.append(self.active.pop(time))

    @property
    def timeline(self) -> Timeline:
        return Timeline.of(self.active.values())

    @property
    def completed(self) -> list[str]:
        return sorted(i.requested_time for i in (*self.archived, *self.active.values()) if i.is_completed)


@pytest.mark.parametrize("remembered", [3, 100])
@given(steps=STEPS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_completed_write_is_reported_once(
    steps: list[tuple[str, int]], remembered: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit_cursor, "OPEN_INSTANTS", remembered)
    table, cursor, reported = Table(), CommitCursor.at_head(Timeline()), []
    for action, value in [*steps, ("look", 1)]:
        if action == "look":
            timeline = table.timeline
            archived = table.archived if cursor.needs_archive(timeline) else ()
            new = cursor.new_writes(timeline, archived)
            is_due = len(new) >= value
            reported += [i.requested_time for i in new] if is_due else []
            cursor = cursor.past(timeline, new if is_due else (), () if is_due else new)
            cursor = CommitCursor.from_json(cursor.to_json())
        else:
            getattr(table, action)(value)
    assert sorted(reported) == table.completed


def test_a_cursor_at_the_end_of_the_timeline_reports_only_writes_that_complete_afterwards() -> None:
    table = Table()
    for number in range(5):
        table.request(0)
        table.complete(number)
    table.request(0)
    cursor = CommitCursor.at_head(table.timeline)
    assert cursor.new_writes(table.timeline) == ()
    table.complete(0)
    assert [i.requested_time for i in cursor.new_writes(table.timeline)] == [max(table.active)]
