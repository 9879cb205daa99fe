"""Base class of the compaction operators. A completed instant on the timeline proves that a compaction is done."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from airflow_hudi_provider.exceptions import HudiTaskError
from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.operators.service_job import HudiServiceOperator
from airflow_hudi_provider.results.clustering import result_of_nothing
from airflow_hudi_provider.results.compaction import compaction_answer, compaction_event, result_of_executed
from airflow_hudi_provider.spark.submission import Submission
from airflow_hudi_provider.tables.compactions import state_of_compactions
from airflow_hudi_provider.tasks.plan_wait import PlanWait, PlanWaitEnd
from airflow_hudi_provider.tasks.run import TaskRun
from hudi_table_services.contract.compaction.compaction import (
    CompactionPlanReport,
    CompactionReport,
    ScheduleCompactionRequest,
)
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.options.compaction.compaction_job_options import resolve_compaction_options

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

    from hudi_table_services.tables.compaction.compaction_history import Compaction, CompactionHistory

RequestT = TypeVar("RequestT", bound=JobRequest)
WhenHeld = Literal["fail", "wait"]

_EXECUTED = ("completed", "reused")


class HudiCompactionOperator(HudiServiceOperator):
    """Base of the compaction operators."""

    left_behind = (
        "Completed compactions stay. Another try can execute plans that are still pending, and then merges only file "
        "slices whose new base files are missing."
    )
    next_try: ClassVar[str] = "executes"
    """What another try of the task does with its pending plan."""

    when_held: WhenHeld = "fail"
    """What the task does if another attempt is executing its plan. Some operators set this value from an argument."""

    def checked(self, request: RequestT) -> RequestT:
        """Return the request if its options are valid. Raises InvalidRequestError."""
        resolve_compaction_options(request)
        return request

    def refuse_unknown_key(self, key: str) -> None:
        resolve_compaction_options(ScheduleCompactionRequest(base_path="/", options={key: ""}))

    def plans_to_execute(self, run: TaskRun, request: JobRequest) -> Sequence[str]:
        """Return the requested times of the existing pending plans that the job will execute; by default none."""
        return ()

    def run_job(self, run: TaskRun, submission: Submission) -> JobResult:
        # Do not wait if a driver of an earlier try still runs on a cluster: that driver continues in any case.
        if self.when_held == "wait" and not run.memory.follows_driver:
            self._wait_for_others(run)
        return super().run_job(run, submission)

    def _wait_for_others(self, run: TaskRun) -> None:
        request = self.build_request(run.location, run.request_id, "")
        options = resolve_compaction_options(request)
        if plans := self.plans_to_execute(run, request):
            wait = PlanWait(
                service="compaction",
                plans=plans,
                wait_seconds=options.wait_seconds,
                expires_after_minutes=options.expires_after_minutes,
            )
            wait.defer(self, run)

    def execute_when_free(self, context: "Context", event: dict[str, Any] | None = None) -> dict[str, Any]:
        """Run the task after the wait for other attempts, without a second wait. Airflow passes the trigger's event.

        Raises:
            HudiTaskError: another attempt is still executing all plans, or the triggerer could not read the table.
        """
        end = PlanWaitEnd.of_event(event)
        self._waited_for = end.plans
        end.require_free_plan("compaction", self.log)
        return self.execute(context)

    def confirm(self, run: TaskRun, request: JobRequest, result: JobResult | None) -> JobResult | None:
        """Return the result that the job reported, if the timeline confirms the result.

        Raises:
            HudiTaskError: the timeline contradicts the result.
        """
        report = result.report_as(CompactionReport) if result is not None else None
        if result is None or result.outcome is not Outcome.COMPLETED or report is None:
            return None
        history = run.table.compactions()
        wrong = [
            f"{plan.instant_time} ({plan.state})"
            for plan in report.plans
            if history is None or not _is_confirmed(history, plan)
        ]
        if wrong:
            raise HudiTaskError(
                f"The job reported success, but these compactions do not have the reported state on the timeline: "
                f"{', '.join(wrong)}. Check the timeline in .hoodie before you run the task again."
            )
        return result

    def next_try_of(self, request: JobRequest) -> str:
        """Return what another try of the task does with the pending plans of this request, such as ``executes``."""
        return self.next_try

    def table_after_failure(self, run: TaskRun) -> str:
        try:
            request = self.build_request(run.location, run.request_id, "")
        except InvalidRequestError:
            return "Nothing was done."
        return state_of_compactions(
            run.table.compactions(),
            getattr(request, "instants", None),
            request.request_id,
            next_try=self.next_try_of(request),
        )

    def log_state_after_kill(self, run: TaskRun) -> None:
        history = run.table.compactions()
        pending = ", ".join(each.instant.requested_time for each in history.pending) if history else ""
        if pending:
            self.log.warning(
                "The task was killed; these compactions are pending: %s. Readers see the same rows as before. Clear "
                "the task to continue, or cancel the compactions with CancelCompactionOperator.",
                pending,
            )
        else:
            self.log.warning("The task was killed; no compaction is pending.")

    def answer_of(self, result: JobResult) -> dict[str, Any]:
        return compaction_answer(result)

    def event_of(self, result: JobResult) -> dict[str, Any]:
        return compaction_event(result)


def if_completed(request: JobRequest, compactions: "Sequence[Compaction]") -> JobResult | None:
    """Return the result of these compactions if there is at least one and all are completed; else None."""
    is_done = bool(compactions) and all(each.instant.is_completed for each in compactions)
    return result_of_executed(request, compactions) if is_done else None


def result_of_named(table: HudiHook, request: JobRequest, names: Sequence[str]) -> JobResult | None:
    """Return the result if each named plan is completed or was removed from the timeline.

    Return None in all other cases. If the timeline contains neither a named plan nor its removal, the job reports that
    the name is wrong.
    """
    history = table.compactions()
    if history is None:
        return None
    found, removed = [], []
    for name in dict.fromkeys(names):
        if (compaction := history.current(name)) is not None:
            found.append(compaction)
        elif (words := history.why_missing(name)) is not None:
            removed.append(words)
        else:
            return None
    if not found:
        return result_of_nothing(request, "; ".join(removed))
    result = if_completed(request, found)
    return replace(result, reason="; ".join([result.reason, *removed])) if result is not None else None


def _is_confirmed(history: "CompactionHistory", plan: CompactionPlanReport) -> bool:
    """Return whether the timeline is consistent with the job's report on a plan.

    After the report, a user may have cancelled the plan, which is consistent with the report.
    """
    time = plan.instant_time
    found = history.current(time)
    if plan.state in _EXECUTED:
        return found is not None and found.instant.is_completed
    if plan.state == "requested":
        return found is not None or history.why_missing(time) is not None
    return plan.state != "cancelled" or found is None
