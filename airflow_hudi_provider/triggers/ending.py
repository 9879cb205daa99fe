"""Complete the work of `on_kill`, although Airflow cancels the trigger repeatedly."""

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

from airflow.providers.common.compat.sdk import conf

_KILL_TIMEOUT_S = 30
_SHARE_OF_KILL_TIMEOUT = 0.9


def kill_timeout() -> float:
    """Return the number of seconds that Airflow allows for `on_kill`, from ``[triggerer] on_kill_timeout``."""
    return float(conf.getint("triggerer", "on_kill_timeout", fallback=_KILL_TIMEOUT_S))


async def complete(work: Coroutine[Any, Any, None]) -> None:
    """Await the work even if the caller is cancelled, for nearly as long as Airflow allows.

    Airflow 3.3 cancels the trigger of an ended task about once per second, until the trigger has ended. The first
    cancellation starts `on_kill`. Each later cancellation cancels the running `on_kill`. A triggerer that shuts down
    cancels its triggers in the same way, so the shutdown also waits for the work.

    Raises:
        asyncio.CancelledError: the time limit is reached. The work is cancelled, too.
    """
    deadline = time.monotonic() + _SHARE_OF_KILL_TIMEOUT * kill_timeout()
    task = asyncio.ensure_future(work)
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if time.monotonic() > deadline:
                task.cancel()
                raise
    task.result()
