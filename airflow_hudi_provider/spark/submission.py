"""Run a task's request on Spark: submit a job, or continue the job that an earlier try submitted."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from airflow.providers.common.compat.sdk import TaskDeferred

from airflow_hudi_provider.exceptions import HudiTaskError
from airflow_hudi_provider.spark.cluster_driver import ClusterDriver
from airflow_hudi_provider.spark.connect_job import ConnectJob, names_connect_server
from airflow_hudi_provider.spark.deferred_run import DeferredRun
from airflow_hudi_provider.spark.job_exchange import JobExchange
from airflow_hudi_provider.spark.spark_submit import SparkSubmit
from airflow_hudi_provider.spark.supervised_run import RunState, SupervisedRun
from airflow_hudi_provider.tasks.identity import owner_of, request_of
from airflow_hudi_provider.triggers.application import STATUS_UNKNOWN
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import JobResult

if TYPE_CHECKING:
    from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

    from airflow_hudi_provider.operators.job import HudiJobOperator
    from airflow_hudi_provider.tasks.run import TaskRun


class JobProgram(Protocol):
    """The program that runs the job of a task: spark-submit, or Python with a Spark Connect server."""

    def prepare(self) -> str:
        """Check the arguments; return the folder for documents, or "" if the driver runs on the worker.

        Raises:
            HudiTaskRefusedError: the job cannot run with these arguments.
        """

    def use_request(self, request_uri: str) -> None:
        """Set the request document of the job."""

    def run(self) -> Exception | None:
        """Run the job to its end. Return its error, which the operator may ignore after it has read the timeline."""

    def run_supervised(self, run: SupervisedRun) -> Exception | None:
        """Start the job under a supervisor, and return as soon as the job runs."""

    def end(self) -> None:
        """End the job, within the time that Airflow gives `on_kill`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkEnd:
    """How the process of a job ended, before the operator reads the timeline for the outcome.

    Attributes:
        result: the job's result document, or None if there is no valid result; `problem` then contains the reason.
        failure: the error of the job's process, or None if the process ended with exit code 0.
    """

    request: JobRequest
    result: JobResult | None
    failure: Exception | None
    problem: str


