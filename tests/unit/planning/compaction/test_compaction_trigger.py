"""A compaction is due by the number of delta commits and by the time since the last compaction."""

from datetime import timezone

import pytest

from hudi_table_services.model.compaction.compaction_proposal import CompactionDue
from hudi_table_services.model.compaction.compaction_settings import CompactionTrigger
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import WriteOperation
from hudi_table_services.planning.compaction.trigger import compaction_due
from support.merge_on_read import an_instant, compaction

DELTA = Action.DELTA_COMMIT


def at(minute: int) -> str:
    return f"2026010100{minute:02}00000"


def delta(minute: int, completed: int | None = None) -> Instant:
    return an_instant(at(minute), DELTA, completed=None if completed is None else at(completed))


def commit(minute: int) -> Instant:
    return an_instant(at(minute), Action.COMMIT)


def pending(minute: int, action: Action = Action.COMPACTION) -> Instant:
    return an_instant(at(minute), action, InstantState.REQUESTED)


def due(
    *instants: Instant,
    trigger: CompactionTrigger = CompactionTrigger.NUM_COMMITS,
    operations: dict[str, WriteOperation] | None = None,
    now: int = 50,
) -> CompactionDue:
    options = compaction(trigger=trigger, max_delta_commits=3, max_delta_seconds=600)
    return compaction_due(Timeline.of(instants), options, operations or {}, at(now), timezone.utc)


def test_without_a_delta_commit_nothing_is_due_however_much_time_has_passed() -> None:
    for trigger in CompactionTrigger:
        found = due(pending(1, DELTA), trigger=trigger)
        assert not found.is_due
        assert found.reason == "the active timeline has no completed delta commit"


@pytest.mark.parametrize(("number", "is_due"), [(2, False), (3, True), (4, True)])
def test_all_delta_commits_count_if_there_was_no_compaction(number: int, is_due: bool) -> None:
    found = due(*(delta(m) for m in range(1, number + 1)))
    assert (found.is_due, found.delta_commits, found.since) == (is_due, number, None)


def test_only_delta_commits_after_the_last_compaction_count() -> None:
    found = due(delta(1), delta(2), commit(3), delta(4), delta(5))
    assert (found.is_due, found.delta_commits, found.since) == (False, 2, commit(3))
    assert found.reason == (
        f"2 delta commits since compaction {at(3)} (completed), "
        "fewer than hoodie.compact.inline.max.delta.commits=3"
    )


def test_the_reason_of_a_due_compaction_names_the_limit_that_was_reached() -> None:
    found = due(commit(1), delta(2), delta(3), delta(4))
    assert found.is_due
    assert found.reason == (
        f"3 delta commits since compaction {at(1)} (completed), at least hoodie.compact.inline.max.delta.commits=3"
    )


def test_pending_delta_commits_do_not_count() -> None:
    assert due(commit(1), delta(2), pending(3, DELTA), pending(4, DELTA), delta(5)).delta_commits == 2


def test_clusterings_and_cleans_do_not_count_and_do_not_restart_the_count() -> None:
    others = [an_instant(at(m), action) for m, action in ((4, Action.REPLACE_COMMIT), (5, Action.CLEAN))]
    found = due(commit(1), delta(2), delta(3), *others, delta(6))
    assert (found.is_due, found.delta_commits) == (True, 3)


def test_log_compactions_do_not_count() -> None:
    operations = {at(3): WriteOperation.LOG_COMPACT, at(2): WriteOperation.UPSERT}
    found = due(commit(1), delta(2), delta(3), delta(4), operations=operations)
    assert (found.is_due, found.delta_commits, found.not_counted) == (False, 2, 1)


def test_a_commit_of_a_table_that_was_copy_on_write_is_not_a_compaction() -> None:
    instants = [delta(1), delta(2), commit(3), delta(4)]
    assert due(*instants).delta_commits == 1
    assert due(*instants, operations={at(3): WriteOperation.UPSERT}).delta_commits == 3
    assert due(*instants, operations={at(3): WriteOperation.COMPACT}).delta_commits == 1


def test_a_delta_commit_that_completed_after_the_request_of_the_compaction_counts() -> None:
    merged, not_merged = delta(2, completed=3), delta(2, completed=6)
    compacted = an_instant(at(5), Action.COMMIT, completed=at(7))
    assert due(merged, compacted, delta(8, completed=9)).delta_commits == 1
    assert due(not_merged, compacted, delta(8, completed=9)).delta_commits == 2


def test_a_pending_compaction_restarts_the_count_only_for_num_commits_after_last_request() -> None:
    instants = [delta(1), delta(2), pending(3), delta(4), delta(5)]
    after_request = CompactionTrigger.NUM_COMMITS_AFTER_LAST_REQUEST
    assert due(*instants).delta_commits == 4
    found = due(*instants, trigger=after_request)
    assert (found.is_due, found.delta_commits, found.since) == (False, 2, pending(3))
    assert "(requested)" in found.reason
    later = due(*instants, commit(6), delta(7), trigger=after_request)
    assert (later.delta_commits, later.since) == (1, commit(6))


# The limits are 3 delta commits and 600 s. Times are minutes: the compaction is at 10, so 600 s have passed at 20.
@pytest.mark.parametrize(
    ("trigger", "few_early", "few_late", "many_early", "many_late"),
    [
        (CompactionTrigger.NUM_COMMITS, False, False, True, True),
        (CompactionTrigger.NUM_COMMITS_AFTER_LAST_REQUEST, False, False, True, True),
        (CompactionTrigger.TIME_ELAPSED, False, True, False, True),
        (CompactionTrigger.NUM_AND_TIME, False, False, False, True),
        (CompactionTrigger.NUM_OR_TIME, False, True, True, True),
    ],
)
def test_each_trigger_combines_number_and_time(
    trigger: CompactionTrigger, few_early: bool, few_late: bool, many_early: bool, many_late: bool
) -> None:
    few = [commit(10), delta(11)]
    many = [*few, delta(12), delta(13)]
    assert due(*few, trigger=trigger, now=19).is_due is few_early
    assert due(*few, trigger=trigger, now=20).is_due is few_late
    assert due(*many, trigger=trigger, now=19).is_due is many_early
    assert due(*many, trigger=trigger, now=20).is_due is many_late


def test_without_a_compaction_the_time_begins_at_the_first_delta_commit() -> None:
    found = due(delta(10), delta(11), trigger=CompactionTrigger.NUM_OR_TIME, now=20)
    assert (found.is_due, found.elapsed_seconds) == (True, 600)
    assert found.reason == (
        f"2 delta commits since the first delta commit {at(10)}, "
        "fewer than hoodie.compact.inline.max.delta.commits=3; "
        f"10 min since the first delta commit {at(10)}, at least hoodie.compact.inline.max.delta.seconds=600"
    )
