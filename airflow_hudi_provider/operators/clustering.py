"""Rewrite the files of a Hudi table: fewer and larger files, with rows in an order that lets readers skip files."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.operators.clustering_job import HudiClusteringOperator, WhenHeld
from airflow_hudi_provider.operators.service_job import RunOn
from airflow_hudi_provider.results.clustering import result_of_executed, result_of_nothing
from airflow_hudi_provider.tables.connection import TableLocation
from airflow_hudi_provider.tasks.arguments import instants_of, names_of, whole_number_of
from airflow_hudi_provider.tasks.run import TaskRun
from hudi_table_services.contract.clustering import (
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
"""Every clustering that is pending on the table, oldest first."""

Instants = str | Sequence[str] | Mapping[str, Any]

_PLAN_FIELDS = ("sort_columns", "layout", "partitions", "every_n_commits")
_NONE_NAMED = "the previous task named no plan: it had nothing to plan, or only made a preview"


class ScheduleClusteringOperator(HudiClusteringOperator):
    """Plan a clustering and put the plan on the timeline; `ExecuteClusteringOperator` executes it.

    It reads metadata only, so by default it runs in the worker. The same task in the same run plans once, however
    often it is retried or cleared. Returns ``{"instant", "instants", "groups", "files_in", "bytes_in",
    "expected_files", "reason", …}``.

    .. seealso:: docs/airflow.md

    :param base_path: URI or path of the table; relative: below the connection's base path. (templated)
    :param hudi_conn_id: connection of type ``hudi``: base path, Spark and storage connection. (templated)
    :param sort_columns: rows of the new files are sorted by them. (templated)
    :param layout: ``linear``, ``zorder`` or ``hilbert``: how to combine sort columns. (templated)
    :param partitions: only these partition paths. (templated)
    :param every_n_commits: plan only after this many commits since the last clustering, completed or pending;
        0: always. (templated)
    :param preview: plan, show the plan in log and return value, and write nothing.
    :param hudi_options: any ``hoodie.*`` key, with Hudi's meaning; unknown ones are refused when the DAG is read.
        (templated)
    :param run_on: ``worker``: in the process of the task; ``spark``: submitted, for tables with a lot of metadata.
    :param on_nothing: what it means if there is nothing to plan: ``skip``, ``succeed`` or ``fail``.
    :param on_rerun: what clearing the task means: ``reuse`` its plan, or ``write_again``: make another one.
    :param table_name: checked against the table's name. (templated)
    :param storage_conn_id: connection with credentials of the object store. (templated)
    :param kwargs: with ``run_on="spark"`` everything that `UpsertWithSizingOperator` takes to reach Spark.
    """

    script: ClassVar[str] = "schedule_clustering.py"
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
        """Return the plan also if Spark failed: the plan may be on the timeline, and the job then only finds it."""
        found = super().confirm(run, request, result)
        if found is None and not self.preview and run.table.clusterings().of_request(request.request_id):
            return self.run_here(request)
        return found


class ExecuteClusteringOperator(HudiClusteringOperator):
    """Execute pending clusterings on Spark.

    Completed clusterings are not executed again. Returns what was done to the files: ``{"instants", "files_in",
    "files_out", "bytes_in", "bytes_out", "rows_checked", "plans": [{…, "skipping"}], …}``.

    .. seealso:: docs/airflow.md

    :param base_path: URI or path of the table; relative: below the connection's base path. (templated)
    :param hudi_conn_id: connection of type ``hudi``: base path, Spark and storage connection. (templated)
    :param instant: plans by their requested times: one, a list, texts of these, or the answer of
        `ScheduleClusteringOperator`, as in ``instant=schedule.output``. ``all``: all that are pending, oldest first.
        An argument that renders to nothing is refused; an answer without plans means that there is nothing to do.
        (templated)
    :param when_held: while another execution of a plan is alive: ``fail``, to be retried, or ``wait`` for it in the
        triggerer.
    :param hudi_options: any ``hoodie.*`` key, with Hudi's meaning. (templated)
    :param on_nothing: what it means if no plan is pending: ``skip``, ``succeed`` or ``fail``.
    :param table_name: checked against the table's name. (templated)
    :param spark_conn_id: Spark connection, as ``SparkSubmitOperator`` takes it; left out: the hudi connection's, or
        ``spark_default``. (templated)
    :param storage_conn_id: connection with credentials of the object store. (templated)
    :param result_base_path: folder for request and result, needed with ``deploy_mode="cluster"``. (templated)
    :param kwargs: everything else that ``SparkSubmitOperator`` takes (``conf``, ``executor_memory``, …).
    """

    script: ClassVar[str] = "execute_clustering.py"
    template_fields: Sequence[str] = (*HudiClusteringOperator.template_fields, "instant")

    def __init__(
        self, *, instant: Instants = ALL_PENDING, when_held: WhenHeld = "fail", **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.instant = instant
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
        """Return a result if no plan was named, or if an earlier try executed all of them."""
        if not self._means_all and not _named(request):
            return result_of_nothing(request, _NONE_NAMED)
        return self._executed(run, request)

    def confirm(self, run: TaskRun, request: JobRequest, result: JobResult | None) -> JobResult | None:
        """Return a result also if Spark failed: all named plans may be completed, or not exist any more."""
        return super().confirm(run, request, result) or self._executed(run, request)

    def _executed(self, run: TaskRun, request: JobRequest) -> JobResult | None:
        """Return the result, if all plans are completed that were named, or that this request executed.

        Plans that another attempt completed while this task waited for it count as named.
        """
        if names := _named(request):
            return _result_of_named(run.table, request, names)
        if run.table.clusterings().pending:
            return None
        return _if_completed(request, run.table.executed_by(request.request_id)) or (
            _result_of_named(run.table, request, run.waited_for) if run.waited_for else None
        )


class ClusteringOperator(HudiClusteringOperator):
    """Plan a clustering and execute it, in one Spark job.

    The same task in the same run plans once; a retry finishes what it planned.

    .. seealso:: docs/airflow.md

    :param base_path: URI or path of the table; relative: below the connection's base path. (templated)
    :param hudi_conn_id: connection of type ``hudi``: base path, Spark and storage connection. (templated)
    :param sort_columns: rows of the new files are sorted by them. (templated)
    :param layout: ``linear``, ``zorder`` or ``hilbert``: how to combine sort columns. (templated)
    :param partitions: only these partition paths. (templated)
    :param every_n_commits: cluster only after this many commits since the last clustering, completed or pending; 0:
        always. (templated)
    :param preview: plan, show the plan in log and return value, and write nothing.
    :param when_held: while another execution of the plan is alive: ``fail``, to be retried, or ``wait`` for it in the
        triggerer.
    :param hudi_options: any ``hoodie.*`` key, with Hudi's meaning; unknown ones are refused when the DAG is read.
        (templated)
    :param on_nothing: what it means if there is nothing to do: ``skip``, ``succeed`` or ``fail``.
    :param on_rerun: what clearing the task means: ``reuse`` its clustering, or ``write_again``: make another one.
    :param table_name: checked against the table's name. (templated)
    :param spark_conn_id: Spark connection, as ``SparkSubmitOperator`` takes it; left out: the hudi connection's, or
        ``spark_default``. (templated)
    :param storage_conn_id: connection with credentials of the object store. (templated)
    :param result_base_path: folder for request and result, needed with ``deploy_mode="cluster"``. (templated)
    :param kwargs: everything else that ``SparkSubmitOperator`` takes (``conf``, ``executor_memory``, …).
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
        self.layout = layout
        self.partitions = partitions
        self.every_n_commits = every_n_commits
        self.preview = preview
        self.when_held = when_held
        self.check_arguments()

    def build_request(self, location: TableLocation, request_id: str, result_uri: str) -> ClusteringRequest:
        common = self.common_fields(location, request_id, result_uri)
        return self.checked(ClusteringRequest(**common, **_plan_fields(self), when_held=self.when_held))

    def plans_to_execute(self, run: TaskRun, request: JobRequest) -> Sequence[str]:
        """The plans of an earlier try; no other attempt can hold a plan that does not exist yet."""
        if self.preview:
            return ()
        own = run.table.clusterings().of_request(request.request_id)
        return [each.instant.requested_time for each in own if not each.instant.is_completed]

    def find_completed(self, run: TaskRun, request: JobRequest) -> JobResult | None:
        return self._executed(run, request)

    def confirm(self, run: TaskRun, request: JobRequest, result: JobResult | None) -> JobResult | None:
        return super().confirm(run, request, result) or self._executed(run, request)

    def _executed(self, run: TaskRun, request: JobRequest) -> JobResult | None:
        """Return the result, if this request made plans and all of them are completed."""
        if self.preview:
            return None
        return _if_completed(request, run.table.clusterings().of_request(request.request_id))


