"""The last steps of a killed task, within the five seconds that Airflow gives `on_kill`."""

from typing import TYPE_CHECKING

from airflow_hudi_provider.spark.processes import run_in_time

if TYPE_CHECKING:
    from airflow_hudi_provider.operators.job import HudiJobOperator
    from airflow_hudi_provider.spark.submission import Submission

_RELEASE_SECONDS = 1.0


def release_in_time(task: "HudiJobOperator", submission: "Submission") -> None:
    """Remove the request document and release the task's resources, but wait at most one second for both.

    Storage may be slow. Remove the document first: it may contain credentials, and no later process removes it. A turn
    in the writer queue, in contrast, expires.
    """
    run_in_time(
        (submission.forget_request, lambda: task.release(submission.run)),
        _RELEASE_SECONDS,
        lambda error: task.log.warning(
            "Could not remove the request document or the turn of the killed task: %s", error
        ),
    )


def log_state(task: "HudiJobOperator", submission: "Submission") -> None:
    """Log the state of the timeline after the job was killed. Log a warning if the timeline cannot be read."""
    if submission.is_on_cluster:
        task.log.warning(
            "The driver on the cluster may still run; the next log line describes the current state of the table."
        )
    try:
        task.log_state_after_kill(submission.run)
    except Exception as error:
        task.log.warning("Could not read the timeline after the kill: %s", error)
