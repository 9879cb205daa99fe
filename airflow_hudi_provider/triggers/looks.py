"""The one place through which triggers look at tables: so many at a time, first come, first served.

A triggerer holds up to a thousand triggers in one process. Left to themselves they would take all threads of the event
loop, which other providers' triggers need too, and ask the store all at once after a restart.
"""

import asyncio
import contextvars
import itertools
import logging
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import ParamSpec, TypeVar

from airflow.providers.common.compat.sdk import conf

LOOKS_AT_ONCE = 8
"""What ``[hudi] triggerer_looks`` is where it says nothing, or no number above 0."""

THREAD_NAME = "hudi-look"

_GOLDEN_SHARE = 0.6180339887498949
_SPREAD = 0.2

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

_log = logging.getLogger(__name__)
_paused = itertools.count()


async def take_a_look(
    call: Callable[_Arguments, _Result], *args: _Arguments.args, **kwargs: _Arguments.kwargs
) -> _Result:
    """Call it in a thread when it is its turn, in the context of the caller, as ``asyncio.to_thread`` does.

    One that is cancelled while it waits is never called.
    """
    in_context = partial(contextvars.copy_context().run, call, *args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_threads(), in_context)


async def pause(seconds: float) -> None:
    """Sleep about that long: those that were started together drift apart."""
    await asyncio.sleep(spread(seconds))


def spread(seconds: float) -> float:
    """From 90 to 110 % of it: one call after another gives shares far from those of the calls before."""
    share = next(_paused) * _GOLDEN_SHARE % 1
    return seconds * (1 + _SPREAD * (share - 0.5))


def looks_at_once() -> int:
    """The setting; a wrong one is told, and does not stop those who wait."""
    text = conf.get("hudi", "triggerer_looks", fallback=str(LOOKS_AT_ONCE))
    try:
        looks = int(text)
    except ValueError:
        looks = 0
    if looks < 1:
        _log.warning(
            "[hudi] triggerer_looks = %s is no number above 0: it is taken for %d.", text, LOOKS_AT_ONCE
        )
        return LOOKS_AT_ONCE
    return looks


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(looks_at_once(), thread_name_prefix=THREAD_NAME)


# Threads do not live on in a child, and an executor that counts on them would wait for ever.
os.register_at_fork(after_in_child=_threads.cache_clear)
