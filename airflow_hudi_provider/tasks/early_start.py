"""In the task's process, run the part of a job that needs no Spark: wrong arguments then fail before Spark starts."""

from typing import TYPE_CHECKING

from hudi_table_services.contract.result import JobResult

if TYPE_CHECKING:
    from airflow_hudi_provider.operators.job import HudiJobOperator
    from airflow_hudi_provider.spark.submission import Submission
    from airflow_hudi_provider.tasks.run import TaskRun


def start_in_worker(task: "HudiJobOperator", run: "TaskRun", submission: "Submission") -> JobResult | None:
    """Return the result of the task's job if the job has nothing left to do on Spark; else None.

    The worker skips this part if an earlier try already submitted the job, or if the worker lacks a package that the
    checks need. The job itself makes the same checks.

    Raises:
        HudiTableServiceError: the job would fail with the same error.
    """
    if run.memory.follows_driver:
        return None
    from hudi_table_services.services.registry import script

    request = task.build_request(run.location, run.request_id, "")
    try:
        return script(task.script).start_without_spark(request, sees_local_files=submission.sees_local_files)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("hudi_table_services"):
            raise
        task.log.info(
            "The request is not checked before Spark starts, because the worker lacks the package %s.",
            error.name,
        )
        return None
