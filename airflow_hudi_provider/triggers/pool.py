"""The thread pool in which triggers read tables: a limited number at a time, first come, first served.

A triggerer runs up to a thousand triggers in one process. Without this pool, the triggers of this package could occupy
all threads of the event loop, and the triggers of other providers would have to wait. After a restart of the triggerer,
all triggers of this package would also read from the storage at the same time.
"""

import asyncio
import contextvars
import logging
import os
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import ParamSpec, TypeVar

from airflow.providers.common.compat.sdk import conf

DEFAULT_THREADS = 8
"""Number of threads if the setting ``[hudi] triggerer_looks`` is missing or is not a number above 0."""

THREAD_NAME = "hudi-look"

_SPREAD = 0.1

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

_log = logging.getLogger(__name__)


async def run_in_pool(
    call: Callable[_Arguments, _Result], *args: _Arguments.args, **kwargs: _Arguments.kwargs
) -> _Result:
    """Call a function in a thread of the pool, in the context of the caller, as ``asyncio.to_thread`` does.

    If the caller is cancelled while the call waits for a thread, the function is never called.
    """
    in_context = partial(contextvars.copy_context().run, call, *args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_threads(), in_context)


async def pause(seconds: float) -> None:
    """Sleep for 90 to 110 % of this time, so that triggers that started together poll at different times."""
    await asyncio.sleep(spread(seconds))


def spread(seconds: float) -> float:
    """Return a random duration from 90 to 110 % of this duration."""
    return seconds * random.uniform(1 - _SPREAD, 1 + _SPREAD)  # noqa: S311 - not for cryptography


def pool_size() -> int:
    """Return the number of threads of the pool. If the setting is invalid, log a warning and use the default."""
    text = conf.get("hudi", "triggerer_looks", fallback=str(DEFAULT_THREADS))
    try:
        threads = int(text)
    except ValueError:
        threads = 0
    if threads < 1:
        _log.warning(
            "[hudi] triggerer_looks = %s is not a number above 0; the default %d applies.",
            text,
            DEFAULT_THREADS,
        )
        return DEFAULT_THREADS
    return threads


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(pool_size(), thread_name_prefix=THREAD_NAME)


# Threads do not survive a fork. In the child process, the old executor would wait for its threads forever.
os.register_at_fork(after_in_child=_threads.cache_clear)
