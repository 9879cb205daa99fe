"""Submit a job to Spark and let the table's timeline judge it: what all table services have in common."""

import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.common.compat.sdk import AirflowSkipException

from airflow_hudi_provider.connection import TableLocation, find_connection
from airflow_hudi_provider.engine_files import engine_archive, script_path
from airflow_hudi_provider.exceptions import HudiTaskRefusedError
from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.job_exchange import JobExchange
from airflow_hudi_provider.processes import end_processes
from airflow_hudi_provider.spark_environment import (
    prepare_environment,
    refuse_missing_kubernetes_provider,
    refuse_standalone_cluster_mode,
    spark_master,
)
from airflow_hudi_provider.task_log import SparkLogSorter, log_result
from airflow_hudi_provider.task_memory import TaskMemory
from airflow_hudi_provider.task_results import JobEnd, event_of, judge, task_error, xcom_of
from airflow_hudi_provider.templates import is_filled_in_later, refuse_emptied
from hudi_table_services.contract.job_request import JobRequest
from hudi_table_services.contract.job_result import JobResult, Outcome
from hudi_table_services.contract.known_options import find_option
from hudi_table_services.errors import HudiTableServiceError

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

OnRerun = Literal["reuse", "write_again"]
OnEmpty = Literal["succeed", "skip", "fail"]

_DEFAULT_SPARK_CONN_ID = "spark_default"
_KILL_GRACE_SECONDS = 3.0
_OF_THE_JOB = {"application", "application_args", "java_class"}


