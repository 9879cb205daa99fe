"""Run a measured process and sample the memory of its whole process tree: driver, JVM, Python workers."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import psutil

from bench.protocol import BEGIN, END, READY, Event, Job, parse_event

SAMPLING_SECONDS = 0.1
_LAST_LINES = 40


class MeasuredProcessError(Exception):
    """The measured process failed; the message ends with the last lines of its log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """Time and memory of the timed part.

    Attributes:
        seconds: wall-clock seconds.
        peak_memory_bytes: largest resident set of the process tree. Pages that processes share are counted once per
            process, which is a disadvantage for systems with Python workers.
        cpu_seconds: processor seconds of the process tree. They depend less on the load of the machine than `seconds`.
    """

    seconds: float
    write_seconds: tuple[float, ...]
    peak_memory_bytes: int
    cpu_seconds: float


class Watcher(Protocol):
    """Observes the timed part of a measured process. Each method receives the id of the process."""

    def ready(self, pid: int) -> None:
        """Prepare the observation; the process waits until this method returns."""

    def begin(self, pid: int) -> None:
        """Begin: the timed part has just begun."""

    def end(self, pid: int) -> None:
        """End: the timed part has just ended; the process still runs."""


def measure(
    job: Job | str,
    python_path: tuple[Path, ...],
    log: Path,
    script: str = "worker.py",
    watcher: Watcher | None = None,
) -> Measurement:
    """Run one job in a separate process.

    Args:
        job: the argument of the script, or that argument as JSON.
        script: name of the script next to ``run.py`` that runs the job.
        watcher: observes the timed part; necessary if the job is sampled.

    Raises:
        MeasuredProcessError: the process ended before the end of the timed part.
    """
    path = Path(__file__).resolve().parent.parent / script
    argument = job if isinstance(job, str) else job.to_json()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, python_path))}
    with log.open("w") as log_file:
        process = subprocess.Popen(
            [sys.executable, str(path), argument],
            stdin=subprocess.PIPE if watcher is not None else None,
            stdout=subprocess.PIPE,
            stderr=log_file,
            text=True,
            env=environment,
        )
        try:
            return _watch(process, log, watcher)
        finally:
            _end(process)


def _watch(process: subprocess.Popen[str], log: Path, watcher: Watcher | None) -> Measurement:
    sampler = _Sampler(process.pid)
    end: Event | None = None
    assert process.stdout is not None
    for line in process.stdout:
        event = parse_event(line)
        if event is None:
            continue
        if event.kind == BEGIN:
            sampler.start()
        if event.kind == END:
            end = event
            sampler.stop()
        if watcher is not None:
            _notify(watcher, event.kind, process)
    exit_code = process.wait()
    sampler.stop()
    if end is None or exit_code != 0:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-_LAST_LINES:])
        raise MeasuredProcessError(
            f"The process ended with exit code {exit_code}. End of its log {log}:\n{tail}"
        )
    return Measurement(
        seconds=end.seconds,
        write_seconds=end.write_seconds,
        peak_memory_bytes=sampler.peak_bytes,
        cpu_seconds=sampler.cpu_seconds,
    )


def _notify(watcher: Watcher, kind: str, process: subprocess.Popen[str]) -> None:
    if kind == READY:
        watcher.ready(process.pid)
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    elif kind == BEGIN:
        watcher.begin(process.pid)
    elif kind == END:
        watcher.end(process.pid)


class _Sampler:
    """Takes samples in a thread of this process, so that the measured process is not disturbed."""

    def __init__(self, pid: int) -> None:
        self.peak_bytes = 0
        self._cpu_before = self._cpu_after = 0.0
        self._root = psutil.Process(pid)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def cpu_seconds(self) -> float:
        return self._cpu_after - self._cpu_before

    def start(self) -> None:
        self._cpu_before = _cpu_seconds(self._root)
        self._thread.start()

    def stop(self) -> None:
        if not self._stopped.is_set():
            self._cpu_after = _cpu_seconds(self._root)
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped.is_set():
            self.peak_bytes = max(self.peak_bytes, _resident_bytes(self._root))
            self._stopped.wait(SAMPLING_SECONDS)


def _resident_bytes(root: psutil.Process) -> int:
    return int(_sum_over_tree(root, lambda process: process.memory_info().rss))


def _cpu_seconds(root: psutil.Process) -> float:
    """Return the processor seconds of running processes, and of ended processes whose parent has waited for them."""
    return _sum_over_tree(root, lambda process: sum(process.cpu_times()[:4]))


def _sum_over_tree(root: psutil.Process, figure: Callable[[psutil.Process], float]) -> float:
    total = 0.0
    try:
        processes = [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0.0
    for process in processes:
        try:
            total += figure(process)
        except psutil.NoSuchProcess:
            continue  # a worker that ended between the two calls
    return total


def _end(process: subprocess.Popen[str]) -> None:
    """Stop the process and all its children."""
    if process.poll() is not None:
        return
    children = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.wait()
    for child in children:
        if child.is_running():
            child.kill()
