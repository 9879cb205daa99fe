"""The count of commits since the last clustering: which writes count, and after which clustering the count begins."""

import pytest

from hudi_table_services.model.clustering import CommitCount, CommitGate
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import WriteOperation
from hudi_table_services.planning.commit_count import COUNTED_OPERATIONS, count_commits, gate_reason

COMPLETED, REQUESTED = InstantState.COMPLETED, InstantState.REQUESTED
FOUR = CommitGate(wanted=4)


def at(number: int) -> str:
    return f"202601{number:02}120000000"


def an_instant(number: int, action: Action = Action.COMMIT, state: InstantState = COMPLETED) -> Instant:
    return Instant(requested_time=at(number), action=action, state=state)


def upserts(*numbers: int) -> list[Instant]:
    return [an_instant(n) for n in numbers]


def count(
    instants: list[Instant],
    clusterings: tuple[int, ...] = (),
    operations: dict[int, WriteOperation] | None = None,
    **kwargs: object,
) -> CommitCount:
    known = {i.requested_time: WriteOperation.UPSERT for i in instants}
    known.update({at(n): o for n, o in (operations or {}).items()})
    return count_commits(
        Timeline.of(instants),
        {at(n) for n in clusterings},
        known,
        **kwargs,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("parity", [False, True], ids=["ours", "parity"])
def test_a_pending_plan_resets_the_count(parity: bool) -> None:
    instants = [*upserts(1, 2, 3, 4, 6, 7, 8), an_instant(5, Action.REPLACE_COMMIT, REQUESTED)]
    counted = count(instants, (5,), parity=parity)
    assert (counted.count, counted.instants) == (3, (at(6), at(7), at(8)))
    assert gate_reason(counted, FOUR) == (
        f"a clustering is due after 4 commits; the table has 3 since clustering {at(5)} (requested)"
    )


def test_a_clustering_is_due_after_the_required_commits_and_until_then_the_reason_names_the_option() -> None:
    gate = CommitGate(wanted=4, key="hoodie.clustering.inline.max.commits")
    assert gate_reason(count(upserts(1, 2, 3)), gate) == (
        "a clustering is due after 4 commits (hoodie.clustering.inline.max.commits=4); "
        "the table has 3 and no clustering yet"
    )
    assert gate_reason(count(upserts(1, 2, 3, 4)), gate) is None
    assert gate_reason(count([]), CommitGate()) is None


@pytest.mark.parametrize(
    ("action", "state"),
    [
        (Action.CLUSTERING, REQUESTED),
        (Action.CLUSTERING, InstantState.INFLIGHT),
        (Action.REPLACE_COMMIT, COMPLETED),
    ],
)
def test_a_clustering_of_any_writer_in_any_state_resets_the_count(
    action: Action, state: InstantState
) -> None:
    counted = count([*upserts(1, 3), an_instant(2, action, state)], (2,))
    assert counted.since == an_instant(2, action, state)
    assert counted.instants == (at(3),)


def test_a_clustering_that_was_rolled_back_does_not_reset_the_count() -> None:
    assert count(upserts(1, 3), (2,)) == CommitCount(count=2, instants=(at(1), at(3)))


def test_the_newest_of_several_clusterings_resets_the_count() -> None:
    replaces = [an_instant(n, Action.REPLACE_COMMIT) for n in (2, 4)]
    counted = count(
        [*upserts(1, 3, 5), *replaces], (2, 4), {2: WriteOperation.CLUSTER, 4: WriteOperation.CLUSTER}
    )
    assert counted.instants == (at(5),)


def test_archived_commits_and_clusterings_do_not_count() -> None:
    # The clustering at 2 and the commits before 8 have left the active timeline.
    assert count(upserts(8, 9), (2,)).count == 2


def test_a_commit_with_the_time_of_a_clustering_is_not_a_clustering() -> None:
    assert count(upserts(1, 2), (1,)).since is None


def test_overwrites_count_and_pending_writes_do_not() -> None:
    instants = [
        an_instant(1, Action.REPLACE_COMMIT),
        an_instant(2, Action.DELTA_COMMIT),
        an_instant(3, Action.COMMIT, InstantState.INFLIGHT),
        an_instant(4, Action.CLEAN),
    ]
    counted = count(instants, (), {1: WriteOperation.INSERT_OVERWRITE})
    assert (counted.instants, counted.not_counted) == ((at(1), at(2)), 0)


@pytest.mark.parametrize(
    "operation",
    sorted(set(WriteOperation) - COUNTED_OPERATIONS - {WriteOperation.UNKNOWN}),
)
def test_commits_of_table_services_count_only_in_parity_mode(operation: WriteOperation) -> None:
    ours = count(upserts(1, 2), (), {1: operation})
    assert (ours.count, ours.not_counted) == (1, 1)
    theirs = count(upserts(1, 2), (), {1: operation}, parity=True)
    assert (theirs.count, theirs.not_counted) == (2, 0)


def test_only_wanted_operations_count() -> None:
    operations = {1: WriteOperation.INSERT, 2: WriteOperation.COMPACT, 3: WriteOperation.UNKNOWN}
    wanted = (WriteOperation.INSERT, WriteOperation.COMPACT)
    counted = count(upserts(1, 2, 3, 4), (), operations, wanted_operations=wanted)
    assert (counted.instants, counted.not_counted) == ((at(1),), 3)


def test_a_write_of_unknown_operation_counts_unless_it_is_a_replacecommit() -> None:
    instants = [*upserts(1), an_instant(2, Action.REPLACE_COMMIT)]
    unknown = {1: WriteOperation.UNKNOWN, 2: WriteOperation.UNKNOWN}
    assert count(instants, (), unknown).instants == (at(1),)
    assert count_commits(Timeline.of(instants), (), {}).instants == (at(1),)
