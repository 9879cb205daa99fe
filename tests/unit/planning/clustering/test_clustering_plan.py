"""The stored form of a clustering plan, and the settings that an executor reads from any plan."""

import pytest

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.hudi_format.table_service_plans import (
    decode_requested_replace,
    encode_requested_replace,
)
from hudi_table_services.model.clustering import (
    ClusteringProposal,
    Layout,
    LayoutStrategy,
    PlannedGroup,
    PlanStrategyKind,
    SettledSlice,
    SkippedPartition,
)
from hudi_table_services.model.data_file import BaseFile, LogFile
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.table_service_plans import ClusteringPlan, ClusteringSlice, PlanStrategy
from hudi_table_services.planning.clustering.stored_plan import read_plan_settings, stored_plan
from support.default_options import clustering_options

INSTANT = "20260101000000000"
MIB = 1 << 20
SORT_COLUMNS = "hoodie.clustering.plan.strategy.sort.columns"
TARGET = "hoodie.clustering.plan.strategy.target.file.max.bytes"
LAYOUT = "hoodie.layout.optimize.strategy"
STRATEGIES = "org.apache.hudi.client.clustering.run.strategy."


def a_slice(file_id: str, base: int | None, *logs: int, partition: str = "a/b") -> FileSlice:
    return FileSlice(
        file_group_id=FileGroupId(partition, file_id),
        base_instant_time=INSTANT,
        base_file=None
        if base is None
        else BaseFile(file_id=file_id, write_token="0-1-0", instant_time=INSTANT, size_bytes=base),
        log_files=tuple(
            LogFile(
                file_id=file_id, instant_time=INSTANT, version=v + 1, write_token="0-2-0", size_bytes=size
            )
            for v, size in enumerate(logs)
        ),
    )


def a_group(*slices: FileSlice) -> PlannedGroup:
    return PlannedGroup(
        partition_path=slices[0].file_group_id.partition_path,
        slices=slices,
        output_files=1,
        input_bytes=1,
        reason="",
    )


def to_uri(path: str) -> str:
    return f"file:///data/t/{path}"


def stored(
    *groups: PlannedGroup, proposal: ClusteringProposal | None = None, **options: object
) -> ClusteringPlan:
    chosen = clustering_options(**options)  # type: ignore[arg-type]
    return stored_plan(groups, proposal or ClusteringProposal(), chosen, to_uri)


def test_slices_are_stored_with_absolute_paths() -> None:
    plan = stored(a_group(a_slice("f", 5, 7), a_slice("g", None, 1)), a_group(a_slice("h", 5, partition="")))
    name = "file:///data/t/a/b/f_0-1-0_20260101000000000.parquet"
    assert plan.groups[0].slices == (
        ClusteringSlice(
            file_id="f",
            partition_path="a/b",
            data_file_path=name,
            delta_file_paths=("file:///data/t/a/b/.f_20260101000000000.log.1_0-2-0",),
            bootstrap_file_path="",
        ),
        ClusteringSlice(
            file_id="g",
            partition_path="a/b",
            data_file_path="",
            delta_file_paths=("file:///data/t/a/b/.g_20260101000000000.log.1_0-2-0",),
            bootstrap_file_path="",
        ),
    )
    assert plan.groups[1].slices[0].data_file_path == "file:///data/t/h_0-1-0_20260101000000000.parquet"
    assert [g.output_file_groups for g in plan.groups] == [1, 1]
    assert plan.preserve_hoodie_metadata is True


def test_metrics_equal_hudis_metrics() -> None:
    group = a_group(a_slice("f", 3 * MIB + 9, 2 * MIB, MIB - 10), a_slice("g", None, 5), a_slice("h", -1))
    assert stored(group).groups[0].metrics == {
        "TOTAL_LOG_FILES": 3.0,
        "TOTAL_LOG_FILES_SIZE": 3.0 * MIB - 5,
        "TOTAL_IO_READ_MB": 6.0,
        "TOTAL_IO_WRITE_MB": 243.0,
        "TOTAL_IO_MB": 249.0,
    }


