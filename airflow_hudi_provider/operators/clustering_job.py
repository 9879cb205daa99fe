"""What the clustering tasks have in common. A table whose timeline has the plan as completed is their witness."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from airflow_hudi_provider.exceptions import HudiTaskError
from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.operators.held_plans import WaitsForAttempts
from airflow_hudi_provider.operators.service_job import HudiServiceOperator, WorkerOrSparkOperator
from airflow_hudi_provider.results.clustering import clustering_answer, clustering_event
from airflow_hudi_provider.results.judgement import task_error
from airflow_hudi_provider.tables.connection import TableLocation
from airflow_hudi_provider.tasks.arguments import names_of, whole_number_of
from airflow_hudi_provider.tasks.memory import TaskMemory
from hudi_table_services.contract.clustering import ClusteringPlanReport, ScheduleClusteringRequest
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.errors import InstantHeldError
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
        "What was completed stays, and readers see it; a plan still pending can be executed by another try."
    )

    def checked(self, request: RequestT) -> RequestT:
        """The request, if its options can be followed. Raises InvalidRequestError."""
        check_clustering_options(resolve_clustering_options(request).plan)
        return request

    def refuse_unknown_key(self, key: str) -> None:
        resolve_clustering_options(ScheduleClusteringRequest(base_path="/", options={key: ""}))

    def look_after(self, table: HudiHook, request: JobRequest, result: JobResult | None) -> JobResult | None:
        """The job's own result, where the timeline bears it out.

        Raises:
            HudiTaskError: the timeline contradicts it.
        """
        if result is None or result.outcome is not Outcome.COMPLETED or result.clustering is None:
            return None
        lookup = table.look_up_clusterings()
        wrong = [
            f"{plan.instant_time} ({plan.state})"
            for plan in result.clustering.plans
            if lookup is None or not _is_borne_out(lookup, plan)
        ]
        if wrong:
            raise HudiTaskError(
                f"The job says that it completed, but the timeline does not have {', '.join(wrong)} as clusterings "
                "in that state. Look at .hoodie before running again."
            )
        return result

    def tell_what_is_left(self, table: HudiHook, request_id: str) -> None:
        pending = ", ".join(each.instant.requested_time for each in table.clusterings().pending)
        if pending:
            self.log.warning(
                "Killed; these clusterings are pending: %s. Readers see the table as it was. Clear the task to go on, "
                "or cancel them with CancelClusteringOperator.",
                pending,
            )
        else:
            self.log.warning("Killed; no clustering is pending.")

    def answer_of(self, result: JobResult) -> dict[str, Any]:
        return clustering_answer(result)

    def event_of(self, result: JobResult) -> dict[str, Any]:
        return clustering_event(result)


def _is_borne_out(lookup: "ClusteringLookup", plan: ClusteringPlanReport) -> bool:
    """Whether the timeline may look as it does after what the job says of a plan.

    Writes and people go on beside the job: a plan that it requested may have given way, or be cancelled, by now.
    """
    time = plan.instant_time
    found = lookup.history.find(time)
    if plan.state in _EXECUTED:
        return found is not None and found.instant.is_completed
    if plan.state == "requested":
        return lookup.current(time) is not None or lookup.gone(time) is not None
    return plan.state != "cancelled" or found is None


class MetadataOnlyOperator(HudiClusteringOperator, WorkerOrSparkOperator):
    """Base of those that read and write metadata only."""

    needs_engine_for = (
        "planning needs for this table: the footers of some files are read, since their writer is not on the timeline "
        "any more"
    )


class PlanningOperator(HudiClusteringOperator):
    """Base of those that make plans.

    :param sort_columns: rows of the new files are sorted by them; ``hoodie.clustering.plan.strategy.sort.columns``.
        (templated)
    :param layout: ``linear``, ``zorder`` or ``hilbert``; ``hoodie.layout.optimize.strategy``. (templated)
    :param partitions: these partition paths only. (templated)
    :param every_n_commits: plan only after as many commits since the last clustering, completed or pending; 0: always.
        (templated)
    :param preview: plan, show the plan, and write nothing.
    """

    template_fields: Sequence[str] = (
        *HudiClusteringOperator.template_fields,
        "sort_columns",
        "layout",
        "partitions",
        "every_n_commits",
    )

    def __init__(
        self,
        *,
        sort_columns: str | Sequence[str] = (),
        layout: str = "",
        partitions: str | Sequence[str] = (),
        every_n_commits: int | str = 0,
        preview: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.sort_columns = sort_columns
        self.layout = layout
        self.partitions = partitions
        self.every_n_commits = every_n_commits
        self.preview = preview

    def plan_fields(self) -> dict[str, Any]:
        """Those of a request that say what to plan."""
        return {
            "sort_columns": names_of(self.sort_columns),
            "layout": self.layout.lower(),
            "partitions": names_of(self.partitions),
            "every_n_commits": whole_number_of("every_n_commits", self.every_n_commits),
            "preview": self.preview,
        }


class ExecutingOperator(HudiClusteringOperator, WaitsForAttempts):
    """Base of those that carry plans out.

    :param when_held: while another execution of a plan is alive: ``fail``, to be retried, or ``wait`` for it.
    """

    def __init__(self, *, when_held: WhenHeld = "fail", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.when_held = when_held

    @abstractmethod
    def plans_at_hand(self, table: HudiHook, request: JobRequest) -> Sequence[str]:
        """Requested times of the pending plans that the job is going to carry out, as far as they are there already."""

    def go_on_beside(self, held: Sequence[str]) -> None:
        if not set(self._waited_for) <= set(held):
            super().go_on_beside(held)
            return
        raise task_error(
            InstantHeldError(
                f"Nothing was done: another attempt still carries out clustering {', '.join(held)}; it was waited for "
                "as long as hoodie.airflow.clustering.wait.seconds says.",
                hint="Clear this task when it has ended.",
            )
        )

    def _run_job(self, context: "Context", location: TableLocation, memory: TaskMemory) -> JobResult:
        # A driver on a cluster that an earlier try submitted is taken up, whatever it waits for.
        if self.when_held == "wait" and not memory.follows_driver:
            assert self._table is not None  # noqa: S101 - `execute` has made it
            request = self.build_request(location, self._request_id, "")
            options = resolve_clustering_options(request)
            if plans := self.plans_at_hand(self._table, request):
                self.wait_for_attempts(
                    plans,
                    wait_seconds=options.wait_seconds,
                    expires_after_minutes=options.expires_after_minutes,
                )
        return super()._run_job(context, location, memory)
