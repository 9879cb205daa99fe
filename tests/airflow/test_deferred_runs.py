"""A task that is deferred while Spark runs: the run goes on without it, and whoever comes back judges by the table."""

import asyncio
import contextlib
import inspect
import logging
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import aclosing
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.common.compat.sdk import TaskDeferred
from task_context import TaskInstance, context

from airflow_hudi_provider.exceptions import HudiTaskError, HudiTaskRefusedError
from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator
from airflow_hudi_provider.supervision import run_files
from airflow_hudi_provider.supervision.supervised_run import RunState, SupervisedRun
from airflow_hudi_provider.triggers.spark_run import HudiSparkRunTrigger
from hudi_table_services.storage import turns
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.local import LocalStorage
from hudi_table_services.storage.turns import WriterQueue

Operator = Callable[..., UpsertWithSizingOperator]

WELL = "i = commit(); result(outcome='completed', instant_time=i.requested_time)"
LINE = "2024-05-01 10:00:00,000 INFO Wrote 3 of 5 file groups"
PATIENCE_S = 30.0


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Callable[[], str]:
    """What was logged since it was asked for last; Airflow's versions log in different ways."""
    caplog.set_level(logging.INFO)

    def tell() -> str:
        text = caplog.text + "".join(capfd.readouterr())
        caplog.clear()
        return text

    return tell


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the runs; none of their processes is left behind."""
    monkeypatch.setenv("AIRFLOW__HUDI__RUN_FOLDER", str(tmp_path / "runs"))
    yield tmp_path / "runs"
    for folder in (tmp_path / "runs").glob("*"):
        run = SupervisedRun(folder)
        run.ask_to_end()
        run.wait_for_end(PATIENCE_S)


def the_run(runs: Path) -> SupervisedRun:
    (folder,) = runs.iterdir()
    return SupervisedRun(folder)


def deferred(task: UpsertWithSizingOperator, **fields: Any) -> HudiSparkRunTrigger:
    """Execute the task; its trigger, as the triggerer has it."""
    with pytest.raises(TaskDeferred) as stopped:
        task.execute(context(**fields))
    assert stopped.value.method_name == "execute_when_over"
    trigger = stopped.value.trigger
    path, arguments = trigger.serialize()
    assert path == "airflow_hudi_provider.triggers.spark_run.HudiSparkRunTrigger"
    return HudiSparkRunTrigger(**{**arguments, "poke_interval": 0.05})


def event_of(trigger: HudiSparkRunTrigger) -> dict[str, Any]:
    async def wait() -> dict[str, Any]:
        async with aclosing(trigger.run()) as events:
            return (await asyncio.wait_for(anext(events), PATIENCE_S)).payload

    return asyncio.run(wait())


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def begins(tmp_path: Path) -> str:
    """Program text that notes each beginning, says so, and waits until it may go on."""
    return (
        f"open({str(tmp_path / 'begun')!r}, 'a').write('x'); print('Spark says this', flush=True); "
        f"print({LINE!r}, flush=True)\n"
        f"import time\nwhile not os.path.exists({str(tmp_path / 'go')!r}): time.sleep(0.05)\n"
    )


def begun(tmp_path: Path) -> int:
    path = tmp_path / "begun"
    return len(path.read_text()) if path.exists() else 0


def test_the_run_goes_on_while_the_task_is_deferred(
    operator: Operator, tmp_path: Path, runs: Path, told: Callable[[], str]
) -> None:
    task = operator(begins(tmp_path) + WELL, deferrable=True)
    trigger = deferred(task)
    until(lambda: begun(tmp_path) == 1)
    assert the_run(runs).look().state is RunState.RUNNING
    assert oct(os.stat(the_run(runs).folder).st_mode & 0o777) == "0o700"
    until(lambda: the_run(runs).output_bytes() > len(LINE))
    told()
    (tmp_path / "go").touch()
    event = event_of(trigger)
    assert event["state"] == "ended"
    meanwhile = told()
    assert "Wrote 3 of 5 file groups" in meanwhile, "lines of the job are in the log while it runs"
    assert "Spark says this" not in meanwhile
    result = operator(deferrable=True).execute_when_over(context(), event)
    assert result["outcome"] == "completed"
    assert not list(runs.iterdir()), "the request may hold credentials"
    assert "Spark says this" in told()


def test_a_job_that_refuses_is_not_tried_again(operator: Operator, runs: Path) -> None:
    task = operator("failed('InvalidDataError', False); sys.exit(65)", deferrable=True)
    event = event_of(deferred(task))
    with pytest.raises(HudiTaskRefusedError, match="InvalidDataError"):
        task.execute_when_over(context(), event)
    assert not list(runs.iterdir())


def test_a_driver_that_dies_without_a_word(operator: Operator) -> None:
    task = operator("os.kill(os.getpid(), 9)", deferrable=True)
    event = event_of(deferred(task))
    with pytest.raises(HudiTaskError, match="exit code -9"):
        task.execute_when_over(context(), event)


def test_a_spark_submit_that_is_not_there(
    operator: Operator, tmp_path: Path, runs: Path, told: Callable[[], str]
) -> None:
    task = operator(deferrable=True, spark_binary=str(tmp_path / "nowhere"))
    with pytest.raises(HudiTaskError) as error:
        task.execute(context())
    assert "The run was not begun: FileNotFoundError" in f"{error.value} {told()}"
    assert not list(runs.iterdir())


def test_a_retry_takes_up_the_run(operator: Operator, tmp_path: Path) -> None:
    body = begins(tmp_path) + WELL
    deferred(operator(body, deferrable=True))
    until(lambda: begun(tmp_path) == 1)
    trigger = deferred(operator(body, deferrable=True))
    (tmp_path / "go").touch()
    event = event_of(trigger)
    assert operator(deferrable=True).execute_when_over(context(), event)["outcome"] == "completed"
    assert begun(tmp_path) == 1


def test_a_run_that_ended_while_nobody_looked_is_not_repeated(
    operator: Operator, tmp_path: Path, runs: Path
) -> None:
    (tmp_path / "go").touch()
    body = begins(tmp_path) + "result(outcome='nothing_to_do', reason='The source is empty.')"
    deferred(operator(body, deferrable=True))
    assert the_run(runs).wait_for_end(PATIENCE_S).state is RunState.ENDED
    event = event_of(deferred(operator(body, deferrable=True)))
    assert operator(deferrable=True).execute_when_over(context(), event)["outcome"] == "nothing_to_do"
    assert begun(tmp_path) == 1


def test_nor_is_one_that_committed(
    operator: Operator, tmp_path: Path, runs: Path, told: Callable[[], str]
) -> None:
    """Its worker died before the task could be deferred."""
    (tmp_path / "go").touch()
    deferred(operator(begins(tmp_path) + WELL, deferrable=True))
    assert the_run(runs).wait_for_end(PATIENCE_S).state is RunState.ENDED
    told()
    document = operator("sys.exit(1)", deferrable=True).execute(context())
    assert (document["outcome"], document["reused"]) == ("completed", True)
    assert "Spark says this" in told()
    assert not list(runs.iterdir())


def test_one_that_failed_while_nobody_looked_is(operator: Operator, tmp_path: Path, runs: Path) -> None:
    (tmp_path / "go").touch()
    deferred(operator(begins(tmp_path) + "sys.exit(1)", deferrable=True))
    the_run(runs).wait_for_end(PATIENCE_S)
    event = event_of(deferred(operator(begins(tmp_path) + WELL, deferrable=True)))
    assert operator(deferrable=True).execute_when_over(context(), event)["outcome"] == "completed"
    assert begun(tmp_path) == 2


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


def test_somebody_clears_the_deferred_task(
    operator: Operator, tmp_path: Path, runs: Path, told: Callable[[], str]
) -> None:
    body = begins(tmp_path) + "subprocess.Popen(['sleep', '300']).wait()"
    trigger = deferred(operator("import subprocess\nbegin()\n" + body, deferrable=True))
    (tmp_path / "go").touch()
    until(lambda: any(_is_sleeping(child) for child in _processes(runs)))
    family = _processes(runs)
    asyncio.run(trigger.on_kill())
    assert [each for each in family if each.is_running() and each.status() != "zombie"] == []
    assert "was pending: readers see the table as it was" in told()
    event = event_of(deferred(operator(begins(tmp_path) + WELL, deferrable=True)))
    assert operator(deferrable=True).execute_when_over(context(), event)["outcome"] == "completed"
    assert begun(tmp_path) == 2


def _processes(runs: Path) -> list[psutil.Process]:
    state = run_files.read_json(the_run(runs).folder / run_files.STATE) or {}
    driver = psutil.Process(state["pid"])
    return [driver, *driver.children(recursive=True)]


def _is_sleeping(process: psutil.Process) -> bool:
    return process.name() == "sleep"


def test_its_time_is_over(operator: Operator, tmp_path: Path, runs: Path) -> None:
    from airflow_versions import TaskDeferralTimeout

    task = operator(begins(tmp_path) + WELL, deferrable=True, execution_timeout=timedelta(minutes=5))
    with pytest.raises(TaskDeferred) as stopped:
        task.execute(context())
    assert stopped.value.timeout == timedelta(minutes=5)
    with pytest.raises(TaskDeferralTimeout):
        task.resume_execution("__fail__", {"error": "Trigger timeout"}, context())
    seen = the_run(runs).look()
    assert (seen.state, seen.was_asked) == (RunState.ENDED, True)


def test_a_triggerer_that_does_not_see_the_run(
    operator: Operator, tmp_path: Path, told: Callable[[], str]
) -> None:
    task = operator(begins(tmp_path) + WELL, deferrable=True)
    trigger = deferred(task)
    blind = HudiSparkRunTrigger(**{**trigger.serialize()[1], "folder": str(tmp_path / "elsewhere")})
    event = event_of(blind)
    assert event["state"] == "absent"
    until(lambda: begun(tmp_path) == 1)
    (tmp_path / "go").touch()
    assert task.execute_when_over(context(), event)["outcome"] == "completed"
    said = told()
    assert "so this task waits itself" in said
    assert "Wrote 3 of 5 file groups" in said


def test_a_worker_that_does_not_see_the_run_goes_by_the_timeline(
    operator: Operator, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = operator(deferrable=True)
    event = event_of(deferred(task))
    monkeypatch.setenv("AIRFLOW__HUDI__RUN_FOLDER", str(tmp_path / "of another machine"))
    assert task.execute_when_over(context(), event)["outcome"] == "completed"
    monkeypatch.setenv("AIRFLOW__HUDI__RUN_FOLDER", str(runs))


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
    """A driver may take its time to end, or Airflow's time for it be over."""
    monkeypatch.setenv("AIRFLOW__TRIGGERER__ON_KILL_TIMEOUT", "4")
    queue = WriterQueue(LocalStorage(str(tmp_path / "table")), SystemClock())
    stays = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n{begins(tmp_path)}"
    trigger = deferred(operator(stays, deferrable=True, take_turns=True))
    until(lambda: begun(tmp_path) == 1)

    async def cut_off() -> None:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(trigger.on_kill(), 4)

    asyncio.run(cut_off())
    assert the_run(runs).look().state is RunState.RUNNING
    assert queue.wait("behind").is_turn


