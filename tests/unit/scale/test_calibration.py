"""Costs derived from measured runs, predictions of other runs, the scenarios, and the tables of the page."""

from dataclasses import replace

import pytest

from scale.calibration import Batch, LoadRun, Requests, checks, costs_of, open_s_per_group
from scale.measuring import Measurement
from scale.page import PAGE, markdown_table, with_section
from scale.scenarios import CORES, SCENARIOS, days, useful_cores

REQUESTS = Requests(open_requests=25, task_requests=6, commit_requests=20)
RATES = {Batch.UPDATES: 400_000, Batch.INSERTS: 200_000, Batch.LOGS: 300_000}
GROUPS = 8


def a_run(batch: Batch, rows: int, cores: int = 1) -> LoadRun:
    """A run whose phases take exactly as long as the model predicts on one core."""
    batch_rows = rows // 4
    written = rows if batch is Batch.UPDATES else batch_rows
    fixed_s = GROUPS * 0.05
    return LoadRun(
        batch=batch.value,
        cores=cores,
        groups=GROUPS,
        table_rows=rows,
        batch_rows=batch_rows,
        timings_s={
            "open table": 0.5,
            "stage rows": (0.05 + batch_rows / 250_000) / cores,
            "find rows": (fixed_s + rows / 2_000_000) / cores,
            "plan": 0.008,
            "write files": (fixed_s + written / RATES[batch]) / cores,
            "commit": 0.2,
        },
        empty_task_s=0.002,
    )


RUNS = [a_run(batch, rows) for rows in (500_000, 1_000_000, 2_000_000) for batch in Batch]


def test_costs_are_the_slopes_and_intercepts_of_the_runs_on_one_core() -> None:
    costs = costs_of([*RUNS, a_run(Batch.LOGS, 9_000_000, cores=2)], open_s_per_group=1e-5, requests=REQUESTS)
    assert costs.stage_rows_per_s == pytest.approx(250_000)
    assert costs.search_rows_per_s == pytest.approx(2_000_000)
    assert costs.rewrite_rows_per_s == pytest.approx(400_000)
    assert costs.insert_rows_per_s == pytest.approx(200_000)
    assert costs.log_rows_per_s == pytest.approx(300_000)
    assert (costs.task_s, costs.open_s, costs.commit_s) == pytest.approx((0.05, 0.5, 0.2))
    assert (costs.plan_s_per_task, costs.driver_s_per_task) == pytest.approx((0.001, 0.002))
    assert (costs.open_s_per_group, costs.commit_requests) == (1e-5, 20)


def test_the_model_predicts_the_runs_from_which_its_costs_come() -> None:
    costs = costs_of(RUNS, open_s_per_group=0.0, requests=REQUESTS)
    assert [each.error for each in checks(costs, RUNS)] == pytest.approx([0] * len(RUNS), abs=1e-6)


def test_a_wrong_prediction_is_found() -> None:
    costs = costs_of(RUNS, open_s_per_group=0.0, requests=REQUESTS)
    slow = a_run(Batch.UPDATES, 2_000_000, cores=2)
    slow = replace(slow, timings_s={name: 2 * seconds for name, seconds in slow.timings_s.items()})
    (found,) = checks(costs, [slow])
    assert -0.6 < found.error < -0.3


def test_runs_without_two_sizes_or_without_growth_are_refused() -> None:
    with pytest.raises(ValueError, match="two sizes on one core"):
        costs_of(RUNS[:3], open_s_per_group=0.0, requests=REQUESTS)
    same = [replace(each, timings_s=RUNS[0].timings_s) for each in RUNS]
    with pytest.raises(ValueError, match="was not slower"):
        costs_of(same, open_s_per_group=0.0, requests=REQUESTS)


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
    costs = costs_of(RUNS, open_s_per_group=1e-5, requests=REQUESTS)
    found = list(days(costs))
    assert len(found) == len(SCENARIOS) * len(CORES)
    for scenario in SCENARIOS:
        hours = [each.hours for each in found if each.scenario == scenario]
        assert hours == sorted(hours, reverse=True)
        rows = scenario.load.rows * scenario.loads_a_day
        assert rows * scenario.load.row_bytes == pytest.approx(10**12)
    assert all(cores >= 1 for _, cores in useful_cores(costs))


def test_figures_of_a_page_are_replaced_between_their_markers() -> None:
    page = "a\n<!-- figures: x -->\nold\n<!-- end: x -->\nb\n"
    assert with_section(page, "x", "new\n") == "a\n<!-- figures: x -->\nnew\n<!-- end: x -->\nb\n"
    for wrong in (page * 2, "a", page.replace("end", "begin")):
        with pytest.raises(ValueError, match="markers of the figures 'x'"):
            with_section(wrong, "x", "new")


def test_the_page_has_a_place_for_every_table() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name in ("plans", "growth", "costs", "checks", "loads", "useful cores"):
        assert with_section(page, name, "new") != page


def test_tables_align_numbers_to_the_right() -> None:
    assert markdown_table(("a", "b"), [("x", "1")]) == "| a | b |\n| --- | --: |\n| x | 1 |"
