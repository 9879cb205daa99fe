"""Clustering by example: Hudi's worked example, and each decision separately."""

import pytest

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.clustering import (
    ClusteringInput,
    ClusteringOptions,
    ClusteringProposal,
    Layout,
    LayoutStrategy,
    PartitionFilterMode,
    PlanStrategyKind,
    SettledSlice,
    SkippedPartition,
)
from hudi_table_services.model.data_file import BaseFile, LogFile
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.planning.clustering.option_checks import check_clustering_options
from hudi_table_services.planning.clustering.plan import plan_clustering
from support.default_options import clustering_options

INSTANT = "20250101000000000"
PLAN_INSTANT = "20250102000000000"
LINEAR_A = Layout(columns=("a",))
LIMIT_KEY = "hoodie.clustering.plan.strategy.small.file.limit"
TARGET_KEY = "hoodie.clustering.plan.strategy.target.file.max.bytes"


def a_slice(
    file_id: str,
    size_bytes: int | None,
    partition: str = "p",
    logs: tuple[int, ...] = (),
    instant: str = INSTANT,
) -> FileSlice:
    base = None
    if size_bytes is not None:
        base = BaseFile(file_id=file_id, write_token="0-1-0", instant_time=instant, size_bytes=size_bytes)
    return FileSlice(
        file_group_id=FileGroupId(partition, file_id),
        base_instant_time=instant,
        base_file=base,
        log_files=tuple(
            LogFile(file_id=file_id, instant_time=instant, version=v + 1, size_bytes=size)
            for v, size in enumerate(logs)
        ),
    )


def a_table(*slices: FileSlice, reserved: tuple[str, ...] = ()) -> TableSnapshot:
    by_partition: dict[str, list[FileSlice]] = {}
    for file_slice in slices:
        by_partition.setdefault(file_slice.file_group_id.partition_path, []).append(file_slice)
    return TableSnapshot(
        config=TableConfig({"hoodie.table.name": "t", "hoodie.table.version": "6"}),
        timeline=Timeline(),
        file_slices={path: tuple(found) for path, found in by_partition.items()},
        reserved_file_groups={FileGroupId("p", file_id): PLAN_INSTANT for file_id in reserved},
    )


def a_table_of(*sizes: int, partition: str = "p") -> TableSnapshot:
    return a_table(*(a_slice(f"f{i}", size, partition) for i, size in enumerate(sizes)))


def clustering(**changes: object) -> ClusteringOptions:
    values: dict[str, object] = {
        "small_file_limit_bytes": 100,
        "target_file_max_bytes": 200,
        "max_bytes_per_group": 400,
    }
    return clustering_options(**{**values, **changes})  # type: ignore[arg-type]


def plan(table: TableSnapshot, given: ClusteringInput | None = None, **changes: object) -> ClusteringProposal:
    return plan_clustering(table, clustering(**changes), given or ClusteringInput())


def settled(layout: Layout | None = None, target: int | None = 200, *file_ids: str) -> ClusteringInput:
    known = SettledSlice(layout=layout or Layout(), target_file_max_bytes=target)
    return ClusteringInput(settled={FileGroupId("p", file_id): known for file_id in file_ids})


def groups(proposal: ClusteringProposal) -> list[tuple[list[str], int]]:
    return [([s.file_group_id.file_id for s in g.slices], g.output_files) for g in proposal.groups]


def reasons(proposal: ClusteringProposal) -> dict[str, int]:
    return {s.reason: s.slices for s in proposal.skipped}


def test_small_files_of_a_partition_become_one_file() -> None:
    proposal = plan(a_table_of(*[2] * 80))
    assert [(len(g.slices), g.output_files, g.input_bytes, g.reason) for g in proposal.groups] == [
        (80, 1, 160, "80 files into 1")
    ]
    assert (proposal.skipped, proposal.reason) == ((), "")
    assert (proposal.partitions_considered, proposal.partitions_total) == (1, 1)


def test_a_group_just_above_the_target_stays_one_file() -> None:
    assert groups(plan(a_table_of(90, 80, 50))) == [(["f0", "f1", "f2"], 1)]
    assert groups(plan(a_table_of(90, 80, 51))) == [(["f0", "f1", "f2"], 2)]
    assert groups(plan(a_table_of(90, 80, 50), size_tolerance=0.0)) == [(["f0", "f1", "f2"], 2)]


