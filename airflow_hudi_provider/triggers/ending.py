"""Complete the work of `on_kill`, although Airflow cancels the trigger again and again."""

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

from airflow.providers.common.compat.sdk import conf

_KILL_TIMEOUT_S = 30
_SHARE_OF_IT = 0.9


def kill_timeout() -> float:
    """Seconds that Airflow gives `on_kill`: ``[triggerer] on_kill_timeout``."""
    return float(conf.getint("triggerer", "on_kill_timeout", fallback=_KILL_TIMEOUT_S))


async def complete(work: Coroutine[Any, Any, None]) -> None:
    """Await the work even if the caller is cancelled meanwhile, for nearly as long as Airflow allows.

    Airflow 3.3 cancels the trigger of an ended task in each round of its triggerer until the trigger is gone, about
    once in a second, and with it the `on_kill` that the first of these cancellations led to. The shutdown of a
    triggerer looks the same, and waits for the work too.

    Raises:
        asyncio.CancelledError: the time is over; the work is cancelled too.
    """
    deadline = time.monotonic() + _SHARE_OF_IT * kill_timeout()
    task = asyncio.ensure_future(work)
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if time.monotonic() > deadline:
                task.cancel()
                raise
    task.result()
