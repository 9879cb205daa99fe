"""Drivers on a cluster: followed from the triggerer, taken up by later tries, or ended for them."""

import time
from datetime import timedelta
from enum import Enum
from typing import TYPE_CHECKING, Any

from airflow_hudi_provider.exceptions import HudiTaskError
from airflow_hudi_provider.operators.spark_run import SparkRunOperator
from airflow_hudi_provider.spark.job_exchange import JobExchange
from airflow_hudi_provider.tables.connection import TableLocation
from airflow_hudi_provider.tasks.memory import TaskMemory
from airflow_hudi_provider.triggers.application import (
    HudiApplicationTrigger,
    Tracking,
    end_application,
    master_to_ask,
)
from hudi_table_services.errors import HudiTableServiceError

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

_OLD_DRIVER_PATIENCE_S = 60.0
_LOOK_INTERVAL_S = 1.0
_FORGOTTEN_BY_YARN = "HTTP 404"
"""In the error of Airflow's hook. A resource manager knows its newest applications, after a restart perhaps none."""


class _DriverState(Enum):
    ACTIVE = "active"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"
    """Its master does not say."""


class FollowedDriverOperator(SparkRunOperator):
    """A task whose driver may run on a cluster, where it outlives the process that submitted it."""

    _on_cluster: dict[str, Any] | None = None
    _noting_driver: TaskMemory | None = None

    def follow_on_cluster(self, memory: TaskMemory, **of_the_job: Any) -> None:
        """Let `poll_until_complete` wait in the triggerer, where that can ask the master as this task would.

        Args:
            of_the_job: arguments of `HudiApplicationTrigger`.
        """
        tracking = self._tracking()
        if tracking is None or self._master_auth is not None:  # which is an object of this process
            self.log.info(
                "This task waits in its worker: the triggerer can ask YARN with yarn_track_via_rm_api=True (and no "
                "yarn_rm_auth), Kubernetes with track_driver_via_k8s_api=True."
            )
            return
        self._noting_driver = memory
        self._on_cluster = {
            "tracking": tracking,
            "spark_conn_id": self._conn_id,
            "spark_binary": self._spark_binary,
            **of_the_job,
        }

    def poll_until_complete(self, external_id: Any, context: "Context") -> None:
        """Called by Airflow's operator once the driver is on its cluster, or was found there by a retry."""
        if self._on_cluster is None or self._noting_driver is None:
            if self._tracking() == "yarn" and self._hook is not None:
                # One that was found there would not be ended with the task: Airflow's hook has not submitted it.
                self._hook._yarn_application_id = str(external_id)
            super().poll_until_complete(external_id, context)
            return
        self._noting_driver.tell_driver(str(external_id))
        self.defer(
            trigger=HudiApplicationTrigger(
                application=str(external_id), began=time.time(), **self._on_cluster
            ),
            method_name="execute_when_over",
            timeout=self.execution_timeout if isinstance(self.execution_timeout, timedelta) else None,
        )

    def take_up_driver(self, context: "Context", memory: TaskMemory, owner: str) -> None:
        """Of the driver that an earlier try submitted, settle whether `run_spark` follows it; see `TaskMemory`.

        It does where it is at work, or ended well, for the same owner. One of another owner is ended and waited for,
        and is forgotten then, as one that failed.

        Raises:
            HudiTaskError: it does not end.
        """
        application = memory.driver
        if application is None:
            memory.forget_driver()  # a removal that was killed half-way
            return
        seen = self._driver_state(application, context)
        if memory.driver_owner in (None, owner):  # None: of a release that did not note it
            if seen is _DriverState.FAILED:
                memory.forget_driver()
            return
        if seen in (_DriverState.ACTIVE, _DriverState.UNKNOWN):
            self.log.info("Waiting for the end of %s, an earlier driver of this task", application)
            self.end_on_cluster(application)
            self._wait_for_driver(application, context)
        memory.forget_driver()

    def end_on_cluster(self, application: str | None) -> None:
        """End a driver that an earlier process of this task submitted; nothing where none is known."""
        if application is not None:
            tracking = self._tracking_of(application)
            end_application(self._master(tracking), tracking, application)

    def end_driver(self, memory: TaskMemory, place: tuple[str, ...], location: TableLocation) -> None:
        """Have the driver of a try that was deferred ended; the next try does not follow it, and waits for its end."""
        self.end_on_cluster(memory.told_driver)
        memory.disown_driver()
        self.forget_request(place, location)

    def clear_driver_away(self, memory: TaskMemory, place: tuple[str, ...], location: TableLocation) -> None:
        """What an earlier process noted and wrote for a driver that is of no use any more."""
        memory.forget_driver()
        self.forget_request(place, location)

    def forget_request(self, place: tuple[str, ...], location: TableLocation) -> None:
        """Of an earlier process of this task, for a driver on a cluster that has ended: it may hold credentials."""
        if folder := self.result_base_path or location.result_base_path:
            exchange = JobExchange(folder, place, location.storage_options)
            try:
                exchange.forget_request()
            except HudiTableServiceError as error:
                self.log.warning("%s may be left, with its credentials: %s", exchange.request_uri, error)

    def _wait_for_driver(self, application: str, context: "Context") -> None:
        deadline = time.monotonic() + _OLD_DRIVER_PATIENCE_S
        while (seen := self._driver_state(application, context)) in (
            _DriverState.ACTIVE,
            _DriverState.UNKNOWN,
        ):
            if time.monotonic() > deadline:
                raise HudiTaskError(
                    f"The driver {application} that an earlier try submitted does not end: its master says it is "
                    f"{seen.value}. End it there and clear the task again."
                )
            time.sleep(_LOOK_INTERVAL_S)

    def _driver_state(self, application: str, context: "Context") -> _DriverState:
        # Not this operator itself: its hook is made once, when the job's arguments are known.
        master = self._master(self._tracking_of(application))
        try:
            status = master.get_job_status(application, context)
        except Exception as error:
            if _FORGOTTEN_BY_YARN in str(error):
                return _DriverState.FAILED
            self.log.warning("The master did not say how %s is: %s", application, error)
            return _DriverState.UNKNOWN
        if master.is_job_active(status):
            return _DriverState.ACTIVE
        return _DriverState.SUCCEEDED if master.is_job_succeeded(status) else _DriverState.FAILED

    def _master(self, tracking: Tracking) -> Any:
        auth = {} if self._master_auth is None else {"yarn_rm_auth": self._master_auth}
        return master_to_ask(
            tracking,
            self._conn_id,
            self._spark_binary,
            conf=self.conf,
            keytab=self.keytab,
            principal=self.principal,
            **auth,
        )

    @property
    def _master_auth(self) -> Any:
        return getattr(self, "_yarn_rm_auth", None)  # Spark providers before 6.3 know none

    def _tracking(self) -> Tracking | None:
        """How a master is asked; None: spark-submit waits, and nobody knows the driver."""
        if getattr(self, "_yarn_track_via_rm_api", False):
            return "yarn"
        return "kubernetes" if getattr(self, "_track_driver_via_k8s_api", False) else None

    def _tracking_of(self, application: str) -> Tracking:
        """The same of a driver that is known: it was tracked once, whatever the arguments are now."""
        return self._tracking() or ("yarn" if application.startswith("application_") else "kubernetes")