def test_groups_have_the_size_of_whole_target_files() -> None:
    proposal = plan(a_table_of(*[50] * 20), max_bytes_per_group=500)
    assert [(g.input_bytes, g.output_files) for g in proposal.groups] == [(400, 2), (400, 2), (200, 1)]


def test_a_group_limit_below_the_target_size_is_respected() -> None:
    proposal = plan(a_table_of(*[50] * 4), max_bytes_per_group=120)
    assert [(g.input_bytes, g.output_files) for g in proposal.groups] == [(100, 1), (100, 1)]


def test_best_fit_needs_fewer_groups_than_next_fit() -> None:
    sizes = {"target_file_max_bytes": 400, "small_file_limit_bytes": 300, "size_tolerance": 0.0}
    ours = plan(a_table_of(250, 200, 150, 100, 60, 40), **sizes)
    theirs = plan(a_table_of(250, 200, 150, 100, 60, 40), parity=True, **sizes)
    assert [g.input_bytes for g in theirs.groups] == [250, 350, 200]
    assert sorted(g.input_bytes for g in ours.groups) == [400, 400]


@pytest.mark.parametrize("single_group", [True, False])
def test_a_single_small_file_is_not_rewritten(single_group: bool) -> None:
    proposal = plan(a_table_of(10), single_group_enabled=single_group)
    assert proposal.groups == ()
    assert proposal.reason == (
        "no file of the table can be clustered (1 file: a clustering would not reduce the number of files)"
    )


def test_a_single_unsorted_file_is_a_group_unless_an_option_forbids_it() -> None:
    proposal = plan(a_table_of(10), layout=Layout(columns=("a", "b")))
    assert [g.reason for g in proposal.groups] == ["1 file not in order LINEAR(a, b)"]
    off = plan(a_table_of(10), layout=LINEAR_A, single_group_enabled=False)
    assert off.groups == ()
    assert reasons(off) == {
        "not in order, but alone in its group: "
        "hoodie.clustering.plan.strategy.single.group.clustering.enabled=false": 1
    }


def test_the_reason_of_a_sorted_group_names_the_order() -> None:
    proposal = plan(a_table_of(90, 90, 90), layout=LINEAR_A)
    assert [g.reason for g in proposal.groups] == ["3 files into 2, ordered by LINEAR(a)"]
    same_count = plan(a_table_of(99, 99), layout=LINEAR_A, target_file_max_bytes=100, size_tolerance=0.0)
    assert [g.reason for g in same_count.groups] == ["2 files not in order LINEAR(a)"]


def test_already_clustered_files_alone_are_not_rewritten() -> None:
    proposal = plan(a_table_of(10, 20), settled(None, 200, "f0", "f1"))
    assert proposal.groups == ()
    assert reasons(proposal) == {"already clustered with these options": 2}


def test_already_clustered_files_join_a_group_with_new_files() -> None:
    assert groups(plan(a_table_of(10, 20, 30), settled(None, 200, "f0", "f1"))) == [(["f0", "f1", "f2"], 1)]


@pytest.mark.parametrize("known_target", [100, None])
def test_files_of_another_target_size_do_not_count_as_already_clustered(known_target: int | None) -> None:
    assert len(plan(a_table_of(10, 20), settled(None, known_target, "f0", "f1")).groups) == 1


def test_files_of_another_layout_do_not_count_as_already_clustered() -> None:
    zorder = Layout(columns=("a",), strategy=LayoutStrategy.ZORDER)
    given = settled(zorder, 200, "f0")
    assert plan(a_table_of(10), given, layout=zorder).groups == ()
    assert len(plan(a_table_of(10), given, layout=LINEAR_A).groups) == 1
    # An unsorted layout accepts any order.
    assert plan(a_table_of(10, 10), settled(zorder, 200, "f0", "f1")).groups == ()


def test_a_single_remaining_file_is_grouped_with_a_file_of_a_full_group() -> None:
    proposal = plan(a_table_of(99, 99, 99, 99, 45))
    assert sorted(len(g.slices) for g in proposal.groups) == [2, 3]
    assert proposal.skipped == ()


