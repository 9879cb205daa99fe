"""Supervised runs that are killed or whose supervisor dies, and the release of their turn in the writer queue."""

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
    SUCCEED,
    TIMEOUT_S,
    count_starts,
    deferred,
    event_of,
    only_run,
    processes,
    wait_until,
    waiting_program,
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


def test_the_driver_of_a_dead_supervisor_ends(operator: Operator, tmp_path: Path, runs: Path) -> None:
    task = operator(waiting_program(tmp_path) + SUCCEED, deferrable=True)
    trigger = deferred(task)
    wait_until(lambda: count_starts(tmp_path) == 1)
    state = run_files.read_json(only_run(runs).folder / run_files.STATE)
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
    event = event_of(deferred(operator(waiting_program(tmp_path) + SUCCEED, deferrable=True)))
    assert task.execute_when_over(context(), event)["outcome"] == "completed"


def test_clearing_the_deferred_task_ends_its_run(
    operator: Operator, tmp_path: Path, runs: Path, read_log: Callable[[], str]
) -> None:
    body = waiting_program(tmp_path) + "subprocess.Popen(['sleep', '300']).wait()"
    trigger = deferred(operator("import subprocess\nbegin()\n" + body, deferrable=True))
    (tmp_path / "go").touch()
    wait_until(lambda: any(_is_sleeping(child) for child in processes(runs)))
    family = processes(runs)
    asyncio.run(trigger.on_kill())
    assert [each for each in family if each.is_running() and each.status() != "zombie"] == []
    assert "was pending: readers see the table as it was" in read_log()
    event = event_of(deferred(operator(waiting_program(tmp_path) + SUCCEED, deferrable=True)))
    assert operator(deferrable=True).execute_when_over(context(), event)["outcome"] == "completed"
    assert count_starts(tmp_path) == 2


def test_a_task_that_exceeds_its_timeout_ends_its_run(operator: Operator, tmp_path: Path, runs: Path) -> None:
    from support.airflow.airflow_versions import TaskDeferralTimeout

    task = operator(
        waiting_program(tmp_path) + SUCCEED, deferrable=True, execution_timeout=timedelta(minutes=5)
    )
    with pytest.raises(TaskDeferred) as stopped:
        task.execute(context())
    assert stopped.value.timeout == timedelta(minutes=5)
    with pytest.raises(TaskDeferralTimeout):
        task.resume_execution("__fail__", {"error": "Trigger timeout"}, context())
    seen = only_run(runs).observe()
    assert (seen.state, seen.was_asked) == (RunState.ENDED, True)


def test_a_deferred_task_keeps_its_turn_until_it_completes(operator: Operator, tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path / "table"))
    queue = WriterQueue(storage, SystemClock())
    body = waiting_program(tmp_path) + SUCCEED
    trigger = deferred(operator(body, deferrable=True, take_turns=True))
    assert not queue.wait("behind").is_turn
    wait_until(lambda: count_starts(tmp_path) == 1)
    (tmp_path / "go").touch()
    before = storage.modified_ms(f"{turns.FOLDER}/writing")
    event = event_of(trigger)
    assert storage.modified_ms(f"{turns.FOLDER}/writing") > before, "the trigger refreshes the turn"
    assert not queue.wait("behind").is_turn
    assert operator(deferrable=True, take_turns=True).execute_when_over(context(), event)
    assert queue.wait("behind").is_turn


def test_a_cleared_task_releases_its_turn(operator: Operator, tmp_path: Path) -> None:
    queue = WriterQueue(LocalStorage(str(tmp_path / "table")), SystemClock())
    trigger = deferred(operator(waiting_program(tmp_path) + SUCCEED, deferrable=True, take_turns=True))
    asyncio.run(trigger.on_kill())
    assert queue.wait("behind").is_turn


