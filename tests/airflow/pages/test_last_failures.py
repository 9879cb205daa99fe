"""The last failed run of a table, from the rows that real runs of DAGs leave in Airflow's database."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowSkipException
from airflow.sdk import DAG, task

from airflow_hudi_provider.assets import HudiAsset
from airflow_hudi_provider.operators.clean import CleanOperator
from airflow_hudi_provider.operators.health import HudiTableHealthOperator
from airflow_hudi_provider.pages import last_failures
from airflow_hudi_provider.pages.recent_values import RecentValues
from airflow_hudi_provider.pages.table_users import TableUsers, users_of_tables
from airflow_hudi_provider.tables.registry import RegisteredTable, configured_tables
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.storage.stores.local import LocalStorage
from support.small_tables import SmallTable

RunDag = Callable[..., Any]
FailedTask = Callable[..., str]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A healthy table."""
    SmallTable(LocalStorage(str(tmp_path / "lake" / "flights"))).commit(FileGroupId("p", "f1"))
    return tmp_path / "lake" / "flights"


@pytest.fixture
def failed_task(monkeypatch: pytest.MonkeyPatch) -> FailedTask:
    """Return DAG, task and map index of the failures that the page shows, newest first; empty if it shows none."""

    def read(table: RegisteredTable, hidden: str = "") -> str:
        monkeypatch.setattr(
            last_failures, "_linked", RecentValues(1)
        )  # read again, without waiting 15 seconds
        users = users_of_tables().get(table.table_id, TableUsers())
        found = last_failures.last_failures(table.table_id, users, lambda dag_id: dag_id != hidden)
        return ", ".join("{dag_id} {task_id} {map_index}".format(**each).strip() for each in found)

    return read


def page_of(path: object) -> RegisteredTable:
    return RegisteredTable.of("", str(path), None, None)


def check_of(dag_id: str, *, works: bool, **arguments: Any) -> DAG:
    """Return a DAG that checks the health of a table, and fails if ``works`` is False."""
    with DAG(dag_id, schedule=None) as dag:
        HudiTableHealthOperator(task_id="check", **({} if works else {"table_name": "another"}), **arguments)
    return dag


def test_a_load_of_an_existing_table_with_a_wrong_source_is_shown_until_a_later_run_succeeds(
    run_dag: RunDag, failed_task: FailedTask, operator: Callable[..., Any], tmp_path: Path
) -> None:
    path = tmp_path / "table"

    def run(**arguments: Any) -> str:
        with DAG("load_existing", schedule=None) as dag:
            operator(table_name="trips", **arguments)
        return str(run_dag(dag).state)

    assert run() == "success"
    assert (path / ".hoodie").exists()
    assert failed_task(page_of(path)) == ""
    assert run(source_path=f"{tmp_path}/nowhere", check_source=True) == "failed"
    assert failed_task(page_of(path)) == "load_existing load"
    assert run() == "success"
    assert failed_task(page_of(path)) == ""


@pytest.mark.parametrize("form", ["{}", "{}/", "file://{}", "file://{}/", "file:{}"])
def test_every_form_of_the_base_path_leads_to_the_same_table(
    run_dag: RunDag, failed_task: FailedTask, table: Path, form: str
) -> None:
    run_dag(check_of("forms", works=False, base_path=form.format(table)))
    assert failed_task(page_of(table)) == "forms check"
    run_dag(check_of("forms", works=True, base_path=form.format(table)))
    assert failed_task(page_of(table)) == ""


def test_a_task_names_its_table_by_an_asset_with_a_name_or_a_view(
    run_dag: RunDag, failed_task: FailedTask, table: Path
) -> None:
    expected = ("named_0 check", "named_1 check, named_0 check")
    for number, asset in enumerate((HudiAsset(str(table), name="f"), HudiAsset(f"{table}/", view="four"))):
        dag_id = f"named_{number}"
        location = {"base_path": "{{ '" + str(table) + "' }}", "outlets": [asset]}
        run_dag(check_of(dag_id, works=False, **location))
        assert failed_task(page_of(table)) == expected[number]