def test_slices_of_a_group_are_in_order_of_arrival() -> None:
    table = a_table(
        a_slice("a", 10, instant="20250103000000000"),
        a_slice("c", 20, instant="20250101000000000"),
        a_slice("b", 30, instant="20250101000000000"),
    )
    assert groups(plan(table)) == [(["b", "c", "a"], 1)]


def test_every_file_left_out_has_a_reason() -> None:
    table = a_table(
        a_slice("big", 100),
        a_slice("small", 99),
        a_slice("planned", 1),
        a_slice("?", -1),
        reserved=("planned",),
    )
    assert plan(table).skipped == tuple(
        SkippedPartition(partition_path="p", reason=reason, slices=1)
        for reason in (
            "a clustering would not reduce the number of files",
            "at or above the small-file limit of 100 B",
            f"in the pending plan {PLAN_INSTANT}",
            "size of a file is unknown",
        )
    )


def test_the_size_of_a_slice_includes_the_weighted_size_of_its_log_files() -> None:
    table = a_table(
        a_slice("f0", 10, logs=(100, 100)), a_slice("f1", 10, logs=(300,)), a_slice("f2", None, logs=(20,))
    )
    proposal = plan(table)
    assert groups(proposal) == [(["f0", "f2"], 1)]
    assert proposal.groups[0].input_bytes == 80 + 7
    assert reasons(proposal) == {"at or above the small-file limit of 100 B": 1}
    assert reasons(plan(a_table(a_slice("f0", 10, logs=(-1,))))) == {"size of a file is unknown": 1}


def test_each_round_adds_one_group_per_partition_and_the_most_useful_groups_are_first() -> None:
    few, many = [40] * 3, [1] * 50
    table = a_table(
        *(a_slice(f"f{i}", 40, "a") for i in range(30)),
        *(a_slice(f"f{i}", size, "b") for i, size in enumerate(many)),
        *(a_slice(f"f{i}", size, "c") for i, size in enumerate(few)),
    )
    proposal = plan(table, max_num_groups=3)
    assert [g.partition_path for g in proposal.groups] == ["b", "a", "c"]
    assert proposal.overdue_partitions == ("a",)
    assert reasons(proposal) == {"no room in this plan: hoodie.clustering.plan.strategy.max.num.groups=3": 20}


def test_partitions_that_have_waited_precede_all_others() -> None:
    table = a_table(*(a_slice(f"f{i}", i + 1, p) for i in range(3) for p in "abc"))
    given = ClusteringInput(overdue_partitions=("c", "gone"))
    proposal = plan(table, given, max_num_groups=1)
    assert [g.partition_path for g in proposal.groups] == ["c"]
    assert proposal.overdue_partitions == ("a", "b")


def test_groups_that_only_sort_rows_come_last_with_the_largest_first() -> None:
    table = a_table(a_slice("f", 10, "a"), a_slice("f", 90, "b"), a_slice("f", 9, "c"), a_slice("g", 90, "c"))
    assert [g.partition_path for g in plan(table, layout=LINEAR_A).groups] == ["c", "b", "a"]


def test_single_file_sort_plans_each_file_that_is_not_in_order() -> None:
    table = a_table_of(10, 20, 30, 150)
    given = settled(LINEAR_A, None, "f1")
    proposal = plan(table, given, layout=LINEAR_A, plan_strategy=PlanStrategyKind.SINGLE_FILE_SORT)
    assert groups(proposal) == [(["f2"], 1), (["f0"], 1)]
    assert reasons(proposal) == {
        "already in the requested order": 1,
        "at or above the small-file limit of 100 B": 1,
    }


def test_the_reason_names_an_empty_table() -> None:
    assert plan(a_table()).reason == "the table has no files"


def test_the_reason_names_filters_that_match_no_partition() -> None:
    proposal = plan(a_table_of(1, 2), partition_pattern="2024.*")
    assert proposal.reason == (
        "partitions that match hoodie.clustering.plan.strategy.partition.regex.pattern=2024.*: 0 of 1"
    )
    assert (proposal.partitions_considered, proposal.partitions_total) == (0, 1)


