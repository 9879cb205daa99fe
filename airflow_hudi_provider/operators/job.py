"""Base class of all operators: run the job unless an earlier try completed its request, then check the timeline."""

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.common.compat.sdk import AirflowSkipException, BaseOperatorLink

from airflow_hudi_provider.assets import HudiAsset
from airflow_hudi_provider.exceptions import HudiTaskRefusedError
from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.links import SPARK_UI_LINK, TABLE_LINK, push_table_link
from airflow_hudi_provider.results.argument_names import with_argument_names
from airflow_hudi_provider.results.failure import failures_shown
from airflow_hudi_provider.results.log import log_result, messages_of_engine
from airflow_hudi_provider.results.task_outcome import JobEnd, decide_outcome, event_of, push_skipped, xcom_of
from airflow_hudi_provider.spark.submission import SparkEnd, Submission
from airflow_hudi_provider.tables.connection import TableLocation
from airflow_hudi_provider.tasks.arguments import check_base_path, check_choice, check_job_arguments
from airflow_hudi_provider.tasks.declared_table import declare_table, fill_events, hide_declared_asset
from airflow_hudi_provider.tasks.early_start import start_in_worker
from airflow_hudi_provider.tasks.identity import OnRerun, identity_of, place_of
from airflow_hudi_provider.tasks.killed import log_state, release_in_time
from airflow_hudi_provider.tasks.lineage import lineage_of
from airflow_hudi_provider.tasks.memory import TaskMemory
from airflow_hudi_provider.tasks.metrics import measured
from airflow_hudi_provider.tasks.run import TaskRun
from airflow_hudi_provider.tasks.templates import refuse_emptied, refuse_empty_interval
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import JobResult, Outcome

if TYPE_CHECKING:
    from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
    from airflow.providers.common.compat.sdk import Context

OnEmpty = Literal["succeed", "skip", "fail"]

_FAILED_WHILE_DEFERRED = "__fail__"
_OF_THE_JOB = {"application", "application_args", "java_class"}


