"""Batches of a stream contain whole commits, at least one, and no more than the limits allow."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.model.reading.stream import BatchLimits, CommitSize
from hudi_table_services.planning.reading.batch_end import batch_end

COMMITS = [
    CommitSize("1", 10),
    CommitSize("2", 50),
    CommitSize("3", 5),
    CommitSize("3", 5),
    CommitSize("4", 100),
]


@pytest.mark.parametrize(
    ("limits", "end"),
    [
        (BatchLimits(), "4"),
        (BatchLimits(commits=1), "1"),
        (BatchLimits(commits=2), "2"),
        (BatchLimits(commits=3), "2"),  # both commits of time 3 belong to one batch
        (BatchLimits(commits=4), "3"),
        (BatchLimits(size_bytes=9), "1"),  # at least one commit
        (BatchLimits(size_bytes=60), "2"),
        (BatchLimits(size_bytes=70), "3"),
        (BatchLimits(size_bytes=70, commits=1), "1"),
    ],
)
def test_the_first_batch_ends_at_the_limits_but_has_at_least_one_commit(
    limits: BatchLimits, end: str
) -> None:
    assert batch_end(reversed(COMMITS), limits, "0") == end


def test_without_commits_a_batch_ends_where_it_begins() -> None:
    assert batch_end([], BatchLimits(commits=1), "7") == "7"


sizes = st.lists(st.tuples(st.integers(1, 30), st.integers(0, 20)), max_size=20)
limit = st.none() | st.integers(1, 50)


@given(sizes, limit, limit)
def test_batches_contain_each_commit_once(
    found: list[tuple[int, int]], commits: int | None, size_bytes: int | None
) -> None:
    limits = BatchLimits(commits=commits, size_bytes=size_bytes)
    left = [CommitSize(f"{time:02}", size) for time, size in found]
    position, read = "00", []
    while (end := batch_end(left, limits, position)) != position:
        batch = [each for each in left if each.visible_from <= end]
        left = [each for each in left if each.visible_from > end]
        times = {each.visible_from for each in batch}
        assert len(times) == 1 or len(batch) <= (commits or len(batch))
        assert len(times) == 1 or sum(each.size_bytes for each in batch) <= (size_bytes or 10**9)
        read += batch
        position = end
    assert left == []
    assert len(read) == len(found)
