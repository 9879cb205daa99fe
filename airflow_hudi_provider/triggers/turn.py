"""Wait in the triggerer for a task's turn to write a table."""

import threading
from typing import TYPE_CHECKING, Any

from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.triggers.ending import complete
from airflow_hudi_provider.triggers.pool import run_in_pool
from airflow_hudi_provider.triggers.table import HudiTableTrigger

if TYPE_CHECKING:
    from hudi_table_services.storage.locks.turns import WriterQueue

POKE_INTERVAL_S = 5.0
SHOWN_AHEAD = 10
"""Maximum number of earlier tasks in the queue that a log line names."""


def writer_queue(hook: HudiHook) -> "WriterQueue":
    """Return the writer queue of a table."""
    from hudi_table_services.storage.clock import SystemClock
    from hudi_table_services.storage.locks.turns import WriterQueue

    return WriterQueue(hook.storage, SystemClock())


class HudiTurnTrigger(HudiTableTrigger):
    """Fires once when no other task is writing to the table or is earlier in the writer queue.

    Every poll refreshes the heartbeat of the waiting task.

    :param owner: request id of the task.
    """

    def __init__(
        self,
        *,
        owner: str,
        base_path: str | None,
        hudi_conn_id: str | None,
        storage_conn_id: str | None,
        fails_if_missing: bool = False,
        poke_interval: float = POKE_INTERVAL_S,
    ) -> None:
        super().__init__(
            base_path=base_path,
            hudi_conn_id=hudi_conn_id,
            storage_conn_id=storage_conn_id,
            fails_if_missing=fails_if_missing,
            poke_interval=poke_interval,
        )
        self.owner = owner
        self._has_left = False
        self._guard = threading.Lock()

    def condition(self) -> dict[str, Any]:
        return {"owner": self.owner}

    def poll(self, hook: HudiHook) -> dict[str, Any] | None:
        # When a user clears or ends the task, a poll may still be running. That poll must not enter the queue again.
        with self._guard:
            if self._has_left:
                return None
            place = writer_queue(hook).wait(self.owner)
        if place.is_turn:
            return {"owner": self.owner}
        shown, more = place.ahead[:SHOWN_AHEAD], len(place.ahead) - SHOWN_AHEAD
        self.state = f"Other tasks write first: {', '.join(shown)}{f', and {more} more' if more > 0 else ''}"
        return None

    async def on_kill(self) -> None:
        """Leave the queue immediately. Airflow 3.3 calls this method if a user clears or ends the waiting task."""
        await complete(run_in_pool(self._leave))

    def _leave(self) -> None:
        hook = HudiHook(self.base_path, hudi_conn_id=self.hudi_conn_id, storage_conn_id=self.storage_conn_id)
        with self._guard:
            self._has_left = True
            writer_queue(hook).leave(self.owner)