def test_an_unsorted_plan_stores_only_its_target() -> None:
    strategy = stored(target_file_max_bytes=7).strategy
    assert strategy.class_name == STRATEGIES + "SparkSortAndSizeExecutionStrategy"
    assert strategy.parameters == {TARGET: "7"}


def test_a_sorted_plan_stores_columns_and_curve() -> None:
    layout = Layout(columns=("a", "b"), strategy=LayoutStrategy.ZORDER)
    strategy = stored(plan_strategy=PlanStrategyKind.SINGLE_FILE_SORT, layout=layout).strategy
    assert strategy.class_name == STRATEGIES + "SparkSingleFileSortExecutionStrategy"
    assert strategy.parameters == {TARGET: "1073741824", SORT_COLUMNS: "a,b", LAYOUT: "ZORDER"}


def test_the_plan_stores_waiting_partitions_and_the_checkpoint() -> None:
    waiting = SkippedPartition(partition_path="z", reason="no room", slices=3, is_overdue=True)
    plan = stored(proposal=ClusteringProposal(skipped=(waiting,), checkpoint=INSTANT))
    assert plan.missing_schedule_partitions == ("z",)
    assert plan.extra_metadata == {"clustering.commit.checkpoint": INSTANT}
    assert stored().extra_metadata == {}


def test_a_stored_plan_is_unchanged_after_encoding_and_decoding() -> None:
    plan = stored(a_group(a_slice("f", 5, 7), a_slice("g", None, 1)), layout=Layout(columns=("a",)))
    assert decode_requested_replace(encode_requested_replace(plan)).clustering_plan == plan


@pytest.mark.parametrize(
    "layout",
    [Layout(), Layout(columns=("a", "b")), Layout(columns=("a",), strategy=LayoutStrategy.HILBERT)],
    ids=str,
)
def test_settings_of_the_plan_have_priority_over_the_executors_options(layout: Layout) -> None:
    running = clustering_options(layout=Layout(columns=("z",), strategy=LayoutStrategy.ZORDER))
    settings = read_plan_settings(stored(layout=layout, target_file_max_bytes=5), running)
    assert settings == SettledSlice(layout=layout, target_file_max_bytes=5)


def of_hudi(**parameters: str) -> ClusteringPlan:
    keys = {"columns": SORT_COLUMNS, "target": TARGET, "layout": LAYOUT}
    strategy = PlanStrategy(class_name="x", parameters={keys[k]: v for k, v in parameters.items()})
    return ClusteringPlan(groups=(), strategy=strategy)


def test_hudis_plan_sets_the_sort_columns_and_the_executing_job_sets_curve_and_target() -> None:
    default = clustering_options(
        layout=Layout(columns=("z",), strategy=LayoutStrategy.HILBERT), target_file_max_bytes=9
    )
    sorted_ = read_plan_settings(of_hudi(columns="a, b,"), default)
    assert sorted_ == SettledSlice(
        layout=Layout(columns=("a", "b"), strategy=LayoutStrategy.HILBERT), target_file_max_bytes=9
    )
    assert read_plan_settings(of_hudi(), default) == SettledSlice(layout=Layout(), target_file_max_bytes=9)


def test_old_spellings_of_a_curve_are_accepted() -> None:
    settings = read_plan_settings(of_hudi(columns="a", layout="z-order"), clustering_options())
    assert settings.layout.strategy is LayoutStrategy.ZORDER


@pytest.mark.parametrize(
    "parameters",
    [
        {"target": "1 GB"},
        {"target": "0"},
        {"target": "-5"},
        {"target": "²"},
        {"columns": "a", "layout": "PEANO"},
    ],
    ids=str,
)
def test_unsupported_parameters_are_refused(parameters: dict[str, str]) -> None:
    with pytest.raises(MalformedMetadataError, match="hoodie"):
        read_plan_settings(of_hudi(**parameters), clustering_options())
