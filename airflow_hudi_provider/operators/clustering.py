"""Rewrite the files of a Hudi table: fewer and larger files, with rows in an order that lets readers skip files."""

from collections.abc import Sequence
from typing import Any, ClassVar

from airflow_hudi_provider.operators.plans import (
    ALL_PENDING,
    HudiPlanOperator,
    Instants,
    WhenHeld,
    cancellation_fields,
    execution_fields,
    selects_all,
)
from airflow_hudi_provider.operators.service_job import RunOn
from airflow_hudi_provider.results.clustering import (
    clustering_answer,
    clustering_event,
    clusterings_in,
    report_of_clusterings,
)
from airflow_hudi_provider.tables.connection import TableLocation
from airflow_hudi_provider.tasks.arguments import check_choice, names_of, whole_number_of
from airflow_hudi_provider.tasks.plan_service import PlanService
from airflow_hudi_provider.tasks.run import TaskRun
from hudi_table_services.contract.clustering import (
    LAYOUTS,
    CancelClusteringRequest,
    ClusteringRequest,
    ExecuteClusteringRequest,
    ScheduleClusteringRequest,
)
from hudi_table_services.contract.request import WHEN_HELD, JobRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.options.clustering import resolve_clustering_options
from hudi_table_services.options.clustering_job_options import ClusteringJobOptions
from hudi_table_services.planning.clustering.option_checks import check_clustering_options

_PLAN_FIELDS = ("sort_columns", "layout", "partitions", "every_n_commits")
_LEFT_BEHIND = (
    "Completed clusterings stay, and readers see their files; another try can execute plans that are still "
    "pending."
)
_NEEDS_ENGINE_FOR = "this task needs to read the footers of files whose writes are not on the active timeline"


def _resolve(request: JobRequest) -> ClusteringJobOptions:
    options = resolve_clustering_options(request)
    check_clustering_options(options.plan)
    return options


CLUSTERING_PLANS = PlanService(
    name="clustering",
    readers_see="the table as it was before",
    none_named="the previous task returned no plan, because it found nothing to cluster or only made a preview",
    resolve=_resolve,
    reported=clusterings_in,
    report_of=report_of_clusterings,
    answer=clustering_answer,
    event=clustering_event,
)


