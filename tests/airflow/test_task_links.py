"""Links of tasks: where they lead, when Airflow shows them, and what happens if a task cannot push them."""

import json
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_hudi_provider.assets import HudiAsset
from airflow_hudi_provider.get_provider_info import get_provider_info
from airflow_hudi_provider.links import HudiSparkUiLink, HudiTableLink, table_address
from airflow_hudi_provider.operators.clean import CleanOperator
from airflow_hudi_provider.operators.config_check import HudiConfigCheckOperator
from airflow_hudi_provider.operators.health import HudiTableHealthOperator
from airflow_hudi_provider.sensors.instant import HudiInstantSensor
from airflow_hudi_provider.tables.registry import RegisteredTable
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.storage.stores.local import LocalStorage
from support.airflow.airflow_versions import load_operator_links
from support.airflow.task_context import TaskInstance, context
from support.small_tables import SmallTable

TABLE, SPARK_UI = HudiTableLink().xcom_key, HudiSparkUiLink().xcom_key
START = datetime(2026, 1, 1, tzinfo=timezone.utc)
# A program that succeeds only if the task pushes the link while the program is running.
WAITS_FOR_THE_LINK = """
import time
print("26/11/21 10:00:00 INFO SparkUI: started at http://elsewhere:4040", flush=True)
print("2026-11-21 10:00:02,123 INFO Spark UI: http://driver:4040", flush=True)
deadline = time.monotonic() + 20
while not os.path.exists({link!r}) and time.monotonic() < deadline:
    time.sleep(0.05)
i = commit() if os.path.exists({link!r}) else sys.exit(1)
result(outcome='completed', instant_time=i.requested_time)
"""


