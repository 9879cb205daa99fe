"""A task that is deferred while its driver runs on a cluster: the triggerer asks the resource manager.

A small server answers as YARN's does, and a program replaces spark-submit and the driver.
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
    assert "The master did not report the state of" in told
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


def test_a_deferred_task_is_cleared(on_yarn: Operator, manager: ResourceManager, tmp_path: Path) -> None:
    trigger = deferred(on_yarn(SUBMIT, take_turns=True))
    queue = WriterQueue(LocalStorage(str(tmp_path / "table")), SystemClock())
    assert not queue.wait("behind").is_turn
    asyncio.run(trigger.on_kill())
    assert manager.told == [{"state": "KILLED"}]
    assert queue.wait("behind").is_turn
    assert not (tmp_path / "results" / "d" / "run%201" / "load" / "request.json").exists()


def test_a_late_trigger_keeps_the_documents_of_the_next_try(
    on_yarn: Operator, manager: ResourceManager, tmp_path: Path
) -> None:
    """Hundreds may be cleared at once, and wait for a thread."""
    trigger = deferred(on_yarn(SUBMIT, take_turns=True))
    request = tmp_path / "results" / "d" / "run%201" / "load" / "request.json"
    os.utime(request, (time.time() + 60, time.time() + 60))
    asyncio.run(trigger.on_kill())
    assert manager.told == [{"state": "KILLED"}]
    assert request.exists()
    assert not WriterQueue(LocalStorage(str(tmp_path / "table")), SystemClock()).wait("behind").is_turn


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
    manager.states, manager.obeys = ["RUNNING"], True
    deferred(on_yarn(), task_state_store=store)
    assert manager.told == [{"state": "KILLED"}] * 2, "the next try does not follow it, and sees to its end"


def test_its_time_is_over_where_airflow_notes_no_driver(on_yarn: Operator, manager: ResourceManager) -> None:
    """Below 3.3, and with durable=False."""
    from airflow.sdk.exceptions import TaskDeferralTimeout

    ti = TaskInstance()
    with pytest.raises(TaskDeferred):
        on_yarn(SUBMIT).execute(context(ti=ti))
    with pytest.raises(TaskDeferralTimeout):
        on_yarn().resume_execution("__fail__", {"error": "Trigger timeout"}, context(ti=ti))
    assert manager.told == [{"state": "KILLED"}]


def test_a_task_without_tracking_waits_in_its_worker(
    on_yarn: Operator, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.INFO)
    document = on_yarn(yarn_track_via_rm_api=False).execute(context())
    assert document["outcome"] == "completed"
    assert "This task waits in its worker" in caplog.text + "".join(capfd.readouterr())
