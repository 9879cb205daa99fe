"""The timelines of a table and of its metadata table determine which log blocks of the metadata table are valid."""

import pytest

from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage.metadata_table.counted_instants import (
    counted_instants,
    delta_commits_of_table,
    is_first_instant,
    is_own_instant,
)
from support.metadata_table.small_metadata_tables import FIRST, moment

T1, T2, T3 = (moment(number) for number in (1, 2, 3))
NONE = Timeline()


def done(time: str, action: Action = Action.COMMIT) -> Instant:
    return Instant(requested_time=time, action=action, state=InstantState.COMPLETED)


def pending(time: str, action: Action = Action.COMMIT) -> Instant:
    return Instant(requested_time=time, action=action, state=InstantState.INFLIGHT)


def delta(time: str) -> Instant:
    return done(time, Action.DELTA_COMMIT)


@pytest.mark.parametrize("is_new", [False, True])
@pytest.mark.parametrize("action", [Action.COMMIT, Action.CLEAN, Action.ROLLBACK, Action.REPLACE_COMMIT])
def test_blocks_of_completed_instants_of_the_table_are_valid(is_new: bool, action: Action) -> None:
    data = Timeline.of([done(T1, action)])
    assert counted_instants(data, NONE, has_own_log_instants=is_new) == {T1}


@pytest.mark.parametrize("is_new", [False, True])
def test_blocks_of_an_instant_that_is_pending_in_one_of_the_timelines_are_not_valid(is_new: bool) -> None:
    own = Timeline.of([delta(T1), pending(T2, Action.DELTA_COMMIT)])
    data = Timeline.of([pending(T1), done(T2)])
    assert counted_instants(data, own, has_own_log_instants=is_new) == frozenset()


def test_a_delta_commit_without_an_instant_of_the_table_is_valid_only_from_version_8_on() -> None:
    own = Timeline.of([delta(T1)])
    assert counted_instants(NONE, own, has_own_log_instants=True) == {T1}
    assert counted_instants(NONE, own, has_own_log_instants=False) == frozenset()


@pytest.mark.parametrize("is_new", [False, True])
@pytest.mark.parametrize("time", [FIRST, f"{T1}003", "0" * 17])
def test_blocks_of_delta_commits_of_the_metadata_table_itself_are_valid(is_new: bool, time: str) -> None:
    assert counted_instants(NONE, Timeline.of([delta(time)]), has_own_log_instants=is_new) == {time}


@pytest.mark.parametrize("is_new", [False, True])
def test_rollbacks_and_restores_are_the_only_services_of_the_metadata_table_whose_blocks_are_valid(
    is_new: bool,
) -> None:
    own = Timeline.of([done(T1, Action.ROLLBACK), done(T2, Action.RESTORE), done(T3, Action.CLEAN)])
    assert counted_instants(NONE, own, has_own_log_instants=is_new) == {T1, T2}


def test_the_time_of_a_delta_commit_shows_whether_an_instant_of_the_table_caused_it() -> None:
    assert is_first_instant(FIRST)
    assert is_own_instant(FIRST)
    assert is_own_instant(f"{T1}001")
    assert not is_own_instant(T1)
    assert not is_own_instant(T1[:14])
    own = Timeline.of(
        [delta(T1), delta(FIRST), done(T2), delta(f"{T1}003"), pending(T3, Action.DELTA_COMMIT)]
    )
    assert delta_commits_of_table(own) == (delta(T1),)
