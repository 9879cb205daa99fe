"""Laws of every archival plan, for any timeline."""

import random
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.model.archival import ArchivalBound, ArchivalOptions
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.planning.archival import ArchivalFacts, plan_archival
from support.default_options import archival_options


def text(number: int) -> str:
    return f"{20260102030405000 + number}"


ACTIONS = st.sampled_from(
    [*[Action.COMMIT] * 6, Action.REPLACE_COMMIT, Action.CLEAN, Action.ROLLBACK, Action.RESTORE]
)


@st.composite
def timelines(draw: st.DrawFn) -> Timeline:
    instants = []
    for number, action in enumerate(draw(st.lists(ACTIONS, max_size=30))):
        time = text(number * 10)
        completed = text(number * 10 + draw(st.integers(1, 25)))
        pending = draw(st.integers(0, 19)) == 0
        state = InstantState.INFLIGHT if pending else InstantState.COMPLETED
        done = None if pending else completed
        instants.append(Instant(requested_time=time, action=action, state=state, completion_time=done))
        if action.writes_data and not pending and draw(st.integers(0, 9)) == 0:
            instants.append(replace(instants[-1], action=Action.SAVEPOINT))
    return Timeline.of(instants)


options = st.builds(
    lambda low, more, beyond: archival_options(
        min_commits=low, max_commits=low + more, beyond_savepoint=beyond
    ),
    st.integers(1, 8),
    st.integers(1, 8),
    st.booleans(),
)
bounds = st.none() | st.integers(0, 300)
facts = st.builds(
    lambda retained, barrier, compacted: ArchivalFacts(
        retained_by_clean="" if retained is None else text(retained),
        barriers=() if barrier is None else (ArchivalBound(time=text(barrier), reason="a file"),),
        has_metadata_table=compacted is not None,
        metadata_compacted_at="" if not compacted else text(compacted),
    ),
    bounds,
    bounds,
    bounds,
)


@given(timelines(), options, facts)
def test_only_completed_instants_are_archived_and_never_a_savepointed_commit(
    timeline: Timeline, options: ArchivalOptions, facts: ArchivalFacts
) -> None:
    plan = plan_archival(timeline, options, facts)
    saved = {i.requested_time for i in timeline if i.action is Action.SAVEPOINT}
    for instant in plan.instants:
        assert instant in timeline.completed
        assert instant.action not in (Action.SAVEPOINT, Action.RESTORE)
        assert instant.requested_time not in saved


@given(timelines(), options, facts)
def test_min_commits_stay_and_up_to_max_commits_nothing_is_archived(
    timeline: Timeline, options: ArchivalOptions, facts: ArchivalFacts
) -> None:
    plan = plan_archival(timeline, options, facts)
    count = len(timeline.completed_writes)
    assert plan.commits == count
    if plan.instants:
        assert count > options.max_commits
        assert count - len(plan.writes) >= options.min_commits


@given(timelines(), options, facts)
def test_only_the_newest_writes_and_savepointed_commits_stay(
    timeline: Timeline, options: ArchivalOptions, facts: ArchivalFacts
) -> None:
    plan = plan_archival(timeline, options, facts)
    saved = {i.requested_time for i in timeline if i.action is Action.SAVEPOINT}
    others = [i for i in timeline.completed_writes if i.requested_time not in saved]
    assert list(plan.writes) == others[: len(plan.writes)]


@given(timelines(), options, facts)
def test_nothing_at_or_after_a_bound_is_archived(
    timeline: Timeline, options: ArchivalOptions, facts: ArchivalFacts
) -> None:
    plan = plan_archival(timeline, options, facts)
    limits = [i.requested_time for i in timeline.pending] + [each.time for each in facts.barriers]
    limits += [facts.retained_by_clean] if facts.retained_by_clean else []
    limits += [facts.metadata_compacted_at] if facts.has_metadata_table else []
    for instant in plan.instants:
        assert all(instant.requested_time < limit for limit in limits)
    if timeline.pending:
        begun = timeline.pending[0].requested_time
        assert all(i.visible_from <= begun for i in plan.writes), (
            "a write completed after the pending one began"
        )
        before = [i for i in timeline.completed_writes if i.requested_time < begun]
        assert not before or before[-1] not in plan.instants


