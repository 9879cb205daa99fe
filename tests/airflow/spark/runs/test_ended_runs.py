"""Supervised runs that a user ends, or whose supervisor ends; and the end of their turn to write."""

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import psutil
import pytest
from airflow.providers.common.compat.sdk import TaskDeferred
from supervised_runs import (
    PATIENCE_S,
    WELL,
    begins,
    begun,
    deferred,
    event_of,
    processes,
    the_run,
    until,
)

from airflow_hudi_provider.exceptions import HudiTaskError
from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator
from airflow_hudi_provider.spark import run_files
from airflow_hudi_provider.spark.supervised_run import RunState
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.locks import turns
from hudi_table_services.storage.locks.turns import WriterQueue
from hudi_table_services.storage.stores.local import LocalStorage
from support.airflow.task_context import TaskInstance, context

Operator = Callable[..., UpsertWithSizingOperator]


def _is_sleeping(process: psutil.Process) -> bool:
    return process.name() == "sleep"


def test_a_dead_supervisor_does_not_leave_a_driver_behind(
    operator: Operator, tmp_path: Path, runs: Path
) -> None:
    task = operator(begins(tmp_path) + WELL, deferrable=True)
    trigger = deferred(task)
    until(lambda: begun(tmp_path) == 1)
    state = run_files.read_json(the_run(runs).folder / run_files.STATE)
    assert state is not None
    driver = psutil.Process(state["pid"])
    os.kill(driver.ppid(), signal.SIGKILL)
    event = event_of(trigger)
    assert event["state"] == "lost"
    assert driver.is_running()
    with pytest.raises(HudiTaskError, match="supervisor of the Spark run died"):
        task.execute_when_over(context(), event)
    assert not driver.is_running()
    (tmp_path / "go").touch()
    event = event_of(deferred(operator(begins(tmp_path) + WELL, deferrable=True)))
    assert task.execute_when_over(context(), event)["outcome"] == "completed"


def test_a_deferred_task_is_cleared(
    operator: Operator, tmp_path: Path, runs: Path, told: Callable[[], str]
) -> None:
    body = begins(tmp_path) + "subprocess.Popen(['sleep', '300']).wait()"
    trigger = deferred(operator("import subprocess\nbegin()\n" + body, deferrable=True))
    (tmp_path / "go").touch()
    until(lambda: any(_is_sleeping(child) for child in processes(runs)))
    family = processes(runs)
    asyncio.run(trigger.on_kill())
    assert [each for each in family if each.is_running() and each.status() != "zombie"] == []
    assert "was pending: readers see the table as it was" in told()
    event = event_of(deferred(operator(begins(tmp_path) + WELL, deferrable=True)))
    assert operator(deferrable=True).execute_when_over(context(), event)["outcome"] == "completed"
    assert begun(tmp_path) == 2


def test_its_time_is_over(operator: Operator, tmp_path: Path, runs: Path) -> None:
    from support.airflow.airflow_versions import TaskDeferralTimeout

    task = operator(begins(tmp_path) + WELL, deferrable=True, execution_timeout=timedelta(minutes=5))
    with pytest.raises(TaskDeferred) as stopped:
        task.execute(context())
    assert stopped.value.timeout == timedelta(minutes=5)
    with pytest.raises(TaskDeferralTimeout):
        task.resume_execution("__fail__", {"error": "Trigger timeout"}, context())
    seen = the_run(runs).observe()
    assert (seen.state, seen.was_asked) == (RunState.ENDED, True)


def test_its_turn_lasts_as_long_as_its_run(operator: Operator, tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path / "table"))
    queue = WriterQueue(storage, SystemClock())
    body = begins(tmp_path) + WELL
    trigger = deferred(operator(body, deferrable=True, take_turns=True))
    assert not queue.wait("behind").is_turn
    until(lambda: begun(tmp_path) == 1)
    (tmp_path / "go").touch()
    before = storage.modified_ms(f"{turns.FOLDER}/writing")
    event = event_of(trigger)
    assert storage.modified_ms(f"{turns.FOLDER}/writing") > before, "the trigger gives signs of life"
    assert not queue.wait("behind").is_turn
    assert operator(deferrable=True, take_turns=True).execute_when_over(context(), event)
    assert queue.wait("behind").is_turn