class HudiJobOperator(SparkSubmitOperator):
    """Base of the operators; see `UpsertWithSizingOperator` for the parameters.

    What a job is about is told by its kind: `HudiWriteOperator` for writes, `HudiClusteringOperator` for clusterings.
    """

    script: ClassVar[str]
    """Name of the job script."""

    left_behind: ClassVar[str] = "Nothing was committed."
    """What there is where a job of this kind did not complete its request, in a sentence."""

    template_fields: Sequence[str] = (
        *SparkSubmitOperator.template_fields,
        "base_path",
        "hudi_conn_id",
        "storage_conn_id",
        "spark_conn_id",
        "result_base_path",
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
        spark_conn_id: str | None = None,
        result_base_path: str | None = None,
        hudi_options: Mapping[str, Any] | None = None,
        on_rerun: OnRerun = "reuse",
        conn_id: str | None = None,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("name", f"hudi {kwargs.get('task_id', '')}")
        super().__init__(**kwargs)
        if taken := _OF_THE_JOB & kwargs.keys():
            raise ValueError(
                f"{self.task_id}: {', '.join(sorted(taken))} cannot be given: this task has its own job."
            )
        if conn_id and spark_conn_id and conn_id != spark_conn_id:
            raise ValueError(
                f"{self.task_id}: conn_id={conn_id!r} and spark_conn_id={spark_conn_id!r} differ."
            )
        if base_path is None and hudi_conn_id is None:
            raise ValueError(f"{self.task_id}: give base_path or hudi_conn_id.")
        if on_rerun not in ("reuse", "write_again"):
            raise ValueError(f"{self.task_id}: on_rerun={on_rerun!r} must be 'reuse' or 'write_again'.")
        self.base_path = base_path
        self.hudi_conn_id = hudi_conn_id
        self.storage_conn_id = storage_conn_id
        self.spark_conn_id = spark_conn_id or conn_id
        self.result_base_path = result_base_path
        self.hudi_options = hudi_options
        self.on_rerun = on_rerun
        self._table: HudiHook | None = None
        self._request_id = ""
        self._is_on_cluster = False
        self._filled_in_later: tuple[str, ...] = ()

    @abstractmethod
    def build_request(self, location: TableLocation, request_id: str, result_uri: str) -> JobRequest:
        """The job's request from the rendered arguments. Raises InvalidRequestError."""

    @abstractmethod
    def refuse_unknown_key(self, key: str) -> None:
        """Raises InvalidRequestError: the job does not know this key of ``hudi_options``."""

    @abstractmethod
    def when_empty(self) -> OnEmpty:
        """What a job that had nothing to do means for the task."""

    @abstractmethod
    def look_before(self, table: HudiHook, request: JobRequest, memory: TaskMemory) -> JobResult | None:
        """The result, where it is known without running the job: an earlier try may have completed the request."""

    @abstractmethod
    def look_after(self, table: HudiHook, request: JobRequest, result: JobResult | None) -> JobResult | None:
        """What the timeline says of the request after the job; None: it is not completed.

        Args:
            result: the job's own word; None: there is none that can be trusted.
        """

    @abstractmethod
    def tell_what_is_left(self, table: HudiHook, request_id: str) -> None:
        """Log what a killed job left on the timeline."""

    def tell_failure(self, context: "Context", result: JobResult) -> None:
        """Log what a failed job did before it failed, or what it saw."""
        if result.clustering is not None or result.health is not None:
            log_result(self.log, result)

    def remember(self, memory: TaskMemory, result: JobResult) -> None:
        """Note for later tries what only this one knows; by default nothing."""

    def answer_of(self, result: JobResult) -> dict[str, Any]:
        """The task's return value: small, plain JSON values."""
        return xcom_of(result)

    def event_of(self, result: JobResult) -> dict[str, Any]:
        """What asset events of the task tell: small, plain JSON values."""
        return event_of(result)

    def check_when_the_dag_is_read(self) -> None:
        """Refuse what no rendering can mend: unknown keys, and values and contradictions without a template.

        Raises:
            ValueError: with the task's id in front.
        """
        if not (is_filled_in_later(self.hudi_options) or isinstance(self.hudi_options or {}, Mapping)):
            raise ValueError(f"{self.task_id}: hudi_options must be a dictionary, not {self.hudi_options!r}.")
        try:
            for key in self.hudi_options if isinstance(self.hudi_options, Mapping) else ():
                if find_option(key) is None:
                    self.refuse_unknown_key(key)
            if not self._filled_in_later:
                self.build_request(TableLocation(base_path="/"), "parse", "")
        except HudiTableServiceError as error:
            raise ValueError(f"{self.task_id}: {error}") from error

    def execute(self, context: "Context") -> dict[str, Any]:
        """Look whether the request is done, submit it if not, and judge by the timeline."""
        self._refuse_empty_interval(context)
        refuse_emptied(self, self._filled_in_later)
        self._table = HudiHook(
            self.base_path, hudi_conn_id=self.hudi_conn_id, storage_conn_id=self.storage_conn_id
        )
        location = self._table.location
        self._request_id = self._identity(context)
        self.log.info("Request %s on %s", self._request_id, location.base_path)
        memory = TaskMemory(context, self)
        try:
            request = self.build_request(location, self._request_id, "")
            result = self.look_before(self._table, request, memory)
            if result is None:
                result = self._run_job(context, location, memory)
        except HudiTableServiceError as error:
            raise task_error(error.kind, str(error), error.retryable) from error
        self.remember(memory, result)
        log_result(self.log, result)
        return self._finish(context, result)

    def _run_job(self, context: "Context", location: TableLocation, memory: TaskMemory) -> JobResult:
        return self._submit(context, location, memory)

    @classmethod
    def _own_fields(cls) -> tuple[str, ...]:
        """Template fields that `SparkSubmitOperator` does not have."""
        return tuple(name for name in cls.template_fields if name not in SparkSubmitOperator.template_fields)

    def _identity(self, context: "Context") -> str:
        """The same for every try of this task in this run, so that no try writes what another one wrote.

        ``write_again``: each clearing of the task begins a new identity; retries by Airflow itself do not.
        """
        ti = context["ti"]
        place = "/".join(self._place(context))
        generation = max(0, (ti.max_tries or 0) - (self.retries or 0))
        return f"{place}#{generation}" if self.on_rerun == "write_again" and generation else place

    @staticmethod
    def _place(context: "Context") -> tuple[str, ...]:
        ti = context["ti"]
        map_index = getattr(ti, "map_index", -1)
        return (ti.dag_id, ti.run_id, ti.task_id, *(() if map_index in (None, -1) else (str(map_index),)))

    def _refuse_empty_interval(self, context: "Context") -> None:
        start, end = context.get("data_interval_start"), context.get("data_interval_end")
        if self._uses_interval and start is not None and start == end:
            raise HudiTaskRefusedError(
                f"The data interval of this run is empty: it begins and ends at {start}. Templates with "
                "data_interval_start and data_interval_end need a schedule with intervals, such as "
                "schedule=CronDataIntervalTimetable('0 0 * * *', timezone='UTC') instead of a cron text."
            )

    @property
    def _uses_interval(self) -> bool:
        return False

    def _submit(self, context: "Context", location: TableLocation, memory: TaskMemory) -> JobResult:
        folder = self._prepare_spark(location)
        with JobExchange(folder, self._place(context), location.storage_options) as exchange:
            request = self.build_request(location, self._request_id, exchange.result_uri)
            exchange.put_request(request)
            if self._is_on_cluster and not memory.follows_driver:
                exchange.forget_result()
            self.application = str(script_path(self.script))
            self.application_args = ["--request", exchange.request_uri]
            self.py_files = ",".join(filter(None, [self.py_files, str(engine_archive())]))
            failure = self._run_spark(context)
            result = exchange.read_result(request.request_id)
            if self._is_on_cluster and (failure is None or result is not None):
                memory.forget_driver()
            if result is None:
                self.log.warning("%s", exchange.problem)
            assert self._table is not None  # noqa: S101 - set by execute
            end = JobEnd(
                request_id=request.request_id,
                committed=self.look_after(self._table, request, result),
                result=result,
                failure=failure,
                problem=exchange.problem,
                left_behind=self.left_behind,
            )
            if result is not None and result.outcome is Outcome.FAILED:
                self.tell_failure(context, result)
            return judge(end, self.log)

    def _prepare_spark(self, location: TableLocation) -> str:
        """Check what can be checked before submitting; returns the folder for documents, empty in client mode."""
        conn_id = self.spark_conn_id or location.spark_conn_id or _DEFAULT_SPARK_CONN_ID
        connection = find_connection(conn_id, "spark_conn_id")
        self._conn_id = conn_id
        master = spark_master(connection)
        deploy_mode = self._deploy_mode or connection.extra_dejson.get("deploy-mode") or "client"
        refuse_standalone_cluster_mode(master, deploy_mode)
        refuse_missing_kubernetes_provider(master)
        self._wait_for_submit_on_yarn(master, deploy_mode)
        variables = {key: str(value) for key, value in (self.env_vars or {}).items()}
        self._is_on_cluster = deploy_mode == "cluster"
        found = prepare_environment(
            master,
            self._spark_binary,
            connection.extra_dejson.get("spark-binary"),
            variables,
            self.conf or {},
        )
        if found.binary is not None:
            self._spark_binary = found.binary
        if found.variables:
            self.env_vars = {**found.variables, **variables}
        if deploy_mode != "cluster":
            return ""
        folder = self.result_base_path or location.result_base_path
        if not folder:
            raise HudiTaskRefusedError(
                "deploy_mode=cluster needs result_base_path, a folder that worker and cluster both reach: give the "
                "argument, or set it in the connection of type hudi."
            )
        return folder

    def _wait_for_submit_on_yarn(self, master: str, deploy_mode: str) -> None:
        """Airflow's default would raise there: taking a driver up again needs the REST API of the resource manager.

        The timeline tells a retry what the driver before it did, so it is safe to wait for spark-submit instead.
        """
        cannot_ask = not getattr(self, "_yarn_track_via_rm_api", False)
        if "yarn" in master and deploy_mode == "cluster" and getattr(self, "durable", False) and cannot_ask:
            self.log.info("Waiting for spark-submit; yarn_track_via_rm_api=True would ask YARN instead.")
            self.durable = False

    def _run_spark(self, context: "Context") -> Exception | None:
        """Run spark-submit to its end; its failure is returned, since the timeline decides."""
        try:
            super().execute(context)
        except Exception as error:
            return error
        finally:
            if self._sorter is not None:
                self._sorter.close()
            pipe = getattr(self._submit_process(), "stdout", None)
            if pipe is not None:
                pipe.close()
        return None

    _sorter: SparkLogSorter | None = None

    def _get_hook(self) -> SparkSubmitHook:
        hook = super()._get_hook()
        self._sorter = SparkLogSorter(hook.log)
        hook._log = self._sorter
        return hook

    def _finish(self, context: "Context", result: JobResult) -> dict[str, Any]:
        document = self.answer_of(result)
        events = context.get("outlet_events")
        for outlet in self.outlets if events is not None else ():
            events[outlet].extra = {"hudi": self.event_of(result)}
        if result.outcome is Outcome.NOTHING_TO_DO and self.when_empty() != "succeed":
            reason = f"Nothing to do: {result.reason}"
            raise (
                AirflowSkipException(reason) if self.when_empty() == "skip" else HudiTaskRefusedError(reason)
            )
        return document

    def on_kill(self) -> None:
        """End the driver and spark-submit with all its children, and say what the timeline holds.

        Airflow allows five seconds, and ends a driver on a cluster only while spark-submit is alive.
        """
        deadline = time.monotonic() + _KILL_GRACE_SECONDS
        process = self._submit_process()
        if self._is_on_cluster and self._hook is not None:
            self.log.info("Ending the driver on the cluster")
            try:
                self._hook.on_kill()
            except Exception as error:
                self.log.warning("The driver on the cluster was not told to end: %s", error)
        if process is not None:
            end_processes(process, deadline)
        self._tell_what_is_left()

    def _submit_process(self) -> Any:
        """The Popen of spark-submit, which Airflow's hook keeps to itself; None: there is none."""
        return getattr(self._hook, "_submit_sp", None)

    def _tell_what_is_left(self) -> None:
        if self._table is None:
            return
        if self._is_on_cluster:
            self.log.warning(
                "The driver on the cluster may still be at work: what follows is how it looks now."
            )
        try:
            self.tell_what_is_left(self._table, self._request_id)
        except Exception as error:
            self.log.warning("The timeline was not read after the kill: %s", error)
