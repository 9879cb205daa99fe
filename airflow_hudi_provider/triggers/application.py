"""Monitor a Spark driver on a cluster from the triggerer.

The trigger requests the driver's state from the master, and reads the job's progress document.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.triggers.base import TriggerEvent

from airflow_hudi_provider.spark import airflow_internals
from airflow_hudi_provider.spark.airflow_internals import Tracking
from airflow_hudi_provider.spark.job_exchange import REQUEST
from airflow_hudi_provider.triggers.ending import complete
from airflow_hudi_provider.triggers.job import HudiJobTrigger
from airflow_hudi_provider.triggers.pool import pause, run_in_pool
from hudi_table_services.contract.progress import JobProgress, progress_path
from hudi_table_services.errors import HudiTableServiceError, ObjectNotFoundError

POKE_INTERVAL_S = 10.0
STATUS_UNKNOWN = "unknown"
UNKNOWN_AFTER_S = 600.0
"""Seconds without an answer after which the trigger stops polling the master.

The task then decides from the timeline whether the job succeeded.
"""

_CLOCKS_DIFFER_S = 5.0
"""Maximum number of seconds by which the object store's clock may be ahead of this machine's clock.

If a request document was written more than this number of seconds after the run began, the document belongs to the
next try.
"""


@dataclass(frozen=True, slots=True)
class _Seen:
    status: str
    is_active: bool
    is_success: bool
    progress: JobProgress | None


class HudiApplicationTrigger(HudiJobTrigger):
    """Fires when the driver has ended, or when the master has not answered for `UNKNOWN_AFTER_S` seconds.

    The event is ``{"application": …, "status": …, "succeeded": …, "seconds": …}``.

    :param application: Airflow's identifier of the driver: application id, driver id, or ``<namespace>:<pod>``.
    :param tracking: how to request the state from the master; see ``SparkSubmitOperator``.
    :param result_path: path of the job's result document. The progress document is in the same folder.
    """

    def __init__(
        self,
        *,
        application: str,
        tracking: Tracking,
        spark_conn_id: str,
        spark_binary: str | None = None,
        result_path: str = "",
        poke_interval: float = POKE_INTERVAL_S,
        **kwargs: Any,
    ) -> None:
        super().__init__(poke_interval=poke_interval, **kwargs)
        self.application = application
        self.tracking = tracking
        self.spark_conn_id = spark_conn_id
        self.spark_binary = spark_binary
        self.result_path = result_path

    def followed(self) -> dict[str, Any]:
        return {
            "application": self.application,
            "tracking": self.tracking,
            "spark_conn_id": self.spark_conn_id,
            "spark_binary": self.spark_binary,
            "result_path": self.result_path,
        }

    async def run(self) -> AsyncIterator[TriggerEvent]:
        logged, answered = "", time.monotonic()
        while True:
            try:
                seen = await run_in_pool(self._poll)
            except Exception as error:
                self.log.warning("The master did not report the state of %s: %s", self.application, error)
                if time.monotonic() - answered > UNKNOWN_AFTER_S:
                    yield self._event(STATUS_UNKNOWN, is_success=False)
                    return
            else:
                answered = time.monotonic()
                text = seen.progress.text if seen.progress is not None else seen.status
                if text != logged:
                    self.log.info("%s: %s", self.application, text)
                    logged = text
                if not seen.is_active:
                    yield self._event(seen.status, is_success=seen.is_success)
                    return
            await pause(self.poke_interval)

    async def on_kill(self) -> None:
        """End the driver. Airflow 3.3 calls this method if a user clears or ends the deferred task."""
        await complete(asyncio.to_thread(self._end))

    def _event(self, status: str, *, is_success: bool) -> TriggerEvent:
        return TriggerEvent(
            {
                "application": self.application,
                "status": status,
                "succeeded": is_success,
                "seconds": self.seconds(),
            }
        )

    def _poll(self) -> _Seen:
        master = self._master()
        status = master.get_job_status(self.application, {})
        if self.takes_turns:
            self.stay()
        return _Seen(
            status,
            master.is_job_active(status),
            master.is_job_succeeded(status),
            self._progress(),
        )

    def _master(self) -> SparkSubmitOperator:
        return airflow_internals.operator_for_queries(self.tracking, self.spark_conn_id, self.spark_binary)

    def _forget_request(self) -> bool:
        """Delete the request document: it may contain credentials, and perhaps no later process will delete it.

        Returns:
            False if the request document already belongs to the next try and was not deleted, else True.
        """
        from hudi_table_services.storage.stores.factory import open_storage

        folder = self.result_path.rpartition("/")[0]
        try:
            storage = open_storage(folder, self.hook().location.storage_options)
            if storage.modified_ms(REQUEST) / 1000 > self.began + _CLOCKS_DIFFER_S:
                return False
            storage.delete(REQUEST)
        except ObjectNotFoundError:
            pass
        except Exception as error:
            self.log.warning("The request document in %s was not removed: %s", folder, error)
        return True

    def _progress(self) -> JobProgress | None:
        from hudi_table_services.storage.stores.factory import open_storage

        folder, _, name = progress_path(self.result_path).rpartition("/")
        if not folder:
            return None
        try:
            document = json.loads(open_storage(folder, self.hook().location.storage_options).read(name))
            return JobProgress(**document)
        except (HudiTableServiceError, ValueError, TypeError):
            return None  # the document is not written yet, or it is already deleted

    def _end(self) -> None:
        self.log.info("Ending %s of request %s", self.application, self.request_id)
        airflow_internals.end_application(self._master(), self.tracking, self.application)
        if self._forget_request() and self.takes_turns:
            self.leave()
        self.log_state_after_end()
