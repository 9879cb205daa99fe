"""Processes of Spark jobs that the tasks of these tests submitted."""

import time
from pathlib import Path

from airflow_stack.api import wait_until


def command_of(pid: int) -> bytes:
    """Command line of a process; empty if the process has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def spark_processes() -> list[int]:
    """All processes of running loads."""
    pids = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    return [pid for pid in pids if b"upsert_with_sizing.py" in command_of(pid)]


def wait_for_job(timeout_s: float) -> list[int]:
    """Wait until a job's own Python has run for five seconds; returns all processes of the job."""
    wait_until(lambda: len(spark_processes()) >= 2, timeout_s, lambda: "no job began", 0.05)
    time.sleep(5)
    return spark_processes()
