"""What the clustering tasks have in common. A table whose timeline has the plan as completed is their witness."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from airflow_hudi_provider.arguments import names_of, options_of, whole_number_of
from airflow_hudi_provider.clustering_results import clustering_answer, clustering_event
from airflow_hudi_provider.connection import TableLocation
from airflow_hudi_provider.exceptions import HudiTaskError, HudiTaskRefusedError
from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.operators.job import HudiJobOperator, OnEmpty
from airflow_hudi_provider.task_memory import TaskMemory
from airflow_hudi_provider.task_results import task_error
from airflow_hudi_provider.templates import names_filled_in_later
from hudi_table_services.contract.clustering_options import resolve_clustering_options
from hudi_table_services.contract.clustering_report import ClusteringPlanReport
from hudi_table_services.contract.clustering_request import ScheduleClusteringRequest
from hudi_table_services.contract.job_request import JobRequest
from hudi_table_services.contract.job_result import JobResult, Outcome
from hudi_table_services.planning.clustering_checks import check_clustering_options

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

    from hudi_table_services.jobs.clustering_lookup import ClusteringLookup

RequestT = TypeVar("RequestT", bound=JobRequest)
RunOn = Literal["worker", "spark"]
WhenHeld = Literal["fail", "wait"]

_EXECUTED = ("completed", "reused")


class HudiClusteringOperator(HudiJobOperator):
    """Base of the clustering operators.

    :param table_name: checked against the table's name. (templated)
    :param on_nothing: what it means that there is nothing to do: ``skip``, ``succeed`` or ``fail``.
    """

    left_behind = (
        "What was completed stays, and readers see it; a plan still pending can be executed by another try."
    )
    template_fields: Sequence[str] = (*HudiJobOperator.template_fields, "table_name")

    def __init__(self, *, table_name: str = "", on_nothing: OnEmpty = "skip", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if on_nothing not in ("skip", "succeed", "fail"):
            raise ValueError(
                f"{self.task_id}: on_nothing={on_nothing!r} must be 'skip', 'succeed' or 'fail'."
            )
        self.table_name = table_name
        self.on_nothing = on_nothing

    def check_arguments(self) -> None:
        """To be called once all of them are set. Raises ValueError for what no rendering can mend."""
        self._filled_in_later = names_filled_in_later(self, self._own_fields())
        self.check_when_the_dag_is_read()
        # The answer of another task may well hold empty texts; `instants_of` looks at what counts in it.
        self._filled_in_later = tuple(name for name in self._filled_in_later if name != "instant")

    def common_fields(self, location: TableLocation, request_id: str, result_uri: str) -> dict[str, Any]:
        """Those of every request."""
        return {
            "base_path": location.base_path,
            "request_id": request_id,
            "table_name": self.table_name,
            "options": options_of(self.hudi_options, {}),
            "storage_options": dict(location.storage_options),
            "result_path": result_uri,
        }

    def checked(self, request: RequestT) -> RequestT:
        """The request, if its options can be followed. Raises InvalidRequestError."""
        check_clustering_options(resolve_clustering_options(request).plan)
        return request

    def refuse_unknown_key(self, key: str) -> None:
        resolve_clustering_options(ScheduleClusteringRequest(base_path="/", options={key: ""}))

    def when_empty(self) -> OnEmpty:
        return self.on_nothing

    def look_before(self, table: HudiHook, request: JobRequest, memory: TaskMemory) -> JobResult | None:
        return None

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


class WorkerOrSparkOperator(HudiClusteringOperator):
    """Base of those whose job needs no Spark, since it reads and writes metadata only.

    :param run_on: ``worker``: in the process of the task; ``spark``: submitted like the others, for tables whose
        metadata is too much for a worker.
    """

    def __init__(self, *, run_on: RunOn = "worker", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if run_on not in ("worker", "spark"):
            raise ValueError(f"{self.task_id}: run_on={run_on!r} must be 'worker' or 'spark'.")
        self.run_on = run_on

    @abstractmethod
    def run_here(self, request: JobRequest) -> JobResult:
        """The job, in this process."""

    def _run_job(self, context: "Context", location: TableLocation, memory: TaskMemory) -> JobResult:
        if self.run_on == "spark":
            return super()._run_job(context, location, memory)
        try:
            result = self.run_here(self.build_request(location, self._request_id, ""))
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("hudi_table_services"):
                raise
            raise HudiTaskRefusedError(
                f"The worker lacks the package {error.name}, which planning needs for this table: the footers of some "
                "files are read, since their writer is not on the timeline any more. Install "
                "airflow-provider-hudi[engine] on the worker, or set run_on='spark'."
            ) from error
        if result.outcome is Outcome.FAILED and result.error is not None:
            error = result.error
            raise task_error(error.kind, f"{error.message} {error.hint}".strip(), error.retryable)
        return result


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
