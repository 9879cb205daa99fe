"""The DAGs in ``dags_examples`` parse fast and have the settings that their documentation promises."""

import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[3] / "dags_examples"

sys.path.insert(0, str(EXAMPLES.parent / "benchmarks"))

from dag_parsing import parse_once  # noqa: E402


@pytest.fixture(scope="module")
def bag(airflow_db: None) -> Any:
    from support.airflow.airflow_versions import DagBag

    return DagBag(EXAMPLES)


def test_all_examples_parse(bag: Any) -> None:
    assert bag.import_errors == {}
    assert set(bag.dags) == {
        "first_table",
        "flights_daily",
        "cluster_every_n_commits",
        "cluster_what_others_write",
        "cluster_nightly_zorder",
        "preview_then_approve",
        "table_upkeep",
        "recover_a_table",
        "fleet_upkeep",
        "cluster_after_four_commits",
        "read_what_is_new",
    }


def test_a_clustering_executes_the_plan_of_its_own_run(bag: Any) -> None:
    """Without an instant the task would execute any pending plan."""
    for name in ("cluster_every_n_commits", "cluster_what_others_write"):
        assert bag.dags[name].get_task("execute").upstream_task_ids == {"schedule"}


def test_runs_that_wait_for_commits_are_spaced_by_time(bag: Any) -> None:
    """If n commits leave nothing to rewrite, the sensor succeeds at once in every run, so only time spaces the runs."""
    dag = bag.dags["cluster_what_others_write"]
    assert (dag.schedule, dag.catchup, dag.max_active_runs) == (timedelta(minutes=10), False, 1)
    wait = dag.get_task("wait")
    assert (wait.soft_fail, wait.timeout) == (True, 24 * 3600)


def test_every_way_of_recovery_is_previewed_before_it_runs(bag: Any) -> None:
    dag = bag.dags["recover_a_table"]
    for number in range(3):
        preview, act = dag.get_task(f"preview_{number}"), dag.get_task(f"act_{number}")
        assert type(preview) is type(act)
        assert (preview.preview, act.preview) == (True, False)
        assert act.upstream_task_ids == {f"approve_{number}"}
        assert f"preview_{number}')['picture']" in dag.get_task(f"approve_{number}").body


def test_the_approval_shows_the_preview(bag: Any) -> None:
    dag = bag.dags["preview_then_approve"]
    assert dag.get_task("preview").preview
    assert "picture" in dag.get_task("approve").body
    assert dag.get_task("cluster").upstream_task_ids == {"approve"}
    assert dag.get_task("cluster").sort_columns == dag.get_task("preview").sort_columns


def test_parsing_the_examples_is_light_and_fast() -> None:
    """Parsing takes a sixth of Airflow's own import time (best of three) and imports no package that only jobs need.

    The limit is a share because processor seconds double on a busy machine; an idle machine needs half a second.
    """
    found = [parse_once() for _ in range(3)]
    assert set(found[0].examples) == {path.name for path in EXAMPLES.glob("*.py")}
    assert min(each.total / each.airflow for each in found) < 1 / 6


def test_runs_of_flights_daily_have_intervals(bag: Any) -> None:
    """A plain cron string gives runs whose data interval is empty."""
    from airflow.sdk import CronDataIntervalTimetable

    assert isinstance(bag.dags["flights_daily"].timetable, CronDataIntervalTimetable)


def test_flights_daily_limits_its_writers_also_in_backfills(bag: Any) -> None:
    """A backfill has its own max_active_runs and ignores the limit of the DAG."""
    assert bag.dags["flights_daily"].get_task("load_day").max_active_tis_per_dag == 2


def test_flights_daily_plans_and_clusters_one_run_at_a_time(bag: Any) -> None:
    """Each run executes its own plan; the second of two runs sees the plan of the first."""
    dag = bag.dags["flights_daily"]
    assert dag.get_task("cluster").upstream_task_ids == {"plan_clustering"}
    assert [dag.get_task(name).max_active_tis_per_dag for name in ("plan_clustering", "cluster")] == [1, 1]


def test_the_form_of_flights_daily_describes_its_parameters(bag: Any) -> None:
    params = bag.dags["flights_daily"].params
    schema = params.get_param("max_file_kib").schema
    assert (schema["type"], schema["minimum"], schema["title"]) == ("integer", 16, "File size (KiB)")
    assert params.get_param("operation").schema["enum"] == ["upsert", "insert"]
    assert params.get_param("every_n_commits").schema["minimum"] == 1
