"""What triggers have in common that follow the job of a deferred task, wherever it runs."""

import time
from abc import abstractmethod
from typing import Any

from airflow.triggers.base import BaseTrigger

from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.tasks.request_state import state_of_request
from airflow_hudi_provider.triggers.turn import writer_queue


class HudiJobTrigger(BaseTrigger):
    """Fires once, when the job has ended or cannot be followed.

    :param request_id: of the job; its turn to write the table, if ``takes_turns``, lasts as long as the job.
    :param began: when the job was submitted, in seconds since 1970.
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
        """The arguments that identify the job, as plain JSON values."""

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
        """Seconds since the job was submitted."""
        return round(time.time() - self.began, 3)

    def hook(self) -> HudiHook:
        return HudiHook(self.base_path, hudi_conn_id=self.hudi_conn_id, storage_conn_id=self.storage_conn_id)

    def stay(self) -> None:
        """Refresh the heartbeat of the job's turn."""
        try:
            writer_queue(self.hook()).refresh(self.request_id)
        except Exception as error:
            self.log.warning("The heartbeat of its turn was not refreshed: %s", error)

    def leave(self) -> None:
        """Give up the turn at once, although the job may take a while to end.

        The turn does not protect the table; locks and the check for conflicts do.
        """
        try:
            writer_queue(self.hook()).leave(self.request_id)
        except Exception as error:
            self.log.warning("Its turn was not given up, and expires in some minutes: %s", error)

    def log_state_after_end(self) -> None:
        """Log what the job left on the timeline."""
        nothing = "Ended; no instant of this request is pending on the timeline."
        try:
            state = state_of_request(self.hook(), self.request_id, how="Ended", otherwise=nothing)
        except Exception as error:
            self.log.warning("The timeline was not read after the end: %s", error)
        else:
            self.log.warning("%s", state)
