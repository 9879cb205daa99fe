"""Base class of the operators of services with plans. A completed instant proves that a plan was executed.

A service with plans writes a plan to the timeline, executes the plan later, and can cancel the plan until then.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from airflow_hudi_provider.exceptions import HudiTaskError
from airflow_hudi_provider.operators.service_job import HudiServiceOperator
from airflow_hudi_provider.results.plans import result_of_nothing
from airflow_hudi_provider.spark.submission import Submission
from airflow_hudi_provider.tasks.arguments import instants_of, whole_number_of
from airflow_hudi_provider.tasks.plan_service import PlanService
from airflow_hudi_provider.tasks.plan_wait import PlanWait, PlanWaitEnd
from airflow_hudi_provider.tasks.run import TaskRun
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.errors import InvalidRequestError

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

    from hudi_table_services.tables.plans.plan_history import PlannedInstant

RequestT = TypeVar("RequestT", bound=JobRequest)
WhenHeld = Literal["fail", "wait"]
Instants = str | Sequence[str] | Mapping[str, Any]

ALL_PENDING = "all"
"""Value of ``instant`` that selects all pending plans of the service, oldest first."""


class HudiPlanOperator(HudiServiceOperator):
    """Base of the operators that schedule, execute or cancel plans of one service.

    An operator sets `plan_service`. An operator whose job executes plans overrides `plans_to_execute` and `executed`.
    Both methods call `scheduled`, or `pending_named` and `executed_named`. An operator with the argument ``instant``
    overrides `names_plans`.
    """

    plan_service: ClassVar[PlanService]

    next_try: ClassVar[str] = "executes"
    """What another try of the task does with the pending plan of this try: a verb, such as ``executes``."""

    when_held: WhenHeld = "fail"
    """What the task does if another attempt is executing its plan. Some operators set this value from an argument."""

    def checked(self, request: RequestT) -> RequestT:
        """Return the request if its options are valid. Raises InvalidRequestError."""
        self.plan_service.resolve(request)
        return request

    def refuse_unknown_key(self, key: str) -> None:
        self.plan_service.resolve(JobRequest(base_path="/", options={key: ""}))

    def names_plans(self) -> bool:
        """Return whether ``instant`` lists the plans for the job. The list may be empty. By default, return False."""
        return False

    def plans_to_execute(self, run: TaskRun, request: JobRequest) -> Sequence[str]:
        """Return the requested times of the existing pending plans that the job will execute; by default none."""
        return ()

    def executed(self, run: TaskRun, request: JobRequest) -> JobResult | None:
        """Return the result if all plans of this request are completed; by default None."""
        return None

    def pending_named(self, run: TaskRun, request: JobRequest) -> list[str]:
        """Return the pending plans that the request names or, if `names_plans` returns False, all pending plans."""
        history = self.plan_service.history(run.table)
        if history is None:
            return []
        named = {found.instant for name in named_by(request) if (found := history.current(name)) is not None}
        pending = [each.instant for each in history.pending]
        return [i.requested_time for i in pending if not self.names_plans() or i in named]

    def executed_named(self, run: TaskRun, request: JobRequest) -> JobResult | None:
        """Return the result if all plans that the request names are completed or removed.

        If the request names no plans, return None as long as any plan of the service is pending; see
        `PlanService.result_of_all`.
        """
        history = self.plan_service.history(run.table)
        if history is None:
            return None
        if names := named_by(request):
            return self.plan_service.result_of_named(history, request, names)
        return self.plan_service.result_of_all(history, request, run.waited_for or ())

    def scheduled(self, run: TaskRun, request: JobRequest) -> "Sequence[PlannedInstant]":
        """Return the plans on the active timeline that this request scheduled; none in a preview."""
        history = None if self.is_preview() else self.plan_service.history(run.table)
        return history.scheduled_by(request.request_id) if history is not None else ()

    def find_completed(self, run: TaskRun, request: JobRequest) -> JobResult | None:
        """Return a result if ``instant`` is an empty list of plans, or if an earlier try executed all plans."""
        if self.names_plans() and not named_by(request):
            return result_of_nothing(request, self.plan_service.none_named)
        return self.executed(run, request)

    def run_job(self, run: TaskRun, submission: Submission) -> JobResult:
        # Do not wait if a driver of an earlier try still runs on a cluster: that driver continues in any case.
        if self.when_held == "wait" and not run.memory.follows_driver:
            self._wait_for_others(run)
        return super().run_job(run, submission)

    def _wait_for_others(self, run: TaskRun) -> None:
        request = self.build_request(run.location, run.request_id, "")
        options = self.plan_service.resolve(request)
        if plans := self.plans_to_execute(run, request):
            wait = PlanWait(
                service=self.plan_service.name,
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
        end.require_free_plan(self.plan_service.name, self.log)
        return self.execute(context)

    def confirm(self, run: TaskRun, request: JobRequest, result: JobResult | None) -> JobResult | None:
        """Return the result that the job reported, if the timeline confirms the result.

        If there is no such result, read the timeline: if each plan of the request is completed or was removed, return
        a result about these plans, even if Spark failed.

        Raises:
            HudiTaskError: the timeline contradicts the result.
        """
        return self._confirmed(run, result) or self.executed(run, request)

    def _confirmed(self, run: TaskRun, result: JobResult | None) -> JobResult | None:
        if result is None or result.outcome is not Outcome.COMPLETED:
            return None
        service = self.plan_service
        plans = service.reported(result)
        if plans is None:
            return None
        if wrong := service.contradicted(service.history(run.table), plans):
            raise HudiTaskError(
                f"The job reported success, but these {service.name}s do not have the reported state on the timeline: "
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
        history = self.plan_service.history(run.table)
        return self.plan_service.state_of(history, request, next_try=self.next_try_of(request))

    def log_state_after_kill(self, run: TaskRun) -> None:
        service = self.plan_service
        history = service.history(run.table)
        pending = ", ".join(each.instant.requested_time for each in history.pending) if history else ""
        if pending:
            self.log.warning(
                "The task was killed; these %ss are pending: %s. Readers see %s. Clear the task to continue, or cancel "
                "the %ss with Cancel%sOperator.",
                service.name,
                pending,
                service.readers_see,
                service.name,
                service.name.capitalize(),
            )
        else:
            self.log.warning("The task was killed; no %s is pending.", service.name)

    def answer_of(self, result: JobResult) -> dict[str, Any]:
        return self.plan_service.answer(result)

    def event_of(self, result: JobResult) -> dict[str, Any]:
        return self.plan_service.event(result)


def named_by(request: JobRequest) -> tuple[str, ...]:
    """Return the requested times of the plans that a request names."""
    return tuple(getattr(request, "instants", ()))


def selects_all(instant: Instants) -> bool:
    """Return whether the argument ``instant`` selects all pending plans."""
    return isinstance(instant, str) and instant.strip().lower() == ALL_PENDING


def execution_fields(instant: Instants, when_held: WhenHeld) -> dict[str, Any]:
    """Return the fields of a request that executes plans. Raises InvalidRequestError."""
    if selects_all(instant):
        return {"instants": (), "when_held": when_held}
    advice = "To execute all pending plans, omit instant."
    return {"instants": instants_of(instant, how_to_select_all=advice), "when_held": when_held}


def cancellation_fields(
    instant: Instants | None, older_than_minutes: int | str | None, *, names_plans: bool
) -> dict[str, Any]:
    """Return the fields of a request that cancels plans. Raises InvalidRequestError."""
    if not names_plans:
        age = whole_number_of("older_than_minutes", older_than_minutes or 0)
        return {"instants": (), "older_than_minutes": age}
    advice = (
        "To cancel all pending plans that no job is executing, give older_than_minutes=0 instead of instant."
    )
    return {"instants": instants_of(instant, how_to_select_all=advice), "older_than_minutes": None}
