"""The DAGs in ``dags_examples`` can be parsed quickly and have the settings that the documentation describes."""

import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from airflow_hudi_provider.assets import asset_uri
from airflow_hudi_provider.links import table_address
from airflow_hudi_provider.operators.job import HudiJobOperator
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.local import LocalStorage
from support.airflow.run_states import hidden_failures
from support.catalogs.small_metastore import running_metastore
from support.small_tables import SmallTable

EXAMPLES = Path(__file__).parents[3] / "dags_examples"
COLUMNS = '{"type":"record","name":"r","fields":[{"name":"id","type":"long"}]}'

sys.path.insert(0, str(EXAMPLES.parent / "benchmarks"))

from dag_parsing import parse_once  # noqa: E402


@pytest.fixture(scope="module")
def bag(airflow_db: None) -> Any:
    from support.airflow.airflow_versions import DagBag

    return DagBag(EXAMPLES)


def test_all_examples_can_be_parsed(bag: Any) -> None:
    assert bag.import_errors == {}
    assert set(bag.dags) == {
        "first_table",
        "flights_daily",
        "airport_delays",
        "flights_merge_on_read",
        "cluster_every_n_commits",
        "cluster_what_others_write",
        "cluster_nightly_zorder",
        "preview_then_approve",
        "table_upkeep",
        "recover_a_table",
        "fleet_upkeep",
        "cluster_after_four_commits",
        "read_what_is_new",
        "sync_catalog",
    }


def test_every_task_declares_its_table_and_the_table_is_an_outlet_of_each_writer(bag: Any) -> None:
    """Without the asset, other DAGs cannot follow the table, and the tasks have no link to its page."""
    tasks = {(dag.dag_id, each.task_id): each for dag in bag.dags.values() for each in dag.tasks}
    static = {
        name: each
        for name, each in tasks.items()
        if isinstance(each, HudiJobOperator) and each.base_path and "{{" not in each.base_path
    }
    writers = {name for name, each in static.items() if each.changes_rows() and not each.is_preview()}
    assert {("flights_daily", "load_day"), ("first_table", "load")} <= writers
    assert len(static) > len(writers)
    without = []
    for name, each in static.items():
        assets = each.outlets if name in writers else [*each.outlets, *each.inlets]
        if asset_uri(each.base_path) not in [asset.uri for asset in assets]:
            without.append(name)
    assert without == []


def test_the_load_of_flights_daily_has_a_link_to_the_page_of_its_table(bag: Any) -> None:
    load_day = bag.dags["flights_daily"].get_task("load_day")
    assert table_address(load_day).startswith("plugin/hudi-tables?table=")


def test_a_run_fails_if_one_of_its_tasks_fails(bag: Any) -> None:
    hidden = {(name, task) for name, dag in bag.dags.items() for task in hidden_failures(dag)}
    # If the first report finds damage, the run repairs the table, and the second report decides.
    assert hidden == {("recover_a_table", "health_before")}


def test_a_clustering_executes_the_plan_of_its_own_run(bag: Any) -> None:
    """Without its upstream task, a clustering task would have no instant, and would execute any pending plan."""
    for name in ("cluster_every_n_commits", "cluster_what_others_write"):
        assert bag.dags[name].get_task("execute").upstream_task_ids == {"schedule"}


def test_a_dag_that_waits_for_commits_has_a_schedule_and_one_run_at_a_time(bag: Any) -> None:
    """Only a clustering resets the count. If no clustering is needed, the sensor succeeds immediately in every run."""
    dag = bag.dags["cluster_what_others_write"]
    assert (dag.schedule, dag.catchup, dag.max_active_runs) == (timedelta(minutes=10), False, 1)
    wait = dag.get_task("wait")
    assert (wait.soft_fail, wait.timeout) == (True, 24 * 3600)


def test_every_recovery_task_follows_a_preview_and_an_approval(bag: Any) -> None:
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