class CancelClusteringOperator(HudiClusteringOperator):
    """Remove pending clusterings from the timeline, and the files that they have written so far.

    Give ``instant`` or ``older_than_minutes``. Readers see no difference; the files of the table stay unchanged.

    .. seealso:: docs/airflow.md

    :param base_path: URI or path of the table; relative: below the connection's base path. (templated)
    :param hudi_conn_id: connection of type ``hudi``: base path, Spark and storage connection. (templated)
    :param instant: plans by their requested times, as `ExecuteClusteringOperator` takes them. (templated)
    :param older_than_minutes: all plans of at least this age; 0: all. (templated)
    :param preview: report which plans would be cancelled, and cancel none.
    :param hudi_options: any ``hoodie.*`` key, with Hudi's meaning. (templated)
    :param run_on: ``worker``: in the process of the task; ``spark``: submitted.
    :param on_nothing: what it means if there is nothing to cancel: ``skip``, ``succeed`` or ``fail``.
    :param table_name: checked against the table's name. (templated)
    :param storage_conn_id: connection with credentials of the object store. (templated)
    """

    script: ClassVar[str] = "cancel_clustering.py"
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

    def find_completed(self, run: TaskRun, request: JobRequest) -> JobResult | None:
        is_empty = self._names_plans and not _named(request)
        return result_of_nothing(request, _NONE_NAMED) if is_empty else None


