"""A task that is deferred while its driver runs on a cluster: the triggerer asks the resource manager.

A small server answers as YARN's does (``/ws/v1/cluster/apps``), and a program stands for spark-submit and the driver.
"""

import asyncio
import json
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import aclosing
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import TaskDeferred
from task_context import StateStore, context

from airflow_hudi_provider.exceptions import HudiTaskError
from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator
from airflow_hudi_provider.triggers import application
from airflow_hudi_provider.triggers.application import HudiApplicationTrigger
from hudi_table_services.contract.job_progress import JobProgress
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.local import LocalStorage
from hudi_table_services.storage.turns import WriterQueue

Operator = Callable[..., UpsertWithSizingOperator]

APPLICATION = "application_1700000000000_0001"
SUBMIT = f"print('INFO Client: Submitted application {APPLICATION}', flush=True)\n"
WELL = "i = commit(); result(outcome='completed', instant_time=i.requested_time)"


class ResourceManager:
    """Has one application; what it was told is noted."""

    def __init__(self) -> None:
        self.states = ["ACCEPTED"]
        self.final_status = "SUCCEEDED"
        self.asked = 0
        self.told: list[Any] = []
        manager = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                state = manager.states[min(manager.asked, len(manager.states) - 1)]
                manager.asked += 1
                if state == "DOWN":
                    self._answer(503, {})
                else:
                    self._answer(200, {"app": {"state": state, "finalStatus": manager.final_status}})

            def do_PUT(self) -> None:
                manager.told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self._answer(202, {})

            def _answer(self, status: int, document: Any) -> None:
                self.send_response(status)
                self.end_headers()
                self.wfile.write(json.dumps(document).encode())

            def log_message(self, *_: object) -> None:
                """Not into the test's output."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def manager() -> Iterator[ResourceManager]:
    running = ResourceManager()
    yield running
    running.close()


@pytest.fixture
def on_yarn(
    operator: Operator, connections: Callable[..., None], manager: ResourceManager, tmp_path: Path
) -> Operator:
    extra = {"yarn_resourcemanager_webapp_address": manager.address}
    connections("yarn", conn_type="spark", host="yarn", extra=extra)

    def make(body: str = SUBMIT + WELL, **arguments: Any) -> UpsertWithSizingOperator:
        given = {
            "spark_conn_id": "yarn",
            "deploy_mode": "cluster",
            "yarn_track_via_rm_api": True,
            "result_base_path": str(tmp_path / "results"),
            "deferrable": True,
            **arguments,
        }
        return operator(body, **given)

    return make


def deferred(task: UpsertWithSizingOperator, **fields: Any) -> HudiApplicationTrigger:
    with pytest.raises(TaskDeferred) as stopped:
        task.execute(context(**fields))
    assert stopped.value.method_name == "execute_when_over"
    return HudiApplicationTrigger(**{**stopped.value.trigger.serialize()[1], "poke_interval": 0.05})


def event_of(trigger: HudiApplicationTrigger) -> dict[str, Any]:
    async def wait() -> dict[str, Any]:
        async with aclosing(trigger.run()) as events:
            return (await asyncio.wait_for(anext(events), 30)).payload

    return asyncio.run(wait())


def test_the_triggerer_asks_until_the_driver_has_ended(
    on_yarn: Operator,
    manager: ResourceManager,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.INFO)
    manager.states = ["ACCEPTED", "RUNNING", "DOWN", "RUNNING", "FINISHED"]
    store = StateStore()
    trigger = deferred(on_yarn(), task_state_store=store)
    folder = tmp_path / "results" / "d" / "run%201" / "load"
    assert (folder / "request.json").exists(), "the driver may not have read it yet"
    progress = JobProgress(phase="Write 8 file groups", done=3, total=8, rows=30, written_bytes=1 << 20)
    (folder / "result.progress.json").write_text(progress.to_json())
    event = event_of(trigger)
    assert (event["status"], event["succeeded"]) == ("SUCCEEDED", True)
    told = caplog.text + "".join(capfd.readouterr())
    assert f"{APPLICATION}: Write 8 file groups: 3 of 8 done, 30 rows, 1.0 MiB written" in told
    assert "The master did not say how" in told
    document = on_yarn().execute_when_over(context(task_state_store=store), event)
    assert document["outcome"] == "completed"
    assert not (folder / "request.json").exists(), "it may hold credentials"
    assert "spark_job_id" not in store, "a cleared task begins anew"


def test_a_driver_that_fails(on_yarn: Operator, manager: ResourceManager) -> None:
    manager.states, manager.final_status = ["FINISHED"], "FAILED"
    event = event_of(deferred(on_yarn(SUBMIT)))
    with pytest.raises(HudiTaskError, match=f"{APPLICATION} ended as FAILED"):
        on_yarn().execute_when_over(context(), event)


def test_a_manager_that_never_answers(
    on_yarn: Operator, manager: ResourceManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The timeline decides."""
    monkeypatch.setattr(application, "UNKNOWN_AFTER_S", 0.2)
    manager.states = ["DOWN"]
    event = event_of(deferred(on_yarn()))
    assert event["status"] == "unknown"
    assert on_yarn().execute_when_over(context(), event)["outcome"] == "completed"


def test_a_retry_follows_the_driver_that_is_there(on_yarn: Operator, manager: ResourceManager) -> None:
    store = StateStore()
    deferred(on_yarn(SUBMIT), task_state_store=store)
    manager.states = ["RUNNING"]
    trigger = deferred(on_yarn("sys.exit(1)"), task_state_store=store)
    assert trigger.application == APPLICATION


def test_somebody_clears_the_deferred_task(
    on_yarn: Operator, manager: ResourceManager, tmp_path: Path
) -> None:
    trigger = deferred(on_yarn(SUBMIT, take_turns=True))
    queue = WriterQueue(LocalStorage(str(tmp_path / "table")), SystemClock())
    assert not queue.wait("behind").is_turn
    asyncio.run(trigger.on_kill())
    assert manager.told == [{"state": "KILLED"}]
    assert queue.wait("behind").is_turn
    assert not (tmp_path / "results" / "d" / "run%201" / "load" / "request.json").exists()


def test_its_time_is_over(on_yarn: Operator, manager: ResourceManager) -> None:
    from airflow.sdk.exceptions import TaskDeferralTimeout

    store = StateStore()
    task = on_yarn(SUBMIT, execution_timeout=timedelta(minutes=5))
    with pytest.raises(TaskDeferred) as stopped:
        task.execute(context(task_state_store=store))
    assert stopped.value.timeout == timedelta(minutes=5)
    with pytest.raises(TaskDeferralTimeout):
        on_yarn().resume_execution("__fail__", {"error": "Trigger timeout"}, context(task_state_store=store))
    assert manager.told == [{"state": "KILLED"}]


def test_where_nobody_can_be_asked_the_task_waits_itself(
    on_yarn: Operator, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.INFO)
    document = on_yarn(yarn_track_via_rm_api=False).execute(context())
    assert document["outcome"] == "completed"
    assert "This task waits in its worker" in caplog.text + "".join(capfd.readouterr())
