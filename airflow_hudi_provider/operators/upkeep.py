"""What the operators of services that change the timeline only have in common."""

from typing import Any

from airflow_hudi_provider.exceptions import HudiTaskError
from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.operators.service_job import WorkerOrSparkOperator
from airflow_hudi_provider.results.recovery import recovery_answer, recovery_event
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.options.timeline_only import resolve_service_options


class UpkeepOperator(WorkerOrSparkOperator):
    """Base of those that undo, keep or tidy up, and can show beforehand what they would do.

    Each of their jobs can be ended at any moment and run again: it goes on where it stopped.

    :param preview: tell what would happen, and write nothing.
    """

    left_behind = "What was begun is finished when the task runs again."

    def __init__(self, *, preview: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.preview = preview

    def refuse_unknown_key(self, key: str) -> None:
        resolve_service_options(JobRequest(base_path="/", options={key: ""}))

    def look_after(self, table: HudiHook, request: JobRequest, result: JobResult | None) -> JobResult | None:
        """The job's own result, where the timeline bears it out.

        Raises:
            HudiTaskError: the timeline contradicts it.
        """
        if result is None or result.outcome is not Outcome.COMPLETED:
            return None
        if result.instant_time and not self.is_borne_out(table, result):
            raise HudiTaskError(
                f"The job says that it completed, but the timeline has no completed "
                f"{result.action or result.operation} {result.instant_time}. Look at .hoodie before running again."
            )
        return result

    def is_borne_out(self, table: HudiHook, result: JobResult) -> bool:
        """Whether the timeline has the instant that the job names."""
        return any(i.requested_time == result.instant_time for i in table.timeline().completed)

    def tell_what_is_left(self, table: HudiHook, request_id: str) -> None:
        pending = [f"{i.action.value} {i.requested_time}" for i in table.timeline().pending]
        self.log.warning(
            "Killed; pending: %s. Run the task again to finish.", ", ".join(pending) or "nothing"
        )

    def answer_of(self, result: JobResult) -> dict[str, Any]:
        return recovery_answer(result)

    def event_of(self, result: JobResult) -> dict[str, Any]:
        return recovery_event(result)
