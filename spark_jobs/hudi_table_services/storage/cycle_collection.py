"""Pause Python's collector of reference cycles while a table with many files is loaded."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_cycle_collection() -> Iterator[None]:
    """Pause the collector during the block, or the call of a decorated function.

    File names and slices contain no reference cycles. While hundreds of thousands of them are created, the collector
    examines all of them again and again and frees none. This takes a third of the time of a plan of 100,000 slices
    (``benchmarks/compaction_planning.py``). Objects without cycles are still freed at once.

    The collector is global. If several threads use this function at the same time, the collector can run again before
    the last thread leaves its block. After the last thread has left its block, the collector always runs.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
