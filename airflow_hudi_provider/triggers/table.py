"""Poll a table from the triggerer until it is in the state that a task waits for."""

from abc import abstractmethod
from collections.abc import AsyncIterator, Mapping
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_hudi_provider.exceptions import HudiTaskRefusedError
from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.triggers.pool import pause, run_in_pool
from hudi_table_services.errors import HudiTableServiceError, StorageError
from hudi_table_services.storage.clock import SystemClock

NO_TABLE = "There is no table yet."


def error_event(error: HudiTableServiceError | HudiTaskRefusedError) -> dict[str, str]:
    """Return the payload of an event about an error: the whole text, and its parts for the log of the task."""
    if isinstance(error, HudiTableServiceError):
        parts = {"kind": error.kind, "reason": error.message, "hint": error.hint}
    else:
        parts = {"kind": error.kind, "reason": error.reason or str(error), "hint": error.hint}
    return {"error": f"{type(error).__name__}: {error}", **parts}


def error_of(event: Mapping[str, Any]) -> HudiTaskRefusedError:
    """Return the task's exception for an `error_event`. An earlier release stored events without the parts."""
    error = HudiTaskRefusedError(str(event["error"]))
    error.kind, error.reason, error.hint = (str(event.get(name, "")) for name in ("kind", "reason", "hint"))
    return error


class HudiTableTrigger(BaseTrigger):
    """Fires once, with ``{"answer": …}``, or with an `error_event` if the wait cannot succeed.

    The trigger polls again after a storage error. It keeps no state between two polls, so a restart of the triggerer
    only causes one more poll. The wait ends at the task's timeout, which Airflow enforces, or at `give_up_at`.

    :param fails_if_missing: whether a missing table is an error. If False, the trigger waits for the table.
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
    """Time limit of the wait in seconds since 1970, or None.

    After the time limit, `poll` must return an answer, and a storage error ends the wait.
    """

    def is_late(self) -> bool:
        """Return whether the time limit of the wait is reached."""
        return self.give_up_at is not None and SystemClock().now().timestamp() >= self.give_up_at

    @abstractmethod
    def condition(self) -> dict[str, Any]:
        """Return the arguments that define the condition to wait for, as plain JSON values."""

    @abstractmethod
    def poll(self, hook: HudiHook) -> dict[str, Any] | None:
        """Poll once. Return the answer as plain JSON values if the wait is over, else None.

        Set `state` to a sentence that describes the wait. The trigger logs the sentence whenever it changes.
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
                **self.condition(),
            },
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        logged = ""
        while True:
            try:
                answer = await run_in_pool(self._poll_table)
            except StorageError as error:
                if self.is_late() or not error.retryable:
                    yield TriggerEvent(error_event(error))
                    return
                self.log.warning("The timeline could not be read; the trigger polls again later: %s", error)
            except (HudiTableServiceError, HudiTaskRefusedError) as error:
                yield TriggerEvent(error_event(error))
                return
            else:
                if answer is not None:
                    yield TriggerEvent({"answer": answer})
                    return
                if self.state != logged:
                    logged = self.state
                    self.log.info("%s", logged)
            await pause(self.poke_interval)

    def _poll_table(self) -> dict[str, Any] | None:
        hook = HudiHook(self.base_path, hudi_conn_id=self.hudi_conn_id, storage_conn_id=self.storage_conn_id)
        return self.poll(hook)
