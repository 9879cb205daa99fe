"""Read many files at the same time. An object store responds slowly, but it serves many requests in parallel."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

READ_THREADS = 8
"""Number of requests that one caller sends to the storage at the same time."""

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def map_in_parallel(read: Callable[[_Item], _Result], items: Iterable[_Item]) -> list[_Result]:
    """Call a function with each item, in threads. Return the results in the order of the items.

    Raises:
        The exception of the first item that failed. Calls that have not started are cancelled.
    """
    with ThreadPoolExecutor(READ_THREADS) as pool:
        return list(pool.map(read, items))
