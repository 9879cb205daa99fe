"""Rules on the timeline: the completed writes that may be undone, and the order in which a restore undoes writes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.planning.recovery.undo_rules import (
    newest_first,
    require_newest,
    require_unsaved,
    restored_instants,
)


def at(number: int, action: Action = Action.COMMIT, completed: int | None = -1) -> Instant:
    """An instant of layout 2: pending if `completed` is None; with -1, completed right after its request."""
    end = number if completed == -1 else completed
    return Instant(
        requested_time=f"202601020304{number:05d}",
        action=action,
        state=InstantState.INFLIGHT if end is None else InstantState.COMPLETED,
        completion_time=None if end is None else f"202601020304{end:05d}5",
    )


instants = st.builds(
    at,
    st.integers(0, 50),
    st.sampled_from([Action.COMMIT, Action.REPLACE_COMMIT, Action.CLEAN, Action.ROLLBACK]),
    st.one_of(st.none(), st.integers(0, 99)),
)
timelines = st.lists(instants, max_size=12).map(Timeline.of)


@given(timelines)
def test_only_the_newest_writes_may_be_undone_together(timeline: Timeline) -> None:
    ordered = newest_first(i for i in timeline if i.action.writes_data)
    for count in range(len(ordered) + 1):
        chosen = ordered[:count]
        rest = set(ordered[count:])
        in_the_way = [
            (i, o)
            for i in chosen
            if i.is_completed
            for o in rest
            if o.requested_time > i.requested_time or (o.is_completed and o.visible_from > i.visible_from)
        ]
        if in_the_way:
            with pytest.raises(InvalidRequestError, match="is not the newest write"):
                require_newest(timeline, chosen)
        else:
            require_newest(timeline, chosen)


@given(timelines)
def test_a_restore_undoes_every_write_after_the_savepoint(timeline: Timeline) -> None:
    for commit in timeline.completed_writes:
        savepoint = Instant(
            requested_time=commit.requested_time, action=Action.SAVEPOINT, state=InstantState.COMPLETED
        )
        undone = restored_instants(timeline, savepoint)
        kept = set(timeline.completed_writes) - set(undone)
        target = next(i for i in timeline.completed_writes if i.requested_time == commit.requested_time)
        assert target in kept
        assert all(i.visible_from <= target.visible_from for i in kept)
        completed = [i for i in undone if i.is_completed]
        assert completed == sorted(completed, key=lambda i: i.visible_from, reverse=True)
        assert undone[len(undone) - len(completed) :] == tuple(completed), "pending instants are undone first"
        assert not any(i.action in (Action.CLEAN, Action.ROLLBACK) for i in undone)


def test_the_error_names_a_later_write_with_its_state() -> None:
    timeline = Timeline.of([at(1), at(2), at(3, completed=None)])
    with pytest.raises(InvalidRequestError, match=r"depend on it: commit 20260102030400003 \(inflight\)"):
        require_newest(timeline, [at(2)])
    require_newest(timeline, [at(2), at(3, completed=None)])


def test_a_write_that_started_earlier_and_completed_later_counts_as_later() -> None:
    slow, quick = at(1, completed=9), at(2, completed=3)
    with pytest.raises(InvalidRequestError, match="is not the newest"):
        require_newest(Timeline.of([slow, quick]), [quick])


def test_a_savepoint_protects_earlier_commits_and_no_later_commits() -> None:
    savepoint = Instant(
        requested_time=at(2).requested_time, action=Action.SAVEPOINT, state=InstantState.INFLIGHT
    )
    timeline = Timeline.of([at(1), at(2), at(3), savepoint])
    for held in (at(1), at(2)):
        with pytest.raises(InvalidRequestError, match="Savepoint 20260102030400002 protects"):
            require_unsaved(timeline, [held])
    require_unsaved(timeline, [at(3)])


def test_the_error_about_later_writes_names_the_savepoints_that_matter() -> None:
    def savepoint(number: int) -> Instant:
        return Instant(
            requested_time=at(number).requested_time, action=Action.SAVEPOINT, state=InstantState.COMPLETED
        )

    writes = [at(1), at(2), at(3)]
    with pytest.raises(InvalidRequestError) as protected:
        require_newest(Timeline.of([*writes, savepoint(3)]), [at(2)], "/lake/t")
    assert str(protected.value).startswith("commit 20260102030400002 is not the newest write.")
    assert "Savepoint 20260102030400003 also protects it." in str(protected.value)
    assert "delete_savepoint.py --base-path /lake/t --instant 20260102030400003." in protected.value.hint
    assert "restore.py" not in protected.value.hint, "a restore to savepoint 3 does not undo commit 2"
    with pytest.raises(InvalidRequestError) as in_a_folder_with_a_space:
        require_newest(Timeline.of([*writes, savepoint(3)]), [at(2)], "/lake/my trips")
    assert "delete_savepoint.py --base-path '/lake/my trips' --instant" in in_a_folder_with_a_space.value.hint

    with pytest.raises(InvalidRequestError) as earlier:
        require_newest(Timeline.of([*writes, savepoint(1)]), [at(2)], "/lake/t")
    assert "restore.py --base-path /lake/t --savepoint 20260102030400001" in earlier.value.hint
    assert "delete_savepoint.py" not in earlier.value.hint
    assert "Savepoint" not in str(earlier.value)

    with pytest.raises(InvalidRequestError) as without:
        require_newest(Timeline.of(writes), [at(2)])
    assert without.value.hint == "Undo the later writes first, or name them in the same request."