class Submission:
    """The Spark job of one execution of a task.

    The driver runs in one of three ways: as a child of this process; in client mode under a supervisor, while the
    task is deferred; or on a cluster, while the task is deferred or waits in its worker. With a Spark Connect server,
    the driver is a Python process without a JVM, and runs in one of the first two ways.
    """

    def __init__(self, task: "HudiJobOperator", run: "TaskRun") -> None:
        self._task = task
        self.run = run
        self._spark_submit = SparkSubmit(task, run)
        self._driver = ClusterDriver(task, run)
        self._deferred = DeferredRun(task, run)

    @property
    def is_on_cluster(self) -> bool:
        """Whether the driver runs on a cluster; False until the submission is prepared."""
        return self._spark_submit.is_on_cluster

    @property
    def sees_local_files(self) -> bool:
        """Whether Spark reads paths without scheme from the worker's file system. Raises HudiTaskRefusedError."""
        return self._spark_submit.sees_local_files()

    @cached_property
    def _owner(self) -> str:
        return owner_of(self.run.context, self._request(""))

    @cached_property
    def _program(self) -> JobProgram:
        """The program that runs the job. Raises HudiTaskRefusedError if the Spark connection does not exist."""
        conn_id, connection = self._spark_submit.connection()
        return ConnectJob(self._task, conn_id) if names_connect_server(connection) else self._spark_submit

    def _request(self, result_uri: str) -> JobRequest:
        return self._task.build_request(self.run.location, self.run.request_id, result_uri)

    def continue_earlier(self) -> None:
        """Wait for the Spark run of an earlier try, if there is one. If the run must not continue, end it.

        Call this method before all other waits of the task, because the earlier try has already passed those waits.
        If a driver on a cluster may continue, `submit` makes Airflow wait for that driver.

        Raises:
            TaskDeferred: an earlier supervised run continues.
        """
        memory = self.run.memory
        if memory.follows_driver:
            self._program.prepare()
            earlier_owner = memory.driver_owner
            self._driver.check_earlier(self._owner)
            self._leave_turn_of(earlier_owner)
        if not self._task.deferrable:
            return
        seen = self._deferred.supervised.observe()
        if seen.state is RunState.ABSENT:
            return
        if self._deferred.can_continue(self._owner):
            self._deferred.defer(self._trigger_arguments())
        self._leave_turn_of(seen.owner)
        self._deferred.supervised.clear_away()

    def _leave_turn_of(self, owner: str | None) -> None:
        """Remove the turn of an earlier request from the writer queue: a cleared task may have a new request id."""
        if owner and request_of(owner) != self.run.request_id:
            self._task.leave_turn(self.run, request_of(owner))

    def discard_earlier(self) -> None:
        """Remove the run and the documents of an earlier try.

        That try completed the request, but its worker was killed before the task could end.
        """
        if self._task.deferrable:
            self._deferred.discard()
        self._driver.discard()

    @contextmanager
    def submit(self) -> Iterator[SparkEnd]:
        """Submit the job and wait for its end. The documents and the run's folder exist until the end of the block.

        Raises:
            HudiTaskRefusedError: the job cannot be submitted.
            TaskDeferred: the triggerer waits for the end of the job.
        """
        folder = self._program.prepare()
        if not self.is_on_cluster and self._deferred.is_possible:
            yield self._begin_supervised()
            return
        memory = self.run.memory
        with JobExchange(folder, self.run.place, self.run.location.storage_options) as exchange:
            request = self._request(exchange.result_uri)
            if self.is_on_cluster and not memory.follows_driver:
                exchange.forget_result()
                memory.begin_driver(self._owner)
            self._hand_over(exchange, request)
            if self.is_on_cluster and self._task.deferrable:
                arguments = {"result_path": exchange.result_uri, **self._trigger_arguments()}
                self._driver.follow_in_triggerer(arguments)
            try:
                failure = self._program.run()
            except TaskDeferred:
                exchange.keep()
                raise
            yield self._end_of(exchange, request, failure)

    def _hand_over(self, exchange: JobExchange, request: JobRequest) -> None:
        exchange.put_request(request)
        self._program.use_request(exchange.request_uri)

    def _begin_supervised(self) -> SparkEnd:
        """Begin the supervised run and defer the task; return only if the run cannot begin."""
        supervised = self._deferred.supervised
        exchange = JobExchange.in_folder(supervised.folder)
        request = self._request(exchange.result_uri)
        supervised.begin(self._owner)
        self._hand_over(exchange, request)
        failure = self._program.run_supervised(supervised)
        if failure is None:
            self._deferred.defer(self._trigger_arguments())
        supervised.clear_away()
        return self._end_of(exchange, request, failure)

    def _trigger_arguments(self) -> dict[str, Any]:
        """Return the arguments that all triggers of a job have in common."""
        return {
            "request_id": self.run.request_id,
            "base_path": self._task.base_path,
            "hudi_conn_id": self._task.hudi_conn_id,
            "storage_conn_id": self._task.storage_conn_id,
            "takes_turns": self._task.take_turns and not self._task.is_preview(),
        }

    @contextmanager
    def conclude(self, event: dict[str, Any]) -> Iterator[SparkEnd]:
        """Read how the job of a deferred task ended; remove the job's documents at the end of the block.

        Args:
            event: event of the trigger that waited for the job.
        """
        if "application" in event:
            with self._conclude_on_cluster(event) as end:
                yield end
            return
        supervised = self._deferred.supervised
        exchange = JobExchange.in_folder(supervised.folder)
        request = self._request(exchange.result_uri)
        failure = self._deferred.wait(event)
        try:
            yield self._end_of(exchange, request, failure)
        finally:
            if supervised.observe().is_here:
                supervised.clear_away()

    @contextmanager
    def _conclude_on_cluster(self, event: dict[str, Any]) -> Iterator[SparkEnd]:
        folder = self._program.prepare()
        with JobExchange(folder, self.run.place, self.run.location.storage_options) as exchange:
            request = self._request(exchange.result_uri)
            failure = None
            if not event.get("succeeded"):
                failure = HudiTaskError(
                    f"The driver {event['application']} ended with the status {event.get('status')}."
                )
                if event.get("status") != STATUS_UNKNOWN:
                    self.run.memory.forget_driver()
            yield self._end_of(exchange, request, failure)

    def _end_of(self, exchange: JobExchange, request: JobRequest, failure: Exception | None) -> SparkEnd:
        result = exchange.read_result(request.request_id)
        if self.is_on_cluster and (failure is None or result is not None):
            self.run.memory.forget_driver()
        if result is None:
            self._task.log.warning("%s", exchange.problem)
        return SparkEnd(request=request, result=result, failure=failure, problem=exchange.problem)

    def defer_for_driver(self, application: str) -> None:
        """Defer the task for its driver on a cluster. Return if the worker must wait instead. Raises TaskDeferred."""
        self._driver.defer_for(application)

    def sort_log(self, hook: "SparkSubmitHook") -> None:
        """Show the job's own lines in the task's log, and fold the lines of Spark into a log group."""
        self._spark_submit.sort_log(hook)

    def end_late(self) -> None:
        """End the run of a task that was deferred for longer than its ``execution_timeout``."""
        self._program.prepare()
        if self.is_on_cluster:
            self._driver.end_deferred()
        else:
            self._deferred.end_late()

    def forget_request(self) -> None:
        """Remove the request document of a killed task, because it may contain credentials.

        No later process removes the document.
        """
        if self.is_on_cluster:
            self._driver.forget_request()

    def end(self) -> None:
        """End every Spark run that this process began or waited for, within the time that Airflow gives `on_kill`."""
        self._deferred.ask_to_end()
        if "_program" in self.__dict__:
            self._program.end()
        self._deferred.wait_for_killed()