def test_a_task_finds_its_table_through_a_connection(
    run_dag: RunDag,
    failed_task: FailedTask,
    table: Path,
    connections: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connections("lake", conn_type="hudi", host=str(table.parent))
    location = {"base_path": table.name, "hudi_conn_id": "lake"}
    monkeypatch.setenv("AIRFLOW__HUDI__TABLES", json.dumps({"flights": location}))
    (page,) = configured_tables()
    run_dag(check_of("connected", works=False, **location))
    assert failed_task(page) == "connected check"
    assert failed_task(page, hidden="connected") == ""
    run_dag(check_of("connected", works=True, **location))
    assert failed_task(page) == ""


def test_only_the_table_of_a_failed_mapped_task_is_shown(
    run_dag: RunDag, failed_task: FailedTask, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    SmallTable(LocalStorage(str(other))).commit(FileGroupId("p", "f1"))
    entries = {each.name: {"base_path": str(each)} for each in (table, other)}
    monkeypatch.setenv("AIRFLOW__HUDI__TABLES", json.dumps(entries))
    with DAG("mapped", schedule=None) as dag:
        HudiTableHealthOperator.partial(task_id="check").expand_kwargs(
            [{"base_path": str(other)}, {"base_path": str(table), "table_name": "another"}]
        )
    run_dag(dag)
    assert (failed_task(page_of(table)), failed_task(page_of(other))) == ("mapped check 1", "")


def test_a_success_of_a_mapped_task_ends_only_failures_of_the_same_table(
    run_dag: RunDag, failed_task: FailedTask, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    SmallTable(LocalStorage(str(other))).commit(FileGroupId("p", "f1"))
    entries = {each.name: {"base_path": str(each)} for each in (table, other)}
    monkeypatch.setenv("AIRFLOW__HUDI__TABLES", json.dumps(entries))

    def run(*arguments: dict[str, str]) -> None:
        with DAG("fleet", schedule=None) as dag:
            HudiTableHealthOperator.partial(task_id="check").expand_kwargs(list(arguments))
        run_dag(dag)

    run({"base_path": str(other)}, {"base_path": str(table), "table_name": "another"})
    run({"base_path": str(other)})
    assert (failed_task(page_of(table)), failed_task(page_of(other))) == ("fleet check 1", "")
    run({"base_path": str(table)})
    assert failed_task(page_of(table)) == ""


@pytest.mark.parametrize("declares", [True, False])
def test_a_later_run_that_finds_nothing_to_do_ends_the_notice(
    run_dag: RunDag,
    failed_task: FailedTask,
    table: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    declares: bool,
) -> None:
    monkeypatch.setenv("AIRFLOW__HUDI__TABLES", json.dumps({"flights": {"base_path": str(table)}}))
    location = {"task_id": "clean", "base_path": str(table), "declare_asset": declares}
    dag_id = f"skipped_{declares}"

    @task
    def skip() -> None:
        raise AirflowSkipException

    def run(*, is_skipped_before: bool = False, **arguments: Any) -> None:
        with DAG(dag_id, schedule=None) as dag:
            clean = CleanOperator(**location, **arguments)
            if is_skipped_before:
                skip() >> clean
        states = {ti.task_id: ti.state for ti in run_dag(dag).get_task_instances()}
        assert states["clean"] == ("failed" if arguments else "skipped")

    run(table_name="another")
    assert failed_task(page_of(table)) == f"{dag_id} clean"
    run(is_skipped_before=True)
    assert failed_task(page_of(table)) == f"{dag_id} clean"
    run()
    assert failed_task(page_of(table)) == ""


def test_the_success_of_another_task_does_not_hide_a_failure(
    run_dag: RunDag, failed_task: FailedTask, table: Path
) -> None:
    run_dag(check_of("one", works=False, base_path=str(table)))
    run_dag(check_of("two", works=True, base_path=str(table)))
    assert failed_task(page_of(table)) == "one check"
    assert failed_task(page_of(table), hidden="one") == ""


def test_each_failed_task_of_a_table_is_shown_once_and_the_newest_first(
    run_dag: RunDag, failed_task: FailedTask, table: Path
) -> None:
    for dag_id in ("first", "second", "first"):
        run_dag(check_of(dag_id, works=False, base_path=str(table)))
    assert failed_task(page_of(table)) == "first check, second check"
    assert failed_task(page_of(table), hidden="first") == "second check"
    run_dag(check_of("first", works=True, base_path=str(table)))
    assert failed_task(page_of(table)) == "second check"


def test_a_task_that_the_dag_no_longer_contains_is_not_shown(
    run_dag: RunDag, failed_task: FailedTask, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__HUDI__TABLES", json.dumps({"flights": {"base_path": str(table)}}))
    location = {"base_path": str(table), "declare_asset": False}
    run_dag(check_of("renamed", works=False, **location))
    assert failed_task(page_of(table)) == "renamed check"
    with DAG("renamed", schedule=None) as dag:
        HudiTableHealthOperator(task_id="new_name", **location)
    run_dag(dag)
    assert failed_task(page_of(table)) == ""


def test_an_older_run_that_starts_again_without_the_task_does_not_hide_a_failure(
    run_dag: RunDag, failed_task: FailedTask, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__HUDI__TABLES", json.dumps({"flights": {"base_path": str(table)}}))
    location = {"base_path": str(table), "declare_asset": False}
    run_dag(check_of("cleared", works=False, **location))
    with DAG("cleared", schedule=None) as dag:
        HudiTableHealthOperator(task_id="old_name", **location)
    run_dag(dag, run_after=datetime(2026, 1, 1, tzinfo=UTC))
    assert failed_task(page_of(table)) == "cleared check"
