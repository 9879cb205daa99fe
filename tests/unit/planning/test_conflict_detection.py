"""Conflicts of a write with concurrent changes."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.model.concurrent_change import ChangeKind, ConcurrentChange
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.planning.conflict_detection import find_conflict

A, B, C, D = (FileGroupId("city=x", name) for name in "abcd")


def change(
    kind: ChangeKind, *groups: FileGroupId, action: Action = Action.COMMIT, time: str = "20260101000000001"
) -> ConcurrentChange:
    done = kind is not ChangeKind.PENDING_PLAN
    state = InstantState.COMPLETED if done else InstantState.REQUESTED
    instant = Instant(requested_time=time, action=action, state=state)
    return ConcurrentChange(instant=instant, kind=kind, file_groups=frozenset(groups))


COMPLETED, PLAN, BEING_WRITTEN, UNDONE = ChangeKind


@pytest.mark.parametrize(
    ("ours", "theirs", "conflicts"),
    [
        pytest.param({A}, change(COMPLETED, A), True, id="two updates of one file group"),
        pytest.param({A}, change(COMPLETED, B), False, id="updates of different file groups"),
        pytest.param(
            {A}, change(COMPLETED, FileGroupId("city=y", "a")), False, id="same id in another partition"
        ),
        pytest.param(set(), change(COMPLETED, A), False, id="our insert, their update"),
        pytest.param(set(), change(COMPLETED, C), False, id="two inserts"),
        pytest.param({A}, change(COMPLETED, A, action=Action.REPLACE_COMMIT), True, id="their overwrite"),
        pytest.param({A}, change(PLAN, A, action=Action.CLUSTERING), True, id="their pending clustering"),
        pytest.param(
            {A}, change(PLAN, B, action=Action.CLUSTERING), False, id="pending clustering elsewhere"
        ),
        pytest.param({A}, change(PLAN, A, action=Action.COMPACTION), True, id="their pending compaction"),
        pytest.param(
            set(), change(PLAN, A, action=Action.CLUSTERING), False, id="our insert, their clustering"
        ),
        pytest.param({A}, change(UNDONE), True, id="a commit was rolled back during our update"),
        pytest.param(set(), change(UNDONE), False, id="a commit was rolled back during our insert"),
    ],
)
def test_a_write_conflicts_with_a_concurrent_change(
    ours: set[FileGroupId], theirs: ConcurrentChange, conflicts: bool
) -> None:
    found = find_conflict([theirs], ours)
    assert (found is not None) is conflicts
    if found is not None:
        assert theirs.instant.requested_time in found.message
        assert found.other == theirs.instant


def test_a_conflict_names_the_file_groups() -> None:
    conflict = find_conflict([change(COMPLETED, A, B, C, D)], [D, C, B, A])
    assert conflict is not None
    assert conflict.file_groups == (A, B, C, D)
    assert "city=x/a, city=x/b, city=x/c and 1 more" in conflict.message


def test_the_earliest_conflict_is_reported() -> None:
    changes = [change(COMPLETED, A, time=f"2026010100000000{n}") for n in (3, 1, 2)]
    conflict = find_conflict(changes, {A})
    assert conflict is not None
    assert conflict.other.requested_time == "20260101000000001"


@given(st.lists(st.frozensets(st.sampled_from([A, B, C, D]))), st.frozensets(st.sampled_from([A, B, C, D])))
def test_a_write_conflicts_if_and_only_if_it_shares_file_groups(
    theirs: list[frozenset[FileGroupId]], ours: frozenset[FileGroupId]
) -> None:
    conflict = find_conflict([change(COMPLETED, *groups) for groups in theirs], ours)
    assert (conflict is None) == all(groups.isdisjoint(ours) for groups in theirs)


@pytest.mark.parametrize("kind", [COMPLETED, PLAN])
def test_a_compaction_conflicts_only_with_a_write_that_rewrites_a_base_file(kind: ChangeKind) -> None:
    theirs = replace(change(kind, A, action=Action.COMPACTION), compacts=True)
    assert find_conflict([theirs], {A, B}, logged_file_groups={A}) is None
    found = find_conflict([theirs], {A, B}, logged_file_groups={B})
    assert found is not None
    assert found.file_groups == (A,)


def test_a_completed_compaction_conflicts_with_a_write_that_inserts_deleted_rows_again() -> None:
    done, planned = (
        replace(change(kind, A, B, action=Action.COMPACTION), compacts=True) for kind in (COMPLETED, PLAN)
    )
    found = find_conflict([done], {A, B}, logged_file_groups={A, B}, reinserted_file_groups={B})
    assert found is not None
    assert found.file_groups == (B,)
    assert find_conflict([planned], {A, B}, logged_file_groups={A, B}, reinserted_file_groups={A, B}) is None


def test_another_write_conflicts_with_a_write_that_only_adds_a_log_file() -> None:
    assert find_conflict([change(COMPLETED, A)], {A}, logged_file_groups={A}) is not None
    clustering = change(PLAN, A, action=Action.CLUSTERING)
    assert find_conflict([clustering], {A}, logged_file_groups={A}) is not None