def test_the_reason_of_an_empty_plan_names_the_most_common_obstacles() -> None:
    table = a_table(*(a_slice(f"f{i}", 100 + i, p) for p in ("p", "q", "r") for i in range(2)))
    assert plan(table, partition_pattern="[pq]", layout=LINEAR_A).reason == (
        "partitions that match hoodie.clustering.plan.strategy.partition.regex.pattern=[pq]: 2 of 3; no file of these "
        "partitions can be clustered (4 files: at or above the small-file limit of 100 B)"
    )


def test_missing_selected_partitions_are_reported_with_the_groups() -> None:
    proposal = plan(a_table_of(1, 2), selected_partitions=("p", "nowhere"))
    assert len(proposal.groups) == 1
    assert proposal.skipped == (
        SkippedPartition(
            partition_path="nowhere",
            reason="named in hoodie.clustering.plan.strategy.partition.selected, but the table has no such partition",
            slices=0,
        ),
    )


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"target_file_max_bytes": 99}, (TARGET_KEY, LIMIT_KEY)),
        ({"small_file_limit_bytes": 0}, (LIMIT_KEY,)),
        ({"target_file_max_bytes": -1}, (TARGET_KEY,)),
        ({"max_bytes_per_group": 0}, ("hoodie.clustering.plan.strategy.max.bytes.per.group",)),
        ({"max_num_groups": 0}, ("hoodie.clustering.plan.strategy.max.num.groups",)),
        ({"size_tolerance": 1.0}, ("hoodie.airflow.clustering.size.tolerance",)),
        ({"size_tolerance": float("nan")}, ("hoodie.airflow.clustering.size.tolerance",)),
        ({"log_weight": -0.1}, ("hoodie.logfile.to.parquet.compression.ratio",)),
        ({"log_weight": float("inf")}, ("hoodie.logfile.to.parquet.compression.ratio",)),
        ({"slices_sort_by": ("NAME",)}, ("hoodie.clustering.plan.strategy.file.slices.sort.by",)),
        (
            {"begin_partition": "b", "end_partition": "a"},
            (
                "hoodie.clustering.plan.strategy.cluster.begin.partition",
                "hoodie.clustering.plan.strategy.cluster.end.partition",
            ),
        ),
        (
            {"plan_strategy": PlanStrategyKind.SINGLE_FILE_SORT},
            ("hoodie.clustering.plan.strategy.class", "hoodie.clustering.plan.strategy.sort.columns"),
        ),
        (
            {"plan_strategy": PlanStrategyKind.COMMIT_BASED},
            (
                "hoodie.clustering.plan.strategy.class",
                "hoodie.clustering.plan.strategy.earliest.commit.to.cluster",
            ),
        ),
        ({"partition_pattern": "("}, ("hoodie.clustering.plan.strategy.partition.regex.pattern",)),
    ],
)
def test_an_error_about_impossible_options_names_their_keys(
    changes: dict[str, object], named: tuple[str, ...]
) -> None:
    with pytest.raises(InvalidRequestError) as raised:
        plan(a_table_of(1, 2), **changes)
    assert all(key in raised.value.message for key in named)


def test_parity_may_split_small_files() -> None:
    check_clustering_options(clustering(target_file_max_bytes=50, parity=True))


def test_a_partition_range_without_an_end_is_accepted() -> None:
    mode = PartitionFilterMode.SELECTED_PARTITIONS
    proposal = plan(a_table_of(1, 2), partition_filter_mode=mode, begin_partition="p")
    assert len(proposal.groups) == 1


@pytest.mark.parametrize("partitions", [1_000, 1], ids=["1000 partitions", "one partition"])
def test_a_hundred_thousand_file_slices_are_planned_in_seconds(partitions: int) -> None:
    each = 100_000 // partitions
    table = a_table(
        *(a_slice(f"f{i}", (i * 7_919 + p) % 130, f"p{p:04}") for p in range(partitions) for i in range(each))
    )
    options = clustering(target_file_max_bytes=1_000, max_bytes_per_group=2_000)
    proposal = plan_clustering(table, options, ClusteringInput())
    assert len(proposal.groups) == 30
    counted = sum(len(g.slices) for g in proposal.groups) + sum(s.slices for s in proposal.skipped)
    assert counted == 100_000