class ScheduleClusteringOperator(HudiPlanOperator):
    """Schedule a clustering: write its plan to the timeline. `ExecuteClusteringOperator` executes the plan.

    The job reads metadata only, so by default it runs in the worker. A task makes only one plan in each DAG run, even
    if Airflow retries the task or a user clears it, unless ``on_rerun`` is ``write_again``. Returns
    ``{"instant", "instants", "groups", "files_in", "bytes_in", "expected_files", "reason", …}``.

    .. seealso:: docs/airflow.md

    :param base_path: URI or path of the table; a relative path starts at the connection's base path. (templated)
    :param hudi_conn_id: connection of type ``hudi`` with base path, Spark and storage connection. (templated)
    :param sort_columns: columns by which the rows of the new files are sorted. (templated)
    :param layout: how to combine the sort columns: ``linear``, ``zorder`` or ``hilbert``. (templated)
    :param partitions: cluster only these partition paths. (templated)
    :param every_n_commits: schedule a clustering only if at least this many completed commits were requested after the
        newest completed or pending clustering. With 0, there is no minimum. (templated)
    :param preview: make a plan, report the plan in the log and the return value, and write nothing.
    :param hudi_options: any ``hoodie.*`` keys, with Hudi's meaning. An unknown key is an error when Airflow parses the
        DAG. (templated)
    :param run_on: where the job runs: ``worker`` (in the task's process), or ``spark`` (submitted to Spark) for tables
        with a lot of metadata.
    :param on_nothing: what the task does if there is nothing to cluster: ``skip``, ``succeed`` or ``fail``.
    :param on_rerun: what a cleared task does: ``reuse`` reports the earlier plan, and ``write_again`` makes a new plan.
    :param table_name: expected name of the table; the task fails if the table's actual name differs. (templated)
    :param storage_conn_id: connection with credentials of the object store. (templated)
    :param kwargs: Spark arguments of `UpsertWithSizingOperator`. They have an effect only with ``run_on="spark"``.
    """

    script: ClassVar[str] = "schedule_clustering.py"
    plan_service = CLUSTERING_PLANS
    left_behind = _LEFT_BEHIND
    needs_engine_for = _NEEDS_ENGINE_FOR
    next_try = "reports"
    template_fields: Sequence[str] = (*HudiPlanOperator.template_fields, *_PLAN_FIELDS)

    def __init__(
        self,
        *,
        sort_columns: str | Sequence[str] = (),
        layout: str = "",
        partitions: str | Sequence[str] = (),
        every_n_commits: int | str = 0,
        preview: bool = False,
        run_on: RunOn = "worker",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.sort_columns = sort_columns
        _check_layout(self.task_id, layout)
        self.layout = layout
        self.partitions = partitions
        self.every_n_commits = every_n_commits
        self.preview = preview
        self.choose_where_to_run(run_on)
        self.check_arguments()

    def build_request(
        self, location: TableLocation, request_id: str, result_uri: str
    ) -> ScheduleClusteringRequest:
        common = self.common_fields(location, request_id, result_uri)
        return self.checked(ScheduleClusteringRequest(**common, **_plan_fields(self)))

    def confirm(self, run: TaskRun, request: JobRequest, result: JobResult | None) -> JobResult | None:
        """Return the result that describes the plan, even if Spark failed.

        If the timeline contains the plan, run the job in this process to describe the plan.
        """
        found = super().confirm(run, request, result)
        return self.run_here(request) if found is None and self.scheduled(run, request) else found


class ExecuteClusteringOperator(HudiPlanOperator):
    """Execute pending clusterings on Spark.

    The job does not execute completed clusterings again. Returns a summary of the rewritten files: ``{"instants",
    "files_in", "files_out", "bytes_in", "bytes_out", "rows_checked", "plans": [{…, "skipping"}], …}``.

    .. seealso:: docs/airflow.md

    :param base_path: URI or path of the table; a relative path starts at the connection's base path. (templated)
    :param hudi_conn_id: connection of type ``hudi`` with base path, Spark and storage connection. (templated)
    :param instant: requested times of the plans: one time, a list of times, a string that contains a time or a list,
        or the return value of `ScheduleClusteringOperator`, as in ``instant=schedule.output``. ``all``, the default,
        selects all pending plans, oldest first. The task fails if the argument renders to an empty string. If the
        return value contains no plans, there is nothing to do. (templated)
    :param when_held: what the task does if another attempt is executing a plan: ``fail`` lets Airflow retry the task,
        and ``wait`` makes the task wait in the triggerer.
    :param hudi_options: any ``hoodie.*`` keys, with Hudi's meaning. (templated)
    :param on_nothing: what the task does if no plan is pending: ``skip``, ``succeed`` or ``fail``.
    :param table_name: expected name of the table; the task fails if the table's actual name differs. (templated)
    :param spark_conn_id: connection of the type Spark or Spark Connect. By default, the task uses the Spark connection
        that the hudi connection names, else ``spark_default``. (templated)
    :param storage_conn_id: connection with credentials of the object store. (templated)
    :param result_base_path: folder for the request and result documents, required with ``deploy_mode="cluster"``.
        (templated)
    :param kwargs: further arguments of ``SparkSubmitOperator`` (``conf``, ``executor_memory``, …).
    """

    script: ClassVar[str] = "execute_clustering.py"
    plan_service = CLUSTERING_PLANS
    left_behind = _LEFT_BEHIND
    template_fields: Sequence[str] = (*HudiPlanOperator.template_fields, "instant")

    def __init__(
        self, *, instant: Instants = ALL_PENDING, when_held: WhenHeld = "fail", **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.instant = instant
        check_choice(self.task_id, "when_held", when_held, WHEN_HELD)
        self.when_held = when_held
        self.check_arguments()

    def build_request(
        self, location: TableLocation, request_id: str, result_uri: str
    ) -> ExecuteClusteringRequest:
        common = self.common_fields(location, request_id, result_uri)
        plans = execution_fields(self.instant, self.when_held)
        return self.checked(ExecuteClusteringRequest(**common, **plans))

    def names_plans(self) -> bool:
        return not selects_all(self.instant)

    def plans_to_execute(self, run: TaskRun, request: JobRequest) -> Sequence[str]:
        return self.pending_named(run, request)

    def executed(self, run: TaskRun, request: JobRequest) -> JobResult | None:
        return self.executed_named(run, request)


class ClusteringOperator(HudiPlanOperator):
    """Schedule a clustering and execute its plan, in one Spark job.

    A task makes one plan in each DAG run; a retry executes the plan of the earlier try.

    .. seealso:: docs/airflow.md

    :param base_path: URI or path of the table; a relative path starts at the connection's base path. (templated)
    :param hudi_conn_id: connection of type ``hudi`` with base path, Spark and storage connection. (templated)
    :param sort_columns: columns by which the rows of the new files are sorted. (templated)
    :param layout: how to combine the sort columns: ``linear``, ``zorder`` or ``hilbert``. (templated)
    :param partitions: cluster only these partition paths. (templated)
    :param every_n_commits: cluster only if at least this many completed commits were requested after the newest
        completed or pending clustering. With 0, there is no minimum. (templated)
    :param preview: make a plan, report the plan in the log and the return value, and write nothing.
    :param when_held: what the task does if another attempt is executing the plan: ``fail`` lets Airflow retry the task,
        and ``wait`` makes the task wait in the triggerer.
    :param hudi_options: any ``hoodie.*`` keys, with Hudi's meaning. An unknown key is an error when Airflow parses the
        DAG. (templated)
    :param on_nothing: what the task does if there is nothing to do: ``skip``, ``succeed`` or ``fail``.
    :param on_rerun: what a cleared task does: ``reuse`` reports the earlier clustering, and ``write_again`` makes a new
        clustering.
    :param table_name: expected name of the table; the task fails if the table's actual name differs. (templated)
    :param spark_conn_id: connection of the type Spark or Spark Connect. By default, the task uses the Spark connection
        that the hudi connection names, else ``spark_default``. (templated)
    :param storage_conn_id: connection with credentials of the object store. (templated)
    :param result_base_path: folder for the request and result documents, required with ``deploy_mode="cluster"``.
        (templated)
    :param kwargs: further arguments of ``SparkSubmitOperator`` (``conf``, ``executor_memory``, …).
    """

    script: ClassVar[str] = "run_clustering.py"
    plan_service = CLUSTERING_PLANS
    left_behind = _LEFT_BEHIND
    template_fields: Sequence[str] = (*HudiPlanOperator.template_fields, *_PLAN_FIELDS)

    def __init__(
        self,
        *,
        sort_columns: str | Sequence[str] = (),
        layout: str = "",
        partitions: str | Sequence[str] = (),
        every_n_commits: int | str = 0,
        preview: bool = False,
        when_held: WhenHeld = "fail",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.sort_columns = sort_columns
        _check_layout(self.task_id, layout)
        self.layout = layout
        self.partitions = partitions
        self.every_n_commits = every_n_commits
        self.preview = preview
        check_choice(self.task_id, "when_held", when_held, WHEN_HELD)
        self.when_held = when_held
        self.check_arguments()

    def build_request(self, location: TableLocation, request_id: str, result_uri: str) -> ClusteringRequest:
        common = self.common_fields(location, request_id, result_uri)
        return self.checked(ClusteringRequest(**common, **_plan_fields(self), when_held=self.when_held))

    def plans_to_execute(self, run: TaskRun, request: JobRequest) -> Sequence[str]:
        """Return the pending plans of an earlier try. If no earlier try made a plan, the result is empty."""
        made = self.scheduled(run, request)
        return [each.instant.requested_time for each in made if not each.instant.is_completed]

    def executed(self, run: TaskRun, request: JobRequest) -> JobResult | None:
        return self.plan_service.result_if_executed(request, self.scheduled(run, request))


class CancelClusteringOperator(HudiPlanOperator):
    """Remove pending clusterings from the timeline, and delete the files that these clusterings have written so far.

    Give either ``instant`` or ``older_than_minutes``. Readers see no difference, because the committed data files of
    the table stay unchanged.

    .. seealso:: docs/airflow.md

    :param base_path: URI or path of the table; a relative path starts at the connection's base path. (templated)
    :param hudi_conn_id: connection of type ``hudi`` with base path, Spark and storage connection. (templated)
    :param instant: requested times of the plans, in the same forms as for `ExecuteClusteringOperator`. (templated)
    :param older_than_minutes: cancel all plans that have at least this age and that no job is executing. With 0, cancel
        plans of any age. (templated)
    :param preview: report which plans would be cancelled, and cancel none.
    :param hudi_options: any ``hoodie.*`` keys, with Hudi's meaning. (templated)
    :param run_on: where the job runs: ``worker`` (in the task's process) or ``spark`` (submitted to Spark).
    :param on_nothing: what the task does if there is nothing to cancel: ``skip``, ``succeed`` or ``fail``.
    :param table_name: expected name of the table; the task fails if the table's actual name differs. (templated)
    :param storage_conn_id: connection with credentials of the object store. (templated)
    """

    script: ClassVar[str] = "cancel_clustering.py"
    plan_service = CLUSTERING_PLANS
    left_behind = _LEFT_BEHIND
    needs_engine_for = _NEEDS_ENGINE_FOR
    next_try = "cancels"
    template_fields: Sequence[str] = (
        *HudiPlanOperator.template_fields,
        "instant",
        "older_than_minutes",
    )

    def __init__(
        self,
        *,
        instant: Instants | None = None,
        older_than_minutes: int | str | None = None,
        preview: bool = False,
        run_on: RunOn = "worker",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.choose_where_to_run(run_on)
        if (instant is None) == (older_than_minutes is None):
            raise ValueError(f"{self.task_id}: give instant or older_than_minutes, and not both.")
        self.instant = instant
        self.older_than_minutes = older_than_minutes
        self.preview = preview
        self._names_plans = instant is not None
        self.check_arguments()

    def build_request(
        self, location: TableLocation, request_id: str, result_uri: str
    ) -> CancelClusteringRequest:
        common = self.common_fields(location, request_id, result_uri)
        plans = cancellation_fields(self.instant, self.older_than_minutes, names_plans=self._names_plans)
        return self.checked(CancelClusteringRequest(**common, **plans, preview=self.preview))

    def names_plans(self) -> bool:
        return self._names_plans

    def next_try_of(self, request: JobRequest) -> str:
        # A preview cancels no plan. With `older_than_minutes`, the job cancels only plans that are old enough and that
        # no other job is executing.
        return self.next_try if self._names_plans and not self.preview else "examines"


def _check_layout(task_id: str, layout: object) -> None:
    check_choice(task_id, "layout", layout, ("", *LAYOUTS), is_templated=True, normal=str.lower)


def _plan_fields(task: ScheduleClusteringOperator | ClusteringOperator) -> dict[str, Any]:
    """Return the fields of a request that define the plan."""
    return {
        "sort_columns": names_of(task.sort_columns, "sort_columns"),
        "layout": task.layout.lower(),
        "partitions": names_of(task.partitions, "partitions"),
        "every_n_commits": whole_number_of("every_n_commits", task.every_n_commits),
        "preview": task.preview,
    }
