"""Rewrite the files of a Hudi table: fewer and larger files, with rows in an order that lets readers skip files."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.operators.clustering_job import HudiClusteringOperator, WhenHeld
from airflow_hudi_provider.operators.service_job import RunOn
from airflow_hudi_provider.results.clustering import result_of_executed, result_of_nothing
from airflow_hudi_provider.tables.clusterings import executed_by
from airflow_hudi_provider.tables.connection import TableLocation
from airflow_hudi_provider.tasks.arguments import check_choice, instants_of, names_of, whole_number_of
from airflow_hudi_provider.tasks.run import TaskRun
from hudi_table_services.contract.clustering import (
    LAYOUTS,
    WHEN_HELD,
    CancelClusteringRequest,
    ClusteringRequest,
    ExecuteClusteringRequest,
    ScheduleClusteringRequest,
)
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import JobResult

if TYPE_CHECKING:
    from hudi_table_services.tables.clustering_history import Clustering

ALL_PENDING = "all"
"""Value of ``instant`` that selects all pending clusterings of the table, oldest first."""

Instants = str | Sequence[str] | Mapping[str, Any]

_PLAN_FIELDS = ("sort_columns", "layout", "partitions", "every_n_commits")
_NONE_NAMED = "the previous task returned no plan, because it found nothing to cluster or only made a preview"


class ScheduleClusteringOperator(HudiClusteringOperator):
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
    next_try = "reports"
    template_fields: Sequence[str] = (*HudiClusteringOperator.template_fields, *_PLAN_FIELDS)

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
        if found is None and not self.preview and run.table.clusterings().of_request(request.request_id):
            return self.run_here(request)
        return found


class ExecuteClusteringOperator(HudiClusteringOperator):
    """Execute pending clusterings on Spark.

    The job does not execute completed clusterings again. Returns a summary of the rewritten files: ``{"instants",
    "files_in", "files_out", "bytes_in", "bytes_out", "rows_checked", "plans": [{…, "skipping"}], …}``.

    .. seealso:: docs/airflow.md

    :param base_path: URI or path of the table; a relative path starts at the connection's base path. (templated)
    :param hudi_conn_id: connection of type ``hudi`` with base path, Spark and storage connection. (templated)
    :param instant: requested times of the plans: one time, a list of times, a string that contains a time or a list,
        or the return value of `ScheduleClusteringOperator`, as in ``instant=schedule.output``. ``all`` selects all
        pending plans, oldest first. The task fails if the argument renders to an empty string. If the return value
        contains no plans, there is nothing to do. (templated)
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
    template_fields: Sequence[str] = (*HudiClusteringOperator.template_fields, "instant")

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
        return self.checked(
            ExecuteClusteringRequest(
                **self.common_fields(location, request_id, result_uri),
                instants=() if self._means_all else instants_of(self.instant),
                when_held=self.when_held,
            )
        )

    def plans_to_execute(self, run: TaskRun, request: JobRequest) -> Sequence[str]:
        lookup = run.table.look_up_clusterings()
        if lookup is None:
            return ()
        named = {each.instant for name in _named(request) if (each := lookup.current(name)) is not None}
        pending = [each.instant for each in lookup.history.pending]
        return [i.requested_time for i in pending if self._means_all or i in named]

    @property
    def _means_all(self) -> bool:
        return isinstance(self.instant, str) and self.instant.strip().lower() == ALL_PENDING

    def find_completed(self, run: TaskRun, request: JobRequest) -> JobResult | None:
        """Return a result if the argument ``instant`` names no plan, or if an earlier try executed all plans."""
        if not self._means_all and not _named(request):
            return result_of_nothing(request, _NONE_NAMED)
        return self._executed(run, request)

    def confirm(self, run: TaskRun, request: JobRequest, result: JobResult | None) -> JobResult | None:
        """Return a result if each named plan is completed or was removed from the timeline, even if Spark failed."""
        return super().confirm(run, request, result) or self._executed(run, request)

    def _executed(self, run: TaskRun, request: JobRequest) -> JobResult | None:
        """Return the result if all plans of this request are completed.

        If the request names no plans, return None as long as any plan of the table is pending. If no plan is pending,
        the result describes the plans that this request executed. If this request executed no plan, the result
        describes the plans for which this task waited.
        """
        if names := _named(request):
            return _result_of_named(run.table, request, names)
        if run.table.clusterings().pending:
            return None
        return _if_completed(request, executed_by(run.table, request.request_id)) or (
            _result_of_named(run.table, request, run.waited_for) if run.waited_for else None
        )


