"""Cache values for some seconds, so that requests of several users cause only one read of a table."""

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from cachetools import TTLCache

from hudi_table_services.storage.clock import SystemClock

KEPT_SECONDS = 15
_LEAST_AGE_MS = 2_000
"""Age below which a value is not read again, even if a user requests a new value."""

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Dated(Generic[_Value]):
    """A value, and the time when it was read, in epoch milliseconds."""

    value: _Value
    as_of_ms: int


class RecentValues(Generic[_Value]):
    """A cache of the latest values by key. Each value is cached for `KEPT_SECONDS`.

    Args:
        size: maximum number of values.
    """

    def __init__(self, size: int) -> None:
        self._lock = threading.Lock()
        self._values: TTLCache[Hashable, Dated[_Value]] = TTLCache(maxsize=size, ttl=KEPT_SECONDS)

    def get(self, key: Hashable, read: Callable[[], _Value], *, fresh: bool = False) -> Dated[_Value]:
        """Return the cached value of a key. If no value is cached, call `read`. Exceptions of `read` are not cached.

        Args:
            fresh: read the value again, unless it was read in the last two seconds.
        """
        with self._lock:
            known = self._values.get(key)
        if known is not None and not (fresh and _now_ms() - known.as_of_ms >= _LEAST_AGE_MS):
            return known
        # Use the time before the read, because the value may lack changes that were made during the read.
        as_of_ms = _now_ms()
        found = Dated(read(), as_of_ms)
        with self._lock:
            self._values[key] = found
        return found


def _now_ms() -> int:
    return round(SystemClock().now().timestamp() * 1000)
