"""Measure how much work a core of this machine does while other cores are busy, too."""

import json
import multiprocessing
import time
import zlib
from statistics import median

_ROUNDS, _REPETITIONS = 60, 3


def core_speed(processes: int) -> float:
    """Return the work of one of several busy processes, divided by the work of a process that is alone."""
    return min(1.0, median(_work_s(1) / _work_s(processes) for _ in range(_REPETITIONS)))


def _work_s(processes: int) -> float:
    """Seconds until processes have each done the same work with compression, dictionaries and arithmetic."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(processes) as pool:
        pool.map(_some_work, [1] * processes, chunksize=1)
        started = time.perf_counter()
        pool.map(_some_work, [_ROUNDS] * processes, chunksize=1)
        return time.perf_counter() - started


def _some_work(rounds: int) -> int:
    found = 0
    for number in range(rounds):
        rows = {f"key-{number}-{each}": each * 31 % 1009 for each in range(20_000)}
        found += len(zlib.compress(json.dumps(rows).encode(), 6))
    return found