def test_a_cleared_task_releases_its_turn_before_its_run_has_ended(
    operator: Operator, tmp_path: Path, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A driver may end slowly, or Airflow's time limit for the cleanup may expire."""
    monkeypatch.setenv("AIRFLOW__TRIGGERER__ON_KILL_TIMEOUT", "4")
    queue = WriterQueue(LocalStorage(str(tmp_path / "table")), SystemClock())
    stays = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n{waiting_program(tmp_path)}"
    trigger = deferred(operator(stays, deferrable=True, take_turns=True))
    wait_until(lambda: count_starts(tmp_path) == 1)

    async def cut_off() -> None:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(trigger.on_kill(), 4)

    asyncio.run(cut_off())
    assert only_run(runs).observe().state is RunState.RUNNING
    assert queue.wait("behind").is_turn


def test_repeated_cancellations_by_airflow_do_not_interrupt_on_kill(
    operator: Operator,
    tmp_path: Path,
    runs: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """After a task was cleared, the triggerer cancels its trigger in each round of its loop."""
    caplog.set_level(logging.INFO)
    trigger = deferred(operator(waiting_program(tmp_path), deferrable=True))
    wait_until(lambda: count_starts(tmp_path) == 1)

    async def rounds() -> None:
        ending = asyncio.create_task(trigger.on_kill())
        while not ending.done():
            await asyncio.sleep(0.05)
            ending.cancel("__airflow_user_action__")

    asyncio.run(rounds())
    assert only_run(runs).observe().state is RunState.ENDED
    logged = caplog.text + "".join(capfd.readouterr())
    assert "no instant of this request is pending" in logged
    assert "is over" not in logged


def test_a_task_cleared_without_a_triggerer_starts_a_new_run(
    operator: Operator, tmp_path: Path, runs: Path
) -> None:
    """No triggerer ended the run; Airflow raised the number of allowed tries."""
    deferred(
        operator(waiting_program(tmp_path) + SUCCEED, deferrable=True, retries=3),
        ti=TaskInstance(max_tries=3),
    )
    wait_until(lambda: count_starts(tmp_path) == 1)
    before = processes(runs)
    deferred(
        operator(waiting_program(tmp_path) + SUCCEED, deferrable=True, retries=3),
        ti=TaskInstance(max_tries=5),
    )
    assert not before[0].is_running()
    wait_until(lambda: count_starts(tmp_path) == 2)


def test_writing_again_ends_the_earlier_run(operator: Operator, tmp_path: Path, runs: Path) -> None:
    body = waiting_program(tmp_path) + SUCCEED
    arguments = {"deferrable": True, "on_rerun": "write_again"}
    deferred(operator(body, **arguments))
    wait_until(lambda: count_starts(tmp_path) == 1)
    before = processes(runs)
    trigger = deferred(operator(body, **arguments), ti=TaskInstance(max_tries=1))
    assert not before[0].is_running()
    (tmp_path / "go").touch()
    event = event_of(trigger)
    document = operator(**arguments).execute_when_over(context(ti=TaskInstance(max_tries=1)), event)
    assert document["request_id"].endswith("#1")


def test_a_kill_of_the_task_ends_its_run(operator: Operator, tmp_path: Path, runs: Path) -> None:
    task = operator(waiting_program(tmp_path) + SUCCEED, deferrable=True)
    deferred(task)
    wait_until(lambda: count_starts(tmp_path) == 1)
    task.on_kill()
    assert only_run(runs).observe().state is RunState.ENDED


def test_a_supervisor_that_receives_sigterm_ends_the_run(
    operator: Operator, tmp_path: Path, runs: Path
) -> None:
    """The init process of a machine stops processes with this signal."""
    deferred(operator(waiting_program(tmp_path) + SUCCEED, deferrable=True))
    wait_until(lambda: count_starts(tmp_path) == 1)
    processes(runs)[0].parent().terminate()
    seen = only_run(runs).wait_for_end(TIMEOUT_S)
    assert (seen.state, seen.was_asked) == (RunState.ENDED, True)
