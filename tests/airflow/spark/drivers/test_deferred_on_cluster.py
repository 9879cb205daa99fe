"""A task is deferred while its driver runs on a cluster; the triggerer polls the resource manager.

A small server answers as YARN's resource manager, and a program replaces spark-submit and the driver.
"""

import asyncio
import logging
import os
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from airflow.providers.common.compat.sdk import TaskDeferred
from yarn_stand_in import APPLICATION, SUBMIT, ResourceManager, deferred, event_of

from airflow_hudi_provider.exceptions import HudiTaskError
from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator
from airflow_hudi_provider.triggers import application
from hudi_table_services.contract.progress import JobProgress
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.locks.turns import WriterQueue
from hudi_table_services.storage.stores.local import LocalStorage
from support.airflow.task_context import StateStore, TaskInstance, context

Operator = Callable[..., UpsertWithSizingOperator]


def test_the_triggerer_polls_until_the_driver_has_ended(
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
    logged = caplog.text + "".join(capfd.readouterr())
    assert f"{APPLICATION}: Write 8 file groups: 3 of 8 done, 30 rows, 1.0 MiB written" in logged
    assert "The master did not report the state of" in logged
    document = on_yarn().execute_when_over(context(task_state_store=store), event)
    assert document["outcome"] == "completed"
    assert not (folder / "request.json").exists(), "the request may contain credentials"
    assert "spark_job_id" not in store, "a cleared task submits a new job"


def test_a_failed_driver_fails_the_task(on_yarn: Operator, manager: ResourceManager) -> None:
    manager.states, manager.final_status = ["FINISHED"], "FAILED"
    event = event_of(deferred(on_yarn(SUBMIT)))
    with pytest.raises(HudiTaskError, match=f"{APPLICATION} ended with the status FAILED"):
        on_yarn().execute_when_over(context(), event)


def test_the_timeline_determines_the_outcome_if_the_manager_never_answers(
    on_yarn: Operator, manager: ResourceManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The manager answers no request, so only the timeline shows the outcome."""
    monkeypatch.setattr(application, "UNKNOWN_AFTER_S", 0.2)
    manager.states = ["DOWN"]
    event = event_of(deferred(on_yarn()))
    assert event["status"] == "unknown"
    assert on_yarn().execute_when_over(context(), event)["outcome"] == "completed"


def test_clearing_the_deferred_task_kills_its_driver(
    on_yarn: Operator, manager: ResourceManager, tmp_path: Path
) -> None:
    trigger = deferred(on_yarn(SUBMIT, take_turns=True))
    queue = WriterQueue(LocalStorage(str(tmp_path / "table")), SystemClock())
    assert not queue.wait("behind").is_turn
    asyncio.run(trigger.on_kill())
    assert manager.state_requests == [{"state": "KILLED"}]
    assert queue.wait("behind").is_turn
    assert not (tmp_path / "results" / "d" / "run%201" / "load" / "request.json").exists()


def test_a_late_trigger_keeps_the_files_of_the_next_try(
    on_yarn: Operator, manager: ResourceManager, tmp_path: Path
) -> None:
    """When a trigger starts its cleanup, the next try of its task may already have written its request.

    This happens if hundreds of tasks are cleared at once, because their triggers then wait for a thread.
    """
    trigger = deferred(on_yarn(SUBMIT, take_turns=True))
    request = tmp_path / "results" / "d" / "run%201" / "load" / "request.json"
    os.utime(request, (time.time() + 60, time.time() + 60))
    asyncio.run(trigger.on_kill())
    assert manager.state_requests == [{"state": "KILLED"}]
    assert request.exists()
    assert not WriterQueue(LocalStorage(str(tmp_path / "table")), SystemClock()).wait("behind").is_turn


def test_the_driver_of_a_task_past_its_timeout_is_killed(
    on_yarn: Operator, manager: ResourceManager, tmp_path: Path
) -> None:
    from airflow.sdk.exceptions import TaskDeferralTimeout

    store = StateStore()
    task = on_yarn(SUBMIT, execution_timeout=timedelta(minutes=5))
    with pytest.raises(TaskDeferred) as stopped:
        task.execute(context(task_state_store=store))
    assert stopped.value.timeout == timedelta(minutes=5)
    with pytest.raises(TaskDeferralTimeout):
        on_yarn().resume_execution("__fail__", {"error": "Trigger timeout"}, context(task_state_store=store))
    assert manager.state_requests == [{"state": "KILLED"}]
    assert not (tmp_path / "results" / "d" / "run%201" / "load" / "request.json").exists()
    manager.states, manager.ends_on_request = ["RUNNING"], True
    deferred(on_yarn(), task_state_store=store)
    assert manager.state_requests == [{"state": "KILLED"}] * 2, (
        "the next try kills the driver and does not continue to monitor it"
    )


def test_a_timeout_kills_a_driver_whose_id_airflow_did_not_store(
    on_yarn: Operator, manager: ResourceManager
) -> None:
    """Airflow stores no driver id if its version is older than 3.3, or with ``durable=False``."""
    from airflow.sdk.exceptions import TaskDeferralTimeout

    ti = TaskInstance()
    with pytest.raises(TaskDeferred):
        on_yarn(SUBMIT).execute(context(ti=ti))
    with pytest.raises(TaskDeferralTimeout):
        on_yarn().resume_execution("__fail__", {"error": "Trigger timeout"}, context(ti=ti))
    assert manager.state_requests == [{"state": "KILLED"}]


def test_a_task_without_a_manager_to_poll_waits_in_its_worker(
    on_yarn: Operator, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.INFO)
    document = on_yarn(yarn_track_via_rm_api=False).execute(context())
    assert document["outcome"] == "completed"
    assert "This task waits in its worker" in caplog.text + "".join(capfd.readouterr())
