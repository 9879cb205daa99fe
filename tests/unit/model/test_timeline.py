"""The timeline contains the most advanced state of each instant, in the order of requested times."""

from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.timeline import Timeline

TIMES = [f"2026112105350{i}000" for i in range(5)]
STATES = st.builds(
    Instant,
    requested_time=st.sampled_from(TIMES),
    action=st.sampled_from(Action),
    state=st.sampled_from(InstantState),
    completion_time=st.none(),
)


def instant(
    time: int, action: Action, state: InstantState = InstantState.COMPLETED, completed: int | None = None
) -> Instant:
    completion_time = None if completed is None else TIMES[completed]
    return Instant(requested_time=TIMES[time], action=action, state=state, completion_time=completion_time)


@given(st.lists(STATES, max_size=20))
def test_only_the_most_advanced_state_of_an_instant_is_kept(states: list[Instant]) -> None:
    timeline = Timeline.of(states)
    assert len({kept.identity for kept in timeline}) == len(timeline) == len({s.identity for s in states})
    for kept in timeline:
        ranks = [state.state.rank for state in states if state.identity == kept.identity]
        assert kept.state.rank == max(ranks)
        assert kept in states


@given(st.lists(STATES, max_size=20))
def test_instants_are_ordered_by_requested_time_and_either_pending_or_completed(
    states: list[Instant],
) -> None:
    timeline = Timeline.of(states)
    times = [kept.requested_time for kept in timeline]
    assert times == sorted(times)
    assert {*timeline.pending, *timeline.completed} == set(timeline)
    assert not {*timeline.pending} & {*timeline.completed}


def test_a_completed_compaction_and_its_plan_are_one_instant() -> None:
    planned = instant(1, Action.COMPACTION, InstantState.REQUESTED)
    finished = instant(1, Action.COMMIT)
    assert Timeline.of([planned, finished]).instants == (finished,)


def test_writes_are_distinguished_from_other_actions() -> None:
    commit, delta = instant(0, Action.COMMIT, completed=4), instant(1, Action.DELTA_COMMIT, completed=2)
    timeline = Timeline.of([commit, delta, instant(3, Action.CLEAN, completed=4)])
    assert timeline.completed_writes == (commit, delta)
    assert Timeline().completed_writes == ()


@given(st.lists(STATES, max_size=20), st.lists(STATES, max_size=20))
def test_only_new_instants_are_returned_by_since(before: list[Instant], later: list[Instant]) -> None:
    first, second = Timeline.of(before), Timeline.of([*before, *later])
    assert {*second.since(first), *first} >= {*second}
    assert not {*second.since(first)} & {*first}


@given(st.lists(STATES, max_size=20), STATES)
def test_the_timeline_with_an_instant_has_the_new_state_of_this_instant(
    before: list[Instant], changed: Instant
) -> None:
    timeline = Timeline.of(before, may_have_archive=False).with_instant(changed)
    others = [instant for instant in Timeline.of(before) if instant.identity != changed.identity]
    assert timeline == Timeline.of([*others, changed])
    assert not timeline.may_have_archive


def test_instants_are_found_by_their_requested_time() -> None:
    savepoint, commit = instant(1, Action.SAVEPOINT), instant(1, Action.COMMIT)
    timeline = Timeline.of([savepoint, commit, instant(2, Action.CLEAN)])
    assert set(timeline.find(TIMES[1])) == {savepoint, commit}
    assert timeline.find(TIMES[4]) == ()
