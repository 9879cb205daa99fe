"""Drivers on a cluster.

This module lets the triggerer wait for the driver of a task, waits for drivers of earlier tries, and ends drivers.
"""

import time
from datetime import timedelta
from enum import Enum
from typing import TYPE_CHECKING, Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

from airflow_hudi_provider.exceptions import HudiTaskError
from airflow_hudi_provider.spark import airflow_internals
from airflow_hudi_provider.spark.job_exchange import JobExchange
from airflow_hudi_provider.triggers.application import HudiApplicationTrigger
from hudi_table_services.errors import HudiTableServiceError

if TYPE_CHECKING:
    from airflow_hudi_provider.operators.job import HudiJobOperator
    from airflow_hudi_provider.tasks.run import TaskRun

_EARLIER_DRIVER_TIMEOUT_S = 60.0
_POLL_INTERVAL_S = 1.0
_UNKNOWN_TO_YARN = "HTTP 404"
"""Text in the error that Airflow's hook raises if YARN has no record of an application.

A resource manager has records only of its newest applications, and possibly none after a restart.
"""


class _DriverState(Enum):
    ACTIVE = "active"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"
    """The master does not answer."""


_MAY_RUN = (_DriverState.ACTIVE, _DriverState.UNKNOWN)


class ClusterDriver:
    """The driver of a task on a cluster. The driver outlives the process that submitted it."""

    def __init__(self, task: "HudiJobOperator", run: "TaskRun") -> None:
        self._task = task
        self._run = run
        self._trigger_arguments: dict[str, Any] | None = None

    def follow_in_triggerer(self, arguments: dict[str, Any]) -> None:
        """Make `defer_for` wait in the triggerer, if the triggerer can poll the master in the same way as this task.

        Args:
            arguments: arguments of `HudiApplicationTrigger`, except those that this class adds.
        """
        tracking = airflow_internals.tracking(self._task)
        # An auth object exists only in this process, so a trigger cannot contain one.
        if tracking is None or airflow_internals.yarn_auth(self._task) is not None:
            self._task.log.info(
                "This task waits in its worker. To wait in the triggerer, set yarn_track_via_rm_api=True (without "
                "yarn_rm_auth) for YARN, or track_driver_via_k8s_api=True for Kubernetes."
            )
            return
        self._trigger_arguments = {
            "tracking": tracking,
            "spark_conn_id": airflow_internals.connection_id(self._task),
            "spark_binary": airflow_internals.spark_binary(self._task),
            **arguments,
        }

    def defer_for(self, application: str) -> None:
        """Defer the task until this driver ends; return if the worker must wait instead of the triggerer.

        Raises:
            TaskDeferred: the triggerer waits for the driver.
        """
        if self._trigger_arguments is None:
            if airflow_internals.tracking(self._task) == "yarn":
                # Airflow's hook ends only applications that the hook submitted, so set this application in the hook.
                airflow_internals.follow_yarn_application(self._task, application)
            return
        self._run.memory.note_driver(application)
        timeout = self._task.execution_timeout
        self._task.defer(
            trigger=HudiApplicationTrigger(
                application=application, began=time.time(), **self._trigger_arguments
            ),
            method_name="execute_when_over",
            timeout=timeout if isinstance(timeout, timedelta) else None,
        )

    def check_earlier(self, owner: str) -> None:
        """Decide whether Airflow may wait for the driver that an earlier try submitted; see `TaskMemory`.

        Airflow may wait for the driver if the owner of the driver is `owner` or unknown, and the driver has not failed.
        If the driver failed, remove it from the store. If the driver has a different owner, end the driver,
        wait for its end, and remove it from the store.

        Raises:
            HudiTaskError: the driver is still running although this method has requested its end.
        """
        memory = self._run.memory
        application = memory.driver
        if application is None:
            memory.forget_driver()  # an earlier process may have been killed after it removed the id
            return
        state = self._state(application)
        if memory.driver_owner in (None, owner):  # None: an earlier release stored no owner
            if state is _DriverState.FAILED:
                memory.forget_driver()
            return
        if state in _MAY_RUN:
            self._task.log.info(
                "This try waits for the end of %s, an earlier driver of this task", application
            )
            self._end(application)
            self._wait_for_end(application)
        memory.forget_driver()

    def end_deferred(self) -> None:
        """End the driver of a deferred try. The next try does not use this driver, but waits for the driver's end."""
        if (application := self._run.memory.noted_driver) is not None:
            self._end(application)
        self._run.memory.mark_driver_as_ending()
        self.forget_request()

    def discard(self) -> None:
        """Remove the stored driver and the request of an earlier process, because its driver is no longer needed."""
        self._run.memory.forget_driver()
        self.forget_request()

    def forget_request(self) -> None:
        """Remove the request document, which may contain credentials, when no driver will read it again."""
        location = self._run.location
        if folder := self._task.result_base_path or location.result_base_path:
            exchange = JobExchange(folder, self._run.place, location.storage_options)
            try:
                exchange.forget_request()
            except HudiTableServiceError as error:
                self._task.log.warning(
                    "The document %s, which may contain credentials, was not removed: %s",
                    exchange.request_uri,
                    error,
                )

    def _end(self, application: str) -> None:
        tracking = self._tracking_of(application)
        airflow_internals.end_application(self._query_operator(tracking), tracking, application)

    def _wait_for_end(self, application: str) -> None:
        deadline = time.monotonic() + _EARLIER_DRIVER_TIMEOUT_S
        while (state := self._state(application)) in _MAY_RUN:
            if time.monotonic() > deadline:
                raise HudiTaskError(
                    f"The driver {application} that an earlier try submitted does not end. Its state is {state.value}. "
                    f"End the driver on the cluster, and clear the task again."
                )
            time.sleep(_POLL_INTERVAL_S)

    def _state(self, application: str) -> _DriverState:
        # Use a separate operator: Airflow creates the task's own hook only once, with the final arguments of the job.
        operator = self._query_operator(self._tracking_of(application))
        try:
            status = operator.get_job_status(application, self._run.context)
        except Exception as error:
            if _UNKNOWN_TO_YARN in str(error):
                return _DriverState.FAILED
            self._task.log.warning("The master did not report the state of %s: %s", application, error)
            return _DriverState.UNKNOWN
        if operator.is_job_active(status):
            return _DriverState.ACTIVE
        return _DriverState.SUCCEEDED if operator.is_job_succeeded(status) else _DriverState.FAILED

    def _query_operator(self, tracking: airflow_internals.Tracking) -> SparkSubmitOperator:
        task = self._task
        more = {"conf": task.conf, "keytab": task.keytab, "principal": task.principal}
        if (auth := airflow_internals.yarn_auth(task)) is not None:
            more["yarn_rm_auth"] = auth  # releases of the Spark provider before 6.3 do not have this argument
        return airflow_internals.operator_for_queries(
            tracking, airflow_internals.connection_id(task), airflow_internals.spark_binary(task), more
        )

    def _tracking_of(self, application: str) -> airflow_internals.Tracking:
        """Return the kind of master that runs a driver.

        The arguments of the task may have changed since the submission. If the arguments name no kind of master, the
        form of the driver's id shows the kind.
        """
        by_name: airflow_internals.Tracking = (
            "yarn" if application.startswith("application_") else "kubernetes"
        )
        return airflow_internals.tracking(self._task) or by_name
