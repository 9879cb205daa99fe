"""The commits after an instant show which slices of its state were deleted."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.model.data_file import BaseFile, LogFile
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.planning.reading.time_travel import deleted_slices

PATH = "p"


def until(as_of: str) -> Callable[[str], bool]:
    return lambda time: time <= as_of


def group(number: int) -> FileGroupId:
    return FileGroupId(PATH, f"f{number}")


def a_slice(number: int, time: str) -> FileSlice:
    base = BaseFile(file_id=f"f{number}", write_token="0-0-0", instant_time=time)
    return FileSlice(file_group_id=group(number), base_instant_time=time, base_file=base)


def only_logs(number: int, *times: str) -> FileSlice:
    """A slice whose base file does not exist; its log files have these instants."""
    logs = tuple(LogFile(file_id=f"f{number}", instant_time=time, version=1) for time in times)
    return FileSlice(file_group_id=group(number), base_instant_time=times[0], log_files=logs)


def commit(stats: dict[int, str], replaced: tuple[int, ...] = ()) -> CommitMetadata:
    """A commit that wrote slices after slices of these instants."""
    found = tuple(
        WriteStat(
            file_id=f"f{number}", partition_path=PATH, path=f"{PATH}/f{number}.parquet", prev_commit=before
        )
        for number, before in stats.items()
    )
    return CommitMetadata(
        operation_type=WriteOperation.UPSERT,
        partition_to_write_stats={PATH: found},
        partition_to_replace_file_ids={PATH: tuple(f"f{number}" for number in replaced)}
        if replaced
        else None,
    )


def test_a_slice_that_was_replaced_and_does_not_exist_was_deleted() -> None:
    later = [commit({1: "100", 2: "100"})]
    assert deleted_slices(until("150"), later, [a_slice(1, "100")]) == (group(2),)
    assert deleted_slices(until("150"), later, [a_slice(1, "100"), a_slice(2, "050")]) == (group(2),)
    assert deleted_slices(until("150"), later, [a_slice(1, "100"), a_slice(2, "100")]) == ()


def test_file_groups_that_are_younger_than_the_state_are_not_missing() -> None:
    assert deleted_slices(until("150"), [commit({1: "null"}), commit({1: "200"})], []) == ()
    assert deleted_slices(until("150"), [commit({1: "null"}), commit({}, replaced=(1,))], []) == ()


def test_a_replaced_file_group_without_files_was_deleted() -> None:
    assert deleted_slices(until("150"), [commit({}, replaced=(1,))], []) == (group(1),)
    assert deleted_slices(until("150"), [commit({}, replaced=(1,))], [a_slice(1, "100")]) == ()


def test_log_files_that_a_clean_kept_are_no_whole_slice() -> None:
    """A compaction merged the base file of 100 and log files before 140; a clean kept the log file of 140."""
    later = [commit({1: "100"})]
    assert deleted_slices(until("150"), later, [only_logs(1, "140")]) == (group(1),)
    assert deleted_slices(until("150"), [commit({1: "140"})], [only_logs(1, "140")]) == ()


@given(st.data())
def test_exactly_the_deleted_slices_of_a_random_history_are_found(data: st.DataObject) -> None:
    """Each commit rewrites, creates or replaces file groups; then some outdated slices are deleted."""
    versions: dict[int, list[int]] = {}
    replaced_at: dict[int, int] = {}
    commits: list[CommitMetadata] = []
    for time in range(1, data.draw(st.integers(1, 6)) + 1):
        live = [number for number in versions if number not in replaced_at]
        changed = data.draw(st.lists(st.sampled_from(live), unique=True)) if live else []
        new = [len(versions) + offset for offset in range(data.draw(st.integers(0, 2)))]
        gone = data.draw(st.lists(st.sampled_from(changed), unique=True)) if changed else []
        written = [number for number in (*changed, *new) if number not in gone]
        stats = {number: f"{versions[number][-1]:03}" if number in versions else "null" for number in written}
        commits.append(commit(stats, tuple(gone)))
        for number in written:
            versions.setdefault(number, []).append(time)
        replaced_at |= dict.fromkeys(gone, time)
    as_of = data.draw(st.integers(1, len(commits)))
    deleted = {
        (number, time)
        for number, times in versions.items()
        for place, time in enumerate(times)
        if (place < len(times) - 1 or number in replaced_at) and data.draw(st.booleans())
    }
    wanted = {
        number: max(time for time in times if time <= as_of)
        for number, times in versions.items()
        if times[0] <= as_of and replaced_at.get(number, as_of + 1) > as_of
    }
    present = []
    for number in wanted:
        left = [t for t in versions[number] if t <= as_of and (number, t) not in deleted]
        if left:
            present.append(a_slice(number, f"{max(left):03}"))
    expected = sorted(group(number) for number, time in wanted.items() if (number, time) in deleted)
    assert deleted_slices(until(f"{as_of:03}"), commits[as_of:], present) == tuple(expected)