class ClusteringOperator(HudiClusteringOperator):
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
    template_fields: Sequence[str] = (*HudiClusteringOperator.template_fields, *_PLAN_FIELDS)

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
        """Return the pending plans of an earlier try. If no earlier try made a plan, there is nothing to wait for."""
        if self.preview:
            return ()
        own = run.table.clusterings().of_request(request.request_id)
        return [each.instant.requested_time for each in own if not each.instant.is_completed]

    def find_completed(self, run: TaskRun, request: JobRequest) -> JobResult | None:
        return self._executed(run, request)

    def confirm(self, run: TaskRun, request: JobRequest, result: JobResult | None) -> JobResult | None:
        return super().confirm(run, request, result) or self._executed(run, request)

    def _executed(self, run: TaskRun, request: JobRequest) -> JobResult | None:
        """Return the result if this request made at least one plan and all its plans are completed."""
        if self.preview:
            return None
        return _if_completed(request, run.table.clusterings().of_request(request.request_id))


class CancelClusteringOperator(HudiClusteringOperator):
    """Remove pending clusterings from the timeline, and delete the files that these clusterings have written so far.

    Give ``instant`` or ``older_than_minutes``. Readers see no difference, because the committed data files of
    the table stay unchanged.

    .. seealso:: docs/airflow.md

    :param base_path: URI or path of the table; a relative path starts at the connection's base path. (templated)
    :param hudi_conn_id: connection of type ``hudi`` with base path, Spark and storage connection. (templated)
    :param instant: requested times of the plans, in the same forms as for `ExecuteClusteringOperator`. (templated)
    :param older_than_minutes: cancel all plans that have at least this age and that no job is executing. With 0, the
        age does not matter. (templated)
    :param preview: report which plans would be cancelled, and cancel none.
    :param hudi_options: any ``hoodie.*`` keys, with Hudi's meaning. (templated)
    :param run_on: where the job runs: ``worker`` (in the task's process) or ``spark`` (submitted to Spark).
    :param on_nothing: what the task does if there is nothing to cancel: ``skip``, ``succeed`` or ``fail``.
    :param table_name: expected name of the table; the task fails if the table's actual name differs. (templated)
    :param storage_conn_id: connection with credentials of the object store. (templated)
    """

    script: ClassVar[str] = "cancel_clustering.py"
    next_try = "cancels"
    template_fields: Sequence[str] = (
        *HudiClusteringOperator.template_fields,
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
        age = (
            None if self._names_plans else whole_number_of("older_than_minutes", self.older_than_minutes or 0)
        )
        return self.checked(
            CancelClusteringRequest(
                **self.common_fields(location, request_id, result_uri),
                instants=instants_of(self.instant) if self._names_plans else (),
                older_than_minutes=age,
                preview=self.preview,
            )
        )

    def next_try_of(self, request: JobRequest) -> str:
        # A preview cancels no plan. With `older_than_minutes`, the job cancels only plans that are old enough and that
        # no other job is executing.
        return self.next_try if self._names_plans and not self.preview else "examines"

    def find_completed(self, run: TaskRun, request: JobRequest) -> JobResult | None:
        is_empty = self._names_plans and not _named(request)
        return result_of_nothing(request, _NONE_NAMED) if is_empty else None


def _check_layout(task_id: str, layout: object) -> None:
    check_choice(task_id, "layout", layout, ("", *LAYOUTS), is_templated=True, normal=str.lower)


def _plan_fields(task: ScheduleClusteringOperator | ClusteringOperator) -> dict[str, Any]:
    """Return the fields of a request that define the plan."""
    return {
        "sort_columns": names_of(task.sort_columns),
        "layout": task.layout.lower(),
        "partitions": names_of(task.partitions),
        "every_n_commits": whole_number_of("every_n_commits", task.every_n_commits),
        "preview": task.preview,
    }


def _if_completed(request: JobRequest, clusterings: "Sequence[Clustering]") -> JobResult | None:
    """Return the result of these clusterings if there is at least one and all are completed; else None."""
    is_done = bool(clusterings) and all(each.instant.is_completed for each in clusterings)
    return result_of_executed(request, clusterings) if is_done else None


def _result_of_named(table: HudiHook, request: JobRequest, names: Sequence[str]) -> JobResult | None:
    """Return the result if each named plan, or its replacement, is completed or was removed from the timeline.

    Return None in all other cases, so that the job runs. If the timeline contains neither a named plan nor its removal,
    the job reports that the name is wrong.
    """
    lookup = table.look_up_clusterings()
    if lookup is None:
        return None
    found: dict[str, Clustering] = {}
    removed = []
    for name in names:
        if (clustering := lookup.current(name)) is not None:
            found[clustering.instant.requested_time] = (
                clustering  # one entry, even if two names identify the same plan
            )
        elif (words := lookup.why_missing(name)) is not None:
            removed.append(words)
        else:
            return None
    if not found:
        return result_of_nothing(request, "; ".join(removed))
    result = _if_completed(request, list(found.values()))
    return replace(result, reason="; ".join([result.reason, *removed])) if result is not None else None


def _named(request: JobRequest) -> tuple[str, ...]:
    """Return the plans that the request names."""
    return tuple(getattr(request, "instants", ()))
