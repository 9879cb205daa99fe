"""Reads are divided into tasks that take about the same time."""

from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hudi_table_services.execution.reading.slice_parts import ReadWork, SlicePart
from hudi_table_services.execution.task_groups import BYTES_OF_A_FILE
from hudi_table_services.model.data_file import BaseFile, LogFile
from hudi_table_services.model.file_group import FileGroupId, FileSlice

MIB = 1 << 20
TIME = "20261101120000000"
ALL = ReadWork(share_of_columns=1.0, merges_logs=True, divides_files=True)
WHOLE = ReadWork(share_of_columns=1.0, merges_logs=True, divides_files=False)


def a_slice(number: int, size: int, log_size: int = 0) -> FileSlice:
    file_id = f"f{number}"
    log = LogFile(file_id=file_id, instant_time=TIME, version=1, write_token="0-0-0", size_bytes=log_size)
    base = BaseFile(file_id=file_id, write_token="0-0-0", instant_time=TIME, size_bytes=size)
    return FileSlice(
        file_group_id=FileGroupId("p", file_id),
        base_instant_time=TIME,
        base_file=base,
        log_files=(log,) if log_size else (),
    )


def parts_of(groups: list[tuple[SlicePart, ...]]) -> list[SlicePart]:
    return [part for group in groups for part in group]


@given(
    sizes=st.lists(
        st.tuples(st.integers(0, 300 * MIB), st.sampled_from([0, 0, 20 * MIB])), min_size=1, max_size=30
    ),
    parallelism=st.integers(1, 40),
    merges_logs=st.booleans(),
)
def test_each_row_group_is_read_by_one_task(
    sizes: list[tuple[int, int]], parallelism: int, merges_logs: bool
) -> None:
    slices = [a_slice(number, *size) for number, size in enumerate(sizes)]
    work = ReadWork(share_of_columns=0.5, merges_logs=merges_logs, divides_files=True)
    parts = parts_of(work.groups(slices, parallelism))
    for each in slices:
        mine = sorted(part for part in parts if part.file_slice == each)
        if merges_logs and each.log_files:
            assert mine == [SlicePart(each)]
        for total in (0, 1, 2, 17):
            assert [number for part in mine for number in part.row_groups(total)] == list(range(total))


def test_tasks_have_about_the_same_cost() -> None:
    slices = [a_slice(0, 64 * MIB, 1), a_slice(1, MIB, 16 * MIB), *(a_slice(n, MIB) for n in range(2, 40))]
    groups = ALL.groups(slices, 4)
    assert sorted(parts_of(groups)) == sorted(SlicePart(each) for each in slices)
    assert len(groups) % 4 == 0
    large = {SlicePart(slices[0]), SlicePart(slices[1])}
    assert {len(group) for group in groups if large & set(group)} == {1}


def test_all_cores_read_one_large_file() -> None:
    (whole,) = ALL.groups([a_slice(0, 120 * MIB)], 1)[0][:1]
    assert whole.count > 1
    groups = ALL.groups([a_slice(0, 120 * MIB)], 8)
    assert [len(group) for group in groups] == [1] * 8


def test_few_files_of_equal_size_keep_two_cores_busy_to_the_end() -> None:
    groups = ALL.groups([a_slice(number, 26 * MIB) for number in range(7)], 2)
    costs = [sum(1 / part.count for part in group) for group in groups]
    assert len(groups) % 2 == 0
    # The cores take the tasks in this order, each core the next task as soon as it is free.
    busy = [0.0, 0.0]
    for cost in costs:
        busy[busy.index(min(busy))] += cost
    assert max(busy) <= 3.5


def work_of_tasks(groups: list[tuple[SlicePart, ...]], total: Callable[[FileSlice], int]) -> list[Fraction]:
    """Return the work of each task, in the unit of `group_tasks`, if `total` returns the row groups of each file."""
    return [sum((work_of(part, total(part.file_slice)) for part in group), Fraction()) for group in groups]