class HudiJobOperator(SparkSubmitOperator):
    """Base of all operators that run a job on a table.

    This class has two direct subclasses: `HudiWriteOperator` for writes, and `HudiServiceOperator` for table services.

    :param base_path: URI or path of the table; a relative path starts at the connection's base path. (templated)
    :param hudi_conn_id: connection of type ``hudi`` with base path, Spark and storage connection. (templated)
    :param storage_conn_id: connection with credentials of the object store. (templated)
    :param hudi_options: any ``hoodie.*`` keys, with Hudi's meaning. (templated)
    :param on_rerun: what a cleared task does with a request that is already completed: ``reuse`` reports the earlier
        result, and ``write_again`` runs the job again.
    :param declare_asset: declare the table as an outlet if the task changes rows, else as an inlet. Explicit assets of
        the table take precedence. If the base path contains a template, or is relative to the base path of a
        connection, the operator declares no asset.
    :param spark_conn_id: connection of the type Spark or Spark Connect. By default, the task uses the Spark connection
        that the hudi connection names, else ``spark_default``. (templated)
    :param result_base_path: folder for request and result documents, needed with ``deploy_mode="cluster"``. (templated)
    :param conn_id: the same as ``spark_conn_id``, under the name that ``SparkSubmitOperator`` uses.
    :param deferrable: wait for Spark in the triggerer, without a worker slot. The Spark run outlives the process that
        began it, and a retry continues to wait for the run. In client mode, the worker and the triggerer must share a
        folder, and the worker's machine must continue to run. Because of these conditions,
        ``[operators] default_deferrable`` has no effect on this operator.
    """

    script: ClassVar[str]
    """File name of the job script."""

    last_result: JobResult | None = None
    """Result of this try, or None until the result is known. A failed try has the result that the job reported."""

    left_behind: ClassVar[str] = "Nothing was committed."
    """Sentence for error messages: the state of the table after a job that did not complete its request."""

    declared_asset: HudiAsset | None = None  # the asset that the operator added to its outlets or inlets

    may_be_empty: ClassVar[frozenset[str]] = frozenset()
    """Arguments whose template may render to an empty string, because an empty value is harmless."""

    changes_table = True
    """Whether the job can change the table. If False, the job only reads the table."""

    take_turns = False
    """Whether the task waits for its turn in the table's writer queue."""

    operator_extra_links: Collection[BaseOperatorLink] = (TABLE_LINK, SPARK_UI_LINK)
    template_fields: Sequence[str] = (
        *SparkSubmitOperator.template_fields,
        "spark_conn_id",
        "result_base_path",
        "base_path",
        "hudi_conn_id",
        "storage_conn_id",
        "hudi_options",
    )
    template_fields_renderers: ClassVar[dict[str, str]] = {"conf": "json", "hudi_options": "json"}
    ui_color = "#c8e6f0"

    def __init__(
        self,
        *,
        base_path: str | None = None,
        hudi_conn_id: str | None = None,
        storage_conn_id: str | None = None,
        hudi_options: Mapping[str, Any] | None = None,
        on_rerun: OnRerun = "reuse",
        spark_conn_id: str | None = None,
        result_base_path: str | None = None,
        conn_id: str | None = None,
        deferrable: bool = False,
        declare_asset: bool = True,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("name", f"hudi {kwargs.get('task_id', '')}")
        super().__init__(**kwargs)
        self.base_path = base_path
        self.hudi_conn_id = hudi_conn_id
        self.storage_conn_id = storage_conn_id
        self.hudi_options = hudi_options
        self.on_rerun = on_rerun
        self.spark_conn_id = spark_conn_id or conn_id
        self.result_base_path = result_base_path
        self.deferrable = deferrable
        self.declare_asset = declare_asset
        self._filled_in_later: tuple[str, ...] = ()
        self._waited_for: tuple[str, ...] | None = None
        self.shown_messages: set[str] = set()  # messages of the job that are already in the log of this try
        # `execute` sets this attribute, because Airflow copies the operator before a run.
        self._submission: Submission | None = None
        if taken := _OF_THE_JOB & kwargs.keys():
            raise ValueError(
                f"{self.task_id}: {', '.join(sorted(taken))} cannot be set, because the operator sets the Spark "
                "application itself."
            )
        if conn_id and spark_conn_id and conn_id != spark_conn_id:
            raise ValueError(
                f"{self.task_id}: conn_id={conn_id!r} and spark_conn_id={spark_conn_id!r} differ."
            )
        if deferrable and getattr(self, "post_submit_commands", None):
            raise ValueError(
                f"{self.task_id}: post_submit_commands would run before the job ends, because a deferrable task is "
                "deferred as soon as the job has begun. Run the commands in a task of their own, or set "
                "deferrable=False."
            )
        if base_path is None and hudi_conn_id is None:
            raise ValueError(f"{self.task_id}: give base_path or hudi_conn_id.")
        check_choice(self.task_id, "on_rerun", on_rerun, ("reuse", "write_again"))

    @abstractmethod
    def build_request(self, location: TableLocation, request_id: str, result_uri: str) -> JobRequest:
        """Build the job's request from the rendered arguments. Raises InvalidRequestError."""

    @abstractmethod
    def refuse_unknown_key(self, key: str) -> None:
        """Raise InvalidRequestError if the job does not know this key of ``hudi_options``."""

    @abstractmethod
    def when_empty(self) -> OnEmpty:
        """Return what the task does if the job had nothing to do."""

    @abstractmethod
    def find_completed(self, run: TaskRun, request: JobRequest) -> JobResult | None:
        """Return the result of an earlier try that completed the request, or None if the job must run."""

    @abstractmethod
    def confirm(self, run: TaskRun, request: JobRequest, result: JobResult | None) -> JobResult | None:
        """Read the timeline after the job. Return the confirmed result, or None if the request is not completed.

        Args:
            result: the result that the job reported, or None if the job reported no result or an invalid result.
        """

    @abstractmethod
    def log_state_after_kill(self, run: TaskRun) -> None:
        """Log the state of the timeline after the job was killed."""

    def run_job(self, run: TaskRun, submission: Submission) -> JobResult:
        """Run the job, by default on Spark. Raises TaskDeferred if the triggerer waits for the job."""
        if (early := start_in_worker(self, run, submission)) is not None:
            return early
        with submission.submit() as end:
            return self._outcome_of(run, end)

    def conclude_job(self, run: TaskRun, submission: Submission, event: dict[str, Any]) -> JobResult:
        """Return the result of the job for which the task was deferred."""
        with submission.conclude(event) as end:
            return self._outcome_of(run, end)

    def report_failure(self, context: "Context", result: JobResult) -> None:
        """Store the result of a failed job, and log what the job did or measured before it failed."""
        self.last_result = result
        if result.report is not None:
            log_result(self.log, result, self.shown_messages, type(self))

    def remember(self, run: TaskRun, result: JobResult) -> None:
        """Store the facts about this try that later tries need. By default, store nothing."""

    def answer_of(self, result: JobResult) -> dict[str, Any]:
        """Build the task's return value from small, plain JSON values."""
        return xcom_of(result)

    def event_of(self, result: JobResult) -> dict[str, Any]:
        """Build the ``extra`` field of the task's asset events from small, plain JSON values."""
        return event_of(result)

    def add_partitions(self, event: Any, result: JobResult) -> None:
        """Add partition keys to an asset event. By default, add none."""

    def changes_rows(self) -> bool:
        """Return whether the task can change the rows that readers see. By default, False."""
        return False

    def lineage_inputs(self) -> list[str]:
        """Return the paths that the job reads besides the table."""
        return []

    def is_preview(self) -> bool:
        """Return whether the job is a preview or dry run, which writes nothing."""
        return bool(getattr(self, "preview", False))

    @property
    def begun_run(self) -> TaskRun | None:
        """Return the run of this try, or None if the task has not located its table."""
        return self._submission.run if self._submission is not None else None

    def table_after_failure(self, run: TaskRun) -> str:
        """Return a sentence about what the table contains after the task failed."""
        return self.left_behind

    def leave_turn(self, run: TaskRun, request_id: str) -> None:
        """Remove an earlier request of this task from the table's writer queue. By default, do nothing."""

    def release(self, run: TaskRun) -> None:
        """Release the resources of a killed task, such as its turn in the writer queue. By default, do nothing."""

    def render_template_fields(self, context: "Context", jinja_env: Any = None) -> None:
        super().render_template_fields(context, jinja_env)
        hide_declared_asset(self)

    def execute(self, context: "Context") -> dict[str, Any]:  # type: ignore[override]  # Airflow's returns None
        """Return the result of the request. If an earlier try completed the request, do not run the job again."""
        shown = messages_of_engine(type(self))
        with measured(self), failures_shown(self, context), shown as self.shown_messages:
            return self._execute(context, None)

    def execute_when_over(self, context: "Context", event: dict[str, Any] | None = None) -> dict[str, Any]:
        """Conclude the Spark run for which this task was deferred. Airflow passes the trigger's event."""
        event = event or {}
        earlier_s = float(event.get("seconds") or 0)
        shown = messages_of_engine(type(self))
        with measured(self, earlier_s=earlier_s), failures_shown(self, context), shown as self.shown_messages:
            return self._execute(context, event)

    def resume_execution(
        self, next_method: str, next_kwargs: dict[str, Any] | None, context: "Context"
    ) -> Any:
        """Resume a deferred task for Airflow. If ``execution_timeout`` has passed, first end the Spark run."""
        error = str((next_kwargs or {}).get("error", ""))
        if next_method == _FAILED_WHILE_DEFERRED and "timeout" in error.lower():
            self.end_late_run(self._begin(context))
        return super().resume_execution(next_method, next_kwargs, context)

    def on_kill(self) -> None:
        """End the Spark run, and log the state of the timeline."""
        if self._submission is None:
            return  # Airflow killed the task before `execute` had located the table
        release_in_time(self, self._submission)
        self._submission.end()
        log_state(self, self._submission)

    def run_spark_submit(self, context: "Context") -> None:
        """Call Airflow's own ``execute``, after `SparkSubmit` has changed the attributes of this operator."""
        super().execute(context)

    def poll_until_complete(self, external_id: Any, context: "Context") -> None:
        """Wait for a driver on a cluster. Airflow calls this method after a submission, or in a retry."""
        if self._submission is not None:
            self._submission.defer_for_driver(str(external_id))
        super().poll_until_complete(external_id, context)

    def _get_hook(self) -> "SparkSubmitHook":
        hook = super()._get_hook()
        if self._submission is not None:
            self._submission.sort_log(hook)
        return hook

    def get_openlineage_facets_on_start(self) -> Any:
        return lineage_of(self, None)

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Any:
        return lineage_of(self, self.last_result)

    def get_openlineage_facets_on_failure(self, task_instance: Any) -> Any:
        return lineage_of(self, self.last_result)

    def _execute(self, context: "Context", event: dict[str, Any] | None) -> dict[str, Any]:
        if self._uses_interval:
            refuse_empty_interval(context)
        refuse_emptied(self, (name for name in self._filled_in_later if name not in self.may_be_empty))
        push_table_link(self, context)
        submission = self._begin(context)
        run = submission.run
        self.log.info("This task handles request %s for table %s", run.request_id, run.location.base_path)
        result = self.find_result(run, submission, event)
        self.last_result = result
        self.remember(run, result)
        log_result(self.log, result, self.shown_messages, type(self))
        return self._finish(context, with_argument_names(result, type(self)))

    def _begin(self, context: "Context") -> Submission:
        run = TaskRun(
            context=context,
            table=self.find_table(),
            place=place_of(context),
            request_id=identity_of(context, self.retries, self.on_rerun),
            memory=TaskMemory(context, self),
            waited_for=self._waited_for,
        )
        self._submission = Submission(self, run)
        return self._submission

    def find_result(self, run: TaskRun, submission: Submission, event: dict[str, Any] | None) -> JobResult:
        """Return the result of this execution. Raises TaskDeferred if the triggerer waits for the job.

        Args:
            event: event of the trigger that waited for the job, or None if no trigger waited for the job.
        """
        if event is not None:
            return self.conclude_job(run, submission, event)
        request = self.build_request(run.location, run.request_id, "")
        if (result := self.find_completed(run, request)) is not None:
            submission.discard_earlier()
            return result
        submission.continue_earlier()
        return self.run_job(run, submission)

    def _outcome_of(self, run: TaskRun, end: SparkEnd) -> JobResult:
        job_end = JobEnd(
            request_id=run.request_id,
            committed=self.confirm(run, end.request, end.result),
            result=end.result,
            failure=end.failure,
            problem=end.problem,
            left_behind=self.left_behind,
        )
        if end.result is not None and end.result.outcome is Outcome.FAILED:
            self.report_failure(run.context, end.result)
        return decide_outcome(job_end, self.log)

    def _finish(self, context: "Context", result: JobResult) -> dict[str, Any]:
        fill_events(self, context, result)
        if result.outcome is Outcome.NOTHING_TO_DO and self.when_empty() != "succeed":
            reason = f"Nothing to do: {result.reason}"
            if self.when_empty() == "fail":
                raise HudiTaskRefusedError(reason)
            push_skipped(context, self.answer_of(result))
            raise AirflowSkipException(reason)
        return self.answer_of(result)

    def find_table(self) -> HudiHook:
        """Return the hook of the table that the rendered arguments name."""
        return HudiHook(self.base_path, hudi_conn_id=self.hudi_conn_id, storage_conn_id=self.storage_conn_id)

    def table_label(self) -> str:
        """Return the table's name if it is known, else the name of the table's folder."""
        name = self.last_result.table_name if self.last_result is not None else ""
        path = self.base_path
        # Without a location, the error of the task gives the reason. The metrics must not add a second message.
        with suppress(HudiTaskRefusedError):
            path = self._submission.run.location.base_path if self._submission is not None else path
        return str(name or getattr(self, "table_name", "") or (path or "").rstrip("/").rpartition("/")[2])

    @property
    def _uses_interval(self) -> bool:
        return False

    @classmethod
    def _own_fields(cls) -> tuple[str, ...]:
        """Return the template fields that `SparkSubmitOperator` does not have."""
        return tuple(name for name in cls.template_fields if name not in SparkSubmitOperator.template_fields)

    def check_when_the_dag_is_read(self) -> None:
        """Reject unknown keys, wrong values and contradicting values when Airflow parses the DAG.

        Values that contain a template are checked after rendering. This method also declares the table as an asset.

        Raises:
            ValueError: the message begins with the task's id.
        """
        declare_table(self)
        check_base_path(self.task_id, self.base_path, self.hudi_conn_id)
        check_job_arguments(self, is_complete=not self._filled_in_later)

    def end_late_run(self, submission: Submission) -> None:
        """End the run of a task that was deferred for longer than its ``execution_timeout``."""
        self.log.warning("The execution_timeout has passed: ending the Spark run.")
        submission.end_late()
        log_state(self, submission)
