"""Jobs that run as users run them: in separate processes, which do not inherit the Python path of the tests."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pyspark
from demo_support.quick_spark import quick_start

from hudi_table_services.contract.result import JobResult
from hudi_table_services.services.registry import read_result

REPOSITORY = Path(__file__).parents[2]
SOURCES = REPOSITORY / "spark_jobs"
SCRIPT = SOURCES / "upsert_with_sizing.py"
IN_EVERY_PYTHON = Path(__file__).parent / "in_every_python"
SPARK_HOME = Path(pyspark.__file__).parent
SPARK_SUBMIT = SPARK_HOME / "bin" / "spark-submit"
SPARK_CLASS = SPARK_HOME / "bin" / "spark-class"

LONGEST_JOB_S = 150.0

ValueT = TypeVar("ValueT")


@dataclass(frozen=True, slots=True)
class Ended:
    """A process that has ended, with its output and its log."""

    exit_code: int
    output: str
    log: str

    @property
    def result(self) -> JobResult:
        """The result, parsed from standard output."""
        return read_result(self.output[self.output.index("{") :])


def spark_settings(folder: Path, **settings: str) -> dict[str, str]:
    """Environment variables for Spark: no web UI, bound to 127.0.0.1, scratch files below ``folder``.

    Args:
        settings: further Spark settings, with ``__`` instead of dots.
    """
    named = {name.replace("__", "."): value for name, value in settings.items()}
    memory = named.pop("spark.driver.memory", "1g")
    return quick_start(
        {
            "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.local.dir": str(folder / "local"),
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            **named,
        },
        memory=memory,
    )


def environment(settings: Mapping[str, str], **variables: str) -> dict[str, str]:
    """The environment variables of this process, without Python paths and without settings of another Spark."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    kept.pop("PYTHONPATH", None)
    return {
        **kept,
        **settings,
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        **variables,
    }


def without_checkout(settings: Mapping[str, str]) -> dict[str, str]:
    """Environment variables that hide the checkout's engine from a process, even if the checkout is installed."""
    return environment(settings, PYTHONPATH=str(IN_EVERY_PYTHON), E2E_HIDDEN_FOLDER=str(SOURCES))


class JobProcess:
    """A process in a new session, so that the session id identifies its child processes."""

    def __init__(self, command: Sequence[str | Path], variables: Mapping[str, str], folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._output, self._log = folder / "stdout", folder / "stderr"
        with self._output.open("wb") as output, self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [str(part) for part in command],
                cwd=folder,
                env=dict(variables),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=log,
                start_new_session=True,
            )

    @property
    def log(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def wait(self, timeout_s: float = LONGEST_JOB_S) -> Ended:
        try:
            exit_code = self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"still running after {timeout_s} s:\n{self.log}") from None
        return Ended(exit_code, self._output.read_text(encoding="utf-8"), self.log)

    def kill(self) -> None:
        """Kill the process and all its child processes, including those that Spark starts in other process groups."""
        while members := _session_members(self.process.pid):
            for pid in members:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            self.process.poll()
            time.sleep(0.01)
        self.process.wait()

    def wait_for(self, what: str, look: Callable[[], ValueT | None], timeout_s: float = 90.0) -> ValueT:
        """Call ``look`` repeatedly until it returns a value; fail if the process ends or the time is up."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            if (found := look()) is not None:
                return found
            if self.process.poll() is not None:
                if (found := look()) is not None:  # the process ended after the first call of `look`
                    return found
                break
            time.sleep(0.003)
        raise AssertionError(f"there is no {what}; exit code {self.process.poll()}:\n{self.log}")


def run(command: Sequence[str | Path], variables: Mapping[str, str], folder: Path) -> Ended:
    """Run a process, and wait until it ends."""
    process = JobProcess(command, variables, folder)
    try:
        return process.wait()
    finally:
        process.kill()


def _session_members(session: int) -> list[int]:
    """Ids of the running processes of a session, according to ``/proc/<pid>/stat``.

    The name of a process can contain any character, so the fields are counted from the end of the name.
    """
    members = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text(errors="replace").rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if fields[3] == str(session) and fields[0] not in "ZX":
            members.append(int(status.parent.name))
    return members


def worker_daemons(jvm: int) -> list[int]:
    """Ids of the processes of this JVM that start its Python workers."""
    return [pid for pid in _children(jvm) if b"pyspark.daemon" in _of_process(pid, "cmdline")]


def jvm_of(pid: int) -> int:
    """Id of the JVM that a job with plain Python has started."""
    (jvm,) = (
        child for child in _children(pid) if b"java" in _of_process(child, "cmdline").partition(b"\0")[0]
    )
    return jvm


def busy_workers(jvm: int) -> list[int]:
    """Ids of the Python workers of this JVM that are running code at the moment."""
    workers = [worker for daemon in worker_daemons(jvm) for worker in _children(daemon)]
    return [pid for pid in workers if _of_process(pid, "stat").rpartition(b")")[2].split()[:1] == [b"R"]]


def _children(pid: int) -> list[int]:
    """Ids of the child processes of all threads of a process."""
    threads = [path.name for path in Path(f"/proc/{pid}/task").glob("*")]
    return [int(child) for name in threads for child in _of_process(pid, f"task/{name}/children").split()]


def _of_process(pid: int, name: str) -> bytes:
    """Content of a file in the ``/proc`` folder of a process; empty if the process has ended."""
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""
