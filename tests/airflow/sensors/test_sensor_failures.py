"""The log of a failed sensor ends with the same block as an operator's log, and names tables near a wrong path."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowSensorTimeout, AirflowSkipException
from airflow.sdk import DAG

from airflow_hudi_provider.exceptions import HudiTaskRefusedError
from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.operators.clean import CleanOperator
from airflow_hudi_provider.results.failure import FAILURE_KEY
from airflow_hudi_provider.sensors.commit_count import HudiCommitCountSensor
from airflow_hudi_provider.sensors.instant import HudiInstantSensor
from airflow_hudi_provider.sensors.pending_service import HudiPendingServiceSensor
from airflow_hudi_provider.tables.watched_commits import CommitWatch
from airflow_hudi_provider.triggers.table import error_event, error_of
from hudi_table_services.errors import CorruptTableError, TableNotFoundError
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.storage.stores.local import LocalStorage
from support.small_tables import SmallTable

SENSORS: tuple[tuple[type, dict[str, Any]], ...] = (
    (HudiInstantSensor, {}),
    (HudiCommitCountSensor, {"every_n_commits": 1}),
    (HudiPendingServiceSensor, {}),
)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Pushed:
    """A task instance that keeps the XComs that a task pushes."""

    def __init__(self) -> None:
        self.pushed: dict[str, Any] = {}

    def xcom_push(self, key: str, value: Any) -> None:
        self.pushed[key] = value

    def xcom_pull(self, **arguments: Any) -> Any:
        return None

    def get_first_reschedule_date(self, context: Any) -> None:
        return None


@pytest.fixture
def other_files(tmp_path: Path) -> Path:
    """A folder with a file, but without a table."""
    folder = tmp_path / "landing"
    folder.mkdir()
    (folder / "people.csv").write_text("1,Ada")
    return folder


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    """A table named orders."""
    table = SmallTable(LocalStorage(str(tmp_path / "orders")))
    table.commit(FileGroupId("city=a", "a-0"))
    return tmp_path / "orders"


@pytest.mark.parametrize(("kind", "arguments"), SENSORS)
@pytest.mark.parametrize("more", [{}, {"deferrable": True}], ids=["poke", "deferrable"])
def test_a_failed_sensor_pushes_the_advice_for_readers(
    other_files: Path, kind: type, arguments: dict[str, Any], more: dict[str, Any]
) -> None:
    ti = Pushed()
    with pytest.raises(HudiTaskRefusedError) as raised:
        kind(task_id="wait", base_path=str(other_files), **arguments, **more).execute({"ti": ti})
    assert raised.value.__cause__ is None
    failure = ti.pushed[FAILURE_KEY]
    assert failure["kind"] == "TableNotFoundError"
    assert "the folder contains 'people.csv'" in failure["message"]
    assert failure["hint"].startswith("Check the base path: it is the folder that contains .hoodie.")
    assert failure["table"] == str(other_files)


def test_a_clean_gives_the_same_advice_as_a_sensor(other_files: Path, run_dag: Callable[..., Any]) -> None:
    with DAG("no_table_here", schedule=None) as dag:
        HudiInstantSensor(task_id="wait", base_path=str(other_files), timeout=5)
        CleanOperator(task_id="clean", base_path=str(other_files))
    tasks = {each.task_id: each for each in run_dag(dag).get_task_instances()}
    failures = {name: ti.xcom_pull(task_ids=name, key=FAILURE_KEY) for name, ti in tasks.items()}
    assert failures["wait"] == failures["clean"]


def test_the_log_of_a_failed_sensor_has_a_block_and_no_traceback(
    other_files: Path,
    run_dag: Callable[..., Any],
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    with DAG("sensor_fails", schedule=None) as dag:
        HudiInstantSensor(task_id="wait", base_path=str(other_files), timeout=5)
    (task,) = run_dag(dag).get_task_instances()
    log = _COLOUR.sub("", caplog.text + "".join(capfd.readouterr()))
    assert task.state == "failed"
    assert "FAILED: TableNotFoundError" in log
    assert "What to do    Check the base path" in log
    assert "Task failed with exception: TableNotFoundError" in log
    assert "Traceback" not in log


def test_a_watcher_and_the_hook_report_other_files(other_files: Path) -> None:
    hook = HudiHook(str(other_files))
    for call in (hook.find_table_config, hook.timeline, lambda: CommitWatch().poll(hook, None)):
        with pytest.raises(TableNotFoundError, match=r"Check the base path"):
            call()


def test_the_error_of_a_trigger_reaches_the_block(tmp_path: Path) -> None:
    event = error_event(CorruptTableError("It broke.", hint="Fix it."))
    assert event["error"] == "CorruptTableError: It broke. Fix it."
    ti = Pushed()
    sensor = HudiInstantSensor(task_id="wait", base_path=str(tmp_path / "table"), deferrable=True)
    with pytest.raises(HudiTaskRefusedError, match=r"It broke\. Fix it\."):
        sensor.resume_execution("execute_complete", {"event": event}, {"ti": ti})  # type: ignore[typeddict-item]
    failure = ti.pushed[FAILURE_KEY]
    assert (failure["kind"], failure["message"], failure["hint"]) == (
        "CorruptTableError",
        "It broke.",
        "Fix it.",
    )
    assert failure["table_now"] == "Nothing was changed: a sensor only reads the table."


def test_an_event_of_an_earlier_release_has_only_a_text() -> None:
    error = error_of({"error": "CorruptTableError: x"})
    assert (str(error), error.kind, error.reason) == ("CorruptTableError: x", "", "")


@pytest.mark.parametrize(("kind", "arguments"), SENSORS)
def test_the_first_poll_names_a_table_with_a_similar_name_once(
    orders: Path,
    kind: type,
    arguments: dict[str, Any],
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    sensor = kind(task_id="wait", base_path=str(orders.parent / "ordes"), **arguments)
    for _ in range(2):
        sensor.poke({"ti": Pushed()})
    assert (caplog.text + "".join(capfd.readouterr())).count(f"Did you mean {orders}?") == 1


@pytest.mark.parametrize("more", [{}, {"mode": "reschedule"}], ids=["poke", "reschedule"])
def test_a_timeout_names_the_missing_table_and_the_similar_one(orders: Path, more: dict[str, Any]) -> None:
    ti, path = Pushed(), orders.parent / "ordes"
    sensor = HudiInstantSensor(task_id="wait", base_path=str(path), timeout=0, poke_interval=0.01, **more)
    with pytest.raises(AirflowSensorTimeout, match="Did you mean"):
        sensor.execute({"ti": ti})  # type: ignore[typeddict-item]
    failure = ti.pushed[FAILURE_KEY]
    assert failure["kind"] == "AirflowSensorTimeout"
    assert f"There is no table at file://{path}." in failure["message"]
    assert failure["hint"].startswith(f"Did you mean {orders}?")
    assert failure["retry"] == "Airflow does not try again after the timeout of a sensor."


def test_the_timeout_of_a_deferred_sensor_has_advice(orders: Path) -> None:
    ti = Pushed()
    path = str(orders.parent / "ordes")
    sensor = HudiInstantSensor(task_id="wait", base_path=path, timeout=5, deferrable=True)
    with pytest.raises(AirflowSensorTimeout, match="Did you mean"):
        sensor.resume_execution("__fail__", {"error": "Trigger timeout"}, {"ti": ti})  # type: ignore[typeddict-item]
    assert ti.pushed[FAILURE_KEY]["message"].startswith("The sensor waited for 5 s (timeout)")


def test_a_timeout_on_an_existing_table_advises_to_raise_it(orders: Path) -> None:
    ti = Pushed()
    sensor = HudiInstantSensor(
        task_id="wait", base_path=str(orders), min_count=9, timeout=0, poke_interval=0.01
    )
    with pytest.raises(AirflowSensorTimeout):
        sensor.execute({"ti": ti})  # type: ignore[typeddict-item]
    assert "raise the argument timeout" in ti.pushed[FAILURE_KEY]["hint"]


def test_a_soft_timeout_skips_without_a_block(orders: Path) -> None:
    ti = Pushed()
    sensor = HudiInstantSensor(
        task_id="wait", base_path=str(orders), min_count=9, timeout=0, poke_interval=0.01, soft_fail=True
    )
    with pytest.raises(AirflowSkipException):
        sensor.execute({"ti": ti})  # type: ignore[typeddict-item]
    assert FAILURE_KEY not in ti.pushed
