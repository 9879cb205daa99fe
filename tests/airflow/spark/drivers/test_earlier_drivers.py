"""Drivers that an earlier try submitted to a cluster, and the cleanup at the end of a task."""

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


def test_a_retry_continues_to_monitor_the_running_driver(on_yarn: Operator, manager: ResourceManager) -> None:
    store = StateStore()
    deferred(on_yarn(SUBMIT), task_state_store=store)
    manager.states = ["RUNNING"]
    trigger = deferred(on_yarn("sys.exit(1)"), task_state_store=store)
    assert trigger.application == APPLICATION


def test_a_retry_that_finds_its_commit_deletes_the_request_and_the_driver_id(
    on_yarn: Operator, manager: ResourceManager, tmp_path: Path
) -> None:
    """The driver committed after both worker and triggerer had been killed."""
    store = StateStore()
    deferred(on_yarn(), task_state_store=store)
    request = tmp_path / "results" / "d" / "run%201" / "load" / "request.json"
    assert request.exists()
    again = on_yarn("sys.exit(1)")
    again.execute(context(task_state_store=store))
    assert again.last_result is not None
    assert again.last_result.reused
    assert not request.exists(), "the request may contain credentials"
    assert "spark_job_id" not in store, "a cleared task submits a new job"


def test_an_unreachable_result_folder_does_not_fail_a_completed_task(
    on_yarn: Operator, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    deferred(on_yarn())
    on_yarn(result_base_path="nowhere://results").execute(context())
    assert "which may contain credentials, was not removed" in caplog.text + "".join(capfd.readouterr())


def test_the_driver_of_a_cleared_try_is_killed(on_yarn: Operator, manager: ResourceManager) -> None:
    store = StateStore()
    deferred(on_yarn(SUBMIT, retries=1), ti=TaskInstance(max_tries=1), task_state_store=store)
    manager.states = ["RUNNING"]
    cleared = on_yarn(retries=1).execute
    with pytest.raises(TaskDeferred) as stopped:
        cleared(context(ti=TaskInstance(max_tries=3), task_state_store=store))
    assert manager.state_requests == [{"state": "KILLED"}]
    assert stopped.value.trigger.application == APPLICATION, "the task submitted a new job"


def test_a_driver_with_other_arguments_is_killed(on_yarn: Operator, manager: ResourceManager) -> None:
    store = StateStore()
    deferred(on_yarn(SUBMIT), task_state_store=store)
    manager.states = ["RUNNING"]
    deferred(on_yarn(source_path="/other"), task_state_store=store)
    assert manager.state_requests == [{"state": "KILLED"}]


def test_the_success_of_a_cleared_try_does_not_count(
    on_yarn: Operator, manager: ResourceManager, tmp_path: Path
) -> None:
    """Only the driver shows the success of a job without an instant, such as a preview."""
    store, program = StateStore(), "open('{}', 'a').write('x'); result(outcome='planned')"
    body = SUBMIT + program.format(tmp_path / "submitted")
    deferred(on_yarn(body, dry_run=True), task_state_store=store)
    manager.states = ["FINISHED"]
    deferred(on_yarn(body, dry_run=True), ti=TaskInstance(max_tries=1), task_state_store=store)
    assert manager.state_requests == [], "the driver had already ended"
    assert (tmp_path / "submitted").read_text() == "xx"


def test_a_driver_that_does_not_end_fails_the_task(
    on_yarn: Operator, manager: ResourceManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_driver, "_EARLIER_DRIVER_TIMEOUT_S", 0.2)
    store = StateStore()
    deferred(on_yarn(SUBMIT), task_state_store=store)
    manager.states, manager.ends_on_request = ["RUNNING"], False
    with pytest.raises(HudiTaskError, match=f"{APPLICATION} that an earlier try submitted does not end"):
        on_yarn().execute(context(ti=TaskInstance(max_tries=1), task_state_store=store))
    assert store["spark_job_id"] == APPLICATION


def test_a_driver_unknown_to_its_master_counts_as_ended(on_yarn: Operator, manager: ResourceManager) -> None:
    store = StateStore()
    deferred(on_yarn(SUBMIT), task_state_store=store)
    manager.states = ["FORGOTTEN"]
    deferred(on_yarn(), ti=TaskInstance(max_tries=1), task_state_store=store)
    assert manager.state_requests == []


def test_a_kill_of_the_task_kills_the_driver_that_the_worker_monitors(
    on_yarn: Operator, manager: ResourceManager, connections: Callable[..., None]
) -> None:
    """The worker that submitted the driver had died."""
    store = StateStore()
    deferred(on_yarn(SUBMIT), task_state_store=store)
    manager.states = ["RUNNING"]
    task = on_yarn(SUBMIT, deferrable=False)
    thread = threading.Thread(target=run_until_failure, args=(task, context(task_state_store=store)))
    thread.start()
    wait_until(lambda: task._hook is not None and task._hook._yarn_application_id)
    task.on_kill()
    assert manager.state_requests == [{"state": "KILLED"}]
    thread.join(60)
    assert not thread.is_alive()


def test_a_pod_is_deleted_in_its_own_namespace(
    connections: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection may name another namespace, or no namespace."""
    connections("k8s", conn_type="spark", host="k8s://https://nowhere")
    # The package of the Kubernetes client is not installed here.
    monkeypatch.setattr(spark_submit, "kube_client", object(), raising=False)
    deleted: list[tuple[Any, Any]] = []

    def note(hook: Any) -> None:
        deleted.append((hook._connection["namespace"], hook._kubernetes_driver_pod))

    monkeypatch.setattr(spark_submit.SparkSubmitHook, "_delete_driver_pod", note)
    master = airflow_internals.operator_for_queries("kubernetes", "k8s", None)
    airflow_internals.end_application(master, "kubernetes", "lake:load-driver")
    assert deleted == [("lake", "load-driver")]


@pytest.fixture
def queue(tmp_path: Path) -> WriterQueue:
    return WriterQueue(LocalStorage(str(tmp_path / "table")), SystemClock())


def store_after_lost_turn(on_yarn: Operator, queue: WriterQueue) -> StateStore:
    """Return the state store of a task with a driver. The worker died, and another writer has the turn of the task."""
    store = StateStore()
    deferred(on_yarn(SUBMIT, take_turns=True), task_state_store=store)
    queue.leave("d/run 1/load")
    assert queue.begin("another writer")
    return store


def test_a_retry_ignores_a_failed_driver(
    on_yarn: Operator, manager: ResourceManager, queue: WriterQueue
) -> None:
    """The retry starts like a try without an earlier driver."""
    store = store_after_lost_turn(on_yarn, queue)
    manager.states, manager.final_status = ["FINISHED"], "FAILED"
    with pytest.raises(TaskDeferred) as stopped:
        on_yarn(take_turns=True).execute(context(task_state_store=store))
    assert stopped.value.method_name == "execute_in_turn"


def test_a_retry_with_a_running_driver_does_not_wait_for_a_turn(
    on_yarn: Operator, manager: ResourceManager, queue: WriterQueue
) -> None:
    store = store_after_lost_turn(on_yarn, queue)
    manager.states = ["RUNNING"]
    trigger = deferred(on_yarn("sys.exit(1)", take_turns=True), task_state_store=store)
    assert trigger.application == APPLICATION
    assert queue.wait("another writer").is_turn


def test_the_turn_of_a_killed_driver_is_free(
    on_yarn: Operator, manager: ResourceManager, queue: WriterQueue
) -> None:
    """The next try has a new request id, so it does not use the old turn."""
    store = StateStore()
    arguments = {"take_turns": True, "on_rerun": "write_again"}
    deferred(on_yarn(SUBMIT, **arguments), task_state_store=store)
    manager.states = ["RUNNING"]
    trigger = deferred(on_yarn(SUBMIT, **arguments), ti=TaskInstance(max_tries=1), task_state_store=store)
    assert trigger.request_id == "d/run 1/load#1"
    assert queue.wait("behind").ahead == ("d/run 1/load#1",)


def run_until_failure(task: UpsertWithSizingOperator, given: Any) -> None:
    with pytest.raises(HudiTaskError):
        task.execute(given)


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def task_in_worker(on_yarn: Operator) -> Iterator[UpsertWithSizingOperator]:
    """A running task whose worker waits for spark-submit."""
    task = on_yarn(
        "import time; time.sleep(60)", yarn_track_via_rm_api=False, deferrable=False, take_turns=True
    )
    thread = threading.Thread(target=run_until_failure, args=(task, context()))
    thread.start()
    wait_until(lambda: task._hook is not None and task._hook._submit_sp is not None)
    yield task
    thread.join(60)
    assert not thread.is_alive()


def test_a_kill_removes_the_request_and_releases_the_turn_before_it_ends_spark(
    task_in_worker: UpsertWithSizingOperator,
    queue: WriterQueue,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """``on_kill`` may take five seconds, so it first deletes the request, which contains credentials."""
    request = tmp_path / "results" / "d" / "run%201" / "load" / "request.json"
    assert request.exists()
    request_existed: list[bool] = []
    end = Submission.end

    def record_and_end(submission: Submission) -> None:
        request_existed.append(request.exists())
        end(submission)

    monkeypatch.setattr(Submission, "end", record_and_end)
    assert not queue.wait("behind").is_turn
    task_in_worker.on_kill()
    assert request_existed == [False]
    assert queue.wait("behind").is_turn


@pytest.mark.parametrize("stall_s", [0.0, 12.0], ids=["an error", "no answer"])
def test_a_storage_failure_does_not_keep_spark_running(
    task_in_worker: UpsertWithSizingOperator, stall_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: WriterQueue, owner: str) -> None:
        # Only a call from the thread named `release` takes time. A call from the main thread of the task fails at once.
        if threading.current_thread().name == "release":
            time.sleep(stall_s)
        raise StorageError("The store is unavailable.")

    monkeypatch.setattr(WriterQueue, "leave", fails)
    assert task_in_worker._hook is not None
    spark = task_in_worker._hook._submit_sp
    began = time.monotonic()
    task_in_worker.on_kill()
    assert spark.wait(5) != 0  # spark-submit ends a moment after the signal
    assert time.monotonic() - began < 10, "the kill did not wait for the store"
