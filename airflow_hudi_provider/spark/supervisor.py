"""The supervisor: the process that runs the program of a job while the task is deferred, and reports in files.

The program is spark-submit or, with a Spark Connect server, the job's own Python process. The supervisor has its own
process session, so that it outlives the task, the worker and the triggerer. Other processes create a file to ask the
supervisor to end the run, because they may not have the right to send a signal.
"""

import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TextIO

import psutil

from airflow_hudi_provider.spark import run_files
from airflow_hudi_provider.spark.processes import end_processes

BEAT_S = 1.0
"""Seconds between two heartbeats, and between two checks of whether the run must end."""

END_GRACE_S = 15.0
"""Seconds that Spark gets for its shutdown; a trigger that ends a run may wait 30 s for the end."""

_LOCK_TIMEOUT_S = 5.0
_RUNS = b"ok"


def main(arguments: Sequence[str] | None = None) -> int:
    """Launch a run, with arguments ``FOLDER PROGRAM ARGUMENT…``. Return when the program runs, or cannot be started.

    Returns:
        0 if the supervisor runs, or 1 if it does not run. In the second case, standard output contains the reason.
    """
    folder, *command = sys.argv[1:] if arguments is None else arguments
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.close(reader)
        _become_supervisor(Path(folder), command, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        report = pipe.read()
    if report == _RUNS:
        print(f"The run continues under its supervisor; its output is in {folder}/{run_files.OUTPUT}")
        return 0
    print(f"The run did not begin: {report.decode(errors='replace') or 'its supervisor ended immediately.'}")
    return 1


def _become_supervisor(folder: Path, command: Sequence[str], writer: int) -> None:
    """Run the supervisor, then exit, because the forked process must not return into the code of its parent."""
    code = 1
    try:
        os.setsid()
        _detach_output(folder)
        code = Supervisor(folder, command).run(writer)
    except Exception as error:
        with suppress(OSError):  # after the run has begun, the launcher has closed the pipe
            os.write(writer, f"{type(error).__name__}: {error}".encode())
    finally:
        os._exit(code)


def _detach_output(folder: Path) -> None:
    """Replace the standard streams, so that no process that reads the task's output waits for the supervisor."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    output = os.open(folder / run_files.OUTPUT, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for source, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    os.close(nothing)
    os.close(output)


class Supervisor:
    """The supervisor of one run.

    Args:
        folder: folder for this run only.
        command: the program and its arguments.
    """

    def __init__(self, folder: Path, command: Sequence[str]) -> None:
        self._folder = folder
        self._command = command
        self._got_signal = False
        self._launch = self._launch_now()

    def run(self, writer: int) -> int:
        """Run the program to its end.

        Args:
            writer: file descriptor of the pipe on which the supervisor reports that the program runs.

        Raises:
            OSError: the program cannot be run, or another supervisor uses this folder.
        """
        with self._lock():
            signal.signal(signal.SIGTERM, self._note_signal)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL)
            self._beat(process, 0)
            os.write(writer, _RUNS)
            os.close(writer)
            code = self._watch(process)
            if self._launch_now() == self._launch:  # otherwise, the folder now belongs to another run
                (self._folder / run_files.REQUEST).unlink(missing_ok=True)
                ended = {"exit_code": code, "was_asked": self._is_asked_to_end()}
                run_files.write_json(self._folder / run_files.END, ended)
        return 0

    def _lock(self) -> TextIO:
        """Lock the lock file. Retry for some seconds, because observers of this run also lock the file briefly."""
        lock = open(self._folder / run_files.LOCK, "w")  # noqa: SIM115 - the caller closes it
        deadline = time.monotonic() + _LOCK_TIMEOUT_S
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    lock.close()
                    raise
                time.sleep(0.1)
            else:
                return lock

    def _watch(self, process: "subprocess.Popen[bytes]") -> int:
        beat = 0
        while True:
            try:
                return process.wait(BEAT_S)
            except subprocess.TimeoutExpired:
                beat += 1
            try:
                is_mine = self._launch_now() == self._launch
                if is_mine:
                    self._beat(process, beat)
            except OSError as error:
                # A full local disk must not end the job, because the table may be on other storage.
                print(f"No heartbeat was written: {error}", file=sys.stderr)
                is_mine = True
            # If another try has begun a new run in the folder, no other process can end this run: end this run now.
            if not is_mine or self._is_asked_to_end():
                end_processes(process, time.monotonic() + END_GRACE_S)

    def _beat(self, process: "subprocess.Popen[bytes]", beat: int) -> None:
        state = {
            "host": socket.gethostname(),
            "pid": process.pid,
            "created": _created(process.pid),
            "beat": beat,
        }
        run_files.write_json(self._folder / run_files.STATE, state)

    def _launch_now(self) -> object:
        return (run_files.read_json(self._folder / run_files.RUN) or {}).get("launch")

    def _is_asked_to_end(self) -> bool:
        return self._got_signal or (self._folder / run_files.END_WANTED).exists()

    def _note_signal(self, *_: object) -> None:
        self._got_signal = True


def _created(pid: int) -> float | None:
    """Return the start time of a process, or None if the process has ended.

    The start time distinguishes the process from later processes with the same id.
    """
    try:
        return float(psutil.Process(pid).create_time())
    except psutil.NoSuchProcess:
        return None