def test_airflow_cancels_again_and_again_until_the_end(
    operator: Operator,
    tmp_path: Path,
    runs: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Its triggerer does, in each round, from the moment that somebody ended the task."""
    caplog.set_level(logging.INFO)
    trigger = deferred(operator(begins(tmp_path), deferrable=True))
    until(lambda: begun(tmp_path) == 1)

    async def rounds() -> None:
        ending = asyncio.create_task(trigger.on_kill())
        while not ending.done():
            await asyncio.sleep(0.05)
            ending.cancel("__airflow_user_action__")

    asyncio.run(rounds())
    assert the_run(runs).look().state is RunState.ENDED
    told = caplog.text + "".join(capfd.readouterr())
    assert "nothing of this request that is pending" in told
    assert "is over" not in told


def test_a_task_that_was_cleared_without_a_triggerer_begins_anew(
    operator: Operator, tmp_path: Path, runs: Path
) -> None:
    """Nobody was there to end the run; Airflow counts more tries as allowed than before."""
    deferred(operator(begins(tmp_path) + WELL, deferrable=True, retries=3), ti=TaskInstance(max_tries=3))
    until(lambda: begun(tmp_path) == 1)
    before = _processes(runs)
    deferred(operator(begins(tmp_path) + WELL, deferrable=True, retries=3), ti=TaskInstance(max_tries=5))
    assert not before[0].is_running()
    until(lambda: begun(tmp_path) == 2)


def test_writing_again_ends_the_run_before(operator: Operator, tmp_path: Path, runs: Path) -> None:
    body = begins(tmp_path) + WELL
    arguments = {"deferrable": True, "on_rerun": "write_again"}
    deferred(operator(body, **arguments))
    until(lambda: begun(tmp_path) == 1)
    before = _processes(runs)
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
    assert the_run(runs).look().state is RunState.ENDED


@pytest.mark.skipif(
    "post_submit_commands" not in inspect.signature(SparkSubmitOperator.__init__).parameters,
    reason="this Spark provider has no such argument",
)
def test_what_runs_after_spark_submit_would_run_at_once(operator: Operator) -> None:
    with pytest.raises(ValueError, match="load: post_submit_commands would run before the job ends"):
        operator(deferrable=True, post_submit_commands=["true"])


def test_a_supervisor_that_is_told_to_stop_ends_the_run(
    operator: Operator, tmp_path: Path, runs: Path
) -> None:
    """As the init of a machine does it."""
    deferred(operator(begins(tmp_path) + WELL, deferrable=True))
    until(lambda: begun(tmp_path) == 1)
    _processes(runs)[0].parent().terminate()
    seen = the_run(runs).wait_for_end(PATIENCE_S)
    assert (seen.state, seen.was_asked) == (RunState.ENDED, True)


def test_two_cannot_supervise_one_run(operator: Operator, tmp_path: Path, runs: Path) -> None:
    deferred(operator(begins(tmp_path) + WELL, deferrable=True))
    until(lambda: begun(tmp_path) == 1)
    launcher = the_run(runs).folder / run_files.LAUNCHER
    second = subprocess.run([launcher], capture_output=True, text=True, check=False)
    assert second.returncode == 1
    assert "The run was not begun: BlockingIOError" in second.stdout
    assert begun(tmp_path) == 1
