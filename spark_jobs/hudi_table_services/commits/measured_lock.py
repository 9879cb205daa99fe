"""The table lock, with the time that a job waits for it on the job's stopwatch."""

import time
from types import TracebackType

from hudi_table_services.commits.stopwatch import Stopwatch
from hudi_table_services.storage.locks.lock import TableLock

LOCK_WAIT = "lock_wait"
"""Name of the time in the result document; it is also part of the phase in which the job waited."""


class MeasuredLock:
    """A `TableLock` whose entries are timed, those that fail too."""

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