def test_parsing_the_examples_is_fast_and_imports_no_packages_of_jobs() -> None:
    """Parsing takes less than a sixth of Airflow's import time (in one of 3 tries) and imports no package of the jobs.

    The limit is a fraction, because processor seconds double on a busy machine. An idle machine needs half a second.
    """
    shares = []
    while len(shares) < 3 and min(shares, default=1) >= 1 / 6:
        found = parse_once()
        assert set(found.examples) == {path.name for path in EXAMPLES.glob("*.py")}
        shares.append(found.total / found.airflow)
    assert min(shares) < 1 / 6


def test_each_run_of_flights_daily_has_an_interval(bag: Any) -> None:
    """If the schedule is a cron string, the data intervals of the runs are empty."""
    from airflow.sdk import CronDataIntervalTimetable

    assert isinstance(bag.dags["flights_daily"].timetable, CronDataIntervalTimetable)


def test_flights_daily_limits_its_writers_also_in_backfills(bag: Any) -> None:
    """A backfill has its own max_active_runs and ignores the limit of the DAG."""
    assert bag.dags["flights_daily"].get_task("load_day").max_active_tis_per_dag == 2


def test_flights_daily_plans_and_clusters_one_run_at_a_time(bag: Any) -> None:
    """The second of two runs finds the plan of the first run, so it does not plan the same files again."""
    dag = bag.dags["flights_daily"]
    assert dag.get_task("cluster").upstream_task_ids == {"plan_clustering"}
    assert [dag.get_task(name).max_active_tis_per_dag for name in ("plan_clustering", "cluster")] == [1, 1]


def test_flights_merge_on_read_plans_and_compacts_one_run_at_a_time(bag: Any) -> None:
    dag = bag.dags["flights_merge_on_read"]
    assert dag.get_task("compact").upstream_task_ids == {"plan_compaction"}
    assert [dag.get_task(name).max_active_tis_per_dag for name in ("plan_compaction", "compact")] == [1, 1]
    assert (dag.get_task("compact").when_held, dag.get_task("load_day").take_turns) == ("wait", True)


def test_the_trigger_form_of_flights_daily_describes_its_parameters(bag: Any) -> None:
    params = bag.dags["flights_daily"].params
    schema = params.get_param("max_file_kib").schema
    assert (schema["type"], schema["minimum"], schema["title"]) == ("integer", 16, "File size (KiB)")
    assert params.get_param("operation").schema["enum"] == ["upsert", "insert"]
    assert params.get_param("every_n_commits").schema["minimum"] == 1


def test_the_load_of_flights_starts_the_sync_of_the_catalog(bag: Any) -> None:
    """The load starts the DAG of the sync only if the outlet of the load and the schedule of the sync are one asset."""
    dag = bag.dags["sync_catalog"]
    (wanted,) = dag.schedule
    (sent,) = bag.dags["flights_daily"].get_task("load_day").outlets
    assert (wanted.name, wanted.uri) == (sent.name, sent.uri)
    assert (dag.max_active_runs, dag.get_task("sync").outlets) == (1, [])


@pytest.mark.thorough
def test_the_example_syncs_a_table_to_a_metastore(
    run_dag: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = SmallTable(LocalStorage(str(tmp_path / "flights")), TableVersion.V9)
    table.commit(FileGroupId("2013-01", "f1"), schema=COLUMNS)
    with running_metastore() as metastore:
        monkeypatch.setenv("HUDI_EXAMPLES_TABLES", str(tmp_path))
        monkeypatch.setenv("HUDI_EXAMPLES_METASTORE", metastore.uri)
        from support.airflow.airflow_versions import DagBag

        done = run_dag(DagBag(str(EXAMPLES / "sync_catalog.py")).dags["sync_catalog"])
        assert str(done.state) == "success"
        assert list(metastore.partitions) == ["city=2013-01"]
