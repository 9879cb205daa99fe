"""The process that runs spark-submit while its task is deferred, and tells in files how it goes.

It is in a session of its own, so that it outlives the task, its worker and its triggerer. Whoever wants the run to end
asks by a file, since they may not be allowed to send it a signal.
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
"""Seconds between two signs of life, and between two looks whether it shall end."""

END_GRACE_S = 15.0
"""Time for Spark to end by itself; a trigger that is told to end a run may wait 30 s for it."""

_LOCK_PATIENCE_S = 5.0
_AT_WORK = b"ok"


def main(arguments: Sequence[str] | None = None) -> int:
    """Launch a run: ``FOLDER PROGRAM ARGUMENT…``. Returns as soon as the program runs, or cannot.

    Returns:
        0: the supervisor is at work; 1: it is not, for the reason on standard output.
    """
    folder, *command = sys.argv[1:] if arguments is None else arguments
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.close(reader)
        _become_supervisor(Path(folder), command, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read()
    if said == _AT_WORK:
        print(f"The run goes on by itself; its output is in {folder}/{run_files.OUTPUT}")
        return 0
    print(f"The run was not begun: {said.decode(errors='replace') or 'its supervisor ended at once.'}")
    return 1


def _become_supervisor(folder: Path, command: Sequence[str], writer: int) -> None:
    """Never returns: what follows in this process belongs to whoever forked it."""
    code = 1
    try:
        os.setsid()
        _turn_away_from_the_task(folder)
        code = Supervisor(folder, command).run(writer)
    except Exception as error:
        with suppress(OSError):  # nobody listens any more once the run has begun
            os.write(writer, f"{type(error).__name__}: {error}".encode())
    finally:
        os._exit(code)


def _turn_away_from_the_task(folder: Path) -> None:
    """Let go of its input and output: whoever reads that to its end would wait for us."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    output = os.open(folder / run_files.OUTPUT, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for source, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    os.close(nothing)
    os.close(output)


class Supervisor:
    """One run.

    Args:
        folder: of this run alone.
        command: the program with its arguments.
    """

    def __init__(self, folder: Path, command: Sequence[str]) -> None:
        self._folder = folder
        self._command = command
        self._is_told_to_end = False
        self._launch = self._launch_now()

    def run(self, writer: int) -> int:
        """Run the program to its end.

        Args:
            writer: pipe on which it says that the program runs.

        Raises:
            OSError: the program cannot be run, or another supervisor has this folder.
        """
        with self._lock():
            signal.signal(signal.SIGTERM, self._take_note)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL)
            self._beat(process, 0)
            os.write(writer, _AT_WORK)
            os.close(writer)
            code = self._watch(process)
            if self._launch_now() == self._launch:  # else the folder is another run's by now
                (self._folder / run_files.REQUEST).unlink(missing_ok=True)
                ended = {"exit_code": code, "was_asked": self._shall_end()}
                run_files.write_json(self._folder / run_files.END, ended)
        return 0

    def _lock(self) -> TextIO:
        """Others look at the lock for an instant, which is no reason to give up."""
        lock = open(self._folder / run_files.LOCK, "w")  # noqa: SIM115 - the caller closes it
        deadline = time.monotonic() + _LOCK_PATIENCE_S
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
                # A full disk must not end a job whose table may lie elsewhere.
                print(f"No sign of life was written: {error}", file=sys.stderr)
                is_mine = True
            # Without its folder nobody can follow or end it any more: another try has begun anew.
            if not is_mine or self._shall_end():
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

    def _shall_end(self) -> bool:
        return self._is_told_to_end or (self._folder / run_files.END_WANTED).exists()

    def _take_note(self, *_: object) -> None:
        self._is_told_to_end = True


def _created(pid: int) -> float | None:
    """By which a process is told from a later one with the same number; None: it has ended."""
    try:
        return float(psutil.Process(pid).create_time())
    except psutil.NoSuchProcess:
        return None
