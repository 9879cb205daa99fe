"""What a trigger does when somebody ended its task, done to its end."""

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

from airflow.providers.common.compat.sdk import conf

_KILL_TIMEOUT_S = 30
_SHARE_OF_IT = 0.9


def time_to_end() -> float:
    """Seconds that Airflow gives `on_kill`: ``[triggerer] on_kill_timeout``."""
    return float(conf.getint("triggerer", "on_kill_timeout", fallback=_KILL_TIMEOUT_S))


async def see_through(work: Coroutine[Any, Any, None]) -> None:
    """Await the work, whatever cancels the caller meanwhile, for nearly as long as Airflow gives it.

    Airflow 3.3 cancels the trigger of an ended task in each round of its triggerer until it is gone, about once in a
    second, and so also the `on_kill` that the first of these cancellations led to. A triggerer that is to end cannot be
    told from that, and waits for the work too.

    Raises:
        asyncio.CancelledError: the time is over; the work is cancelled too.
    """
    deadline = time.monotonic() + _SHARE_OF_IT * time_to_end()
    task = asyncio.ensure_future(work)
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if time.monotonic() > deadline:
                task.cancel()
                raise
    task.result()
