"""The model of loads on large clusters: its laws, its bounds, and its input from measured runs."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.execution.task_groups import group_tasks
from scale.load_model import cores_worth_adding, predict
from scale.load_values import Cluster, Costs, Load, Prediction, Requests
from scale.load_work import phase_works

COSTS = Costs(
    open_s=0.5,
    open_s_per_group=10e-6,
    plan_s=0.01,
    plan_s_per_file=1e-4,
    driver_s_per_task=1e-3,
    stage_job_s=0.3,
    stage_s_per_row=2e-6,
    search_job_s=0.2,
    search_s_per_file=0.02,
    search_s_per_stored_row=0.2e-6,
    search_s_per_row=0.5e-6,
    route_job_s=0.1,
    route_s_per_row=1e-6,
    write_job_s=0.1,
    rewrite_s_per_file=0.03,
    rewrite_s_per_row=1e-6,
    insert_s_per_file=0.01,
    insert_s_per_row=2e-6,
    copy_s_per_row=0.1e-6,
    log_s_per_file=0.01,
    log_s_per_row=2e-6,
    commit_s=0.1,
)
REQUESTS = Requests(driver=45, footer=3, search=4, rewrite=8, insert=5, fill=9, log=2)
LOAD = Load(
    rows=10e6,
    changed_rows=5e6,
    row_bytes=200,
    partitions=100,
    table_groups=100_000,
    groups_changed=1_000,
    rows_of_a_group=1e6,
    groups_searched=2_000,
    small_file_rows=200_000,
    footers=200,
)
CLUSTER = Cluster(cores=1, request_s=0.02, bytes_per_s_of_a_core=1e9)
NOTHING_FOUND = {"changed_rows": 0.0, "groups_changed": 0}


def on(cores: int, load: Load = LOAD, costs: Costs = COSTS) -> Prediction:
    return predict(costs, REQUESTS, replace(CLUSTER, cores=cores), load)


def test_one_core_does_all_work_one_unit_after_the_other() -> None:
    found = on(1)
    assert found.phase("stage rows").seconds == pytest.approx(0.3 + 10e6 * 2e-6)
    searched = 2_000 * (0.02 + 1e6 * 0.2e-6 + 10e6 / 100 * 0.5e-6 + 4 * 0.02)
    routed = 10e6 * 1e-6
    assert found.phase("find rows").seconds == pytest.approx(0.2 + 0.1 + searched + routed)
    rewritten = 1_000 * (0.03 + 1e6 * 1e-6 + 8 * 0.02)
    filled = 100 * (0.01 + 50_000 * 2e-6 + 200_000 * 0.1e-6 + 9 * 0.02)
    assert found.phase("write files").core_s == pytest.approx(rewritten + filled)
    assert found.phase("write files").seconds == pytest.approx(0.1 + rewritten + filled)
    assert found.phase("write files").bound == "cores"
    assert found.bottleneck.name == "write files"


def test_new_rows_first_fill_the_small_file_of_each_partition_and_then_new_files() -> None:
    load = replace(LOAD, rows=300e6, **NOTHING_FOUND)
    found = on(1, load).phase("write files")
    filled = 100 * (0.01 + 800_000 * 2e-6 + 200_000 * 0.1e-6 + 9 * 0.02)
    new = 300 * (0.01 + 2_200_000 / 3 * 2e-6 + 5 * 0.02)
    assert found.core_s == pytest.approx(filled + new)
    only_new = on(1, replace(load, small_file_rows=0.0)).phase("write files")
    assert only_new.core_s == pytest.approx(300 * (0.01 + 1e6 * 2e-6 + 5 * 0.02))


def test_cores_that_share_a_physical_core_work_more_slowly_but_wait_equally_long() -> None:
    fast = predict(COSTS, REQUESTS, CLUSTER, LOAD)
    slow = predict(COSTS, REQUESTS, replace(CLUSTER, core_speed=0.5), LOAD)
    waited = (1_000 * 8 + 100 * 9) * 0.02
    worked = fast.phase("write files").core_s - waited
    assert slow.phase("write files").core_s == pytest.approx(2 * worked + waited)
    assert slow.phase("commit") == fast.phase("commit")
    assert replace(CLUSTER, cores=100, core_speed=0.5).speed_of(50) == 1.0


def test_a_batch_of_new_keys_needs_no_routing() -> None:
    found = on(1, replace(LOAD, **NOTHING_FOUND)).phase("find rows")
    assert found.seconds == pytest.approx(0.2 + 2_000 * (0.02 + 0.2 + 0.05 + 0.08))


def test_a_slow_network_decides_how_long_files_take() -> None:
    found = predict(COSTS, REQUESTS, replace(CLUSTER, bytes_per_s_of_a_core=100e6), LOAD).phase("write files")
    assert found.seconds == pytest.approx(0.1 + 2 * 200 * (1_000 * 1e6 + 100 * 250_000) / 100e6)
    assert found.bound == "bandwidth"


def test_the_driver_opens_plans_and_commits_alone() -> None:
    few, many = on(1), on(1_000)
    for name in ("open table", "plan", "commit"):
        assert few.phase(name) == many.phase(name)
        assert few.phase(name).bound == "driver"
    assert few.phase("open table").seconds == pytest.approx(0.5 + 45 * 0.02 + 1.0)
    assert few.phase("plan").seconds == pytest.approx(25 * 3 * 0.02 + 0.01 + 1_100 * 1e-4)
    assert few.phase("commit").seconds == pytest.approx(0.1)
    assert few.requests == 45 + 3 * 200 + 4 * 2_000 + 8 * 1_000 + 9 * 100


@pytest.mark.parametrize("cores", [1, 10, 1_000])
def test_small_files_share_spark_tasks_as_in_the_write_job(cores: int) -> None:
    load = replace(LOAD, writes_logs=True, groups_changed=100_000, rows=5e6, changed_rows=5e6)
    (logs,) = phase_works(load, REQUESTS, cores)[4].parts
    assert logs.count == 100_000
    groups = group_tasks([int(logs.weight)] * logs.count, cores)
    assert on(cores, load).phase("write files").tasks == len(groups) < 5_000
    assert on(cores).phase("write files").tasks == 1_100


@given(cores=st.integers(1, 5_000), factor=st.integers(2, 10), logs=st.booleans())
def test_more_cores_never_make_a_load_slower_by_more_than_the_start_of_more_tasks(
    cores: int, factor: int, logs: bool
) -> None:
    load = replace(LOAD, writes_logs=logs)
    few, many = on(cores, load), on(cores * factor, load)
    for before, after in zip(few.phases, many.phases, strict=True):
        more_tasks = max(0, after.tasks - before.tasks)
        assert after.seconds <= before.seconds + COSTS.driver_s_per_task * more_tasks + 1e-9
        assert after.core_s == pytest.approx(before.core_s)


@given(cores=st.integers(1, 5_000))
def test_no_prediction_is_better_than_perfect_scaling(cores: int) -> None:
    found = on(cores)
    assert found.seconds >= sum(each.core_s for each in found.phases) / cores - 1e-9
    assert 0 < found.busy_share <= 1 + 1e-9


def test_each_bound_can_determine_a_phase() -> None:
    assert on(10, costs=replace(COSTS, rewrite_s_per_row=1e-5)).phase("write files").bound == "cores"
    assert (
        on(2_000, costs=replace(COSTS, rewrite_s_per_row=1e-5)).phase("write files").bound == "longest task"
    )
    assert on(10, costs=replace(COSTS, driver_s_per_task=10.0)).phase("write files").bound == "driver"


def test_log_files_avoid_the_rewrite_of_base_files() -> None:
    rewritten, logged = on(10), on(10, replace(LOAD, writes_logs=True))
    assert logged.phase("write files").core_s < rewritten.phase("write files").core_s / 5
    assert rewritten.requests - logged.requests == 1_000 * (8 - 2)


def test_a_load_that_searches_no_file_group_needs_no_time_to_find_rows() -> None:
    load = replace(LOAD, groups_searched=0, **NOTHING_FOUND)
    assert on(10, load).phase("find rows").seconds == 0


def test_cores_are_worth_adding_until_the_driver_and_the_longest_task_determine_the_duration() -> None:
    cores = cores_worth_adding(COSTS, REQUESTS, CLUSTER, LOAD)
    assert on(cores // 2).seconds / on(cores).seconds >= 1.5
    assert on(cores).seconds / on(2 * cores).seconds < 1.5
    assert cores_worth_adding(replace(COSTS, open_s=100_000.0), REQUESTS, CLUSTER, LOAD) == 1


def test_impossible_costs_are_refused() -> None:
    with pytest.raises(ValueError, match="log_s_per_file is -1.0, but must be at least 0"):
        replace(COSTS, log_s_per_file=-1.0)


def test_impossible_loads_and_clusters_are_refused() -> None:
    with pytest.raises(ValueError, match="changed_rows"):
        replace(LOAD, changed_rows=11e6)
    with pytest.raises(ValueError, match="more file groups"):
        replace(LOAD, groups_changed=100_001)
    with pytest.raises(ValueError, match="at least one core"):
        replace(CLUSTER, cores=0)
    with pytest.raises(ValueError, match="core_speed is 0"):
        replace(CLUSTER, core_speed=0)
