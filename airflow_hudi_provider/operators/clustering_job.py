"""Base class of the clustering operators. A completed instant on the timeline proves that a clustering is done."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from airflow_hudi_provider.exceptions import HudiTaskError
from airflow_hudi_provider.operators.service_job import HudiServiceOperator
from airflow_hudi_provider.results.clustering import clustering_answer, clustering_event
from airflow_hudi_provider.spark.submission import Submission
from airflow_hudi_provider.tasks.plan_wait import PlanWait, PlanWaitEnd
from airflow_hudi_provider.tasks.request_state import state_of_clusterings
from airflow_hudi_provider.tasks.run import TaskRun
from hudi_table_services.contract.clustering import (
    ClusteringPlanReport,
    ClusteringReport,
    ScheduleClusteringRequest,
)
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.options.clustering import resolve_clustering_options
from hudi_table_services.planning.clustering.option_checks import check_clustering_options

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

    from hudi_table_services.tables.clustering_lookup import ClusteringLookup

RequestT = TypeVar("RequestT", bound=JobRequest)
WhenHeld = Literal["fail", "wait"]

_EXECUTED = ("completed", "reused")


class HudiClusteringOperator(HudiServiceOperator):
    """Base of the clustering operators."""

    left_behind = (
        "Completed clusterings stay, and readers see their files; another try can execute plans that are still "
        "pending."
    )
    needs_engine_for = (
        "this task needs to read the footers of files whose writes are not on the active timeline"
    )
    next_try: ClassVar[str] = "executes"
    """What another try of the task does with the pending plan of this try: a verb, such as ``executes``."""

    when_held: WhenHeld = "fail"
    """What the task does if another attempt is executing its plan. Some operators set this value from an argument."""

    def checked(self, request: RequestT) -> RequestT:
        """Return the request if its options are valid. Raises InvalidRequestError."""
        check_clustering_options(resolve_clustering_options(request).plan)
        return request

    def refuse_unknown_key(self, key: str) -> None:
        resolve_clustering_options(ScheduleClusteringRequest(base_path="/", options={key: ""}))

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
        options = resolve_clustering_options(request)
        if plans := self.plans_to_execute(run, request):
            wait = PlanWait(
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
        end.require_free_plan("clustering", self.log)
        return self.execute(context)

    def confirm(self, run: TaskRun, request: JobRequest, result: JobResult | None) -> JobResult | None:
        """Return the result that the job reported, if the timeline confirms the result.

        Raises:
            HudiTaskError: the timeline contradicts the result.
        """
        report = result.report_as(ClusteringReport) if result is not None else None
        if result is None or result.outcome is not Outcome.COMPLETED or report is None:
            return None
        lookup = run.table.look_up_clusterings()
        wrong = [
            f"{plan.instant_time} ({plan.state})"
            for plan in report.plans
            if lookup is None or not _is_confirmed(lookup, plan)
        ]
        if wrong:
            raise HudiTaskError(
                f"The job reported success, but these clusterings do not have the reported state on the timeline: "
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
        return state_of_clusterings(run.table, request, next_try=self.next_try_of(request))

    def log_state_after_kill(self, run: TaskRun) -> None:
        pending = ", ".join(each.instant.requested_time for each in run.table.clusterings().pending)
        if pending:
            self.log.warning(
                "The task was killed; these clusterings are pending: %s. Readers see the table as it was "
                "before. Clear the task to continue, or cancel the clusterings with CancelClusteringOperator.",
                pending,
            )
        else:
            self.log.warning("The task was killed; no clustering is pending.")

    def answer_of(self, result: JobResult) -> dict[str, Any]:
        return clustering_answer(result)

    def event_of(self, result: JobResult) -> dict[str, Any]:
        return clustering_event(result)


def _is_confirmed(lookup: "ClusteringLookup", plan: ClusteringPlanReport) -> bool:
    """Return whether the timeline is consistent with the job's report on a plan.

    After the report, a write may have released file groups of a requested plan, or a user may have cancelled the plan.
    Both changes are consistent with the report.
    """
    time = plan.instant_time
    found = lookup.history.find(time)
    if plan.state in _EXECUTED:
        return found is not None and found.instant.is_completed
    if plan.state == "requested":
        return lookup.current(time) is not None or lookup.why_missing(time) is not None
    return plan.state != "cancelled" or found is None
