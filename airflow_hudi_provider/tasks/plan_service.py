"""Define what operators need to know about a service with plans: its plans, options, results and terms for messages."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.results.plans import result_of_nothing
from airflow_hudi_provider.tables.held_plans import PlannedService, plan_history
from hudi_table_services.contract.report import Report
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import JobResult, Outcome

if TYPE_CHECKING:
    from hudi_table_services.tables.plans.plan_history import PlanHistory, PlannedInstant

_EXECUTED = ("completed", "reused")


class PlanJobOptions(Protocol):
    """The options of a job that an operator reads before it starts the job."""

    @property
    def wait_seconds(self) -> int: ...

    @property
    def expires_after_minutes(self) -> int: ...


class ReportedPlan(Protocol):
    """The part of a job's report on one plan that the timeline can confirm."""

    @property
    def instant_time(self) -> str: ...

    @property
    def state(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanService:
    """A service that writes plans to the timeline, executes them, and can cancel them.

    Attributes:
        name: noun of the service.
        readers_see: what readers see while a plan is pending.
        none_named: why the return value of the previous task names no plan.
        resolve: check the options of a request, and convert them. Raises InvalidRequestError.
        reported: the plans in a result of the service; None if the result has no report of the service.
        report_of: build a report on plans that an earlier attempt executed.
        answer, event: build the return value of a task, and the ``extra`` field of its asset event.
    """

    name: PlannedService
    readers_see: str
    none_named: str
    resolve: Callable[[JobRequest], PlanJobOptions]
    reported: Callable[[JobResult], Sequence[ReportedPlan] | None]
    report_of: Callable[[Sequence[Any]], Report]
    answer: Callable[[JobResult], dict[str, Any]]
    event: Callable[[JobResult], dict[str, Any]]

    def history(self, table: HudiHook) -> "PlanHistory[Any] | None":
        """Read the plans on the active timeline; return None if there is no table."""
        return plan_history(table, self.name)

    def result_if_executed(self, request: JobRequest, plans: "Sequence[PlannedInstant]") -> JobResult | None:
        """Return the result of these plans if there is at least one and all are completed; else None."""
        if not plans or not all(each.instant.is_completed for each in plans):
            return None
        first = plans[0].instant
        return JobResult(
            request_id=request.request_id,
            outcome=Outcome.COMPLETED,
            service=request.service,
            operation=request.work,
            table_name=request.table_name,
            base_path=request.base_path,
            reused=True,
            reason="an earlier attempt executed the plans; this task wrote nothing",
            action=first.action.value,
            instant_time=first.requested_time,
            completion_time=first.completion_time,
            report=self.report_of(plans),
        )

    def result_of_named(
        self, history: "PlanHistory[Any]", request: JobRequest, names: Sequence[str]
    ) -> JobResult | None:
        """Return the result if each named plan, or its replacement, is completed or was removed from the timeline.

        Return None in all other cases, so that the job runs. If the timeline contains neither a named plan nor its
        removal, the job reports that the name is wrong.
        """
        found: dict[str, PlannedInstant] = {}  # one entry, even if two names identify the same plan
        removed = []
        for name in dict.fromkeys(names):
            if (plan := history.current(name)) is not None:
                found[plan.instant.requested_time] = plan
            elif (words := history.why_missing(name)) is not None:
                removed.append(words)
            else:
                return None
        if not found:
            return result_of_nothing(request, "; ".join(removed))
        result = self.result_if_executed(request, list(found.values()))
        return replace(result, reason="; ".join([result.reason, *removed])) if result is not None else None

    def result_of_all(
        self, history: "PlanHistory[Any]", request: JobRequest, waited_for: Sequence[str]
    ) -> JobResult | None:
        """Return the result of a request that executes all pending plans; None as long as a plan is pending.

        The result describes the plans that this request executed. If this request executed no plan, the result
        describes the plans for which the task waited.
        """
        if history.pending:
            return None
        return self.result_if_executed(request, history.executed_by(request.request_id)) or (
            self.result_of_named(history, request, waited_for) if waited_for else None
        )

    def contradicted(self, history: "PlanHistory[Any] | None", plans: Sequence[ReportedPlan]) -> list[str]:
        """Return time and state of each reported plan that does not have this state on the timeline."""
        return [
            f"{plan.instant_time} ({plan.state})"
            for plan in plans
            if history is None or not _is_confirmed(history, plan)
        ]

    def state_of(self, history: "PlanHistory[Any] | None", request: JobRequest, *, next_try: str) -> str:
        """Describe the plans that a request named, scheduled or executed before its job failed.

        Args:
            next_try: what the next try does with a pending plan, such as ``executes``.
        """
        if history is None:
            return "There is no table."
        own = history.scheduled_by(request.request_id)
        names = getattr(request, "instants", None)
        if names is None:
            found = own
        elif names:
            found = tuple(each for name in names if (each := history.current(name)) is not None)
        else:
            found = history.pending
        done = (*found, *own, *history.executed_by(request.request_id))
        completed = sorted({each.instant.requested_time for each in done if each.instant.is_completed})
        pending = sorted({each.instant.requested_time for each in found if not each.instant.is_completed})
        noun = self.name.capitalize()
        sentences = [f"{noun} {time} is completed: readers see its files." for time in completed]
        sentences += [
            f"{noun} plan {time} is pending: readers see {self.readers_see}; the next try {next_try} it."
            for time in pending
        ]
        return " ".join(sentences) or f"The timeline has no {self.name} of this request."


def _is_confirmed(history: "PlanHistory[Any]", plan: ReportedPlan) -> bool:
    """Return whether the timeline is consistent with the job's report on a plan.

    After the report, a write may have released file groups of a requested plan, or a user may have cancelled the plan.
    Both changes are consistent with the report.
    """
    time = plan.instant_time
    found = history.exact(time)
    if plan.state in _EXECUTED:
        return found is not None and found.instant.is_completed
    if plan.state == "requested":
        return history.current(time) is not None or history.why_missing(time) is not None
    return plan.state != "cancelled" or found is None
