"""A table lock that adds to the job's stopwatch the time for which the job waits for the lock."""

import time
from types import TracebackType

from hudi_table_services.commits.stopwatch import Stopwatch
from hudi_table_services.options.locks import LockOptions
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.locks.lock import TableLock, table_lock
from hudi_table_services.storage.stores.storage import Storage

LOCK_WAIT = "lock_wait"
"""Name of the waiting time in the result document. The phase in which the job waited includes that time."""


class MeasuredLock:
    """A `TableLock` that measures how long acquiring the lock takes, even if acquiring it fails."""

    def __init__(self, lock: TableLock, watch: Stopwatch) -> None:
        self._lock = lock
        self._watch = watch

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

    def verify(self) -> None:
        self._lock.verify()


def measured_lock(
    storage: Storage, options: LockOptions, clock: Clock, watch: Stopwatch, request_id: str
) -> TableLock:
    """Return the lock that the options choose; its waiting time is added to the stopwatch."""
    return MeasuredLock(table_lock(storage, options, clock, request_id), watch)
