"""Submit a job to Spark and let the table's timeline judge it: what all table services have in common."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from airflow.providers.common.compat.sdk import AirflowSkipException, TaskDeferred

from airflow_hudi_provider.exceptions import HudiTaskError, HudiTaskRefusedError
from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.operators.deferred_run import DeferredRunOperator
from airflow_hudi_provider.results.judgement import JobEnd, event_of, judge, task_error, xcom_of
from airflow_hudi_provider.results.log import log_result
from airflow_hudi_provider.spark.engine_files import engine_archive, script_path
from airflow_hudi_provider.spark.job_exchange import JobExchange
from airflow_hudi_provider.spark.supervised_run import RunState
from airflow_hudi_provider.tables.connection import TableLocation
from airflow_hudi_provider.tasks.identity import OnRerun, identity_of, owner_of, place_of, request_of
from airflow_hudi_provider.tasks.lineage import LineageMixin
from airflow_hudi_provider.tasks.memory import TaskMemory
from airflow_hudi_provider.tasks.metrics import measured
from airflow_hudi_provider.tasks.templates import is_filled_in_later, refuse_emptied, refuse_empty_interval
from airflow_hudi_provider.triggers.application import STATUS_UNKNOWN
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.options.registry import find_option

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

OnEmpty = Literal["succeed", "skip", "fail"]

_LATE_RUN_PATIENCE_S = 25.0


class HudiJobOperator(LineageMixin, DeferredRunOperator):
    """Base of the operators; see `UpsertWithSizingOperator` for the parameters.

    What a job is about is told by its kind: `HudiWriteOperator` for writes, `HudiClusteringOperator` for clusterings.
    """

    script: ClassVar[str]
    """Name of the job script."""

    last_result: JobResult | None = None
    """What this try came to, once it is known; after a failure what the job said of it."""

    left_behind: ClassVar[str] = "Nothing was committed."
    """What there is where a job of this kind did not complete its request, in a sentence."""

    template_fields: Sequence[str] = (
        *DeferredRunOperator.template_fields,
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
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if base_path is None and hudi_conn_id is None:
            raise ValueError(f"{self.task_id}: give base_path or hudi_conn_id.")
        if on_rerun not in ("reuse", "write_again"):
            raise ValueError(f"{self.task_id}: on_rerun={on_rerun!r} must be 'reuse' or 'write_again'.")
        self.base_path = base_path
        self.hudi_conn_id = hudi_conn_id
        self.storage_conn_id = storage_conn_id
        self.hudi_options = hudi_options
        self.on_rerun = on_rerun
        self._table: HudiHook | None = None
        self._place: tuple[str, ...] = ()
        self._owner = ""
        self._request_id = ""
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
        self.last_result = result
        if result.report is not None:
            log_result(self.log, result)

    def remember(self, memory: TaskMemory, result: JobResult) -> None:
        """Note for later tries what only this one knows; by default nothing."""

    def answer_of(self, result: JobResult) -> dict[str, Any]:
        """The task's return value: small, plain JSON values."""
        return xcom_of(result)

    def event_of(self, result: JobResult) -> dict[str, Any]:
        """What asset events of the task tell: small, plain JSON values."""
        return event_of(result)

    def tell_partitions(self, event: Any, result: JobResult) -> None:
        """Say which partitions an asset event is about; by default nothing."""

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
        with measured(self):
            return self._carry_out(context, None)

    def execute_when_over(self, context: "Context", event: dict[str, Any] | None = None) -> dict[str, Any]:
        """Called when the run that this task was deferred for has ended, with the trigger's event."""
        event = event or {}
        with measured(self, earlier_s=float(event.get("seconds") or 0)):
            return self._carry_out(context, event)

    def _carry_out(self, context: "Context", event: dict[str, Any] | None) -> dict[str, Any]:
        if self._uses_interval:
            refuse_empty_interval(context)
        refuse_emptied(self, self._filled_in_later)
        self.push_table_link(context)
        self._table = self.find_table()
        location = self._table.location
        self._place = place_of(context)
        self._request_id = identity_of(context, self.retries, self.on_rerun)
        self.log.info("Request %s on %s", self._request_id, location.base_path)
        memory = TaskMemory(context, self)
        try:
            result = self._result(context, location, memory, event)
        except HudiTableServiceError as error:
            raise task_error(error) from error
        self.last_result = result
        self.remember(memory, result)
        log_result(self.log, result)
        return self._finish(context, result)

    def _result(
        self, context: "Context", location: TableLocation, memory: TaskMemory, event: dict[str, Any] | None
    ) -> JobResult:
        if event is not None:
            return self._conclude_run(context, location, memory, event)
        assert self._table is not None  # noqa: S101 - `_carry_out` has made it
        request = self.build_request(location, self._request_id, "")
        result = self.look_before(self._table, request, memory)
        if result is not None:  # whatever was left by an earlier try whose worker was killed goes
            if self.deferrable:
                self.forget_run(self._place)
            self.clear_driver_away(memory, self._place, location)
            return result
        self._owner = owner_of(context, request)
        self.take_up_run(context, location, memory)
        return self._run_job(context, location, memory)

    def find_table(self) -> HudiHook:
        """The table by the rendered arguments."""
        return HudiHook(self.base_path, hudi_conn_id=self.hudi_conn_id, storage_conn_id=self.storage_conn_id)

    def table_label(self) -> str:
        """The table's name where it is known, else that of its folder."""
        told = self.last_result.table_name if self.last_result is not None else ""
        path = self._table.location.base_path if self._table is not None else self.base_path
        return str(told or getattr(self, "table_name", "") or (path or "").rstrip("/").rpartition("/")[2])

    def _run_job(self, context: "Context", location: TableLocation, memory: TaskMemory) -> JobResult:
        return self._submit(context, location, memory)

    @property
    def _uses_interval(self) -> bool:
        return False

    def _submit(self, context: "Context", location: TableLocation, memory: TaskMemory) -> JobResult:
        folder = self.prepare_spark(location)
        if not self._is_on_cluster and self.goes_on_by_itself:
            return self._begin_supervised(context, location, memory)
        with JobExchange(folder, place_of(context), location.storage_options) as exchange:
            request = self.build_request(location, self._request_id, exchange.result_uri)
            if self._is_on_cluster and not memory.follows_driver:
                exchange.forget_result()
                memory.begin_driver(self._owner)
            self._prepare_job(exchange, request)
            if self._is_on_cluster and self.deferrable:
                self.follow_on_cluster(memory, result_path=exchange.result_uri, **self._followed_as())
            try:
                failure = self.run_spark(context)
            except TaskDeferred:
                exchange.keep()
                raise
            return self._judge(context, exchange, request, memory, failure)

    def _prepare_job(self, exchange: JobExchange, request: JobRequest) -> None:
        exchange.put_request(request)
        self.application = str(script_path(self.script))
        self.application_args = ["--request", exchange.request_uri]
        self.py_files = ",".join(filter(None, [self.py_files, str(engine_archive())]))

    def take_up_run(self, context: "Context", location: TableLocation, memory: TaskMemory) -> None:
        """Go on waiting for the run of an earlier try, if there is one; one that must not go on is ended first.

        Called before anything else is waited for: what it does is decided already. A driver on a cluster that may go on
        is left to `run_spark`. Raises TaskDeferred.
        """
        if memory.follows_driver:
            self.prepare_spark(location)
            before = memory.driver_owner
            self.take_up_driver(context, memory, self._owner)
            self._leave_turn_of(before)
        run = self.run_of(self._place) if self.deferrable else None
        if run is None or (seen := run.look()).state is RunState.ABSENT:
            return
        if self.is_under_way(run, self._owner):
            self.defer_until_over(run, **self._followed_as())
        self._leave_turn_of(seen.owner)
        run.clear_away()

    def _leave_turn_of(self, owner: str | None) -> None:
        """Whoever cleared the task may have given it another request id, and nobody comes back for the old one."""
        if owner and request_of(owner) != self._request_id:
            self.leave_turn(request_of(owner))

    def leave_turn(self, request_id: str) -> None:
        """Give up a turn in the table's queue of writers; by default there are none."""

    def _begin_supervised(self, context: "Context", location: TableLocation, memory: TaskMemory) -> JobResult:
        """Begin the run and be deferred; returns only where it cannot begin."""
        run = self.run_of(place_of(context))
        exchange = JobExchange.in_folder(run.folder)
        request = self.build_request(location, self._request_id, exchange.result_uri)
        run.begin(self._owner)
        self._prepare_job(exchange, request)
        failure = self.launch(context, run)
        if failure is None:
            self.defer_until_over(run, **self._followed_as())
        run.clear_away()
        return self._judge(context, exchange, request, memory, failure)

    def _followed_as(self) -> dict[str, Any]:
        """What every trigger that follows this task's job is told."""
        return {
            "request_id": self._request_id,
            "base_path": self.base_path,
            "hudi_conn_id": self.hudi_conn_id,
            "storage_conn_id": self.storage_conn_id,
            "takes_turns": self.holds_turn(),
        }

    def holds_turn(self) -> bool:
        """Whether this task has a turn in the table's queue of writers."""
        return False

    def _conclude_run(
        self, context: "Context", location: TableLocation, memory: TaskMemory, event: dict[str, Any]
    ) -> JobResult:
        if "application" in event:
            return self._conclude_on_cluster(context, location, memory, event)
        run = self.run_of(place_of(context))
        exchange = JobExchange.in_folder(run.folder)
        request = self.build_request(location, self._request_id, exchange.result_uri)
        failure = self.end_of(run, event)
        try:
            return self._judge(context, exchange, request, memory, failure)
        finally:
            if run.look().is_here:
                run.clear_away()

    def _conclude_on_cluster(
        self, context: "Context", location: TableLocation, memory: TaskMemory, event: dict[str, Any]
    ) -> JobResult:
        folder = self.prepare_spark(location)
        with JobExchange(folder, place_of(context), location.storage_options) as exchange:
            request = self.build_request(location, self._request_id, exchange.result_uri)
            failure = None
            if not event.get("succeeded"):
                failure = HudiTaskError(f"{event['application']} ended as {event.get('status')}.")
                if event.get("status") != STATUS_UNKNOWN:
                    memory.forget_driver()
            return self._judge(context, exchange, request, memory, failure)

    def _judge(
        self,
        context: "Context",
        exchange: JobExchange,
        request: JobRequest,
        memory: TaskMemory,
        failure: Exception | None,
    ) -> JobResult:
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

    def _finish(self, context: "Context", result: JobResult) -> dict[str, Any]:
        document = self.answer_of(result)
        events = context.get("outlet_events")
        for outlet in self.outlets if events is not None else ():
            events[outlet].extra = {"hudi": self.event_of(result)}
            self.tell_partitions(events[outlet], result)
        if result.outcome is Outcome.NOTHING_TO_DO and self.when_empty() != "succeed":
            reason = f"Nothing to do: {result.reason}"
            raise (
                AirflowSkipException(reason) if self.when_empty() == "skip" else HudiTaskRefusedError(reason)
            )
        return document

    def end_late_run(self, context: "Context") -> None:
        self._table, self._request_id = self.find_table(), identity_of(context, self.retries, self.on_rerun)
        self.log.warning("Its time is over: ending the Spark run.")
        self.prepare_spark(self._table.location)
        if self._is_on_cluster:
            self.end_driver(TaskMemory(context, self), place_of(context), self._table.location)
        else:
            run = self.run_of(place_of(context))
            run.ask_to_end()
            run.wait_for_end(_LATE_RUN_PATIENCE_S)
        self._tell_what_is_left()

    def on_kill(self) -> None:
        """End the run, and say what the timeline holds."""
        self.let_go_in_time()
        self.end_spark()
        self._tell_what_is_left()

    def let_go(self) -> None:
        if self._table is not None and self._is_on_cluster:
            self.forget_request(self._place, self._table.location)

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
