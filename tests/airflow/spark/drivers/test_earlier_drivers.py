"""Drivers on a cluster that an earlier try submitted: followed, ended or forgotten; and the end of a task."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.apache.spark.hooks import spark_submit
from airflow.providers.common.compat.sdk import TaskDeferred
from yarn_stand_in import APPLICATION, SUBMIT, ResourceManager, deferred

from airflow_hudi_provider.exceptions import HudiTaskError
from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator
from airflow_hudi_provider.spark import airflow_internals, cluster_driver
from airflow_hudi_provider.spark.submission import Submission
from hudi_table_services.errors import StorageError
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.locks.turns import WriterQueue
from hudi_table_services.storage.stores.local import LocalStorage
from support.airflow.task_context import StateStore, TaskInstance, context

Operator = Callable[..., UpsertWithSizingOperator]


def test_a_retry_follows_the_driver_that_is_there(on_yarn: Operator, manager: ResourceManager) -> None:
    store = StateStore()
    deferred(on_yarn(SUBMIT), task_state_store=store)
    manager.states = ["RUNNING"]
    trigger = deferred(on_yarn("sys.exit(1)"), task_state_store=store)
    assert trigger.application == APPLICATION


def test_a_retry_that_finds_the_request_completed_removes_the_leftovers(
    on_yarn: Operator, manager: ResourceManager, tmp_path: Path
) -> None:
    """The driver committed after worker and triggerer had been killed."""
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


def test_an_unreachable_result_folder_does_not_fail_a_completed_request(
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


def test_a_success_from_before_the_clearing_does_not_count(
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


def test_a_driver_that_does_not_end_is_reported(
    on_yarn: Operator, manager: ResourceManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_driver, "_EARLIER_DRIVER_TIMEOUT_S", 0.2)
    store = StateStore()
    deferred(on_yarn(SUBMIT), task_state_store=store)
    manager.states, manager.obeys = ["RUNNING"], False
    with pytest.raises(HudiTaskError, match=f"{APPLICATION} that an earlier try submitted does not end"):
        on_yarn().execute(context(ti=TaskInstance(max_tries=1), task_state_store=store))
    assert store["spark_job_id"] == APPLICATION


def test_a_driver_unknown_to_its_master_counts_as_failed(on_yarn: Operator, manager: ResourceManager) -> None:
    store = StateStore()
    deferred(on_yarn(SUBMIT), task_state_store=store)
    manager.states = ["FORGOTTEN"]
    deferred(on_yarn(), ti=TaskInstance(max_tries=1), task_state_store=store)
    assert manager.told == []


def test_a_driver_that_a_worker_follows_ends_with_the_task(
    on_yarn: Operator, manager: ResourceManager, connections: Callable[..., None]
) -> None:
    """A worker that died had submitted the driver."""
    store = StateStore()
    deferred(on_yarn(SUBMIT), task_state_store=store)
    manager.states = ["RUNNING"]
    task = on_yarn(SUBMIT, deferrable=False)
    thread = threading.Thread(target=run_to_its_failure, args=(task, context(task_state_store=store)))
    thread.start()
    until(lambda: task._hook is not None and task._hook._yarn_application_id)
    task.on_kill()
    assert manager.told == [{"state": "KILLED"}]
    thread.join(60)
    assert not thread.is_alive()


def test_a_pod_is_deleted_where_it_is(
    connections: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection may name another namespace, or none."""
    connections("k8s", conn_type="spark", host="k8s://https://nowhere")
    # Its package is not installed here.
    monkeypatch.setattr(spark_submit, "kube_client", object(), raising=False)
    deleted: list[tuple[Any, Any]] = []

    def note(hook: Any) -> None:
        deleted.append((hook._connection["namespace"], hook._kubernetes_driver_pod))

    monkeypatch.setattr(spark_submit.SparkSubmitHook, "_delete_driver_pod", note)
    master = airflow_internals.operator_asking("kubernetes", "k8s", None)
    airflow_internals.end_application(master, "kubernetes", "lake:load-driver")
    assert deleted == [("lake", "load-driver")]


@pytest.fixture
def queue(tmp_path: Path) -> WriterQueue:
    return WriterQueue(LocalStorage(str(tmp_path / "table")), SystemClock())


