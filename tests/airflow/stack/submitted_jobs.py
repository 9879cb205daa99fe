"""Functions that find the processes of Spark jobs that the tasks of these tests submitted."""

import time
from pathlib import Path

from airflow_stack.api import wait_until


def command_of(pid: int) -> bytes:
    """Command line of a process; empty if the process has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def spark_processes(folder: Path) -> list[int]:
    """All processes of running loads of the stack in this folder, without the processes of other tests."""
    pids = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    return [pid for pid in pids if b"upsert_with_sizing.py" in command_of(pid) and _is_of_stack(pid, folder)]


def _is_of_stack(pid: int, folder: Path) -> bool:
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return f"HUDI_EXAMPLES_FOLDER={folder}".encode() in variables.split(b"\0")


def wait_for_job(folder: Path, timeout_s: float) -> list[int]:
    """Wait until the Python process of a job has run for five seconds, and return all processes of the job."""
    wait_until(lambda: len(spark_processes(folder)) >= 2, timeout_s, lambda: "no job began", 0.05)
    time.sleep(5)
    return spark_processes(folder)
