"""Tasks that write rows: the completed commit that carries the request's id is their witness."""

from typing import Any

from airflow_hudi_provider.exceptions import HudiTaskRefusedError
from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.operators.job import HudiJobOperator
from airflow_hudi_provider.task_memory import TaskMemory
from hudi_table_services.contract.completed_request import result_of_completed
from hudi_table_services.contract.job_request import JobRequest
from hudi_table_services.contract.job_result import JobResult, Outcome


class HudiWriteOperator(HudiJobOperator):
    """Base of the operators that write rows."""

    def __init__(self, *, dry_run: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.dry_run_only = dry_run

    def look_before(self, table: HudiHook, request: JobRequest, memory: TaskMemory) -> JobResult | None:
        """Result of an earlier try that committed and could not say so.

        Raises:
            HudiTaskRefusedError: the request was seen to commit, and the timeline does not know of it any more.
        """
        if self.dry_run_only:
            return None
        found = _committed(table, request)
        instant_time = memory.commit_of(request.request_id)
        if found is None and instant_time and table.begins_after(instant_time):
            raise HudiTaskRefusedError(
                f"This request was completed by {instant_time}, which is older than the active timeline: it was "
                "archived, or the table was made anew. Writing again could double its rows, so nothing was done. "
                "To write them again, set on_rerun='write_again' and clear the task."
            )
        return found

    def look_after(self, table: HudiHook, request: JobRequest, result: JobResult | None) -> JobResult | None:
        return None if self.dry_run_only else _committed(table, request)

    def remember(self, memory: TaskMemory, result: JobResult) -> None:
        if result.outcome is Outcome.COMPLETED and result.instant_time:
            memory.remember_commit(self._request_id, result.instant_time)

    def tell_what_is_left(self, table: HudiHook, request_id: str) -> None:
        committed = table.find_request(request_id)
        pending = table.pending_of_request(request_id)
        if committed is not None:
            self.log.warning(
                "Killed after %s was completed: the rows are in the table.", committed[0].requested_time
            )
        elif pending:
            times = ", ".join(instant.requested_time for instant in pending)
            self.log.warning(
                "Killed while %s was pending: readers see the table as it was. Clear the task to do it again; the next "
                "write rolls the pending one back.",
                times,
            )
        else:
            self.log.warning("Killed before anything was begun: the table is as it was.")


def _committed(table: HudiHook, request: JobRequest) -> JobResult | None:
    found = table.find_request(request.request_id)
    return None if found is None else result_of_completed(request, *found)
