"""A slice with log files that must not be compacted now is left out with the reason."""

from dataclasses import replace

import pytest

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.compaction.compaction_proposal import CompactionInput
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.planning.compaction.open_writes import open_writes
from hudi_table_services.planning.compaction.planner import plan_compaction
from support.merge_on_read import PLAN_TIME, a_slice, a_table, an_instant, compaction

GIVEN = CompactionInput(instant_time=PLAN_TIME)
OPEN = "20260102120000000"
F1, F2 = FileGroupId("p", "f1"), FileGroupId("p", "f2")
SLICES = (a_slice("p", "f1", 100, 7), a_slice("p", "f2", 100, 7))


def outcome(table: TableSnapshot, given: CompactionInput = GIVEN) -> tuple[list[str], dict[str, str]]:
    proposal = plan_compaction(table, compaction(), given)
    planned = [o.file_slice.file_group_id.file_id for o in proposal.operations]
    return planned, {s.file_group_id.file_id: s.reason for s in proposal.skipped}


@pytest.mark.parametrize(
    ("action", "version", "name"),
    [
        (Action.COMPACTION, 6, "compaction"),
        (Action.COMPACTION, 9, "compaction"),
        (Action.LOG_COMPACTION, 9, "log compaction"),
        (Action.REPLACE_COMMIT, 6, "clustering"),
        (Action.CLUSTERING, 9, "clustering"),
    ],
)
@pytest.mark.parametrize("state", [InstantState.REQUESTED, InstantState.INFLIGHT])
def test_a_file_group_of_a_pending_plan_is_left_out(
    action: Action, version: int, name: str, state: InstantState
) -> None:
    table = a_table(SLICES, an_instant(OPEN, action, state), version=version, reserved={F1: OPEN})
    assert outcome(table) == (["f2"], {"f1": f"in the pending {name} {OPEN}"})


def test_a_reserved_file_group_whose_plan_is_not_on_the_timeline_is_left_out() -> None:
    assert outcome(a_table(SLICES, reserved={F1: OPEN})) == (["f2"], {"f1": f"in the pending plan {OPEN}"})


@pytest.mark.parametrize("version", [6, 8, 9])
def test_a_pending_delta_commit_excludes_its_file_groups_only_if_slices_are_shared(version: int) -> None:
    given = replace(GIVEN, open_file_groups={F2: OPEN})
    planned, skipped = outcome(a_table(SLICES, version=version), given)
    if version == 6:
        assert planned == ["f1"]
        assert skipped == {"f2": f"the pending delta commit {OPEN} may write to the file group"}
    else:
        assert (planned, skipped) == (["f1", "f2"], {})


@pytest.mark.parametrize("version", [6, 8, 9])
def test_a_pending_delta_commit_without_a_profile_excludes_every_slice_of_version_6(version: int) -> None:
    given = replace(GIVEN, unknown_delta_commits=("20260102130000000", OPEN))
    planned, skipped = outcome(a_table(SLICES, version=version), given)
    if version == 6:
        reason = f"the pending delta commit {OPEN} may write to any file group"
        assert (planned, skipped) == ([], {"f1": reason, "f2": reason})
    else:
        assert (planned, skipped) == (["f1", "f2"], {})


def test_slices_with_a_file_of_unknown_size_are_left_out() -> None:
    table = a_table((a_slice("p", "f1", -1, 7), a_slice("p", "f2", 100, 7, -1), a_slice("p", "f3", 100, 0)))
    reason = "size of a file is unknown"
    assert outcome(table) == (["f3"], {"f1": reason, "f2": reason})


def test_slices_without_log_files_are_neither_planned_nor_skipped() -> None:
    proposal = plan_compaction(a_table((a_slice("p", "f1", 100),)), compaction(), GIVEN)
    assert (proposal.operations, proposal.skipped) == ((), ())
    assert proposal.reason == "no file slice of the table has log files"


def test_a_plan_without_operations_names_the_most_frequent_reasons() -> None:
    table = a_table(
        SLICES, an_instant(OPEN, Action.COMPACTION, InstantState.REQUESTED), reserved={F1: OPEN, F2: OPEN}
    )
    assert plan_compaction(table, compaction(), GIVEN).reason == (
        f"no file slice with log files can be compacted: in the pending compaction {OPEN} (2 slices)"
    )


@pytest.mark.parametrize(
    ("pattern", "selected", "planned"),
    [
        ("", (), ["a", "b", "c"]),
        ("2026", (), ["a", "b"]),
        ("^x", (), ["c"]),
        ("", ("x/2025", "no/such"), ["c"]),
        ("2026", ("x/2025",), []),
        ("01$", ("2026/01", "x/2025"), ["a"]),
    ],
)
def test_only_partitions_of_the_list_and_of_the_pattern_are_compacted(
    pattern: str, selected: tuple[str, ...], planned: list[str]
) -> None:
    paths = {"a": "2026/01", "b": "2026/02", "c": "x/2025"}
    table = a_table(a_slice(path, name, 100, 7) for name, path in paths.items())
    options = compaction(partition_pattern=pattern, selected_partitions=selected)
    proposal = plan_compaction(table, options, GIVEN)
    assert [o.file_slice.file_group_id.file_id for o in proposal.operations] == planned
    assert {s.file_group_id.file_id for s in proposal.skipped} == set(paths) - set(planned)
    assert all(not s.waits and s.reason.startswith("partition ") for s in proposal.skipped)
    assert (proposal.partitions_considered, proposal.partitions_total) == (len(planned), 3)


def test_an_invalid_pattern_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match=r"hoodie\.compaction\.partition\.path\.regex is '\('"):
        plan_compaction(a_table(SLICES), compaction(partition_pattern="("), GIVEN)


def a_profile(*stats: tuple[str, str]) -> CommitMetadata:
    written = tuple(WriteStat(file_id=file_id, partition_path=path, path="") for path, file_id in stats)
    return CommitMetadata(operation_type=WriteOperation.UPSERT, partition_to_write_stats={"p": written})


def test_the_file_groups_of_pending_delta_commits_come_from_their_profiles() -> None:
    def inflight(time: str, action: Action = Action.DELTA_COMMIT) -> Instant:
        return an_instant(time, action, InstantState.INFLIGHT)

    times = [f"2026010200000000{n}" for n in range(6)]
    timeline = Timeline.of(
        [
            an_instant(times[0], Action.DELTA_COMMIT),
            inflight(times[1]),
            an_instant(times[2], Action.DELTA_COMMIT, InstantState.REQUESTED),
            inflight(times[3]),
            inflight(times[4]),
            inflight(times[5], Action.COMPACTION),
        ]
    )
    profiles = {
        times[0]: a_profile(("p", "completed")),
        times[1]: a_profile(("p", ""), ("p", "f1")),  # inserts, and updates of f1
        times[3]: a_profile(),
        times[4]: a_profile(("p", "f1"), ("p", "f2")),
    }
    found = open_writes(timeline, profiles)
    assert found.open_file_groups == {F1: times[1], F2: times[4]}
    assert found.unknown_delta_commits == (times[2], times[3])


def test_a_pending_delta_commit_that_only_inserts_excludes_nothing() -> None:
    timeline = Timeline.of([an_instant(OPEN, Action.DELTA_COMMIT, InstantState.INFLIGHT)])
    assert open_writes(timeline, {OPEN: a_profile(("p", ""))}) == ({}, ())
