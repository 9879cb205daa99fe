"""End a process and all its descendants."""

import subprocess
import time
from collections.abc import Callable
from typing import Any

import psutil

_KILLED_WITHIN_S = 0.5


def end_processes(process: "subprocess.Popen[Any]", deadline: float) -> None:
    """Ask the process and its descendants to end, wait until the deadline, and kill what is left.

    A process that has ended is left alone: another process may have its id by now.

    Args:
        deadline: in the time of `time.monotonic`.
    """
    if process.poll() is not None:
        return
    try:
        descendants = psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return
    for ending in (process, *descendants):
        _signal(ending.terminate)
    _wait(process, deadline - time.monotonic())
    _, alive = psutil.wait_procs(descendants, timeout=max(0.0, deadline - time.monotonic()))
    for ending in (process, *alive):
        _signal(ending.kill)
    _wait(process, _KILLED_WITHIN_S)
    psutil.wait_procs(alive, timeout=_KILLED_WITHIN_S)


def _wait(process: "subprocess.Popen[Any]", seconds: float) -> None:
    """Wait with Popen, which keeps the exit code; psutil would consume it."""
    try:
        process.wait(max(0.0, seconds))
    except subprocess.TimeoutExpired:
        return


def _signal(send: Callable[[], None]) -> None:
    try:
        send()
    except (psutil.NoSuchProcess, ProcessLookupError):
        return
