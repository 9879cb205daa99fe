"""Windows of incremental reads: together they contain each write once, and no window ends after a pending write."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.model.archival import ArchivedWrite
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.planning.reading.window import Window, before_holes, commits_of


def a_write(requested: str, completed: str | None = None) -> Instant:
    return Instant(
        requested_time=requested,
        action=Action.COMMIT,
        state=InstantState.COMPLETED,
        completion_time=completed,
    )


def pending(requested: str) -> Instant:
    return Instant(requested_time=requested, action=Action.COMMIT, state=InstantState.INFLIGHT)


def metadata(operation: WriteOperation = WriteOperation.UPSERT, *paths: str) -> CommitMetadata:
    stats = tuple(WriteStat(file_id="f", partition_path="p", path=path) for path in paths)
    return CommitMetadata(operation_type=operation, partition_to_write_stats={"p": stats})


times = st.integers(1, 30).map(lambda number: f"{number:03}")


@given(
    found=st.lists(st.tuples(times, times), unique_by=(lambda pair: pair[0], lambda pair: pair[1])),
    bounds=st.lists(times, unique=True).map(sorted),
)
def test_consecutive_windows_contain_each_write_once(found: list[tuple[str, str]], bounds: list[str]) -> None:
    writes = {a_write(first, second): metadata() for first, second in found}
    ends = ["", *bounds, "999"]
    seen = [
        write.instant
        for after, until in itertools.pairwise(ends)
        for write in commits_of(Window(after=after, until=until), writes, ()).writes
    ]
    assert sorted(seen) == sorted(writes)
    whole = commits_of(Window(after=""), writes, ())
    assert list(whole.commit_times) == sorted(first for first, _ in found)
    assert whole.until == max((second for _, second in found), default="")


@given(
    requested=st.lists(times, unique=True).map(sorted),
    holes=st.sets(times),
    after=st.sampled_from(["", "005", "015"]),
    until=st.sampled_from(["", "020"]),
)
def test_a_window_ends_before_a_pending_write_that_was_overtaken(
    requested: list[str], holes: set[str], after: str, until: str
) -> None:
    writes = [a_write(time) for time in requested if time not in holes]
    window = Window(after=after, until=until)
    ended, hole = before_holes(window, writes, [pending(time) for time in sorted(holes)])
    contained = [w.requested_time for w in writes if ended.contains(w)]
    first = min(holes, default="999")
    assert contained == [w.requested_time for w in writes if window.contains(w) and w.requested_time < first]
    assert bool(hole) == any(window.contains(w) and w.requested_time > first for w in writes)


def test_windows_include_archived_writes_but_no_files_of_log_compactions() -> None:
    active = {
        a_write("003", "004"): metadata(WriteOperation.UPSERT, "p/a"),
        a_write("005", "006"): metadata(WriteOperation.LOG_COMPACT, "p/b"),
    }
    archived = [
        ArchivedWrite(instant=a_write("001", "002"), metadata=metadata(WriteOperation.INSERT, "p/c")),
        ArchivedWrite(instant=a_write("003", "004"), metadata=metadata(WriteOperation.UPSERT, "p/a")),
    ]
    found = commits_of(Window(after=""), active, archived)
    assert found.commit_times == ("001", "003", "005")
    assert found.archived == 1
    assert found.written_paths() == {"p": {"p/a", "p/c"}}
    assert found.last_requested == "005"
    assert found.visible_from == {"001": "002", "003": "004", "005": "006"}
    assert commits_of(Window(after="006"), active, archived).until == "006"


def test_a_window_from_the_first_to_the_latest_commit_is_unbounded() -> None:
    assert Window(after="").is_unbounded
    assert Window(after="0").is_unbounded
    assert not Window(after="1").is_unbounded
    assert not Window(after="", until="5").is_unbounded
