"""When the metadata table is compacted, cleaned and archived, and how far the table itself may be archived."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.model.archival import ArchivalBound
from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.instant import Action, Instant, InstantState, is_instant_name
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.planning.metadata_table.compaction import (
    ServiceDecision,
    Timelines,
    decide_compaction,
    delta_commits_since_compaction,
    last_compaction,
)
from hudi_table_services.planning.metadata_table.upkeep import (
    archival_bound,
    compacted_until,
    decide_clean,
    plan_metadata_archival,
    superseded_slices,
)

FRESH = "20260102999999999"
V6, V9 = TableVersion.V6, TableVersion.V9
OLD_AND_NEW = pytest.mark.parametrize("version", [V6, V9], ids=lambda version: f"v{version}")


def time(number: int) -> str:
    return f"20260102030400{number:03d}"


def at(
    number: int | str,
    action: Action = Action.DELTA_COMMIT,
    *,
    done: bool = True,
    completed: int | None = None,
) -> Instant:
    """An instant of the table or of the metadata table. It completes immediately after its request."""
    requested = number if isinstance(number, str) else time(number)
    end = requested[:17] + "5" if completed is None else time(completed)
    return Instant(
        requested_time=requested,
        action=action,
        state=InstantState.COMPLETED if done else InstantState.INFLIGHT,
        completion_time=end if done else None,
    )


def without_completion_times(timeline: list[Instant]) -> list[Instant]:
    return [Instant(requested_time=i.requested_time, action=i.action, state=i.state) for i in timeline]


def timelines(
    version: TableVersion, metadata: list[Instant], table: list[Instant] | None = None
) -> Timelines:
    data = table if table is not None else [at(i.requested_time[:17], Action.COMMIT) for i in metadata]
    if version is V6:
        metadata, data = without_completion_times(metadata), without_completion_times(data)
    return Timelines(
        version=version, table=Timeline.of(data), metadata=Timeline.of(metadata), fresh_instant=FRESH
    )


def delta_commits(first: int, count: int) -> list[Instant]:
    return [at(number) for number in range(first, first + count)]


# ------------------------------------------------------------------ compaction


def decided(
    version: TableVersion, metadata: list[Instant], table: list[Instant] | None = None
) -> ServiceDecision:
    return decide_compaction(timelines(version, metadata, table), 10)


@OLD_AND_NEW
def test_compaction_begins_with_ten_delta_commits_since_the_last_one(version: TableVersion) -> None:
    early = [*delta_commits(10, 12), at(22, Action.COMMIT)]
    decision = decided(version, [*early, *delta_commits(30, 9)])
    assert not decision.runs
    assert decision.reason == "9 delta commits since the last compaction; compaction begins with 10"
    decision = decided(version, [*early, *delta_commits(30, 10)])
    assert decision.instant_time == (time(39) + "001" if version is V6 else FRESH)


@OLD_AND_NEW
def test_a_pending_compaction_is_finished_before_a_new_one_begins(version: TableVersion) -> None:
    pending = at(15, Action.COMPACTION, done=False)
    decision = decided(version, [at(10), pending])
    assert decision.instant_time == time(15)
    assert "finished first" in decision.reason


@OLD_AND_NEW
def test_a_pending_delta_commit_of_the_metadata_table_prevents_compaction(version: TableVersion) -> None:
    decision = decided(version, [*delta_commits(10, 12), at(40, done=False)])
    assert not decision.runs
    assert time(40) in decision.reason


@pytest.mark.parametrize(("pending_at", "runs"), [(5, False), (19, False), (20, True)])
def test_in_version_6_a_pending_instant_prevents_compaction_unless_it_is_later_than_the_last_delta_commit(
    pending_at: int, runs: bool
) -> None:
    pending = at(pending_at, Action.REPLACE_COMMIT, done=False)
    decision = decided(V6, delta_commits(10, 10), [pending])
    assert decision.runs is runs
    assert runs or f"replacecommit {time(pending_at)} is pending" in decision.reason


def test_in_version_6_the_instant_follows_a_commit_of_the_table() -> None:
    restored = at(time(30) + "003")
    decision = decided(V6, [*delta_commits(10, 10), restored])
    assert not decision.runs
    assert "belongs to no commit" in decision.reason


def test_in_version_9_the_compaction_is_earlier_than_an_instant_that_only_the_metadata_table_has_completed() -> (
    None
):
    table = [at(25, Action.COMMIT, done=False)]
    written = [*delta_commits(10, 12), at(25)]
    decision = decided(V9, written, table)
    assert decision.instant_time == time(24)
    assert (
        decision.reason
        == f"12 delta commits since the last compaction, completed before the pending commit {time(25)}"
    )
    taken = [*delta_commits(8, 12), at(23, completed=26), at(24, completed=27), at(25)]
    assert decided(V9, taken, table).instant_time == time(22)
    decision = decided(V9, delta_commits(20, 12), table)
    assert not decision.runs
    assert "before this instant there are 0 delta commits" in decision.reason


def test_in_version_9_a_pending_plan_does_not_prevent_compaction() -> None:
    plan = at(5, Action.CLUSTERING, done=False)
    assert decided(V9, delta_commits(10, 12), [plan]).instant_time == FRESH


def test_in_version_9_a_clock_behind_the_last_completion_prevents_compaction() -> None:
    ahead = at("20260103000000000")
    decision = decided(V9, [*delta_commits(10, 10), ahead])
    assert not decision.runs
    assert "clock" in decision.reason


metadata_timelines = st.lists(
    st.builds(
        at,
        st.integers(0, 60),
        st.sampled_from([*[Action.DELTA_COMMIT] * 5, Action.COMMIT, Action.CLEAN]),
        done=st.sampled_from([True] * 9 + [False]),
        completed=st.integers(60, 120),
    ),
    max_size=30,
    unique_by=lambda i: i.requested_time,
)
table_timelines = st.lists(
    st.builds(
        at,
        st.integers(0, 120),
        st.sampled_from([Action.COMMIT, Action.REPLACE_COMMIT, Action.CLEAN]),
        done=st.booleans(),
    ),
    max_size=10,
    unique_by=lambda i: i.requested_time,
)


@given(st.sampled_from([V6, V9]), metadata_timelines, table_timelines, st.integers(1, 8))
def test_no_compaction_contains_an_instant_that_is_pending_in_the_table(
    version: TableVersion, metadata: list[Instant], table: list[Instant], needed: int
) -> None:
    given_timelines = timelines(version, metadata, table)
    decision = decide_compaction(given_timelines, needed)
    assert decision.reason
    if decision.instant_time is None or given_timelines.metadata.pending:
        return
    found = delta_commits_since_compaction(given_timelines.metadata)
    included = [i for i in found if i.visible_from < decision.instant_time]
    pending = {i.requested_time for i in given_timelines.table.pending}
    assert len(included) >= needed
    assert not pending & {i.requested_time for i in included}
    if version is V9:
        completed = {i.requested_time for i in given_timelines.metadata.completed}
        assert all(decision.instant_time < time for time in pending & completed)
        # Readers find later log files in the new slice only if their instants completed after the compaction's instant.
        assert all(i.visible_from != decision.instant_time for i in found)
    assert is_instant_name(f"{decision.instant_time}.commit")
    previous = last_compaction(given_timelines.metadata)
    assert version is V9 or previous is None or decision.instant_time > previous.requested_time


# ------------------------------------------------------------------ clean


def test_a_clean_waits_for_three_instants_after_the_compaction() -> None:
    compacted = [*delta_commits(10, 2), at(12, Action.COMMIT)]
    assert "never compacted" in decide_clean(timelines(V9, delta_commits(10, 9))).reason
    waiting = decide_clean(timelines(V9, [*compacted, *delta_commits(20, 2)]))
    assert (waiting.runs, waiting.reason[:12]) == (False, "2 instants s")
    assert decide_clean(timelines(V9, [*compacted, *delta_commits(20, 3)])).instant_time == FRESH
    assert decide_clean(timelines(V6, [*compacted, *delta_commits(20, 3)])).instant_time == time(22) + "002"


@pytest.mark.parametrize("version", [V6, V9])
def test_one_clean_follows_a_compaction(version: TableVersion) -> None:
    compacted = [at(12, Action.COMMIT), *delta_commits(20, 3)]
    assert decide_clean(timelines(version, compacted)).runs
    cleaned = [*compacted, at(25, Action.CLEAN), *delta_commits(30, 3)]
    assert decide_clean(timelines(version, cleaned)).reason.startswith("clean ")
    again = [*cleaned, at(40, Action.COMMIT), *delta_commits(50, 3)]
    assert decide_clean(timelines(version, again)).runs


@pytest.mark.parametrize(("compactions", "runs"), [(1, False), (2, False), (3, True)])
def test_no_clean_begins_before_a_slice_can_be_outdated(compactions: int, runs: bool) -> None:
    done = [at(number, Action.COMMIT) for number in range(1, compactions + 1)]
    given_timelines = timelines(V9, [*done, *delta_commits(20, 3)])
    assert decide_clean(given_timelines).runs  # compactions may be archived
    active_only = replace(given_timelines.metadata, may_have_archive=False)
    assert decide_clean(replace(given_timelines, metadata=active_only)).runs is runs
    with_first = Timeline.of([at("00000000000000000"), *given_timelines.metadata])
    assert decide_clean(replace(given_timelines, metadata=with_first)).runs is runs


def test_a_pending_instant_of_the_metadata_table_prevents_its_clean() -> None:
    instants = [at(12, Action.COMMIT), *delta_commits(20, 3), at(30, done=False)]
    assert "pending" in decide_clean(timelines(V9, instants)).reason


def file_slice(number: int, *, has_base: bool) -> FileSlice:
    base = BaseFile(
        file_id="files-0000-0", write_token="0-0-0", instant_time=time(number), extension=".hfile"
    )
    return FileSlice(
        file_group_id=FileGroupId("files", "files-0000-0"),
        base_instant_time=time(number),
        base_file=base if has_base else None,
    )


@given(st.lists(st.booleans(), max_size=8), st.integers(0, 3), st.randoms(use_true_random=False))
def test_a_clean_keeps_the_newest_base_file_and_the_slices_before_and_after_it(
    has_base: list[bool], kept: int, random
) -> None:
    slices = [file_slice(number, has_base=flag) for number, flag in enumerate(has_base)]
    shuffled = list(slices)
    random.shuffle(shuffled)
    deleted = superseded_slices({FileGroupId("files", "files-0000-0"): shuffled}, kept)
    assert list(deleted) == slices[: len(deleted)]
    if not any(has_base):
        assert deleted == ()
    else:
        newest = max(number for number, flag in enumerate(has_base) if flag)
        assert len(deleted) == max(newest - kept, 0)


# ------------------------------------------------------------------ archival


def test_the_table_is_not_archived_before_the_first_compaction() -> None:
    bound = archival_bound(Timeline.of(delta_commits(10, 5)))
    assert bound == ArchivalBound(time="", reason="the metadata table was never compacted")


@OLD_AND_NEW
def test_the_table_is_archived_up_to_the_last_compaction(version: TableVersion) -> None:
    compaction = time(19) + "001" if version is V6 else time(25)
    found = timelines(version, [*delta_commits(10, 10), at(compaction, Action.COMMIT), *delta_commits(30, 3)])
    bound = archival_bound(found.metadata)
    assert (bound.time, bound.reason) == (
        compaction,
        f"the metadata table was last compacted at {compaction}",
    )
    assert time(19) < bound.time < time(30)


def test_a_delta_commit_that_was_completed_after_the_compaction_limits_archival() -> None:
    late = at(12, completed=30)
    found = Timeline.of([at(10), late, at(20, Action.COMMIT)])
    assert archival_bound(found).time == time(12)
    assert time(12) in archival_bound(found).reason


@given(st.sampled_from([V6, V9]), metadata_timelines, table_timelines, st.integers(0, 10))
def test_archival_removes_a_prefix_that_no_reader_needs(
    version: TableVersion, metadata: list[Instant], table: list[Instant], min_instants: int
) -> None:
    found = timelines(version, metadata, table)
    plan = plan_metadata_archival(found, min_instants)
    assert plan.reason
    assert plan.instants == found.metadata.instants[: len(plan.instants)]
    assert len(found.metadata) - len(plan.instants) >= min(min_instants, len(found.metadata))
    stay = found.metadata.instants[len(plan.instants) :]
    bound = compacted_until(found.metadata)
    assert bound is not None or not plan.instants
    assert set(delta_commits_since_compaction(found.metadata)) <= set(stay)
    assert last_compaction(found.metadata) in (None, *stay)
    assert set(found.metadata.pending) <= set(stay)
    writes = found.table.completed_writes
    assert not writes or all(i.requested_time < writes[0].requested_time for i in plan.instants)