@given(timelines(), options, facts, st.randoms(use_true_random=False))
def test_the_plan_does_not_depend_on_the_order_of_the_listing(
    timeline: Timeline, options: ArchivalOptions, facts: ArchivalFacts, shuffle: random.Random
) -> None:
    shuffled = list(timeline.instants)
    shuffle.shuffle(shuffled)
    assert plan_archival(Timeline.of(shuffled), options, facts) == plan_archival(timeline, options, facts)


@given(timelines(), options, facts)
def test_an_archival_after_an_archival_has_no_work(
    timeline: Timeline, options: ArchivalOptions, facts: ArchivalFacts
) -> None:
    archived_instants = set(plan_archival(timeline, options, facts).instants)
    left = Timeline(tuple(i for i in timeline if i not in archived_instants))
    assert plan_archival(left, options, facts).writes == ()


@given(timelines(), options, facts)
def test_the_plan_names_a_bound_if_and_only_if_it_archives_fewer_commits_than_wanted(
    timeline: Timeline, options: ArchivalOptions, facts: ArchivalFacts
) -> None:
    plan = plan_archival(timeline, options, facts)
    assert (plan.held_back_by is not None) == (len(plan.writes) < plan.wanted)
    assert plan.reason
    if plan.held_back_by is not None:
        assert plan.held_back_by.reason in plan.reason


@given(timelines(), options, facts)
def test_the_archival_of_a_dead_run_is_finished_even_below_max_commits(
    timeline: Timeline, options: ArchivalOptions, facts: ArchivalFacts
) -> None:
    plan = plan_archival(timeline, options, facts)
    archived = frozenset(i.identity for i in plan.instants)
    for deleted in range(len(plan.writes)):
        archived_instants = set(plan.writes[:deleted])
        left = Timeline(tuple(i for i in timeline if i not in archived_instants))
        again = plan_archival(left, options, replace(facts, archived=archived))
        assert again.writes == plan.writes[deleted:]


def test_of_thirty_one_commits_the_oldest_eleven_are_archived() -> None:
    commits = [
        Instant(requested_time=text(n), action=Action.COMMIT, state=InstantState.COMPLETED) for n in range(31)
    ]
    plan = plan_archival(Timeline.of(commits), archival_options(), ArchivalFacts())
    assert plan.instants == tuple(commits[:11])
    assert plan.reason == "11 of 31 commits archived, 20 kept"
    plan = plan_archival(Timeline.of(commits[:30]), archival_options(), ArchivalFacts())
    assert not plan.instants
    assert plan.reason == "the timeline has 30 commits; archival begins when it has more than 30"


def commit(number: int, completed: int) -> Instant:
    return Instant(
        requested_time=text(number),
        action=Action.COMMIT,
        state=InstantState.COMPLETED,
        completion_time=text(completed),
    )


def test_writes_completed_after_a_pending_write_began_stay() -> None:
    pending = Instant(requested_time=text(35), action=Action.COMMIT, state=InstantState.INFLIGHT)
    commits = [commit(0, 1), commit(10, 36), commit(20, 21), commit(30, 31), commit(40, 41), commit(50, 51)]
    plan = plan_archival(
        Timeline.of([*commits, pending]), archival_options(min_commits=1, max_commits=2), ArchivalFacts()
    )
    assert plan.instants == (commits[0],)
    assert plan.held_back_by is not None
    assert plan.held_back_by.time == text(10)


def test_the_last_clean_stays_at_any_age() -> None:
    cleans = [replace(commit(number, number + 1), action=Action.CLEAN) for number in (5, 15)]
    commits = [commit(number, number + 1) for number in range(0, 60, 10)]
    plan = plan_archival(
        Timeline.of([*commits, *cleans]), archival_options(min_commits=1, max_commits=2), ArchivalFacts()
    )
    assert [i for i in plan.instants if i.action is Action.CLEAN] == cleans[:1]
    assert plan.writes == tuple(commits[:-1])
