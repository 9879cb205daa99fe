"""Do work within a time limit: end a process with its descendants, or run functions that may be slow."""

import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import psutil

_KILLED_WITHIN_S = 0.5


def end_processes(process: "subprocess.Popen[Any]", deadline: float) -> None:
    """Ask the process and its descendants to end, wait until the deadline, and kill the remaining processes.

    The function does nothing if the process has ended, because its id may now belong to another process.

    Args:
        deadline: point in time on the clock of `time.monotonic`.
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


def run_in_time(
    steps: Sequence[Callable[[], None]], seconds: float, on_error: Callable[[Exception], None]
) -> None:
    """Run the steps one after another in a thread, and return when they are done or the time has passed.

    Args:
        seconds: maximum duration of the wait. The thread continues after this time as long as the process runs.
        on_error: called with the error of a step that failed. The next step runs nevertheless.
    """

    def run() -> None:
        for step in steps:
            try:
                step()
            except Exception as error:
                on_error(error)

    thread = threading.Thread(target=run, name="release", daemon=True)
    thread.start()
    thread.join(seconds)


def _wait(process: "subprocess.Popen[Any]", seconds: float) -> None:
    """Wait with Popen, which stores the exit code. After a wait with psutil, Popen could not read the exit code."""
    try:
        process.wait(max(0.0, seconds))
    except subprocess.TimeoutExpired:
        return


def _signal(send: Callable[[], None]) -> None:
    try:
        send()
    except (psutil.NoSuchProcess, ProcessLookupError):
        return
