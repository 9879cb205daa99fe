"""Costs derived from measured runs, predictions of other runs, the scenarios, and the tables of the page."""

from dataclasses import asdict, replace

import pytest

from scale.calibration import Batch, LoadRun, checks, costs_of, open_s_per_group
from scale.load_values import Costs, Requests
from scale.measured_requests import FEW, MANY, requests_of
from scale.measuring import Measurement
from scale.page import PAGE, markdown_table, with_section
from scale.scenarios import CORES, SCENARIOS, days, useful_cores

REQUESTS = Requests(driver=45, footer=1, search=4, rewrite=8, insert=5, fill=9, log=2)
GROUPS = 8
COSTS = Costs(
    open_s=0.5,
    open_s_per_group=1e-5,
    plan_s=0.1,
    plan_s_per_file=0.001,
    driver_s_per_task=0.0001,
    stage_job_s=0.3,
    stage_s_per_row=4e-6,
    search_job_s=0.15,
    search_s_per_file=0.02,
    search_s_per_stored_row=0.5e-6,
    search_s_per_row=1e-6,
    route_job_s=0.1,
    route_s_per_row=2e-6,
    write_job_s=0.1,
    rewrite_s_per_file=0.05,
    rewrite_s_per_row=2.5e-6,
    insert_s_per_file=0.04,
    insert_s_per_row=5e-6,
    copy_s_per_row=0.5e-6,
    log_s_per_file=0.03,
    log_s_per_row=3e-6,
    commit_s=0.2,
)
SPEED = 0.8


def a_run(batch: Batch, rows: int, *, cores: int = 1, groups: int = GROUPS, share: int = 4) -> LoadRun:
    """A run whose phases take exactly as long as `COSTS` predict."""
    run = LoadRun(
        batch=batch.value,
        cores=cores,
        groups=groups,
        table_rows=rows,
        batch_rows=rows // share,
        timings_s={},
        empty_task_s=COSTS.driver_s_per_task,
    )
    costs = replace(COSTS, open_s_per_group=0.0)
    (check,) = checks(costs, [run], core_speed=SPEED)
    return replace(run, timings_s={each.name: each.seconds for each in check.prediction.phases})


RUNS = [
    *(a_run(batch, rows) for rows in (500_000, 1_000_000, 2_000_000) for batch in Batch),
    a_run(Batch.UPDATES, 1_000_000, groups=64),
    a_run(Batch.INSERTS, 2_000_000, share=40),
]


def test_runs_on_one_core_show_every_cost() -> None:
    other = a_run(Batch.LOGS, 9_000_000, cores=2)
    found = costs_of([*RUNS, other], open_s_per_group=0.0)
    assert asdict(found) == pytest.approx(asdict(replace(COSTS, open_s_per_group=0.0)), rel=1e-6)
    assert costs_of(RUNS, open_s_per_group=1e-5).open_s_per_group == 1e-5


def test_costs_are_not_negative_although_measurements_contradict_each_other() -> None:
    few, many = a_run(Batch.UPDATES, 1_000_000), a_run(Batch.UPDATES, 1_000_000, groups=64)
    quick = {**many.timings_s, "write files": few.seconds("write files") - 0.3}
    costs = costs_of([*RUNS, *[replace(many, timings_s=quick)] * 20], open_s_per_group=0.0)
    assert costs.rewrite_s_per_file == 0
    assert costs.rewrite_s_per_row > 0


def test_runs_on_two_cores_are_predicted_with_the_speed_of_busy_cores() -> None:
    costs = costs_of(RUNS, open_s_per_group=0.0)
    both = [*RUNS, *(a_run(batch, 3_000_000, cores=2) for batch in Batch)]
    found = [each.error for each in checks(costs, both, core_speed=SPEED)]
    assert found == pytest.approx([0] * len(both), abs=1e-6)
    assert all(each.error < -0.1 for each in checks(costs, both[-4:], core_speed=1.0))