class RecordingTaskInstance(TaskInstance):
    """A task instance that keeps the XComs that a task pushes, and creates a file for each key."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.pushed: dict[str, str] = {}
        self.log_url = ""
        self._folder = folder

    def xcom_push(self, key: str, value: Any) -> None:
        self.pushed[key] = json.loads(json.dumps(value))
        (self._folder / key).touch()


def page_of(path: str, *conns: str | None) -> str:
    table = RegisteredTable.of("", path, *(conns or (None, None)))
    return f"plugin/hudi-tables?table={table.table_id}"


def clean(**arguments: Any) -> CleanOperator:
    return CleanOperator(**{"task_id": "clean", "base_path": "s3a://lake/flights/", **arguments})


@pytest.mark.parametrize("named_by", ["own outlet", "own inlet", "other task", "schedule", "schedules"])
def test_an_asset_of_the_dag_gives_the_page_of_the_table(named_by: str) -> None:
    asset, view = HudiAsset("s3://lake/flights"), HudiAsset("s3://lake/flights", view="four")
    other = HudiAsset("s3://lake/other")
    schedule = {"schedule": [view], "schedules": other | view}.get(named_by)
    with DAG("d", schedule=schedule, start_date=START):
        if named_by == "other task":
            clean(task_id="load", outlets=[asset])
        of_task = {"own outlet": {"outlets": [other, asset]}, "own inlet": {"inlets": [view]}}
        task = clean(**of_task.get(named_by, {}))
    assert table_address(task) == page_of("s3://lake/flights")


def test_the_configuration_gives_the_page_of_the_table(
    monkeypatch: pytest.MonkeyPatch, connections: Callable[..., None]
) -> None:
    connections("lake", conn_type="hudi", host="s3://lake")
    below = clean(base_path="flights", hudi_conn_id="lake")
    entries = [
        ({"base_path": "s3://lake/flights"}, clean(), page_of("s3://lake/flights")),
        ({"base_path": "s3n://lake/flights"}, below, page_of("s3://lake/flights")),
        ({"base_path": "flights", "hudi_conn_id": "lake"}, below, page_of("flights", "lake", None)),
        ({"hudi_conn_id": "lake"}, clean(base_path=None, hudi_conn_id="lake"), page_of("", "lake", None)),
    ]
    for entry, task, page in entries:
        monkeypatch.setenv("AIRFLOW__HUDI__TABLES", json.dumps({"f": entry}))
        assert table_address(task) == page, entry


def test_without_a_page_there_is_no_link(monkeypatch: pytest.MonkeyPatch) -> None:
    undeclared = clean(declare_asset=False)
    assert table_address(undeclared) == ""
    assert table_address(clean(declare_asset=False, outlets=[HudiAsset("s3://lake/other")])) == ""
    assert table_address(clean(base_path=None, hudi_conn_id="nowhere")) == ""
    assert table_address(HudiConfigCheckOperator(task_id="check")) == ""
    monkeypatch.setenv("AIRFLOW__HUDI__TABLES", "no JSON")
    assert table_address(undeclared) == ""
    assert table_address(clean(outlets=[HudiAsset("s3://lake/flights")])) == page_of("s3://lake/flights")


def test_both_links_work_while_the_job_runs(operator: Callable[..., Any], tmp_path: Path) -> None:
    ti, path = RecordingTaskInstance(tmp_path), str(tmp_path / "table")
    task = operator(WAITS_FOR_THE_LINK.format(link=str(tmp_path / SPARK_UI)), outlets=[HudiAsset(path)])
    assert task.execute(context(ti=ti))["outcome"] == "completed"
    assert ti.pushed == {TABLE: page_of(path), SPARK_UI: "http://driver:4040"}
    # Airflow pushes these links after the task has ended.
    after = {link.xcom_key: link.get_link(task, ti_key=None) for link in task.operator_extra_links}
    assert after == {TABLE: page_of(path), SPARK_UI: ""}


@pytest.mark.parametrize(
    ("base_url", "log_url", "address"),
    [
        ("https://airflow.example/prefix/", "", "https://airflow.example/prefix"),
        # Without the setting, Airflow derives the address of a log from its default host and port.
        ("", "http://localhost:8080/dags/d/runs/r/tasks/load", None),
    ],
)
def test_the_log_contains_the_address_of_the_page_of_the_table(
    operator: Callable[..., Any],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    base_url: str,
    log_url: str,
    address: str | None,
) -> None:
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", base_url)
    ti, path = RecordingTaskInstance(tmp_path), str(tmp_path / "table")
    ti.log_url = log_url
    operator(outlets=[HudiAsset(path)]).execute(context(ti=ti))
    log = caplog.text + "".join(capfd.readouterr())
    assert (f"Page of the table: {address}/{page_of(path)}" in log) == (address is not None)
    assert ("Page of the table" in log) == (address is not None)


@pytest.mark.parametrize(
    "line",
    [
        "2026-11-21 10:00:02,123 INFO Spark UI: javascript:alert(1)",
        "2026-11-21 10:00:02,123 INFO Spark UI: http://driver:4040 and more",
        "2026-11-21 10:00:02,123 INFO Reading Spark UI: http://driver:4040",
        "Spark UI: http://driver:4040",
    ],
)
def test_other_log_lines_are_not_read_as_the_address_of_spark(
    operator: Callable[..., Any], tmp_path: Path, line: str
) -> None:
    ti = RecordingTaskInstance(tmp_path)
    body = f"print({line!r}); i = commit(); result(outcome='completed', instant_time=i.requested_time)"
    operator(body, declare_asset=False).execute(context(ti=ti))
    assert ti.pushed == {}


def test_worker_tasks_and_sensors_have_the_link_of_the_table(tmp_path: Path) -> None:
    table = SmallTable(LocalStorage(str(tmp_path / "table")))
    table.commit(FileGroupId("city=a", "a-0"))
    given = {"base_path": table.storage.base_path, "outlets": [HudiAsset(table.storage.base_path)]}
    for task in (
        HudiTableHealthOperator(task_id="health", **given),
        HudiConfigCheckOperator(task_id="check", **given),
        HudiInstantSensor(task_id="wait", after="2020-01-01T00:00:00Z", **given),
    ):
        ti = RecordingTaskInstance(tmp_path)
        task.execute(context(ti=ti))
        assert ti.pushed == {TABLE: page_of(table.storage.base_path)}, task


def test_a_link_that_cannot_be_pushed_does_not_fail_a_task(
    operator: Callable[..., Any], tmp_path: Path
) -> None:
    class Refusing(TaskInstance):
        def xcom_push(self, key: str, value: Any) -> None:
            raise OSError("no answer")

    line = "2026-11-21 10:00:02,123 INFO Spark UI: http://driver:4040"
    body = f"print({line!r}); i = commit(); result(outcome='completed', instant_time=i.requested_time)"
    task = operator(body, outlets=[HudiAsset(str(tmp_path / "table"))])
    assert task.execute(context(ti=Refusing()))["outcome"] == "completed"


def test_every_operator_and_sensor_has_the_link_of_the_table() -> None:
    import importlib

    from airflow.providers.common.compat.sdk import BaseOperator

    found = []
    for kind in ("operators", "sensors"):
        (entry,) = get_provider_info()[kind]
        for module in map(importlib.import_module, entry["python-modules"]):
            classes = [each for each in vars(module).values() if isinstance(each, type)]
            found += [c for c in classes if issubclass(c, BaseOperator) and c.__module__ == module.__name__]
    assert len(found) > 15
    assert [
        c for c in found if not any(isinstance(link, HudiTableLink) for link in c.operator_extra_links)
    ] == []


def test_airflow_reads_the_links_in_a_dag(
    run_dag: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_operator_links(monkeypatch)
    table = SmallTable(LocalStorage(str(tmp_path / "table")))
    table.commit(FileGroupId("city=a", "a-0"))
    path = table.storage.base_path
    with DAG("linked", schedule=None, start_date=START) as dag:
        HudiTableHealthOperator.partial(task_id="health", outlets=[HudiAsset(path)]).expand(base_path=[path])
        HudiTableHealthOperator(task_id="elsewhere", base_path=path)
        HudiConfigCheckOperator(task_id="settings")
    run = run_dag(dag)
    assert run.state == "success"
    tasks = {ti.task_id: (run.dag.get_task(ti.task_id), ti) for ti in run.get_task_instances()}
    links = {name: task.get_extra_links(ti, "Hudi table") for name, (task, ti) in tasks.items()}
    # An asset of the DAG names the table, so each task on this table links to the page of the table.
    assert links == {"health": page_of(path), "elsewhere": page_of(path), "settings": ""}
    task, ti = tasks["health"]
    assert sorted(task.extra_links) == ["Hudi table", "Spark UI"]
    assert not task.get_extra_links(ti, "Spark UI")
