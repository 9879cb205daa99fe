"""Parity mode: Hudi's worked example, each of its rules, and a naive second implementation of its packing."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.model.clustering import (
    ClusteringInput,
    ClusteringProposal,
    Layout,
    PlanStrategyKind,
)
from hudi_table_services.model.data_file import BaseFile, LogFile
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.planning.clustering.plan import plan_clustering
from support.default_options import clustering_options

MB = 1_000_000
GIB = 1 << 30
ALONE = "alone in the last group: hoodie.clustering.plan.strategy.single.group.clustering.enabled=false"
NO_ROOM = "no room in this plan: hoodie.clustering.plan.strategy.max.num.groups={}"


def a_slice(
    file_id: str, size: int | None, partition: str = "p", instant: int = 1, log: int = 0
) -> FileSlice:
    time = f"202501{instant:02}000000000"
    base = BaseFile(file_id=file_id, write_token="0-1-0", instant_time=time, size_bytes=size or 0)
    logs = (LogFile(file_id=file_id, instant_time=time, version=1, size_bytes=log),) if log else ()
    return FileSlice(
        file_group_id=FileGroupId(partition, file_id),
        base_instant_time=time,
        base_file=None if size is None else base,
        log_files=logs,
    )


def a_table(*slices: FileSlice) -> TableSnapshot:
    by_partition: dict[str, tuple[FileSlice, ...]] = {}
    for file_slice in slices:
        path = file_slice.file_group_id.partition_path
        by_partition[path] = (*by_partition.get(path, ()), file_slice)
    config = TableConfig({"hoodie.table.name": "t", "hoodie.table.version": "6"})
    return TableSnapshot(config=config, timeline=Timeline(), file_slices=by_partition)


def a_table_of(*sizes: int) -> TableSnapshot:
    return a_table(*(a_slice(f"f{i:02}", size) for i, size in enumerate(sizes)))


def plan(table: TableSnapshot, **changes: object) -> ClusteringProposal:
    values: dict[str, object] = {
        "small_file_limit_bytes": 300 * MB,
        "target_file_max_bytes": 200 * MB,
        "max_bytes_per_group": 400 * MB,
        "parity": True,
    }
    options = clustering_options(**{**values, **changes})  # type: ignore[arg-type]
    return plan_clustering(table, options, ClusteringInput())


def groups(proposal: ClusteringProposal) -> list[tuple[list[int], int]]:
    return [
        (
            sorted((s.base_file.size_bytes // MB if s.base_file else 0 for s in g.slices), reverse=True),
            g.output_files,
        )
        for g in proposal.groups
    ]


def test_parity_plans_the_groups_of_hudis_worked_example() -> None:
    proposal = plan(a_table_of(*(size * MB for size in (60, 250, 100, 150, 200))))
    assert groups(proposal) == [([250], 2), ([200, 150], 2), ([100, 60], 1)]
    assert [g.reason for g in proposal.groups] == ["1 file into 2", "2 files into 2", "2 files into 1"]


def test_a_single_small_file_is_rewritten_unless_an_option_prevents_it() -> None:
    assert groups(plan(a_table_of(10 * MB))) == [([10], 1)]
    off = plan(a_table_of(10 * MB), single_group_enabled=False)
    assert (off.groups, [(s.reason, s.slices) for s in off.skipped]) == ((), [(ALONE, 1)])


def test_only_the_last_group_is_left_out_because_it_has_one_slice() -> None:
    sizes = (250 * MB, 240 * MB, 230 * MB)
    assert groups(plan(a_table_of(*sizes), single_group_enabled=False)) == [([250], 2), ([240], 2)]


def test_a_slice_without_a_base_file_is_eligible_and_counts_as_120_mib() -> None:
    table = a_table(a_slice("log", None, log=1), a_slice("base", 100 * MB))
    proposal = plan(table, small_file_limit_bytes=101 * MB)
    assert [(len(g.slices), g.output_files, g.input_bytes) for g in proposal.groups] == [
        (2, 2, 100 * MB + 125_829_120)
    ]


def test_the_size_of_log_files_is_ignored() -> None:
    table = a_table(a_slice("a", 10 * MB, log=900 * MB), a_slice("b", 10 * MB))
    assert groups(plan(table)) == [([10, 10], 1)]


def test_file_sizes_are_compared_as_long_integers() -> None:
    sizes = (1 * GIB, 4 * GIB, 2 * GIB)
    proposal = plan(
        a_table_of(*sizes),
        small_file_limit_bytes=9 * GIB,
        max_bytes_per_group=5 * GIB,
        target_file_max_bytes=GIB,
    )
    assert [(len(g.slices), g.input_bytes // GIB) for g in proposal.groups] == [(1, 4), (2, 3)]


@pytest.mark.parametrize(
    ("sort_by", "expected"),
    [
        ("SIZE", ["a", "c", "b", "d"]),
        ("INSTANT_TIME", ["b", "c", "d", "a"]),
        ("INSTANT_TIME,SIZE", ["c", "d", "b", "a"]),
        ("SIZE,INSTANT_TIME", ["a", "c", "b", "d"]),
    ],
)
def test_slices_are_packed_in_the_requested_order(sort_by: str, expected: list[str]) -> None:
    table = a_table(
        a_slice("a", 4, instant=2),
        a_slice("b", 2, instant=1),
        a_slice("c", 3, instant=1),
        a_slice("d", 3, instant=1) if sort_by == "INSTANT_TIME,SIZE" else a_slice("d", 1, instant=1),
    )
    proposal = plan(table, slices_sort_by=tuple(sort_by.split(",")), max_bytes_per_group=1)
    assert [s.file_group_id.file_id for g in proposal.groups for s in g.slices] == expected


def test_a_full_plan_contains_the_groups_of_the_first_partitions() -> None:
    table = a_table(*(a_slice(f"f{i}", 250 * MB, p) for p in "ba" for i in range(2)), a_slice("f", 1, "c"))
    proposal = plan(table, max_num_groups=3)
    assert [g.partition_path for g in proposal.groups] == ["a", "a", "b"]
    assert proposal.overdue_partitions == ("b", "c")
    assert [(s.partition_path, s.reason, s.slices) for s in proposal.skipped] == [
        ("b", NO_ROOM.format(3), 1),
        ("c", NO_ROOM.format(3), 1),
    ]


def test_a_partition_with_more_groups_than_fit_into_a_plan_is_overdue() -> None:
    proposal = plan(a_table_of(*[250 * MB] * 5), max_num_groups=2, single_group_enabled=False)
    assert groups(proposal) == [([250], 2), ([250], 2)]
    assert [(s.reason, s.slices, s.is_overdue) for s in proposal.skipped] == [(NO_ROOM.format(2), 3, True)]


def test_single_file_sort_rewrites_every_small_file_into_one_file() -> None:
    proposal = plan(
        a_table_of(250 * MB, 10 * MB, 300 * MB),
        plan_strategy=PlanStrategyKind.SINGLE_FILE_SORT,
        layout=Layout(columns=("a",)),
        single_group_enabled=False,
    )
    assert groups(proposal) == [([250], 1), ([10], 1)]


def test_parity_plans_files_even_if_a_clustering_wrote_them() -> None:
    options = clustering_options(parity=True)
    table = a_table_of(10, 20)
    first = plan_clustering(table, options, ClusteringInput())
    assert plan_clustering(table, replace(options), ClusteringInput(overdue_partitions=("p",))) == first


def naive_groups(sizes: list[int], cap: int, target: int) -> list[tuple[int, int, int]]:
    """Take groups from the front of the sorted list. Return the slices, bytes and output files of each group."""
    groups = []
    left = sorted(sizes, reverse=True)
    while left:
        count = 1
        while count < len(left) and sum(left[: count + 1]) <= cap:
            count += 1
        groups.append((count, sum(left[:count]), max(math.ceil(sum(left[:count]) / target), 1)))
        left = left[count:]
    return groups


@given(st.lists(st.integers(0, 299), max_size=30), st.integers(1, 900), st.integers(1, 900))
def test_the_groups_equal_the_groups_of_a_naive_next_fit(sizes: list[int], cap: int, target: int) -> None:
    proposal = plan(
        a_table_of(*sizes),
        small_file_limit_bytes=300,
        max_bytes_per_group=cap,
        target_file_max_bytes=target,
        max_num_groups=100,
    )
    groups = [(len(g.slices), g.input_bytes, g.output_files) for g in proposal.groups]
    assert groups == naive_groups(sizes, cap, target)
