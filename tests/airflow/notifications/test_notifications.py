"""Notifications about a table when a task succeeds, fails or misses its deadline."""

import asyncio
import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import BaseNotifier

from airflow_hudi_provider.assets import HudiAsset
from airflow_hudi_provider.exceptions import HudiTaskError, HudiTaskRefusedError
from airflow_hudi_provider.notifications.health import HudiHealthNotifier
from airflow_hudi_provider.notifications.payload import TableSelection, health_payload, needs_attention
from airflow_hudi_provider.operators.health import HudiTableHealthOperator
from airflow_hudi_provider.results.task_outcome import task_error
from airflow_hudi_provider.tables.registry import RegisteredTable
from hudi_table_services.contract.result import JobError
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.metadata_table.table_listing import Reason
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.table_store import METADATA_TABLE
from support.airflow.task_context import TaskInstance, context
from support.fixed_clock import FixedClock
from support.metadata_table.whole_metadata_golden import whole_table
from support.small_tables import SmallTable

SENT: list[dict[str, Any]] = []


def remember(payload: dict[str, Any]) -> None:
    SENT.append(json.loads(json.dumps(payload)))


class FileNotifier(BaseNotifier):
    """A notifier that appends a templated message to a file instead of sending the message to a channel."""

    template_fields = ("text",)

    def __init__(self, path: str, text: str) -> None:
        super().__init__()
        self.path, self.text = path, text

    def notify(self, context: Any) -> None:
        with Path(self.path).open("a") as file:
            file.write(self.text + "\n")


@pytest.fixture(autouse=True)
def clear_sent() -> None:
    SENT.clear()


@pytest.fixture
def table(tmp_path: Path) -> SmallTable:
    """A table with a dead write, and with two small files in one partition."""
    clock = FixedClock(datetime.now(timezone.utc) - timedelta(hours=5), step=timedelta(minutes=1))
    made = SmallTable(LocalStorage(str(tmp_path / "flights")), TableVersion.V9, clock)
    made.commit(FileGroupId("city=a", "a-0"), FileGroupId("city=a", "a-1"))
    made.begin()
    return made


def health_task(table: SmallTable, **arguments: Any) -> HudiTableHealthOperator:
    return HudiTableHealthOperator(task_id="health", base_path=table.storage.base_path, **arguments)


def failure_of(task: HudiTableHealthOperator) -> dict[str, Any]:
    """The context of a failure callback, with the error that the task raised."""

    class RecordingTaskInstance(TaskInstance):
        def xcom_push(self, key: str, value: Any) -> None:
            pass

    with pytest.raises(HudiTaskRefusedError) as error:
        task.execute(context(ti=RecordingTaskInstance()))
    return context(task=task, exception=error.value)


def test_the_payload_of_a_failure_contains_the_kind_of_error_the_limits_and_advice(table: SmallTable) -> None:
    payload = health_payload(failure_of(health_task(table, fail_above={"small_files": 1})))
    assert json.loads(json.dumps(payload)) == payload
    assert payload["table"] == {"name": "flights", "base_path": table.storage.base_path}
    assert payload["outcome"] == "failed"
    assert payload["error"]["kind"] == "UnhealthyTableError"
    assert "Cluster" in payload["error"]["hint"]
    (finding,) = (each for each in payload["health"]["findings"] if each["measure"] == "small_files")
    assert (finding["value"], finding["limit"]) == (2, 1), "the limits of the task apply"
    assert finding["advice"].startswith("Cluster the table")
    assert payload["health"]["pending"][0]["next_step"]
    for part in ("flights", "UnhealthyTableError", "Small files (small_files): 2, above 1", "pending commit"):
        assert part in payload["text"]
    assert needs_attention(payload)


def test_a_success_on_a_healthy_table_needs_no_attention(table: SmallTable) -> None:
    ti = TaskInstance()
    ti.state = "success"  # type: ignore[attr-defined]
    limits = {"dead_instants": 9.0, "small_file_ratio": 1.0, "small_files": 5.0}
    selection = TableSelection(base_path=table.storage.base_path, warn_above=limits)
    payload = health_payload(context(ti=ti), selection)
    assert (payload["outcome"], payload["error"]) == ("success", None)
    assert payload["run"] == {
        "dag_id": "d",
        "run_id": "run 1",
        "task_id": "load",
        "map_index": -1,
        "try_number": 0,
    }
    assert payload["health"]["findings"] == []
    assert not needs_attention(payload)


