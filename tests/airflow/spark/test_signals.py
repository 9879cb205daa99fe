"""If a signal ends the process of a job, the task names the signal, its usual senders and a remedy."""

from collections.abc import Callable

import pytest

from airflow_hudi_provider.exceptions import HudiTaskError
from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator
from airflow_hudi_provider.results.task_outcome import JobEnd, decide_outcome
from airflow_hudi_provider.spark.signals import container_error, signal_error
from support.airflow.task_context import context


@pytest.mark.parametrize(
    ("exit_code", "name", "advice"),
    [
        (143, "SIGTERM", "Airflow, the cluster or an administrator"),
        (-15, "SIGTERM", "Airflow, the cluster or an administrator"),
        (137, "SIGKILL", "more memory"),
        (-9, "SIGKILL", "more memory"),
        (134, "SIGABRT", "crashed"),
        (-11, "SIGSEGV", "crashed"),
    ],
)
def test_the_error_names_the_signal_and_what_to_do(exit_code: int, name: str, advice: str) -> None:
    error = signal_error("spark-submit", exit_code)
    assert error is not None
    assert error.reason == f"spark-submit was ended by the signal {name} (exit code {exit_code})."
    assert advice in error.hint
    assert "Another try is safe: the next write rolls back the unfinished commit." in error.hint
    assert str(error) == f"{error.reason} {error.hint}"


@pytest.mark.parametrize("exit_code", [None, 0, 1, 64, 70, 78, 128, 255, -200])
def test_other_exit_codes_are_no_signals(exit_code: int | None) -> None:
    assert signal_error("spark-submit", exit_code) is None


def test_the_exception_of_the_task_keeps_the_advice() -> None:
    failure = signal_error("spark-submit", 137)
    end = JobEnd(request_id="r", committed=None, result=None, failure=failure, problem="No result.")
    with pytest.raises(
        HudiTaskError, match="SIGKILL .*No result. Nothing was committed. Most often"
    ) as caught:
        decide_outcome(end, None)
    assert caught.value.reason.endswith("No result. Nothing was committed.")
    assert caught.value.hint.startswith("Most often")


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        ("sys.exit(143)", r"SIGTERM \(exit code 143\)"),
        ("os.kill(os.getpid(), 15)", r"SIGTERM \(exit code -15\)"),
        ("os.kill(os.getpid(), 9)", r"SIGKILL \(exit code -9\)"),
    ],
)
def test_a_task_whose_spark_is_killed_gives_advice_instead_of_the_command_line(
    operator: Callable[..., UpsertWithSizingOperator], end: str, expected: str
) -> None:
    with pytest.raises(HudiTaskError, match=expected) as caught:
        operator(f"begin(); {end}").execute(context())
    assert "Cannot execute" not in str(caught.value)
    assert "Another try is safe" in caught.value.hint


def test_a_killed_container_of_the_driver_on_kubernetes_gives_advice() -> None:
    message = (
        "Cannot execute: spark-submit --master k8s://x. Error code is: 0. Kubernetes spark exit code is: {}."
    )
    error = container_error(message.format(137))
    assert error is not None
    assert "The container of the driver was ended by the signal SIGKILL (exit code 137)." in str(error)
    assert container_error(message.format(1)) is None
    assert container_error("Cannot execute: spark-submit. Error code is: 1.") is None
