"""Compact a merge-on-read table: merge the log files of file groups into new base files."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from airflow_hudi_provider.operators.compaction_job import (
    HudiCompactionOperator,
    WhenHeld,
    if_completed,
    result_of_named,
)
from airflow_hudi_provider.operators.service_job import RunOn
from airflow_hudi_provider.results.clustering import result_of_nothing
from airflow_hudi_provider.tables.compactions import executed_by
from airflow_hudi_provider.tables.connection import TableLocation
from airflow_hudi_provider.tasks.arguments import instants_of, names_of, whole_number_of
from airflow_hudi_provider.tasks.run import TaskRun
from hudi_table_services.contract.compaction.compaction import (
    CancelCompactionRequest,
    CompactionRequest,
    ExecuteCompactionRequest,
    ScheduleCompactionRequest,
)
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import JobResult

if TYPE_CHECKING:
    from hudi_table_services.tables.compaction.compaction_history import Compaction

ALL_PENDING = "all"
"""Value of ``instant`` that selects all pending compactions of the table, oldest first."""

Instants = str | Sequence[str] | Mapping[str, Any]

_PLAN_FIELDS = ("partitions", "every_n_commits")
_NONE_NAMED = "the previous task named no plan, because it had nothing to plan or only made a preview"


class ScheduleCompactionOperator(HudiCompactionOperator):
    """Plan a compaction and write the plan to the timeline; `ExecuteCompactionOperator` executes the plan.

    The job reads metadata only, so by default it runs in the worker. It makes a plan only if a compaction is due. A
    task makes one plan in each DAG run, even if Airflow retries the task or a user clears it. Returns ``{"instant",
    "instants", "slices", "log_files", "log_bytes", "trigger", "reason", …}``.

    .. seealso:: docs/compaction.md

    :param base_path: URI or path of the table; a relative path starts at the connection's base path. (templated)
    :param hudi_conn_id: connection of type ``hudi`` with base path, Spark and storage connection. (templated)
    :param partitions: compact only these partition paths. (templated)
    :param every_n_commits: number of delta commits since the last compaction that make a compaction due
        (``hoodie.compact.inline.max.delta.commits``). With 0, the key applies, whose default is 5. (templated)
    :param ignore_trigger: plan even if ``hoodie.compact.inline.trigger.strategy`` and its limits ask for no compaction.
    :param preview: make a plan, report the plan in the log and the return value, and write nothing.
    :param hudi_options: any ``hoodie.*`` keys, with Hudi's meaning. An unknown key is an error when Airflow parses the
        DAG. (templated)
    :param run_on: where the job runs: ``worker`` (in the task's process), or ``spark`` (submitted to Spark) for tables
        with a lot of metadata.
    :param on_nothing: what the task does if there is nothing to plan: ``skip``, ``succeed`` or ``fail``.
    :param on_rerun: what a cleared task does: ``reuse`` reports the earlier plan, and ``write_again`` makes a new plan.
    :param table_name: expected name of the table; the task fails if the table's actual name differs. (templated)
    :param storage_conn_id: connection with credentials of the object store. (templated)
    :param kwargs: Spark arguments of `UpsertWithSizingOperator`. They have an effect only with ``run_on="spark"``.
    """

    script: ClassVar[str] = "schedule_compaction.py"
    next_try = "reports"
    template_fields: Sequence[str] = (*HudiCompactionOperator.template_fields, *_PLAN_FIELDS)

    def __init__(
        self,
        *,
        partitions: str | Sequence[str] = (),
        every_n_commits: int | str = 0,
        ignore_trigger: bool = False,
        preview: bool = False,
        run_on: RunOn = "worker",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.partitions = partitions
        self.every_n_commits = every_n_commits
        self.ignore_trigger = ignore_trigger
        self.preview = preview
        self.choose_where_to_run(run_on)
        self.check_arguments()

    def build_request(
        self, location: TableLocation, request_id: str, result_uri: str
    ) -> ScheduleCompactionRequest:
        common = self.common_fields(location, request_id, result_uri)
        return self.checked(ScheduleCompactionRequest(**common, **_plan_fields(self)))

    def confirm(self, run: TaskRun, request: JobRequest, result: JobResult | None) -> JobResult | None:
        """Return the plan, even if Spark failed. If the timeline has the plan, run the job here to describe it."""
        found = super().confirm(run, request, result)
        if found is not None or self.preview:
            return found
        return self.run_here(request) if _made_by(run, request) is not None else None


class ExecuteCompactionOperator(HudiCompactionOperator):
    """Execute pending compactions on Spark.

    The job does not execute completed compactions again. Returns a summary of the merged files: ``{"instants",
    "slices", "log_files", "rows", "updated_rows", "deleted_rows", "logs_before", "logs_after", …}``.

    .. seealso:: docs/compaction.md

    :param base_path: URI or path of the table; a relative path starts at the connection's base path. (templated)
    :param hudi_conn_id: connection of type ``hudi`` with base path, Spark and storage connection. (templated)
    :param instant: requested times of the plans: one time, a list of times, a text that contains a time or a list, or
        the return value of `ScheduleCompactionOperator`, as in ``instant=schedule.output``. ``all`` selects all
        pending plans, oldest first. The task fails if the argument renders to an empty text. If the return value
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

    script: ClassVar[str] = "execute_compaction.py"
    template_fields: Sequence[str] = (*HudiCompactionOperator.template_fields, "instant")

    def __init__(
        self, *, instant: Instants = ALL_PENDING, when_held: WhenHeld = "fail", **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.instant = instant
        self.when_held = when_held
        self.check_arguments()

    def build_request(
        self, location: TableLocation, request_id: str, result_uri: str
    ) -> ExecuteCompactionRequest:
        return self.checked(
            ExecuteCompactionRequest(
                **self.common_fields(location, request_id, result_uri),
                instants=() if self._means_all else instants_of(self.instant),
                when_held=self.when_held,
            )
        )

    def plans_to_execute(self, run: TaskRun, request: JobRequest) -> Sequence[str]:
        history = run.table.compactions()
        if history is None:
            return ()
        named = {found.instant for name in _named(request) if (found := history.current(name)) is not None}
        pending = [each.instant for each in history.pending]
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
            return result_of_named(run.table, request, names)
        history = run.table.compactions()
        if history is None or history.pending:
            return None
        return if_completed(request, executed_by(history, request.request_id)) or (
            result_of_named(run.table, request, run.waited_for) if run.waited_for else None
        )


class CompactionOperator(HudiCompactionOperator):
    """Plan a compaction if it is due, and execute it, in one Spark job.

    A task makes one plan in each DAG run; a retry executes the plan of the earlier try. If no compaction is due, the
    job ends before it starts Spark executors.

    .. seealso:: docs/compaction.md

    :param base_path: URI or path of the table; a relative path starts at the connection's base path. (templated)
    :param hudi_conn_id: connection of type ``hudi`` with base path, Spark and storage connection. (templated)
    :param partitions: compact only these partition paths. (templated)
    :param every_n_commits: number of delta commits since the last compaction that make a compaction due
        (``hoodie.compact.inline.max.delta.commits``). With 0, the key applies, whose default is 5. (templated)
    :param ignore_trigger: plan even if ``hoodie.compact.inline.trigger.strategy`` and its limits ask for no compaction.
    :param preview: make a plan, report the plan in the log and the return value, and write nothing.
    :param when_held: what the task does if another attempt is executing the plan: ``fail`` lets Airflow retry the task,
        and ``wait`` makes the task wait in the triggerer.
    :param hudi_options: any ``hoodie.*`` keys, with Hudi's meaning. An unknown key is an error when Airflow parses the
        DAG. (templated)
    :param on_nothing: what the task does if there is nothing to do: ``skip``, ``succeed`` or ``fail``.
    :param on_rerun: what a cleared task does: ``reuse`` reports the earlier compaction, and ``write_again`` makes a new
        compaction.
    :param table_name: expected name of the table; the task fails if the table's actual name differs. (templated)
    :param spark_conn_id: connection of the type Spark or Spark Connect. By default, the task uses the Spark connection
        that the hudi connection names, else ``spark_default``. (templated)
    :param storage_conn_id: connection with credentials of the object store. (templated)
    :param result_base_path: folder for the request and result documents, required with ``deploy_mode="cluster"``.
        (templated)
    :param kwargs: further arguments of ``SparkSubmitOperator`` (``conf``, ``executor_memory``, …).
    """

    script: ClassVar[str] = "run_compaction.py"
    template_fields: Sequence[str] = (*HudiCompactionOperator.template_fields, *_PLAN_FIELDS)

    def __init__(
        self,
        *,
        partitions: str | Sequence[str] = (),
        every_n_commits: int | str = 0,
        ignore_trigger: bool = False,
        preview: bool = False,
        when_held: WhenHeld = "fail",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.partitions = partitions
        self.every_n_commits = every_n_commits
        self.ignore_trigger = ignore_trigger
        self.preview = preview
        self.when_held = when_held
        self.check_arguments()

    def build_request(self, location: TableLocation, request_id: str, result_uri: str) -> CompactionRequest:
        common = self.common_fields(location, request_id, result_uri)
        return self.checked(CompactionRequest(**common, **_plan_fields(self), when_held=self.when_held))

    def plans_to_execute(self, run: TaskRun, request: JobRequest) -> Sequence[str]:
        """Return the pending plan of an earlier try. If no earlier try made a plan, there is nothing to wait for."""
        made = None if self.preview else _made_by(run, request)
        return [made.instant.requested_time] if made is not None and not made.instant.is_completed else ()

    def find_completed(self, run: TaskRun, request: JobRequest) -> JobResult | None:
        return self._executed(run, request)

    def confirm(self, run: TaskRun, request: JobRequest, result: JobResult | None) -> JobResult | None:
        return super().confirm(run, request, result) or self._executed(run, request)

    def _executed(self, run: TaskRun, request: JobRequest) -> JobResult | None:
        """Return the result if this request made a plan and the plan is completed."""
        made = None if self.preview else _made_by(run, request)
        return if_completed(request, [made]) if made is not None else None


class CancelCompactionOperator(HudiCompactionOperator):
    """Remove pending compactions from the timeline, and delete the files that these compactions have written so far.

    Give ``instant`` or ``older_than_minutes``. Readers see no difference, because they read the log files until a
    compaction is completed. In table version 6, a plan on which later log files depend cannot be cancelled.

    .. seealso:: docs/compaction.md

    :param base_path: URI or path of the table; a relative path starts at the connection's base path. (templated)
    :param hudi_conn_id: connection of type ``hudi`` with base path, Spark and storage connection. (templated)
    :param instant: requested times of the plans, in the same forms as for `ExecuteCompactionOperator`. (templated)
    :param older_than_minutes: cancel all plans that have at least this age and that no job is executing. With 0, the
        age does not matter. (templated)
    :param preview: report which plans would be cancelled, and cancel none.
    :param hudi_options: any ``hoodie.*`` keys, with Hudi's meaning. (templated)
    :param run_on: where the job runs: ``worker`` (in the task's process) or ``spark`` (submitted to Spark).
    :param on_nothing: what the task does if there is nothing to cancel: ``skip``, ``succeed`` or ``fail``.
    :param table_name: expected name of the table; the task fails if the table's actual name differs. (templated)
    :param storage_conn_id: connection with credentials of the object store. (templated)
    """

    script: ClassVar[str] = "cancel_compaction.py"
    next_try = "cancels"
    template_fields: Sequence[str] = (
        *HudiCompactionOperator.template_fields,
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
    ) -> CancelCompactionRequest:
        age = (
            None if self._names_plans else whole_number_of("older_than_minutes", self.older_than_minutes or 0)
        )
        return self.checked(
            CancelCompactionRequest(
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


def _plan_fields(task: ScheduleCompactionOperator | CompactionOperator) -> dict[str, Any]:
    """Return the fields of a request that define what to plan."""
    return {
        "partitions": names_of(task.partitions),
        "every_n_commits": whole_number_of("every_n_commits", task.every_n_commits),
        "ignore_trigger": task.ignore_trigger,
        "preview": task.preview,
    }


def _made_by(run: TaskRun, request: JobRequest) -> "Compaction | None":
    """Return the compaction that this request scheduled; None if the active timeline has none."""
    history = run.table.compactions()
    return history.of_request(request.request_id) if history is not None else None


def _named(request: JobRequest) -> tuple[str, ...]:
    """Return the plans that the request names."""
    return tuple(getattr(request, "instants", ()))
