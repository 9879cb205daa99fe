"""A task that is deferred while its driver runs on a cluster: the triggerer asks the resource manager.

A small server answers as YARN's does (``/ws/v1/cluster/apps``), and a program stands for spark-submit and the driver.
"""

import asyncio
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import aclosing
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import TaskDeferred
from task_context import StateStore, TaskInstance, context

from airflow_hudi_provider.exceptions import HudiTaskError
from airflow_hudi_provider.operators import followed_driver
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
        self.obeys = True
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
                if manager.obeys:
                    manager.states, manager.final_status = ["KILLED"], "KILLED"
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


def test_a_retry_that_finds_its_work_done_clears_away(
    on_yarn: Operator, manager: ResourceManager, tmp_path: Path
) -> None:
    """The driver committed while nobody was there: worker and triggerer had been killed."""
    store = StateStore()
    deferred(on_yarn(), task_state_store=store)
    request = tmp_path / "results" / "d" / "run%201" / "load" / "request.json"
    assert request.exists()
    again = on_yarn("sys.exit(1)")
    again.execute(context(task_state_store=store))
    assert again.last_result is not None
    assert again.last_result.reused
    assert not request.exists(), "it may hold credentials"
    assert "spark_job_id" not in store, "a cleared task begins anew"


def test_a_result_folder_that_cannot_be_reached_does_not_fail_what_is_done(
    on_yarn: Operator, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    deferred(on_yarn())
    on_yarn(result_base_path="nowhere://results").execute(context())
    assert "may be left, with its credentials" in caplog.text + "".join(capfd.readouterr())


def test_a_driver_of_before_the_clearing_is_ended(on_yarn: Operator, manager: ResourceManager) -> None:
    store = StateStore()
    deferred(on_yarn(SUBMIT, retries=1), ti=TaskInstance(max_tries=1), task_state_store=store)
    manager.states = ["RUNNING"]
    cleared = on_yarn(retries=1).execute
    with pytest.raises(TaskDeferred) as stopped:
        cleared(context(ti=TaskInstance(max_tries=3), task_state_store=store))
    assert manager.told == [{"state": "KILLED"}]
    assert stopped.value.trigger.application == APPLICATION, "submitted anew"


def test_a_driver_with_other_arguments_is_ended(on_yarn: Operator, manager: ResourceManager) -> None:
    store = StateStore()
    deferred(on_yarn(SUBMIT), task_state_store=store)
    manager.states = ["RUNNING"]
    deferred(on_yarn(source_path="/other"), task_state_store=store)
    assert manager.told == [{"state": "KILLED"}]


def test_the_success_of_before_the_clearing_is_not_taken_for_its_own(
    on_yarn: Operator, manager: ResourceManager, tmp_path: Path
) -> None:
    """Of jobs that leave nothing on the timeline, such as previews."""
    store, told = StateStore(), "open('{}', 'a').write('x'); result(outcome='planned')"
    body = SUBMIT + told.format(tmp_path / "submitted")
    deferred(on_yarn(body, dry_run=True), task_state_store=store)
    manager.states = ["FINISHED"]
    deferred(on_yarn(body, dry_run=True), ti=TaskInstance(max_tries=1), task_state_store=store)
    assert manager.told == [], "it had ended"
    assert (tmp_path / "submitted").read_text() == "xx"


def test_a_driver_that_does_not_end_is_told(
    on_yarn: Operator, manager: ResourceManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(followed_driver, "_OLD_DRIVER_PATIENCE_S", 0.2)
    store = StateStore()
    deferred(on_yarn(SUBMIT), task_state_store=store)
    manager.states, manager.obeys = ["RUNNING"], False
    with pytest.raises(HudiTaskError, match=f"{APPLICATION} that an earlier try submitted does not end"):
        on_yarn().execute(context(ti=TaskInstance(max_tries=1), task_state_store=store))
    assert store["spark_job_id"] == APPLICATION


def test_a_driver_that_failed_meanwhile_is_forgotten(
    on_yarn: Operator, manager: ResourceManager, tmp_path: Path
) -> None:
    """The retry looks at everything anew, as one does that has no driver."""
    store = StateStore()
    deferred(on_yarn(SUBMIT, take_turns=True), task_state_store=store)
    queue = WriterQueue(LocalStorage(str(tmp_path / "table")), SystemClock())
    queue.leave("d/run 1/load")
    assert queue.begin("somebody else")
    manager.states, manager.final_status = ["FINISHED"], "FAILED"
    with pytest.raises(TaskDeferred) as stopped:
        on_yarn(take_turns=True).execute(context(task_state_store=store))
    assert stopped.value.method_name == "execute_in_turn"


def test_nobody_waits_for_a_turn_whose_driver_writes(
    on_yarn: Operator, manager: ResourceManager, tmp_path: Path
) -> None:
    store = StateStore()
    deferred(on_yarn(SUBMIT, take_turns=True), task_state_store=store)
    queue = WriterQueue(LocalStorage(str(tmp_path / "table")), SystemClock())
    queue.leave("d/run 1/load")
    assert queue.begin("somebody else")
    manager.states = ["RUNNING"]
    trigger = deferred(on_yarn("sys.exit(1)", take_turns=True), task_state_store=store)
    assert trigger.application == APPLICATION
    assert queue.wait("somebody else").is_turn


def test_the_turn_of_a_driver_that_was_ended_is_free(
    on_yarn: Operator, manager: ResourceManager, tmp_path: Path
) -> None:
    """With a new request id nobody comes back for the old one's."""
    store = StateStore()
    arguments = {"take_turns": True, "on_rerun": "write_again"}
    deferred(on_yarn(SUBMIT, **arguments), task_state_store=store)
    manager.states = ["RUNNING"]
    trigger = deferred(on_yarn(SUBMIT, **arguments), ti=TaskInstance(max_tries=1), task_state_store=store)
    assert trigger.request_id == "d/run 1/load#1"
    queue = WriterQueue(LocalStorage(str(tmp_path / "table")), SystemClock())
    assert queue.wait("behind").ahead == ("d/run 1/load#1",)


def test_a_task_that_waits_itself_is_ended(on_yarn: Operator, tmp_path: Path) -> None:
    """Airflow gives it five seconds: what must not stay goes first."""
    task = on_yarn(
        "import time; time.sleep(60)", yarn_track_via_rm_api=False, deferrable=False, take_turns=True
    )
    failures: list[Exception] = []

    def run() -> None:
        try:
            task.execute(context())
        except HudiTaskError as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    request = tmp_path / "results" / "d" / "run%201" / "load" / "request.json"
    deadline = time.monotonic() + 30
    while task._hook is None or task._hook._submit_sp is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert request.exists()
    left: list[bool] = []
    ended = task.end_spark
    task.end_spark = lambda: (left.append(request.exists()), ended())  # type: ignore[method-assign, assignment]
    queue = WriterQueue(LocalStorage(str(tmp_path / "table")), SystemClock())
    assert not queue.wait("behind").is_turn
    task.on_kill()
    assert left == [False]
    assert queue.wait("behind").is_turn
    thread.join(30)
    assert failures


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


def test_its_time_is_over(on_yarn: Operator, manager: ResourceManager, tmp_path: Path) -> None:
    from airflow.sdk.exceptions import TaskDeferralTimeout

    store = StateStore()
    task = on_yarn(SUBMIT, execution_timeout=timedelta(minutes=5))
    with pytest.raises(TaskDeferred) as stopped:
        task.execute(context(task_state_store=store))
    assert stopped.value.timeout == timedelta(minutes=5)
    with pytest.raises(TaskDeferralTimeout):
        on_yarn().resume_execution("__fail__", {"error": "Trigger timeout"}, context(task_state_store=store))
    assert manager.told == [{"state": "KILLED"}]
    assert not (tmp_path / "results" / "d" / "run%201" / "load" / "request.json").exists()
    assert "spark_job_id" not in store, "the next try does not follow it"


def test_its_time_is_over_where_airflow_notes_no_driver(on_yarn: Operator, manager: ResourceManager) -> None:
    """Below 3.3, and with durable=False."""
    from airflow.sdk.exceptions import TaskDeferralTimeout

    ti = TaskInstance()
    with pytest.raises(TaskDeferred):
        on_yarn(SUBMIT).execute(context(ti=ti))
    with pytest.raises(TaskDeferralTimeout):
        on_yarn().resume_execution("__fail__", {"error": "Trigger timeout"}, context(ti=ti))
    assert manager.told == [{"state": "KILLED"}]


def test_where_nobody_can_be_asked_the_task_waits_itself(
    on_yarn: Operator, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.INFO)
    document = on_yarn(yarn_track_via_rm_api=False).execute(context())
    assert document["outcome"] == "completed"
    assert "This task waits in its worker" in caplog.text + "".join(capfd.readouterr())
