"""A task that is deferred while Spark runs: the run continues, and the resumed task reads the table."""

import inspect
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from supervised_runs import LINE, PATIENCE_S, WELL, begins, begun, deferred, event_of, the_run, until

from airflow_hudi_provider.exceptions import HudiTaskError, HudiTaskRefusedError
from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator
from airflow_hudi_provider.spark import run_files
from airflow_hudi_provider.spark.supervised_run import RunState
from airflow_hudi_provider.triggers.spark_run import HudiSparkRunTrigger
from support.airflow.task_context import context

Operator = Callable[..., UpsertWithSizingOperator]


def test_the_run_continues_while_the_task_is_deferred(
    operator: Operator, tmp_path: Path, runs: Path, told: Callable[[], str]
) -> None:
    task = operator(begins(tmp_path) + WELL, deferrable=True)
    trigger = deferred(task)
    until(lambda: begun(tmp_path) == 1)
    assert the_run(runs).observe().state is RunState.RUNNING
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


def test_a_retry_continues_the_run(operator: Operator, tmp_path: Path) -> None:
    body = begins(tmp_path) + WELL
    deferred(operator(body, deferrable=True))
    until(lambda: begun(tmp_path) == 1)
    trigger = deferred(operator(body, deferrable=True))
    (tmp_path / "go").touch()
    event = event_of(trigger)
    assert operator(deferrable=True).execute_when_over(context(), event)["outcome"] == "completed"
    assert begun(tmp_path) == 1


def test_a_run_that_ended_unobserved_is_not_repeated(operator: Operator, tmp_path: Path, runs: Path) -> None:
    (tmp_path / "go").touch()
    body = begins(tmp_path) + "result(outcome='nothing_to_do', reason='The source is empty.')"
    deferred(operator(body, deferrable=True))
    assert the_run(runs).wait_for_end(PATIENCE_S).state is RunState.ENDED
    event = event_of(deferred(operator(body, deferrable=True)))
    assert operator(deferrable=True).execute_when_over(context(), event)["outcome"] == "nothing_to_do"
    assert begun(tmp_path) == 1


def test_a_run_that_committed_is_not_repeated(
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


def test_a_run_that_failed_unobserved_is_repeated(operator: Operator, tmp_path: Path, runs: Path) -> None:
    (tmp_path / "go").touch()
    deferred(operator(begins(tmp_path) + "sys.exit(1)", deferrable=True))
    the_run(runs).wait_for_end(PATIENCE_S)
    event = event_of(deferred(operator(begins(tmp_path) + WELL, deferrable=True)))
    assert operator(deferrable=True).execute_when_over(context(), event)["outcome"] == "completed"
    assert begun(tmp_path) == 2


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
    assert "so this task waits in its worker" in said
    assert "Wrote 3 of 5 file groups" in said


def test_a_worker_that_does_not_see_the_run_reads_the_timeline(
    operator: Operator, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = operator(deferrable=True)
    event = event_of(deferred(task))
    monkeypatch.setenv("AIRFLOW__HUDI__RUN_FOLDER", str(tmp_path / "of another machine"))
    assert task.execute_when_over(context(), event)["outcome"] == "completed"
    monkeypatch.setenv("AIRFLOW__HUDI__RUN_FOLDER", str(runs))


@pytest.mark.skipif(
    "post_submit_commands" not in inspect.signature(SparkSubmitOperator.__init__).parameters,
    reason="this Spark provider has no such argument",
)
def test_post_submit_commands_are_refused_when_deferrable(operator: Operator) -> None:
    with pytest.raises(ValueError, match="load: post_submit_commands would run before the job ends"):
        operator(deferrable=True, post_submit_commands=["true"])


def test_two_cannot_supervise_one_run(operator: Operator, tmp_path: Path, runs: Path) -> None:
    deferred(operator(begins(tmp_path) + WELL, deferrable=True))
    until(lambda: begun(tmp_path) == 1)
    launcher = the_run(runs).folder / run_files.LAUNCHER
    second = subprocess.run([launcher], capture_output=True, text=True, check=False)
    assert second.returncode == 1
    assert "The run was not begun: BlockingIOError" in second.stdout
    assert begun(tmp_path) == 1