def test_a_wrong_prediction_is_found() -> None:
    costs = costs_of(RUNS, open_s_per_group=0.0)
    slow = a_run(Batch.UPDATES, 2_000_000, cores=2)
    slow = replace(slow, timings_s={name: 2 * seconds for name, seconds in slow.timings_s.items()})
    (found,) = checks(costs, [slow], core_speed=SPEED)
    assert found.error == pytest.approx(-0.5)


def test_runs_without_each_kind_of_batch_are_refused() -> None:
    with pytest.raises(ValueError, match="no run on one core with the batch 'updates in log files'"):
        costs_of([each for each in RUNS if each.batch != Batch.LOGS.value], open_s_per_group=0.0)


def test_requests_of_a_file_are_the_difference_between_loads_of_few_and_many_files() -> None:
    of_a_file = {
        (Batch.UPDATES, "upsert"): REQUESTS.search + REQUESTS.rewrite,
        (Batch.INSERTS, "upsert"): REQUESTS.search + REQUESTS.insert,
        (Batch.SMALL_FILES, "upsert"): REQUESTS.search + REQUESTS.fill,
        (Batch.LOGS, "upsert"): REQUESTS.search + REQUESTS.log,
        (Batch.INSERTS, "insert"): REQUESTS.insert,
    }
    counted = {
        (batch, operation, groups): int(REQUESTS.driver + groups * (REQUESTS.footer + each))
        for (batch, operation), each in of_a_file.items()
        for groups in (FEW, MANY)
    }
    assert requests_of(counted) == REQUESTS


def a_plan(groups: int, cpu_s: float, *, kind: str = "cow9", store: str = "disk") -> Measurement:
    return Measurement(
        operation="upsert plan",
        kind=kind,
        groups=groups,
        store=store,
        seconds=9.0,
        cpu_s=cpu_s,
        requests={"GET": 1},
        median_seconds=9.0,
        median_requests=1.0,
        peak_mib=100.0,
        found={"tasks": 1},
    )


def test_the_time_of_a_file_group_is_the_growth_of_upsert_plans_on_the_disk() -> None:
    plans = [a_plan(1_000, 0.5), a_plan(10_000, 0.7), a_plan(101_000, 1.5), a_plan(201_000, 99.0, store="s3")]
    assert open_s_per_group(plans) == pytest.approx(1e-5)
    others = [a_plan(1_000, 0.5, kind="mor9"), a_plan(101_000, 3.5, kind="mor9")]
    assert open_s_per_group([*plans, *others]) == pytest.approx(2e-5)
    with pytest.raises(ValueError, match="two sizes"):
        open_s_per_group(plans[:1])


def test_every_scenario_is_predicted_on_every_number_of_cores() -> None:
    found = list(days(COSTS, REQUESTS, SPEED))
    assert len(found) == len(SCENARIOS) * len(CORES)
    for scenario in SCENARIOS:
        hours = [each.hours for each in found if each.scenario == scenario]
        assert hours == sorted(hours, reverse=True)
        rows = scenario.load.rows * scenario.loads_a_day
        assert rows * scenario.load.row_bytes == pytest.approx(10**12)
    assert all(cores >= 1 for _, cores in useful_cores(COSTS, REQUESTS, SPEED))


def test_figures_of_a_page_are_replaced_between_their_markers() -> None:
    page = "a\n<!-- figures: x -->\nold\n<!-- end: x -->\nb\n"
    assert with_section(page, "x", "new\n") == "a\n<!-- figures: x -->\nnew\n<!-- end: x -->\nb\n"
    for wrong in (page * 2, "a", page.replace("end", "begin")):
        with pytest.raises(ValueError, match="markers of the figures 'x'"):
            with_section(wrong, "x", "new")


def test_the_page_has_a_place_for_every_table() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name in ("plans", "growth", "costs", "requests", "checks", "loads", "useful cores"):
        assert with_section(page, name, "new") != page


def test_tables_align_numbers_to_the_right() -> None:
    assert markdown_table(("a", "b"), [("x", "1")]) == "| a | b |\n| --- | --: |\n| x | 1 |"