def test_a_cleared_task_gives_up_its_turn(operator: Operator, tmp_path: Path) -> None:
    queue = WriterQueue(LocalStorage(str(tmp_path / "table")), SystemClock())
    trigger = deferred(operator(begins(tmp_path) + WELL, deferrable=True, take_turns=True))
    asyncio.run(trigger.on_kill())
    assert queue.wait("behind").is_turn


def test_its_turn_is_free_before_its_run_has_ended(
    operator: Operator, tmp_path: Path, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A driver may end slowly, or the time that Airflow allows may be over."""
    monkeypatch.setenv("AIRFLOW__TRIGGERER__ON_KILL_TIMEOUT", "4")
    queue = WriterQueue(LocalStorage(str(tmp_path / "table")), SystemClock())
    stays = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n{begins(tmp_path)}"
    trigger = deferred(operator(stays, deferrable=True, take_turns=True))
    until(lambda: begun(tmp_path) == 1)

    async def cut_off() -> None:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(trigger.on_kill(), 4)

    asyncio.run(cut_off())
    assert the_run(runs).observe().state is RunState.RUNNING
    assert queue.wait("behind").is_turn


def test_airflow_cancels_again_and_again_until_the_end(
    operator: Operator,
    tmp_path: Path,
    runs: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The triggerer cancels in each round after a user has ended the task."""
    caplog.set_level(logging.INFO)
    trigger = deferred(operator(begins(tmp_path), deferrable=True))
    until(lambda: begun(tmp_path) == 1)

    async def rounds() -> None:
        ending = asyncio.create_task(trigger.on_kill())
        while not ending.done():
            await asyncio.sleep(0.05)
            ending.cancel("__airflow_user_action__")

    asyncio.run(rounds())
    assert the_run(runs).observe().state is RunState.ENDED
    told = caplog.text + "".join(capfd.readouterr())
    assert "no instant of this request is pending" in told
    assert "is over" not in told


def test_a_task_that_was_cleared_without_a_triggerer_begins_anew(
    operator: Operator, tmp_path: Path, runs: Path
) -> None:
    """No triggerer ended the run; a clearing raises Airflow's number of allowed tries."""
    deferred(operator(begins(tmp_path) + WELL, deferrable=True, retries=3), ti=TaskInstance(max_tries=3))
    until(lambda: begun(tmp_path) == 1)
    before = processes(runs)
    deferred(operator(begins(tmp_path) + WELL, deferrable=True, retries=3), ti=TaskInstance(max_tries=5))
    assert not before[0].is_running()
    until(lambda: begun(tmp_path) == 2)


def test_writing_again_ends_the_run_before(operator: Operator, tmp_path: Path, runs: Path) -> None:
    body = begins(tmp_path) + WELL
    arguments = {"deferrable": True, "on_rerun": "write_again"}
    deferred(operator(body, **arguments))
    until(lambda: begun(tmp_path) == 1)
    before = processes(runs)
    trigger = deferred(operator(body, **arguments), ti=TaskInstance(max_tries=1))
    assert not before[0].is_running()
    (tmp_path / "go").touch()
    event = event_of(trigger)
    document = operator(**arguments).execute_when_over(context(ti=TaskInstance(max_tries=1)), event)
    assert document["request_id"].endswith("#1")


def test_a_kill_while_the_task_follows_its_run(operator: Operator, tmp_path: Path, runs: Path) -> None:
    task = operator(begins(tmp_path) + WELL, deferrable=True)
    deferred(task)
    until(lambda: begun(tmp_path) == 1)
    task.on_kill()
    assert the_run(runs).observe().state is RunState.ENDED


def test_a_supervisor_that_gets_a_signal_ends_the_run(operator: Operator, tmp_path: Path, runs: Path) -> None:
    """As the init process of a machine does."""
    deferred(operator(begins(tmp_path) + WELL, deferrable=True))
    until(lambda: begun(tmp_path) == 1)
    processes(runs)[0].parent().terminate()
    seen = the_run(runs).wait_for_end(PATIENCE_S)
    assert (seen.state, seen.was_asked) == (RunState.ENDED, True)