def work_of(part: SlicePart, total: int) -> Fraction:
    assert part.file_slice.base_file is not None
    cost = BYTES_OF_A_FILE + part.file_slice.base_file.size_bytes // 3
    return Fraction(cost * len(part.row_groups(total)), total)


@pytest.mark.parametrize("total", [1, 2, 3, 8, 17])
@pytest.mark.parametrize(
    ("files", "size", "cores"),
    [
        (1, 120, 8),
        (4, 120, 16),
        (16, 100, 64),
        (17, 100, 16),
        (5, 100, 4),
        (3, 1024, 8),
        (7, 26, 2),
        (16, 100, 16),
    ],
)
def test_no_task_gets_more_row_groups_than_if_files_were_not_divided(
    files: int, size: int, cores: int, total: int
) -> None:
    slices = [a_slice(number, size * MIB) for number in range(files)]
    tasks = [sum(len(part.row_groups(total)) for part in group) for group in ALL.groups(slices, cores)]
    undivided = max(len(group) for group in WHOLE.groups(slices, cores)) * total
    assert sum(tasks) == files * total
    assert max(tasks) <= undivided
    # One task of each core, and all tasks are equal: nothing to gain.
    if total >= 8 and (files, cores) not in {(16, 16), (7, 2)}:
        assert max(tasks) < undivided


@pytest.mark.parametrize(("files", "size", "cores"), [(16, 100, 64), (4, 120, 16)])
def test_files_with_one_row_group_are_read_by_different_tasks(files: int, size: int, cores: int) -> None:
    groups = ALL.groups([a_slice(number, size * MIB) for number in range(files)], cores)
    tasks = [sum(len(part.row_groups(1)) for part in group) for group in groups]
    assert sorted(tasks) == [0] * (len(tasks) - files) + [1] * files
    assert len(tasks) > files


@given(
    files=st.lists(
        st.tuples(st.integers(0, 600 * MIB), st.sampled_from([1, 1, 2, 3, 8, 17, 400])),
        min_size=1,
        max_size=40,
    ),
    cores=st.integers(1, 64),
)
@example(files=[(60 * MIB, 3), (20 * MIB, 1)], cores=2)
@example(files=[(20 * MIB, 8), (600 * MIB, 1)], cores=16)
def test_no_task_gets_more_work_for_any_sizes_and_any_numbers_of_row_groups(
    files: list[tuple[int, int]], cores: int
) -> None:
    slices = [a_slice(number, size) for number, (size, _) in enumerate(files)]
    totals = {each: total for each, (_, total) in zip(slices, files, strict=True)}
    tasks, undivided = (
        work_of_tasks(work.groups(slices, cores), totals.__getitem__) for work in (ALL, WHOLE)
    )
    assert sum(tasks) == sum(undivided)
    assert max(tasks) <= max(undivided)


def test_files_are_not_divided_if_there_are_enough_of_them() -> None:
    slices = [a_slice(number, 120 * MIB) for number in range(40)]
    assert {part.count for part in parts_of(ALL.groups(slices, 2))} == {1}


def test_a_read_of_certain_keys_does_not_divide_files() -> None:
    work = ReadWork(share_of_columns=1.0, merges_logs=True, divides_files=False)
    assert parts_of(work.groups([a_slice(0, 120 * MIB)], 8)) == [SlicePart(a_slice(0, 120 * MIB))]


def test_a_read_of_base_files_ignores_the_cost_of_log_files() -> None:
    slices = [a_slice(0, 120 * MIB, 100 * MIB), a_slice(1, 120 * MIB)]
    work = ReadWork(share_of_columns=1.0, merges_logs=False, divides_files=True)
    counts = {part.file_slice: part.count for part in parts_of(work.groups(slices, 8))}
    assert counts[slices[0]] == counts[slices[1]] > 1


def test_a_read_of_few_columns_has_fewer_tasks() -> None:
    slices = [a_slice(number, 120 * MIB, 1) for number in range(8)]
    few = ReadWork(share_of_columns=0.05, merges_logs=True, divides_files=True)
    assert (len(ALL.groups(slices, 2)), len(few.groups(slices, 2))) == (8, 2)