def test_an_unreadable_table_is_reported_and_raises_no_error(tmp_path: Path) -> None:
    for selection in (
        TableSelection(base_path=str(tmp_path / "none")),
        TableSelection(hudi_conn_id="nowhere"),
        None,
    ):
        payload = health_payload({}, selection)
        assert payload["health"] is None
        assert payload["health_error"]
        assert payload["health_error"] in payload["text"]
        assert needs_attention(payload)


def test_a_damaged_table_is_reported(table: SmallTable) -> None:
    (done,) = table.timeline_store.load().completed_writes
    (path,) = (
        f.path
        for f in table.storage.list_files(".hoodie")
        if done.requested_time in f.name and f.name.endswith(".commit")
    )
    table.storage.write(path, b"")
    payload = health_payload({}, TableSelection(base_path=table.storage.base_path))
    assert payload["health"]["damage"]
    assert payload["health"]["damage"] in payload["text"]


def test_a_metadata_table_that_readers_cannot_use_is_reported(tmp_path: Path) -> None:
    made = whole_table(TableVersion.V9, "copy_on_write", LocalStorage(str(tmp_path)))
    made.put_data_files()
    selection = TableSelection(base_path=made.storage.base_path)
    payload = health_payload({}, selection)
    assert "metadata table" not in payload["text"]
    found, measures = payload["health"]["metadata_table"], payload["health"]["measures"]
    assert (found["is_on"], found["partitions"]) == (True, sorted(made.config.metadata_partitions))
    assert found["log_files"] == measures["metadata_log_files"] > 0
    assert found["log_bytes"] == measures["metadata_log_bytes"] > 0
    assert found["commits_since_compaction"] == measures["metadata_commits_since_compaction"] > 0
    made.storage.delete_folder(METADATA_TABLE)
    payload = health_payload({}, selection)
    assert payload["health"]["metadata_table"]["unusable"] == Reason.ABSENT.value
    assert f"metadata table: {Reason.ABSENT.value}" in payload["text"]
    assert payload["health"]["metadata_table"]["log_files"] is None
    assert needs_attention(payload)


def test_a_table_without_a_metadata_table_is_reported_as_such(table: SmallTable) -> None:
    payload = health_payload({}, TableSelection(base_path=table.storage.base_path))
    found = payload["health"]["metadata_table"]
    assert (found["is_on"], found["partitions"], found["log_files"]) == (False, [], None)


