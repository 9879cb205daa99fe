"""Base class of the operators for cleaning, archival, the metadata table, savepoints, rollback, restore and repair."""

from typing import Any, ClassVar

from airflow_hudi_provider.exceptions import HudiTaskError
from airflow_hudi_provider.operators.service_job import HudiServiceOperator, RunOn
from airflow_hudi_provider.results.recovery import recovery_answer, recovery_event
from airflow_hudi_provider.tasks.request_state import state_of_service
from airflow_hudi_provider.tasks.run import TaskRun
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.options.timeline_only import resolve_service_options


class UpkeepOperator(HudiServiceOperator):
    """Base of the operators for cleaning, archival, the metadata table and recovery. Each operator has a preview.

    You can end the job of each operator at any time. If you run the job again, it completes the remaining work.

    :param preview: report what would happen, and write nothing.
    :param run_on: where the job runs: ``worker`` (in the task's process), or ``spark`` (submitted to Spark) for tables
        with too much metadata for a worker.
    """

    action: ClassVar[str] = ""
    """Action of the job's instants on the timeline. An operator without such instants overrides `changed_so_far`."""

    left_behind = "The next run of the task completes the changes that this run began."

    def __init__(self, *, preview: bool = False, run_on: RunOn = "worker", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.preview = preview
        self.choose_where_to_run(run_on)

    def refuse_unknown_key(self, key: str) -> None:
        resolve_service_options(JobRequest(base_path="/", options={key: ""}))

    def confirm(self, run: TaskRun, request: JobRequest, result: JobResult | None) -> JobResult | None:
        """Return the result that the job reported, if the timeline confirms the result.

        Raises:
            HudiTaskError: the timeline contradicts the result.
        """
        if result is None or result.outcome is not Outcome.COMPLETED:
            return None
        if result.instant_time and not self.is_confirmed(run, result):
            raise HudiTaskError(
                "The job reported success, but the timeline has no completed "
                f"{result.action or result.operation} {result.instant_time}. Check the timeline in .hoodie before you "
                "run the task again."
            )
        return result

    def is_confirmed(self, run: TaskRun, result: JobResult) -> bool:
        """Return whether the timeline confirms the instant in the job's result."""
        return any(i.requested_time == result.instant_time for i in run.table.timeline().completed)

    def table_after_failure(self, run: TaskRun) -> str:
        if run.table.find_table_config() is None:
            return "There is no table."
        return "Nothing was changed: a preview writes nothing." if self.preview else self.changed_so_far(run)

    def changed_so_far(self, run: TaskRun) -> str:
        """Return a sentence about the table after a failed job. Call this method only if the table exists."""
        return state_of_service(run.table, run.request_id, self.action, otherwise=self.left_behind)

    def log_state_after_kill(self, run: TaskRun) -> None:
        pending = [f"{i.action.value} {i.requested_time}" for i in run.table.timeline().pending]
        self.log.warning(
            "The task was killed; these instants are pending: %s. Run the task again to complete its work.",
            ", ".join(pending) or "none",
        )

    def answer_of(self, result: JobResult) -> dict[str, Any]:
        return recovery_answer(result)

    def event_of(self, result: JobResult) -> dict[str, Any]:
        return recovery_event(result)
