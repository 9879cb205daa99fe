"""The model of loads on large clusters: its laws, its bounds, and its input from measured runs."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scale.load_model import Cluster, Costs, Load, Prediction, cores_worth_adding, predict

COSTS = Costs(
    open_s=0.5,
    open_requests=10,
    open_s_per_group=10e-6,
    plan_s_per_task=1e-4,
    driver_s_per_task=1e-3,
    stage_job_s=0.3,
    stage_rows_per_s=500_000,
    look_up_rows_per_s=2e6,
    search_job_s=0.2,
    search_task_s=0.02,
    search_rows_per_s=5e6,
    write_job_s=0.1,
    rewrite_task_s=0.03,
    rewrite_rows_per_s=1e6,
    insert_task_s=0.01,
    insert_rows_per_s=500_000,
    copy_rows_per_s=10e6,
    log_task_s=0.01,
    log_rows_per_s=500_000,
    task_requests=5,
    commit_s=0.1,
    commit_requests=20,
)
LOAD = Load(
    rows=10e6,
    row_bytes=200,
    update_share=0.5,
    partitions=100,
    table_groups=100_000,
    groups_changed=1_000,
    rows_of_a_group=1e6,
    groups_searched=2_000,
    keys_read_of_a_group=1e6,
    small_file_rows=200_000,
    footers=200,
)
CLUSTER = Cluster(cores=1, request_s=0.02, bytes_per_s_of_a_core=1e9)


def on(cores: int, load: Load = LOAD, costs: Costs = COSTS) -> Prediction:
    return predict(costs, replace(CLUSTER, cores=cores), load)


def test_one_core_does_all_work_one_task_after_the_other() -> None:
    found = on(1)
    waited = 5 * 0.02
    assert found.phase("stage rows").seconds == pytest.approx(0.3 + 10e6 / 500_000 + waited)
    searched = 2_000 * (0.02 + 1e6 / 5e6 + waited) + 10e6 / 2e6
    assert found.phase("find rows").seconds == pytest.approx(0.2 + searched)
    rewritten = 1_000 * (0.03 + 1e6 / 1e6 + waited)
    inserted = 100 * (0.01 + 50_000 / 500_000 + 200_000 / 10e6 + waited)
    assert found.phase("write files").core_s == pytest.approx(rewritten + inserted)
    assert found.phase("write files").seconds == pytest.approx(0.1 + rewritten + inserted)
    assert found.phase("write files").bound == "cores"
    assert found.bottleneck.name == "write files"


def test_only_one_file_of_each_partition_is_filled_up() -> None:
    load = replace(LOAD, rows=1_000e6, update_share=0.0, groups_changed=0)
    filled, new = on(1, load), on(1, replace(load, small_file_rows=0.0))
    assert filled.requests == new.requests
    more = filled.phase("write files").core_s - new.phase("write files").core_s
    assert more == pytest.approx(100 * 200_000 / 10e6)


def test_cores_that_share_a_physical_core_work_more_slowly_but_wait_equally_long() -> None:
    cluster = replace(CLUSTER, core_speed=0.5)
    fast, slow = predict(COSTS, CLUSTER, LOAD), predict(COSTS, cluster, LOAD)
    waited = (1_000 + 100) * 5 * 0.02
    assert slow.phase("write files").core_s - waited == pytest.approx(
        2 * (fast.phase("write files").core_s - waited)
    )
    assert slow.phase("commit") == fast.phase("commit")


def test_key_ranges_that_exclude_the_batch_leave_only_the_comparison() -> None:
    found = on(1, replace(LOAD, keys_read_of_a_group=0.0)).phase("find rows")
    assert found.seconds == pytest.approx(0.2 + 2_000 * (0.02 + 5 * 0.02) + 10e6 / 2e6)


def test_a_slow_network_decides_how_long_files_take() -> None:
    found = predict(COSTS, replace(CLUSTER, bytes_per_s_of_a_core=100e6), LOAD).phase("write files")
    assert found.seconds == pytest.approx(0.1 + 2 * 200 * (1_000 * 1e6 + 5e6 + 100 * 200_000) / 100e6)
    assert found.bound == "bandwidth"


def test_the_driver_opens_plans_and_commits_alone() -> None:
    few, many = on(1), on(1_000)
    for name in ("open table", "plan", "commit"):
        assert few.phase(name) == many.phase(name)
        assert few.phase(name).bound == "driver"
    assert few.phase("open table").seconds == pytest.approx(0.5 + 10 * 0.02 + 1.0)
    assert few.phase("plan").seconds == pytest.approx(25 * 3 * 0.02 + 1_100 * 1e-4)
    assert few.phase("commit").seconds == pytest.approx(0.1 + 20 * 0.02)


@given(cores=st.integers(1, 5_000), factor=st.integers(2, 10), logs=st.booleans())
def test_more_cores_never_make_a_load_slower_by_more_than_the_tasks_of_staging(
    cores: int, factor: int, logs: bool
) -> None:
    load = replace(LOAD, writes_logs=logs)
    few, many = on(cores, load), on(cores * factor, load)
    started = COSTS.driver_s_per_task * cores * factor
    assert many.seconds <= few.seconds + started + 1e-9
    for name in ("find rows", "write files"):
        assert many.phase(name).seconds <= few.phase(name).seconds + 1e-9
        assert many.phase(name).core_s == pytest.approx(few.phase(name).core_s)


@given(cores=st.integers(1, 5_000))
def test_no_prediction_is_better_than_perfect_scaling(cores: int) -> None:
    found = on(cores)
    assert found.seconds >= sum(each.core_s for each in found.phases) / cores - 1e-9
    assert 0 < found.busy_share <= 1 + 1e-9


def test_each_bound_can_determine_a_phase() -> None:
    assert on(10, costs=replace(COSTS, rewrite_rows_per_s=1e5)).phase("write files").bound == "cores"
    assert (
        on(2_000, costs=replace(COSTS, rewrite_rows_per_s=1e5)).phase("write files").bound == "longest task"
    )
    assert on(10, costs=replace(COSTS, driver_s_per_task=10.0)).phase("write files").bound == "driver"


def test_log_files_avoid_the_rewrite_of_base_files() -> None:
    rewritten, logged = on(10), on(10, replace(LOAD, writes_logs=True))
    assert logged.phase("write files").core_s < rewritten.phase("write files").core_s / 5
    assert logged.requests == rewritten.requests


def test_a_load_that_searches_no_file_group_needs_no_time_to_find_rows() -> None:
    load = replace(LOAD, update_share=0.0, groups_changed=0, groups_searched=0)
    assert on(10, load).phase("find rows").seconds == 0
    assert on(10, load).phase("write files").core_s == pytest.approx(100 * (0.01 + 0.2 + 0.02 + 0.1))


def test_cores_are_worth_adding_until_the_driver_and_the_longest_task_determine_the_duration() -> None:
    cores = cores_worth_adding(COSTS, CLUSTER, LOAD)
    assert on(cores // 2).seconds / on(cores).seconds >= 1.5
    assert on(cores).seconds / on(2 * cores).seconds < 1.5
    assert cores_worth_adding(replace(COSTS, open_s=100_000.0), CLUSTER, LOAD) == 1


@pytest.mark.parametrize(
    ("changes", "says"), [({"log_task_s": -1.0}, "at least 0"), ({"log_rows_per_s": 0.0}, "above 0")]
)
def test_impossible_costs_are_refused(changes: dict[str, float], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        replace(COSTS, **changes)


def test_impossible_loads_and_clusters_are_refused() -> None:
    with pytest.raises(ValueError, match="update_share"):
        replace(LOAD, update_share=1.5)
    with pytest.raises(ValueError, match="more file groups"):
        replace(LOAD, groups_changed=100_001)
    with pytest.raises(ValueError, match="at least one core"):
        replace(CLUSTER, cores=0)
    with pytest.raises(ValueError, match="core_speed is 0"):
        replace(CLUSTER, core_speed=0)