def lost_its_turn(on_yarn: Operator, queue: WriterQueue) -> StateStore:
    """The state store of a task with a driver whose turn another task took after the worker had died."""
    store = StateStore()
    deferred(on_yarn(SUBMIT, take_turns=True), task_state_store=store)
    queue.leave("d/run 1/load")
    assert queue.begin("somebody else")
    return store


def test_a_driver_that_failed_is_forgotten(
    on_yarn: Operator, manager: ResourceManager, queue: WriterQueue
) -> None:
    """The retry begins again, like one without a driver."""
    store = lost_its_turn(on_yarn, queue)
    manager.states, manager.final_status = ["FINISHED"], "FAILED"
    with pytest.raises(TaskDeferred) as stopped:
        on_yarn(take_turns=True).execute(context(task_state_store=store))
    assert stopped.value.method_name == "execute_in_turn"


def test_a_task_whose_driver_writes_does_not_wait_for_its_turn(
    on_yarn: Operator, manager: ResourceManager, queue: WriterQueue
) -> None:
    store = lost_its_turn(on_yarn, queue)
    manager.states = ["RUNNING"]
    trigger = deferred(on_yarn("sys.exit(1)", take_turns=True), task_state_store=store)
    assert trigger.application == APPLICATION
    assert queue.wait("somebody else").is_turn


def test_the_turn_of_a_driver_that_was_ended_is_free(
    on_yarn: Operator, manager: ResourceManager, queue: WriterQueue
) -> None:
    """With a new request id no later try gives up the old turn."""
    store = StateStore()
    arguments = {"take_turns": True, "on_rerun": "write_again"}
    deferred(on_yarn(SUBMIT, **arguments), task_state_store=store)
    manager.states = ["RUNNING"]
    trigger = deferred(on_yarn(SUBMIT, **arguments), ti=TaskInstance(max_tries=1), task_state_store=store)
    assert trigger.request_id == "d/run 1/load#1"
    assert queue.wait("behind").ahead == ("d/run 1/load#1",)


def run_to_its_failure(task: UpsertWithSizingOperator, given: Any) -> None:
    with pytest.raises(HudiTaskError):
        task.execute(given)


def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def waiting_itself(on_yarn: Operator) -> Iterator[UpsertWithSizingOperator]:
    """A task at work whose worker waits for spark-submit."""
    task = on_yarn(
        "import time; time.sleep(60)", yarn_track_via_rm_api=False, deferrable=False, take_turns=True
    )
    thread = threading.Thread(target=run_to_its_failure, args=(task, context()))
    thread.start()
    until(lambda: task._hook is not None and task._hook._submit_sp is not None)
    yield task
    thread.join(60)
    assert not thread.is_alive()


def test_a_task_that_waits_itself_is_ended(
    waiting_itself: UpsertWithSizingOperator,
    queue: WriterQueue,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Airflow allows five seconds: request and turn are released first."""
    request = tmp_path / "results" / "d" / "run%201" / "load" / "request.json"
    assert request.exists()
    left: list[bool] = []
    end = Submission.end

    def note_and_end(submission: Submission) -> None:
        left.append(request.exists())
        end(submission)

    monkeypatch.setattr(Submission, "end", note_and_end)
    assert not queue.wait("behind").is_turn
    waiting_itself.on_kill()
    assert left == [False]
    assert queue.wait("behind").is_turn


@pytest.mark.parametrize("stall_s", [0.0, 12.0], ids=["an error", "no answer"])
def test_a_store_that_fails_does_not_keep_spark_at_work(
    waiting_itself: UpsertWithSizingOperator, stall_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: WriterQueue, owner: str) -> None:
        # Only in the thread of on_kill: the task itself also leaves its turn.
        if threading.current_thread().name == "release":
            time.sleep(stall_s)
        raise StorageError("The store is gone.")

    monkeypatch.setattr(WriterQueue, "leave", fails)
    assert waiting_itself._hook is not None
    spark = waiting_itself._hook._submit_sp
    began = time.monotonic()
    waiting_itself.on_kill()
    assert spark.poll() is not None
    assert time.monotonic() - began < 10, "it did not wait for the store"
