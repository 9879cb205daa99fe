"""Base class of the triggers that monitor the job of a deferred task, on this machine or on a cluster."""

import time
from abc import abstractmethod
from typing import Any

from airflow.triggers.base import BaseTrigger

from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.tasks.request_state import state_of_request
from airflow_hudi_provider.triggers.turn import writer_queue


class HudiJobTrigger(BaseTrigger):
    """Fires once, when the job has ended or the trigger can no longer monitor the job.

    :param request_id: request id of the job.
    :param began: time at which the job was submitted, in seconds since 1970.
    :param takes_turns: whether the task uses the writer queue. The task's turn ends when the job ends, or earlier if
        Airflow kills the task.
    """

    def __init__(
        self,
        *,
        request_id: str,
        began: float,
        poke_interval: float,
        base_path: str | None = None,
        hudi_conn_id: str | None = None,
        storage_conn_id: str | None = None,
        takes_turns: bool = False,
    ) -> None:
        super().__init__()
        self.request_id = request_id
        self.began = began
        self.poke_interval = poke_interval
        self.base_path = base_path
        self.hudi_conn_id = hudi_conn_id
        self.storage_conn_id = storage_conn_id
        self.takes_turns = takes_turns

    @abstractmethod
    def followed(self) -> dict[str, Any]:
        """Return the arguments that identify the job, as plain JSON values."""

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return (
            f"{type(self).__module__}.{type(self).__qualname__}",
            {
                **self.followed(),
                "request_id": self.request_id,
                "began": self.began,
                "poke_interval": self.poke_interval,
                "base_path": self.base_path,
                "hudi_conn_id": self.hudi_conn_id,
                "storage_conn_id": self.storage_conn_id,
                "takes_turns": self.takes_turns,
            },
        )

    def seconds(self) -> float:
        """Return the number of seconds since the job was submitted."""
        return round(time.time() - self.began, 3)

    def hook(self) -> HudiHook:
        return HudiHook(self.base_path, hudi_conn_id=self.hudi_conn_id, storage_conn_id=self.storage_conn_id)

    def stay(self) -> None:
        """Refresh the heartbeat of the task in the writer queue."""
        try:
            writer_queue(self.hook()).refresh(self.request_id)
        except Exception as error:
            self.log.warning("The heartbeat of the task's turn could not be refreshed: %s", error)

    def leave(self) -> None:
        """Leave the writer queue after Airflow has killed the task, although the job may need some time to end.

        The table does not need the queue's protection, because locks and the check for conflicts protect the table.
        """
        try:
            writer_queue(self.hook()).leave(self.request_id)
        except Exception as error:
            self.log.warning("The task's turn was not released; it expires in a few minutes: %s", error)

    def log_state_after_end(self) -> None:
        """Log the state of the request on the timeline after the end of the job."""
        nothing = "Ended; no instant of this request is pending on the timeline."
        try:
            state = state_of_request(self.hook(), self.request_id, how="Ended", otherwise=nothing)
        except Exception as error:
            self.log.warning("The timeline could not be read after the end of the job: %s", error)
        else:
            self.log.warning("%s", state)