def test_the_payload_has_links_to_the_pages_of_the_table_and_of_the_run(
    table: SmallTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = health_task(table)
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://airflow.example/prefix/")
    path = table.storage.base_path
    links = health_payload(context(task=task))["links"]
    plain = RegisteredTable.of("", path, None, None).table_id
    assert links["table"] == f"https://airflow.example/prefix/hudi/?table={plain}"
    assert links["run"].endswith("/hudi/?dag_id=d&run_id=run+1&task_id=load&map_index=-1")
    asset = HudiAsset(path, storage_conn_id="lake")
    links = health_payload(context(task=health_task(table, outlets=[asset])))["links"]
    assert links["table"].endswith(RegisteredTable.of("", path, None, "lake").table_id)
    monkeypatch.setenv("AIRFLOW__HUDI__TABLES", json.dumps({"f": {"base_path": path, "hudi_conn_id": "h"}}))
    links = health_payload(context(task=task))["links"]
    assert links["table"].endswith(RegisteredTable.of("", path, "h", None).table_id)
    monkeypatch.setenv("AIRFLOW__HUDI__TABLES", "no JSON")
    assert health_payload(context(task=task))["links"]["table"].endswith(plain)


def test_a_callable_and_another_notifier_receive_the_payload(table: SmallTable, tmp_path: Path) -> None:
    out = tmp_path / "channel"
    text = "{{ hudi.table.name }} {{ hudi.outcome }}: {{ hudi.health.status }}"
    notifier = HudiHealthNotifier(send=remember, to=FileNotifier(str(out), text))
    notifier(failure_of(health_task(table, fail_above={"small_files": 1})))
    assert [each["table"]["name"] for each in SENT] == ["flights"]
    table.commit(FileGroupId("city=a", "a-0"))
    notifier(context(task=health_task(table, warn_above={"active_commits": 1})))
    assert out.read_text().splitlines() == ["flights failed: warning", "flights : warning"]


def test_a_template_selects_the_table(table: SmallTable) -> None:
    HudiHealthNotifier(send=remember, base_path="{{ params.path }}")(
        context(params={"path": table.storage.base_path})
    )
    assert SENT[0]["table"]["name"] == "flights"


def test_a_healthy_table_sends_no_notification(table: SmallTable) -> None:
    calm = {"dead_instants": 9, "small_file_ratio": 1, "pending_instants": 9}
    notifier = HudiHealthNotifier(send=remember, when="attention", warn_above=calm)
    task = health_task(table)
    notifier(context(task=task))
    assert SENT == []
    notifier(context(task=task, exception=ValueError("it broke")))
    assert SENT[0]["error"] == {"kind": "ValueError", "message": "it broke", "hint": ""}


def test_a_failing_receiver_does_not_block_the_other_receiver(table: SmallTable, tmp_path: Path) -> None:
    def breaks(payload: dict[str, Any]) -> None:
        raise ConnectionError("no network")

    out = tmp_path / "channel"
    notifier = HudiHealthNotifier(send=breaks, to=FileNotifier(str(out), "{{ hudi.table.name }}"))
    with pytest.raises(ConnectionError):
        notifier(context(task=health_task(table)))
    assert out.read_text() == "flights\n"


def test_a_deadline_alert_accepts_all_arguments_and_can_be_awaited(table: SmallTable, tmp_path: Path) -> None:
    out = tmp_path / "channel"
    arguments = {
        "send": f"{__name__}.remember",
        "to": f"{__name__}.FileNotifier",
        "to_arguments": {"path": str(out), "text": "{{ hudi.text }}"},
        "base_path": table.storage.base_path,
    }
    assert json.loads(json.dumps(arguments)) == arguments, "Airflow stores the arguments in its database"
    late = {"dag_run": {"dag_id": "d", "run_id": "r"}, "deadline": {"id": "1"}}

    async def alert() -> None:
        await HudiHealthNotifier(**arguments, context=late)

    asyncio.run(alert())
    assert (SENT[0]["outcome"], SENT[0]["run"]["dag_id"]) == ("missed its deadline", "d")
    assert "missed its deadline" in out.read_text()


def test_wrong_arguments_fail_when_the_dag_is_parsed() -> None:
    for arguments in ({}, {"send": remember, "when": "never"}, {"send": remember, "to_arguments": {"a": 1}}):
        with pytest.raises(ValueError, match="HudiHealthNotifier"):
            HudiHealthNotifier(**arguments)


def test_the_error_of_a_task_contains_the_kind_and_the_hint_of_the_job_error() -> None:
    error = task_error(JobError(kind="LockNotAcquiredError", message="Held.", retryable=True, hint="Wait."))
    assert isinstance(error, HudiTaskError)
    assert (str(error), error.kind, error.hint) == (
        "LockNotAcquiredError: Held. Wait.",
        "LockNotAcquiredError",
        "Wait.",
    )


def test_airflow_calls_the_notifier_in_a_dag(
    run_dag: Callable[..., Any], table: SmallTable, tmp_path: Path
) -> None:
    from airflow.sdk import DAG

    out = tmp_path / "channel"
    text = "{{ hudi.run.task_id }} {{ hudi.outcome }} {{ hudi.error.kind }}"
    with DAG("notified", schedule=None, start_date=datetime(2026, 1, 1)) as dag:
        HudiTableHealthOperator(
            task_id="health",
            base_path=table.storage.base_path,
            fail_above={"small_files": 1},
            on_failure_callback=[HudiHealthNotifier(to=FileNotifier(str(out), text))],
        )
    run_dag(dag)
    assert out.read_text().splitlines() == ["health failed UnhealthyTableError"]
