"""The earliest commit that a clean retains, with worked examples of Hudi's behaviour."""

import pytest

from hudi_table_services.model.cleaning import CleanOptions, CleanPolicy, Retention
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.planning.cleaning.retention import retain_from
from support.default_options import clean_options

BY_HOURS = clean_options(policy=CleanPolicy.KEEP_LATEST_BY_HOURS)
NOW = "20260131000000000"


def at(number: int) -> str:
    return f"202601{number:02}120000000"


def a_commit(number: int, state: InstantState = InstantState.COMPLETED) -> Instant:
    return Instant(requested_time=at(number), action=Action.COMMIT, state=state)


def commits(count: int, *pending: int) -> Timeline:
    states = dict.fromkeys(pending, InstantState.INFLIGHT)
    return Timeline.of(a_commit(n, states.get(n, InstantState.COMPLETED)) for n in range(1, count + 1))


def retain(
    timeline: Timeline,
    options: CleanOptions | None = None,
    *,
    hours_cutoff: str = NOW,
    floor_cutoff: str = NOW,
    retained_before: str | None = None,
    visible_at: dict[str, str] | None = None,
) -> Retention:
    return retain_from(
        timeline,
        options or clean_options(),
        hours_cutoff=hours_cutoff,
        floor_cutoff=floor_cutoff,
        retained_before=retained_before,
        visible_at=visible_at or {},
    )


def earliest(retention: Retention) -> str | None:
    return retention.earliest.requested_time if retention.earliest else None


def test_the_newest_ten_of_fifteen_commits_are_kept() -> None:
    found = retain(commits(15))
    assert earliest(found) == at(6)
    assert found.reason == "cleaning keeps 10 of 15 commits"


@pytest.mark.parametrize(("pending", "expected"), [(4, at(3)), (1, None)])
def test_a_pending_write_limits_cleaning_and_is_named(pending: int, expected: str | None) -> None:
    found = retain(commits(15, pending))
    assert earliest(found) == expected
    assert found.blocker == a_commit(pending, InstantState.INFLIGHT)
    assert f"but pending commit {at(pending)} blocks cleaning" in found.reason


@pytest.mark.parametrize(
    ("seen_from", "expected"),
    [
        (at(4), at(6)),
        ("20260111115959999", at(6)),
        ("20260111120000000", at(1)),
        (at(13), at(1)),
    ],
)
def test_the_state_before_a_write_that_completed_after_a_pending_write_began_is_kept(
    seen_from: str, expected: str
) -> None:
    """Commit 2 was requested early. Commit 11 is pending."""
    found = retain(commits(15, 11), clean_options(commits_retained=9), visible_at={at(2): seen_from})
    assert earliest(found) == expected
    if expected == at(1):
        assert found.blocker == a_commit(11, InstantState.INFLIGHT)
        assert f"but pending commit {at(11)} blocks cleaning" in found.reason


def test_a_time_in_whole_seconds_may_be_any_moment_of_the_second() -> None:
    pending = Instant(requested_time="20260111120000700", action=Action.COMMIT, state=InstantState.INFLIGHT)
    timeline = Timeline.of([*commits(10), pending])
    options = clean_options(commits_retained=4)
    assert earliest(retain(timeline, options)) == at(7)
    same_second, second_before = {at(3): "20260111120000000"}, {at(3): "20260111115959000"}
    assert earliest(retain(timeline, options, visible_at=same_second)) == at(2)
    assert earliest(retain(timeline, options, visible_at=second_before)) == at(7)


def test_a_newer_pending_write_does_not_limit_cleaning() -> None:
    found = retain(commits(16, 16))
    assert (earliest(found), found.blocker) == (at(6), None)


def test_nothing_is_cleaned_if_the_retention_covers_all_commits() -> None:
    found = retain(commits(10))
    assert (earliest(found), found.reason) == (None, "10 commits; cleaning keeps 10")


def test_retention_by_hours_starts_at_the_first_commit_within_the_hours_or_before_a_pending_write() -> None:
    assert earliest(retain(commits(15), BY_HOURS, hours_cutoff=at(9))) == at(9)
    assert earliest(retain(commits(15, 5), BY_HOURS, hours_cutoff=at(9))) == at(4)
    nothing = retain(commits(15), BY_HOURS, hours_cutoff=NOW)
    assert earliest(nothing) is None
    assert "no commit within 24 hours" in nothing.reason


def test_recently_outdated_versions_stay() -> None:
    """Commit 4, in a layout without completion times, was requested early and became visible late."""
    found = retain(commits(15), clean_options(floor_hours=2), floor_cutoff=at(14), visible_at={at(4): at(14)})
    assert earliest(found) == at(4)
    assert found.reason.endswith("file versions that have been outdated for less than 2 h are kept")


def test_a_limited_run_continues_where_the_last_run_ended() -> None:
    options = clean_options(max_commits_per_run=2)
    first = retain(commits(15), options)
    assert earliest(first) == at(3)
    assert "one run cleans at most 2 commits" in first.reason
    assert earliest(retain(commits(15), options, retained_before=at(3))) == at(5)
    assert earliest(retain(commits(15), options, retained_before=at(5))) == at(6)


def test_a_longer_retention_does_not_move_the_earliest_commit_back() -> None:
    found = retain(commits(15), clean_options(commits_retained=12), retained_before=at(8))
    assert earliest(found) == at(8)
    assert f"needed only before {at(8)}" in found.reason


def test_retention_by_file_versions_has_no_earliest_commit() -> None:
    found = retain(commits(15), clean_options(policy=CleanPolicy.KEEP_LATEST_FILE_VERSIONS))
    assert (earliest(found), found.reason) == (None, "cleaning keeps 3 versions of each file group")
