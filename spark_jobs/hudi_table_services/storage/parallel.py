"""Read many files at the same time. An object store responds slowly, but it serves many requests in parallel."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from typing import Generic, TypeVar

READ_THREADS = 8
"""Number of requests that one caller sends to the storage at the same time."""

_ALL_THREADS = 8 * READ_THREADS
"""Number of threads that all callers of the process share."""

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def map_in_parallel(
    read: Callable[[_Item], _Result], items: Iterable[_Item], *, threads: int = READ_THREADS
) -> list[_Result]:
    """Call a function with each item, in threads. Return the results in the order of the items.

    The calling thread also calls `read`. So if `read` itself calls `map_in_parallel`, the inner call ends even if no
    other thread is free.

    Args:
        threads: the greatest number of calls at the same time.

    Raises:
        The exception of the first item that failed. Calls that have not started are cancelled.
    """
    calls = _Calls(read, list(items))
    helpers: list[Future[None]] = []
    try:
        wanted = min(threads, len(calls.items)) - 1
        helpers.extend(_threads().submit(calls.work) for _ in range(wanted))
        calls.work()
    except BaseException:
        # No call may start after an interrupt, because the caller then releases its lock.
        calls.stop()
        raise
    finally:
        wait([helper for helper in helpers if not helper.cancel()])
    return calls.results()


class _Calls(Generic[_Item, _Result]):
    """Calls of one function that several threads share: each thread takes the next item until no item is left."""

    def __init__(self, read: Callable[[_Item], _Result], items: list[_Item]) -> None:
        self.items = items
        self._read = read
        self._next = iter(range(len(items)))  # with the GIL, two threads never get the same number
        self._found: dict[int, _Result] = {}
        self._failed: dict[int, BaseException] = {}
        self._is_stopped = False

    def work(self) -> None:
        while not self._is_stopped:
            number = next(self._next, None)
            if number is None:
                return
            try:
                self._found[number] = self._read(self.items[number])
            except BaseException as error:  # noqa: BLE001 - `results` raises it in the calling thread
                self._failed[number] = error
                self._is_stopped = True

    def stop(self) -> None:
        """Start no further call."""
        self._is_stopped = True

    def results(self) -> list[_Result]:
        failed = self._failed
        if failed:
            self._failed = {}  # otherwise an error and this object refer to each other
            # An interrupt takes precedence over the errors of reads.
            raise failed[min(failed, key=lambda number: (isinstance(failed[number], Exception), number))]
        return [self._found[number] for number in range(len(self.items))]


@cache
def _threads() -> ThreadPoolExecutor:
    """Threads that later calls reuse, because starting a thread takes longer than reading a local file."""
    return ThreadPoolExecutor(_ALL_THREADS, thread_name_prefix="storage")


# A forked process has none of the threads of its parent.
os.register_at_fork(after_in_child=_threads.cache_clear)
