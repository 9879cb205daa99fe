"""Wait for the table lock in rounds of retries, as Hudi's lock manager and lock provider do together."""

import logging
import time
from collections.abc import Callable

from hudi_table_services.options.locks import LockOptions

_LOG = logging.getLogger(__name__)
_FIRST_LINE_S, _NEXT_LINE_S = 5.0, 60.0
"""Seconds before the first log line about a wait, and between a line and the next line."""


def acquire_in_rounds(
    options: LockOptions, try_acquire: Callable[[], bool], holder: Callable[[], str]
) -> bool:
    """Try to acquire the lock until an attempt succeeds or all rounds have failed. Return whether it was acquired.

    While the function waits, the log names the holder, because the lock of a dead writer can block a job for minutes.

    Args:
        holder: describes the current holder of the lock.
    """
    wait = _LoggedWait(try_acquire, holder)
    for round_number in range(options.client_retries + 1):
        if round_number:
            time.sleep(options.client_retry_wait_ms / 1000)
        if _acquire_in_one_round(options, wait.try_acquire):
            return True
    return False


def _acquire_in_one_round(options: LockOptions, try_acquire: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + options.wait_ms / 1000
    for attempt in range(options.retries + 1):
        if attempt:
            time.sleep(options.retry_wait_ms / 1000)
        if try_acquire():
            return True
        if time.monotonic() >= deadline:
            break
    return False


class _LoggedWait:
    """Attempts to acquire a lock. Failed attempts write a line to the log at intervals."""

    def __init__(self, try_acquire: Callable[[], bool], holder: Callable[[], str]) -> None:
        self._try_acquire, self._holder = try_acquire, holder
        self._began = time.monotonic()
        self._next_line = self._began + _FIRST_LINE_S

    def try_acquire(self) -> bool:
        if self._try_acquire():
            return True
        now = time.monotonic()
        if now >= self._next_line:
            self._next_line = now + _NEXT_LINE_S
            _LOG.info("Waiting for the table lock (for %d s so far): %s", now - self._began, self._holder())
        return False