def _plan_fields(task: ScheduleClusteringOperator | ClusteringOperator) -> dict[str, Any]:
    """The fields of a request that define what to plan."""
    return {
        "sort_columns": names_of(task.sort_columns),
        "layout": task.layout.lower(),
        "partitions": names_of(task.partitions),
        "every_n_commits": whole_number_of("every_n_commits", task.every_n_commits),
        "preview": task.preview,
    }


def _if_completed(request: JobRequest, clusterings: "Sequence[Clustering]") -> JobResult | None:
    """Return the result of these clusterings, if there are any and all of them are completed."""
    is_done = bool(clusterings) and all(each.instant.is_completed for each in clusterings)
    return result_of_executed(request, clusterings) if is_done else None


def _result_of_named(table: HudiHook, request: JobRequest, names: Sequence[str]) -> JobResult | None:
    """Return the result, if each of these plans, or the plan that replaced it, is completed or does not exist any more.

    Return None also if the timeline does not know a name: the job explains what is wrong with the name.
    """
    lookup = table.look_up_clusterings()
    if lookup is None:
        return None
    found: dict[str, Clustering] = {}
    removed = []
    for name in names:
        if (clustering := lookup.current(name)) is not None:
            found[clustering.instant.requested_time] = clustering  # once, though two names may mean it
        elif (words := lookup.why_missing(name)) is not None:
            removed.append(words)
        else:
            return None
    if not found:
        return result_of_nothing(request, "; ".join(removed))
    result = _if_completed(request, list(found.values()))
    return replace(result, reason="; ".join([result.reason, *removed])) if result is not None else None


def _named(request: JobRequest) -> tuple[str, ...]:
    """Plans that the request names."""
    return tuple(getattr(request, "instants", ()))
