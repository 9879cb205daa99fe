"""Look at a table from the triggerer again and again, until it is as somebody waits for."""

from abc import abstractmethod
from collections.abc import AsyncIterator
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_hudi_provider.exceptions import HudiTaskRefusedError
from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.triggers.looks import pause, take_a_look
from hudi_table_services.errors import HudiTableServiceError, StorageError
from hudi_table_services.storage.clock import SystemClock

NO_TABLE = "There is no table yet."


class HudiTableTrigger(BaseTrigger):
    """Fires once, with ``{"answer": …}`` or, where waiting makes no sense any more, ``{"error": message}``.

    A storage that fails is asked again. It keeps nothing between two looks, so a restart of the triggerer only means
    another look. How long it may wait is the task's timeout, which Airflow keeps, or `give_up_at`.

    :param fails_if_missing: a missing table is an error instead of something to wait for.
    """

    def __init__(
        self,
        *,
        base_path: str | None,
        hudi_conn_id: str | None,
        storage_conn_id: str | None,
        fails_if_missing: bool,
        poke_interval: float,
    ) -> None:
        super().__init__()
        self.base_path = base_path
        self.hudi_conn_id = hudi_conn_id
        self.storage_conn_id = storage_conn_id
        self.fails_if_missing = fails_if_missing
        self.poke_interval = poke_interval
        self.state = ""

    give_up_at: float | None = None
    """Seconds since 1970 from when on a storage that fails is an error; None: never."""

    @abstractmethod
    def asked(self) -> dict[str, Any]:
        """The arguments that say what to wait for, as plain JSON values."""

    @abstractmethod
    def look(self, hook: HudiHook) -> dict[str, Any] | None:
        """The answer, if it is time for it; plain JSON values.

        What keeps it is noted in `state`, a sentence, which is logged whenever it is another one.
        """

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return (
            f"{type(self).__module__}.{type(self).__qualname__}",
            {
                "base_path": self.base_path,
                "hudi_conn_id": self.hudi_conn_id,
                "storage_conn_id": self.storage_conn_id,
                "fails_if_missing": self.fails_if_missing,
                "poke_interval": self.poke_interval,
                **self.asked(),
            },
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        told = ""
        while True:
            try:
                answer = await take_a_look(self._look)
            except StorageError as error:
                is_late = self.give_up_at is not None and SystemClock().now().timestamp() >= self.give_up_at
                if is_late or not error.retryable:
                    yield TriggerEvent({"error": f"{error.kind}: {error}"})
                    return
                self.log.warning("The timeline was not read, looking again later: %s", error)
            except (HudiTableServiceError, HudiTaskRefusedError) as error:
                yield TriggerEvent({"error": f"{type(error).__name__}: {error}"})
                return
            else:
                if answer is not None:
                    yield TriggerEvent({"answer": answer})
                    return
                if self.state != told:
                    told = self.state
                    self.log.info("%s", told)
            await pause(self.poke_interval)

    def _look(self) -> dict[str, Any] | None:
        hook = HudiHook(self.base_path, hudi_conn_id=self.hudi_conn_id, storage_conn_id=self.storage_conn_id)
        return self.look(hook)
