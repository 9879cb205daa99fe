"""The health operator and `HudiHook.health`: their results and the limits that fail a task."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from airflow_hudi_provider.exceptions import HudiTaskRefusedError
from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.operators.health import HudiTableHealthOperator
from hudi_table_services.errors import TableNotFoundError
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.local import LocalStorage
from support.airflow.task_context import TaskInstance, context
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable

HealthCheck = Callable[..., dict[str, Any]]


class RecordingTaskInstance(TaskInstance):
    """A task instance that keeps the XComs that a task pushes."""

    def __init__(self) -> None:
        super().__init__()
        self.pushed: dict[str, Any] = {}

    def xcom_push(self, key: str, value: Any) -> None:
        self.pushed[key] = json.loads(json.dumps(value))


@pytest.fixture
def table(tmp_path: Path) -> SmallTable:
    clock = FixedClock(datetime.now(timezone.utc) - timedelta(hours=2), step=timedelta(minutes=1))
    made = SmallTable(LocalStorage(str(tmp_path / "table")), TableVersion.V9, clock)
    made.commit(FileGroupId("city=a", "a-0"), FileGroupId("city=a", "a-1"))
    return made


def check_health(table: SmallTable, ti: TaskInstance | None = None, **arguments: Any) -> dict[str, Any]:
    task = HudiTableHealthOperator(task_id="health", base_path=table.storage.base_path, **arguments)
    answer = task.execute(context(ti=ti or TaskInstance()))
    assert json.loads(json.dumps(answer)) == answer
    return answer


def test_the_operator_reports_the_health_of_the_table(
    table: SmallTable, caplog: pytest.LogCaptureFixture
) -> None:
    dead = table.begin()
    answer = check_health(table)
    assert (answer["status"], answer["files"], answer["histogram"]) == ("warning", 2, {"0-1 MiB": 2})
    assert answer["measures"]["small_files"] == 2
    assert [each["instant_time"] for each in answer["pending"]] == [dead.requested_time]
    assert {each["measure"] for each in answer["findings"]} == {"dead_instants"}


def test_the_log_contains_the_report_once_without_measures_that_are_0(
    table: SmallTable, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level("INFO")
    check_health(table)
    log = caplog.text + "".join(capfd.readouterr())
    assert log.count("Measures above 0:") == 1
    assert log.count("  small_files = 2: ") == 1
    assert " = 0: " not in log


def test_a_limit_fails_the_task_after_the_task_pushed_the_report(table: SmallTable) -> None:
    ti = RecordingTaskInstance()
    with pytest.raises(
        HudiTaskRefusedError,
        match=r"small_file_ratio\): 1, above 0.5.*Cluster the table: .* merges \d+ small files",
    ):
        check_health(table, ti, fail_above={"small_file_ratio": 0.5})
    assert ti.pushed["health"]["status"] == "failing"
    assert ti.pushed["health"]["measures"]["small_files"] == 2
    assert check_health(table, warn_above={"small_file_ratio": "1"})["status"] == "healthy"


def test_a_damaged_timeline_fails_the_task(table: SmallTable) -> None:
    commit = table.commit(FileGroupId("city=a", "a-0"))
    table.storage.write(table.timeline_store.path_of(commit), b"")
    ti = RecordingTaskInstance()
    with pytest.raises(HudiTaskRefusedError, match="cannot be trusted"):
        check_health(table, ti)
    assert "zero bytes" in ti.pushed["health"]["damage"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"fail_above": {"small_file": 1}}, "Did you mean small_files"),
        ({"warn_above": {"small_files": "some"}}, "small_files=some is not a number"),
        ({"hudi_options": {"hoodie.clean.commit.retained": 3}}, "Did you mean"),
    ],
)
def test_wrong_arguments_fail_when_the_dag_is_parsed(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        HudiTableHealthOperator(task_id="health", base_path="/t", **arguments)


def test_the_hook_returns_the_same_health(table: SmallTable, tmp_path: Path) -> None:
    report = HudiHook(table.storage.base_path).health(warn_above={"active_commits": 0})
    assert {each.measure for each in report.findings} == {"active_commits"}
    with pytest.raises(TableNotFoundError):
        HudiHook(str(tmp_path / "none")).health()


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("", "{lake} contains these tables: table. Give the base path of one table."),
        ("table/city=a", "This path is inside the table {lake}/table. Give the base path of the table."),
        ("tabel", "Did you mean {lake}/table? If not,"),
    ],
)
def test_the_error_about_a_missing_table_names_the_tables_near_the_path(
    table: SmallTable, tmp_path: Path, path: str, hint: str
) -> None:
    task = HudiTableHealthOperator(task_id="health", base_path=f"{tmp_path}/{path}".rstrip("/"))
    with pytest.raises(HudiTaskRefusedError, match="TableNotFoundError") as raised:
        task.execute(context(ti=TaskInstance()))
    assert raised.value.hint.startswith(hint.format(lake=tmp_path))
