"""Base class of the clustering operators. A completed instant on the timeline proves that a clustering is done."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from airflow_hudi_provider.exceptions import HudiTaskError
from airflow_hudi_provider.operators.service_job import HudiServiceOperator
from airflow_hudi_provider.results.clustering import clustering_answer, clustering_event
from airflow_hudi_provider.results.task_outcome import task_error
from airflow_hudi_provider.spark.submission import Submission
from airflow_hudi_provider.tasks.plan_wait import PlanWait, PlanWaitEnd
from airflow_hudi_provider.tasks.run import TaskRun
from hudi_table_services.contract.clustering import (
    ClusteringPlanReport,
    ClusteringReport,
    ScheduleClusteringRequest,
)
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.errors import InstantHeldError
from hudi_table_services.options.clustering import resolve_clustering_options
from hudi_table_services.options.keys.clustering import WAIT_SECONDS
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
        "What was completed stays, and readers see it; a plan still pending can be executed by another try."
    )
    needs_engine_for = (
        "planning needs for this table: the footers of some files are read, since their writer is not on the timeline "
        "any more"
    )
    when_held: WhenHeld = "fail"
    """What the task does while another attempt executes its plan; operators that execute plans take this argument."""

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
        """Run the task after the wait for other attempts, without a second wait. Called with the trigger's event.

        Raises:
            HudiTaskError: another attempt still executes all plans, or the triggerer could not read the table.
        """
        end = PlanWaitEnd.of_event(event)
        self._waited_for = end.plans
        if end.held and set(end.plans) <= set(end.held):
            raise task_error(
                InstantHeldError(
                    f"Nothing was done: another attempt still executes clustering {', '.join(end.held)}; this task "
                    f"waited as long as {WAIT_SECONDS} says.",
                    hint="Clear this task when it has ended.",
                )
            )
        if end.held:
            self.log.warning("Continuing, though another attempt still executes %s.", ", ".join(end.held))
        return self.execute(context)

    def confirm(self, run: TaskRun, request: JobRequest, result: JobResult | None) -> JobResult | None:
        """Return the job's own result, if the timeline confirms it.

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
                f"The job says that it completed, but the timeline does not have {', '.join(wrong)} as clusterings "
                "in that state. Look at .hoodie before running again."
            )
        return result

    def log_state_after_kill(self, run: TaskRun) -> None:
        pending = ", ".join(each.instant.requested_time for each in run.table.clusterings().pending)
        if pending:
            self.log.warning(
                "Killed; these clusterings are pending: %s. Readers see the table as it was. Clear the task to "
                "continue, or cancel them with CancelClusteringOperator.",
                pending,
            )
        else:
            self.log.warning("Killed; no clustering is pending.")

    def answer_of(self, result: JobResult) -> dict[str, Any]:
        return clustering_answer(result)

    def event_of(self, result: JobResult) -> dict[str, Any]:
        return clustering_event(result)


def _is_confirmed(lookup: "ClusteringLookup", plan: ClusteringPlanReport) -> bool:
    """Return whether the timeline is consistent with the job's report on a plan.

    After the report, a write may have released file groups of a requested plan, or a user may have cancelled the plan.
    """
    time = plan.instant_time
    found = lookup.history.find(time)
    if plan.state in _EXECUTED:
        return found is not None and found.instant.is_completed
    if plan.state == "requested":
        return lookup.current(time) is not None or lookup.why_missing(time) is not None
    return plan.state != "cancelled" or found is None
