"""Wait for the table lock in rounds of retries, as Hudi's lock manager does with its provider."""

import time
from collections.abc import Callable

from hudi_table_services.options.locks import LockOptions


def acquire_in_rounds(options: LockOptions, try_acquire: Callable[[], bool]) -> bool:
    """Try to acquire the lock until an attempt succeeds or all rounds have failed. Return whether it was acquired."""
    for round_number in range(options.client_retries + 1):
        if round_number:
            time.sleep(options.client_retry_wait_ms / 1000)
        if _acquire_in_one_round(options, try_acquire):
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
