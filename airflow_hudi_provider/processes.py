"""End a process with everything it started."""

import time

import psutil


def end_processes(pid: int, deadline: float) -> None:
    """Ask the process and its descendants to end, wait until the deadline, and kill what is left.

    Args:
        deadline: as `time.monotonic` counts.
    """
    try:
        root = psutil.Process(pid)
        family = [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    for process in family:
        _signal(process.terminate)
    _, alive = psutil.wait_procs(family, timeout=max(0.0, deadline - time.monotonic()))
    for process in alive:
        _signal(process.kill)


def _signal(send) -> None:  # type: ignore[no-untyped-def]
    try:
        send()
    except psutil.NoSuchProcess:
        return
