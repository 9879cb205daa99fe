"""Options of clustering set their fields, and an unknown option or an option without effect is reported."""

from dataclasses import fields, replace
from operator import attrgetter

import pytest

from hudi_table_services.contract.clustering import (
    ClusteringRequest,
    ExecuteClusteringRequest,
    ScheduleClusteringRequest,
)
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.clustering import (
    CommitGate,
    Layout,
    LayoutStrategy,
    PartitionFilterMode,
    PlanStrategyKind,
)
from hudi_table_services.options.clustering import resolve_clustering_options
from hudi_table_services.options.clustering_job_options import ClusteringJobOptions
from hudi_table_services.options.keys.clustering import CLUSTERING_OPTIONS
from hudi_table_services.options.option import Effect, OptionGroup

S = "hoodie.clustering.plan.strategy."
OWN = [option for group in CLUSTERING_OPTIONS.values() for option in group]


def resolve(options: dict[str, str] | None = None, **request: object) -> ClusteringJobOptions:
    return resolve_clustering_options(
        ScheduleClusteringRequest(base_path="/t", options=options or {}, **request)
    )  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("key", "value", "field", "expected"),
    [
        (f"{S}small.file.limit", "7", "plan.small_file_limit_bytes", 7),
        (f"{S}target.file.max.bytes", "7", "plan.target_file_max_bytes", 7),
        (f"{S}target.file.max.bytes", "7", "names_target", True),
        (f"{S}max.bytes.per.group", "7", "plan.max_bytes_per_group", 7),
        (f"{S}max.num.groups", "7", "plan.max_num_groups", 7),
        (f"{S}single.group.clustering.enabled", "false", "plan.single_group_enabled", False),
        (f"{S}sort.columns", "a, b", "plan.layout", Layout(columns=("a", "b"))),
        ("hoodie.layout.optimize.strategy", "hilbert", "plan.layout.strategy", LayoutStrategy.HILBERT),
        (f"{S}partition.selected", "a,b", "plan.selected_partitions", ("a", "b")),
        (f"{S}partition.regex.pattern", "a.*", "plan.partition_pattern", "a.*"),
        (f"{S}daybased.lookback.partitions", "-1", "plan.lookback_partitions", -1),
        (f"{S}daybased.skipfromlatest.partitions", "1", "plan.skip_from_latest", 1),
        (f"{S}cluster.begin.partition", "a", "plan.begin_partition", "a"),
        (f"{S}cluster.end.partition", "b", "plan.end_partition", "b"),
        (f"{S}earliest.commit.to.cluster", "20260101", "plan.earliest_commit", "20260101"),
        (f"{S}file.slices.sort.by", "instant_time,size", "plan.slices_sort_by", ("INSTANT_TIME", "SIZE")),
        (
            "hoodie.clustering.plan.partition.filter.mode",
            "day_rolling",
            "plan.partition_filter_mode",
            PartitionFilterMode.DAY_ROLLING,
        ),
        (
            f"{S}class",
            "org.apache.hudi.client.clustering.plan.strategy.SparkSingleFileSortPlanStrategy",
            "plan.plan_strategy",
            PlanStrategyKind.SINGLE_FILE_SORT,
        ),
        ("hoodie.airflow.clustering.groups.per.plan", "2", "plan.groups_per_plan", 2),
        ("hoodie.airflow.clustering.max.pending.plans", "0", "plan.max_pending_plans", 0),
        ("hoodie.airflow.clustering.task.memory.bytes", "2097152", "task_memory_bytes", 2097152),
        ("hoodie.clustering.enable.expirations", "true", "cancels_expired", True),
        ("hoodie.clustering.expiration.threshold.mins", "5", "expires_after_minutes", 5),
        ("hoodie.parquet.compression.codec", "snappy", "base_files.codec", "snappy"),
        (
            "hoodie.datasource.clustering.async.enable",
            "true",
            "gates",
            (CommitGate(wanted=4, key="hoodie.clustering.async.max.commits"),),
        ),
    ],
)
def test_a_key_sets_its_field(key: str, value: str, field: str, expected: object) -> None:
    resolved = resolve({key: value})
    assert attrgetter(field)(resolved) == expected
    assert [warning for warning in resolved.warnings if "no effect here" in warning] == []


def test_fields_of_the_request_give_the_same_options_as_their_keys() -> None:
    by_field = resolve(sort_columns=("a", "b"), layout="zorder", partitions=("p",), every_n_commits=6)
    by_key = resolve(
        {
            f"{S}sort.columns": "a,b",
            "hoodie.layout.optimize.strategy": "zorder",
            f"{S}partition.selected": "p",
            "hoodie.clustering.async.enabled": "true",
            "hoodie.clustering.async.max.commits": "6",
        }
    )
    assert by_field == by_key
    assert [gate.wanted for gate in by_field.gates] == [6]


def test_the_stated_default_of_every_key_applies_if_the_key_is_missing() -> None:
    compared = [
        f.name for f in fields(ClusteringJobOptions) if f.name not in ("hoodie_options", "names_target")
    ]
    for option in OWN:
        if (
            option.default
            and OptionGroup.CLUSTERING in option.services
            and option.effect is not Effect.NO_EFFECT
        ):
            resolved = resolve({option.key: option.default})
            assert [n for n in compared if getattr(resolved, n) != getattr(resolve(), n)] == [], option.key


@pytest.mark.parametrize(
    "key", ["hoodie.clustering.plan.stratgy.class", "hoodie.clustering.foo", "hoodie.foo"]
)
def test_an_unknown_key_is_refused(key: str) -> None:
    with pytest.raises(InvalidRequestError, match=f"Unknown option {key}"):
        resolve({key: "1"})


@pytest.mark.parametrize("layout", ["spiral", "LINEAR"])
def test_an_unknown_spelling_of_a_layout_is_refused(layout: str) -> None:
    with pytest.raises(InvalidRequestError, match=f"layout is '{layout}'"):
        ScheduleClusteringRequest(base_path="/t", layout=layout)


@pytest.mark.parametrize(
    "request_",
    [
        ScheduleClusteringRequest(
            base_path="/t", request_id="r", sort_columns=("a",), every_n_commits=3, preview=True
        ),
        ClusteringRequest(base_path="/t", request_id="r", partitions=("p",), when_held="wait"),
        ExecuteClusteringRequest(base_path="/t", request_id="r", instants=("20260102030405006",)),
    ],
)
def test_a_request_is_unchanged_after_encoding_and_decoding(
    request_: ScheduleClusteringRequest | ExecuteClusteringRequest,
) -> None:
    assert type(request_).from_json(request_.to_json()) == request_


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (
            {"hoodie.clustering.plan.strategy.daybased.lookback.partitions": "3"},
            "only RECENT_DAYS uses this option",
        ),
        (
            {"hoodie.clustering.plan.strategy.cluster.begin.partition": "a"},
            "only SELECTED_PARTITIONS uses this option",
        ),
        ({"hoodie.layout.optimize.strategy": "ZORDER"}, "there are no sort columns"),
    ],
)
def test_a_key_without_effect_is_a_warning(options: dict[str, str], reason: str) -> None:
    request = ScheduleClusteringRequest(base_path="/t", options=options)
    (warning,) = resolve_clustering_options(request).warnings
    assert warning.startswith(next(iter(options)))
    assert reason in warning
    mode = {
        "hoodie.clustering.plan.partition.filter.mode": "RECENT_DAYS",
        "hoodie.clustering.plan.strategy.sort.columns": "a",
    }
    with_mode = replace(request, options={**options, **mode})
    assert len(resolve_clustering_options(with_mode).warnings) == ("begin" in warning)
