"""A task is deferred while Spark runs. The run continues, and the resumed task reads the outcome."""

import inspect
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from supervised_runs import (
    LINE,
    SUCCEED,
    TIMEOUT_S,
    count_starts,
    deferred,
    event_of,
    only_run,
    wait_until,
    waiting_program,
)

from airflow_hudi_provider.exceptions import HudiTaskError, HudiTaskRefusedError
from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator
from airflow_hudi_provider.spark import run_files
from airflow_hudi_provider.spark.supervised_run import RunState
from airflow_hudi_provider.triggers.spark_run import HudiSparkRunTrigger
from support.airflow.task_context import context

Operator = Callable[..., UpsertWithSizingOperator]


def test_the_run_continues_while_the_task_is_deferred(
    operator: Operator, tmp_path: Path, runs: Path, read_log: Callable[[], str]
) -> None:
    task = operator(waiting_program(tmp_path) + SUCCEED, deferrable=True)
    trigger = deferred(task)
    wait_until(lambda: count_starts(tmp_path) == 1)
    assert only_run(runs).observe().state is RunState.RUNNING
    assert oct(os.stat(only_run(runs).folder).st_mode & 0o777) == "0o700"
    wait_until(lambda: only_run(runs).output_bytes() > len(LINE))
    read_log()
    (tmp_path / "go").touch()
    event = event_of(trigger)
    assert event["state"] == "ended"
    log_during_the_run = read_log()
    assert "Wrote 3 of 5 file groups" in log_during_the_run, "lines of the job are in the log while it runs"
    assert "a line of Spark" not in log_during_the_run
    result = operator(deferrable=True).execute_when_over(context(), event)
    assert result["outcome"] == "completed"
    assert not list(runs.iterdir()), (
        "the run's folder is removed, because its request may contain credentials"
    )
    assert "a line of Spark" in read_log()


def test_a_job_that_refuses_its_input_is_not_retried(operator: Operator, runs: Path) -> None:
    task = operator("failed('InvalidDataError', False); sys.exit(65)", deferrable=True)
    event = event_of(deferred(task))
    with pytest.raises(HudiTaskRefusedError, match="InvalidDataError"):
        task.execute_when_over(context(), event)
    assert not list(runs.iterdir())


def test_a_killed_driver_fails_the_task_with_its_exit_code(operator: Operator) -> None:
    task = operator("os.kill(os.getpid(), 9)", deferrable=True)
    event = event_of(deferred(task))
    with pytest.raises(HudiTaskError, match="exit code -9"):
        task.execute_when_over(context(), event)


def test_a_missing_spark_submit_is_reported(
    operator: Operator, tmp_path: Path, runs: Path, read_log: Callable[[], str]
) -> None:
    task = operator(deferrable=True, spark_binary=str(tmp_path / "nowhere"))
    with pytest.raises(HudiTaskError) as error:
        task.execute(context())
    assert "The run did not begin: FileNotFoundError" in f"{error.value} {read_log()}"
    assert not list(runs.iterdir())


def test_a_retry_continues_the_run(operator: Operator, tmp_path: Path) -> None:
    body = waiting_program(tmp_path) + SUCCEED
    deferred(operator(body, deferrable=True))
    wait_until(lambda: count_starts(tmp_path) == 1)
    trigger = deferred(operator(body, deferrable=True))
    (tmp_path / "go").touch()
    event = event_of(trigger)
    assert operator(deferrable=True).execute_when_over(context(), event)["outcome"] == "completed"
    assert count_starts(tmp_path) == 1


def test_an_unobserved_run_that_ended_is_not_repeated(operator: Operator, tmp_path: Path, runs: Path) -> None:
    (tmp_path / "go").touch()
    body = waiting_program(tmp_path) + "result(outcome='nothing_to_do', reason='The source is empty.')"
    deferred(operator(body, deferrable=True))
    assert only_run(runs).wait_for_end(TIMEOUT_S).state is RunState.ENDED
    event = event_of(deferred(operator(body, deferrable=True)))
    assert operator(deferrable=True).execute_when_over(context(), event)["outcome"] == "nothing_to_do"
    assert count_starts(tmp_path) == 1


def test_an_unobserved_run_that_committed_is_not_repeated(
    operator: Operator, tmp_path: Path, runs: Path, read_log: Callable[[], str]
) -> None:
    """The worker died before the task could be deferred."""
    (tmp_path / "go").touch()
    deferred(operator(waiting_program(tmp_path) + SUCCEED, deferrable=True))
    assert only_run(runs).wait_for_end(TIMEOUT_S).state is RunState.ENDED
    read_log()
    document = operator("sys.exit(1)", deferrable=True).execute(context())
    assert (document["outcome"], document["reused"]) == ("completed", True)
    assert "a line of Spark" in read_log()
    assert not list(runs.iterdir())


def test_an_unobserved_run_that_failed_is_repeated(operator: Operator, tmp_path: Path, runs: Path) -> None:
    (tmp_path / "go").touch()
    deferred(operator(waiting_program(tmp_path) + "sys.exit(1)", deferrable=True))
    only_run(runs).wait_for_end(TIMEOUT_S)
    event = event_of(deferred(operator(waiting_program(tmp_path) + SUCCEED, deferrable=True)))
    assert operator(deferrable=True).execute_when_over(context(), event)["outcome"] == "completed"
    assert count_starts(tmp_path) == 2


def test_a_task_waits_in_its_worker_if_the_triggerer_cannot_read_the_folder_of_the_run(
    operator: Operator, tmp_path: Path, read_log: Callable[[], str]
) -> None:
    task = operator(waiting_program(tmp_path) + SUCCEED, deferrable=True)
    trigger = deferred(task)
    blind_trigger = HudiSparkRunTrigger(**{**trigger.serialize()[1], "folder": str(tmp_path / "elsewhere")})
    event = event_of(blind_trigger)
    assert event["state"] == "absent"
    wait_until(lambda: count_starts(tmp_path) == 1)
    (tmp_path / "go").touch()
    assert task.execute_when_over(context(), event)["outcome"] == "completed"
    logged = read_log()
    assert "so this task waits in its worker" in logged
    assert "Wrote 3 of 5 file groups" in logged


def test_a_worker_that_cannot_read_the_folder_of_the_run_reads_the_timeline(
    operator: Operator, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = operator(deferrable=True)
    event = event_of(deferred(task))
    monkeypatch.setenv("AIRFLOW__HUDI__RUN_FOLDER", str(tmp_path / "of another machine"))
    assert task.execute_when_over(context(), event)["outcome"] == "completed"
    monkeypatch.setenv("AIRFLOW__HUDI__RUN_FOLDER", str(runs))


@pytest.mark.skipif(
    "post_submit_commands" not in inspect.signature(SparkSubmitOperator.__init__).parameters,
    reason="this release of the Spark provider has no argument post_submit_commands",
)
def test_commands_after_spark_submit_are_refused(operator: Operator) -> None:
    with pytest.raises(ValueError, match="load: post_submit_commands would run before the job ends"):
        operator(deferrable=True, post_submit_commands=["true"])


def test_a_second_supervisor_of_a_run_is_refused(operator: Operator, tmp_path: Path, runs: Path) -> None:
    deferred(operator(waiting_program(tmp_path) + SUCCEED, deferrable=True))
    wait_until(lambda: count_starts(tmp_path) == 1)
    launcher = only_run(runs).folder / run_files.LAUNCHER
    second = subprocess.run([launcher], capture_output=True, text=True, check=False)
    assert second.returncode == 1
    assert "The run did not begin: BlockingIOError" in second.stdout
    assert count_starts(tmp_path) == 1
