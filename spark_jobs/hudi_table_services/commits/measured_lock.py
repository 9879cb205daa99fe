"""The table lock of jobs: it measures how long the job waits for it, and calls functions after its release."""

import time
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType

from hudi_table_services.commits.stopwatch import Stopwatch
from hudi_table_services.options.locks import LockOptions
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.locks.lock import TableLock, table_lock
from hudi_table_services.storage.stores.storage import Storage

LOCK_WAIT = "lock_wait"
"""Name of the waiting time in the result document. The phase in which the job waited includes that time."""


class MeasuredLock:
    """A `TableLock` that measures how long acquiring the lock takes, even if acquiring it fails.

    Code under the lock can postpone work until the lock is released (`after_release`).

    Args:
        short_wait: the same lock, which gives up earlier; None for a lock that waits as long as `lock`.

    Attributes:
        short_wait: the lock for postponed work that this job can also leave to the next job.
    """

    def __init__(self, lock: TableLock, watch: Stopwatch, short_wait: TableLock | None = None) -> None:
        self.short_wait = self if short_wait is None else MeasuredLock(short_wait, watch)
        self._lock = lock
        self._watch = watch
        self._postponed: list[Callable[[], None]] = []

    def __enter__(self) -> "MeasuredLock":
        started = time.monotonic()
        try:
            self._lock.__enter__()
        finally:
            self._watch.add(LOCK_WAIT, time.monotonic() - started)
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._lock.__exit__(error_type, error, traceback)
        postponed, self._postponed = self._postponed, []
        if error_type is None:
            for function in postponed:
                function()

    def after_release(self, function: Callable[[], None]) -> None:
        """Call the function after the lock is released. Call this method under the lock.

        The function is not called if the code under the lock raises an error. It may take the lock again.
        """
        self._postponed.append(function)

    def verify(self) -> None:
        self._lock.verify()


def measured_lock(
    storage: Storage, options: LockOptions, clock: Clock, watch: Stopwatch, request_id: str
) -> MeasuredLock:
    """Return the lock that the options choose; its waiting time is added to the stopwatch.

    Its `short_wait` waits for one round of attempts, without the retries of Hudi's lock manager.
    """
    one_round = replace(options, client_retries=0)
    return MeasuredLock(
        table_lock(storage, options, clock, request_id),
        watch,
        table_lock(storage, one_round, clock, request_id),
    )
