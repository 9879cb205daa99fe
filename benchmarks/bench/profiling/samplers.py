"""Sample the Python processes with py-spy and the JVM with async-profiler, during the timed part of a scenario."""

import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench.profiling.processes import TreeTimes, tree_times

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PYTHON_STACKS = "python.stacks"
JAVA_STACKS = "java.stacks"
JVM_OPTIONS = "-XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints"
"""Options with which the JVM knows the method of a sample exactly, and not only at safepoints."""

_ATTACH_SECONDS = 120
_WRITE_SECONDS = 300


class SamplingError(Exception):
    """The Python processes cannot be sampled."""


class PythonSampler:
    """Samples the Python processes of a tree, and measures the processor time of all its processes.

    Args:
        py_spy: the command ``py-spy``.
        folder: folder of the stacks.
        rate: samples per second.
    """

    def __init__(self, py_spy: Path, folder: Path, rate: int) -> None:
        self._py_spy = py_spy
        self._folder = folder
        self._rate = rate
        self._process: subprocess.Popen[bytes] | None = None
        self._before: TreeTimes | None = None
        self.times: TreeTimes | None = None
        """Processor time of the timed part; None before its end."""

    def ready(self, pid: int) -> None:
        """Attach to the tree of a process that waits before its timed part.

        Raises:
            SamplingError: py-spy ended, or has not sampled within two minutes.
        """
        output = self._folder / PYTHON_STACKS
        log = self._folder / "py-spy.log"
        options = ["--subprocesses", "--native", "--format", "raw", "--rate", str(self._rate)]
        command = [self._py_spy, "record", *options, "--pid", str(pid), "--output", output]
        with log.open("wb") as log_file:
            self._process = subprocess.Popen(command, stdout=log_file, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + _ATTACH_SECONDS
        while b"Sampling process" not in log.read_bytes():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.close()
                raise SamplingError(
                    f"py-spy does not sample process {pid}: {log.read_text(errors='replace').strip()}\n"
                    "Run the profile as root, or allow py-spy to trace processes (kernel.yama.ptrace_scope=0)."
                )
            time.sleep(0.1)

    def begin(self, pid: int) -> None:
        self._before = tree_times(pid)

    def end(self, pid: int) -> None:
        """Measure the processor time, and let py-spy write the stacks."""
        assert self._before is not None
        assert self._process is not None
        self.times = tree_times(pid).since(self._before)
        self._process.send_signal(signal.SIGINT)
        self._process.wait(timeout=_WRITE_SECONDS)

    def close(self) -> None:
        """End py-spy if it still runs, for example because the scenario failed."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def session_settings(profiler_jar: str) -> dict[str, str]:
    """Return the settings of a Spark session whose JVM can be sampled; none if there is no jar of async-profiler."""
    if not profiler_jar:
        return {}
    return {"spark.driver.extraClassPath": profiler_jar, "spark.driver.extraJavaOptions": JVM_OPTIONS}


class JvmSampler:
    """Samples all threads of the JVM of a session, each by its own processor time.

    Args:
        rate: samples per second of processor time.
    """

    def __init__(self, spark: "SparkSession", folder: Path, rate: int) -> None:
        jvm = spark.sparkContext._jvm
        assert jvm is not None
        self._profiler = jvm.one.profiler.AsyncProfiler.getInstance()
        self._output = folder / JAVA_STACKS
        self._interval_ms = 1000 // rate

    def begin(self) -> None:
        self._profiler.execute(f"start,event=ctimer,interval={self._interval_ms}ms,threads")

    def end(self) -> None:
        """Write the stacks."""
        self._profiler.execute(f"stop,collapsed,file={self._output}")
