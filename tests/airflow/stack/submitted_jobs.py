"""Processes of Spark jobs that the tasks of these tests submitted."""

import time
from pathlib import Path

from airflow_stack.api import wait_until


def command_of(pid: int) -> bytes:
    """Command line of a process; empty: there is none any more."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def spark_processes() -> list[int]:
    """All processes of loads that are at work."""
    pids = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    return [pid for pid in pids if b"upsert_with_sizing.py" in command_of(pid)]


def wait_for_job(timeout_s: float) -> list[int]:
    """Until a job's own Python runs, and a moment more; returns all of its processes."""
    wait_until(lambda: len(spark_processes()) >= 2, timeout_s, lambda: "no job begins", 0.05)
    time.sleep(5)
    return spark_processes()
