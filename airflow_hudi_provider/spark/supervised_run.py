"""Give a task and its trigger access to a supervised run, through the files in the run's folder.

A supervised run is a Spark program of a deferred task. A supervisor process starts and monitors the program.
"""

import fcntl
import hashlib
import os
import re
import shlex
import shutil
import socket
import stat
import sys
import tempfile
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import psutil

from airflow_hudi_provider.exceptions import HudiTaskError, HudiTaskRefusedError
from airflow_hudi_provider.spark import run_files

_ABANDONED_AFTER_S = 24 * 3600.0
_LONGEST_NAME = 100
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_OUR_NAME = re.compile(r"-[0-9a-f]{20}(\.[0-9a-f]{8})?$")
"""How the name of a run's folder ends. The optional part marks a folder that a process is removing."""


class RunState(Enum):
    """State of a supervised run."""

    ABSENT = "absent"
    """There is no run, or the run's folder is not on this machine."""
    RUNNING = "running"
    ENDED = "ended"
    LOST = "lost"
    """The supervisor died, e.g. because the machine was restarted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunObservation:
    """One observation of a supervised run.

    Attributes:
        owner: string from `owner_of`; a task with a different owner must not continue the run.
        launch: unique name of this run.
        exit_code: exit code of the program that the supervisor ran, after the end of the run. If the code is negative,
            a signal ended the program.
        was_asked: whether a task or trigger requested the end of the run.
        heartbeat: string that changes with each heartbeat.
        is_here: whether the run is on this machine. If it is on another machine, `state` is not certain.
    """

    state: RunState
    owner: str = ""
    launch: str = ""
    exit_code: int | None = None
    was_asked: bool = False
    heartbeat: str = ""
    is_here: bool = True


def folder_of_runs(setting: str = "") -> Path:
    """Create the folder of this user's runs if necessary, and return its path.

    Args:
        setting: value of ``[hudi] run_folder``. If empty, the runs are in a folder below the temporary folder.

    Raises:
        HudiTaskRefusedError: other users could write files to the folder.
    """
    folder = Path(setting) if setting else Path(tempfile.gettempdir()) / f"airflow-hudi-runs-{os.getuid()}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.stat() if setting else folder.lstat()
    is_safe = stat.S_ISDIR(status.st_mode) and not status.st_mode & stat.S_IWOTH
    if not is_safe or (not setting and status.st_uid != os.getuid()):
        raise HudiTaskRefusedError(
            f"{folder} belongs to another user, or other users can write to it and could forge results of tasks. Set "
            "[hudi] run_folder to a folder to which only Airflow's own user can write."
        )
    return folder


class SupervisedRun:
    """One supervised run.

    Args:
        folder: folder for this run only; it need not exist.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._shown = 0

    @classmethod
    def of_task(cls, root: Path, place: tuple[str, ...]) -> "SupervisedRun":
        """Return the supervised run of a task; all tries of the task share it.

        Args:
            root: folder of all runs.
            place: DAG id, run id, task id and, for a mapped task, map index.
        """
        digest = hashlib.sha256("\0".join(place).encode()).hexdigest()[:20]
        return cls(root / f"{_UNSAFE.sub('_', '-'.join(place[:3]))[:_LONGEST_NAME]}-{digest}")

    def begin(self, owner: str) -> None:
        """Create an empty folder for a new run, and remove the files of an earlier run.

        Raises:
            HudiTaskError: the folder cannot be created.
        """
        self.clear_away()
        try:
            self.folder.mkdir(mode=0o700, parents=True)
            run_files.write_json(self.folder / run_files.RUN, {"owner": owner, "launch": uuid.uuid4().hex})
        except OSError as error:
            raise HudiTaskError(
                f"The folder for a Spark run, {self.folder}, cannot be created: {error}"
            ) from error

    def launch_command(self, command: Sequence[str]) -> list[str]:
        """Return the command line of a launcher.

        The launcher starts `command` under a supervisor, and ends as soon as `command` runs.
        """
        package_parent = str(Path(__file__).resolve().parents[2])
        code = (
            # On the import path, the working directory and our package must not come before the standard library.
            f"import sys; sys.path[:1] = []; sys.path.append({package_parent!r}); "
            "from airflow_hudi_provider.spark.supervisor import main; sys.exit(main())"
        )
        return [sys.executable, "-c", code, str(self.folder), *command]

    def write_launcher(self, binary: str) -> str:
        """Write a launcher program, and return the path of the program.

        The launcher accepts the arguments of spark-submit, and ends as soon as spark-submit runs.

        Args:
            binary: path of spark-submit, or its name in a folder of ``PATH``.

        Raises:
            HudiTaskRefusedError: the file system of the folder does not allow programs.
        """
        launcher = self.folder / run_files.LAUNCHER
        launcher.write_text(f'#!/bin/sh\nexec {shlex.join(self.launch_command([binary]))} "$@"\n')
        launcher.chmod(0o700)
        if not os.access(launcher, os.X_OK):
            raise HudiTaskRefusedError(
                f"A deferred Spark run must run a program in {self.folder}, but the file system does not allow it. Set "
                "[hudi] run_folder to a folder on a file system without noexec, or set deferrable=False."
            )
        return str(launcher)

    def observe(self) -> RunObservation:
        """Observe the run. Raises OSError if the file system does not answer."""
        run = run_files.read_json(self.folder / run_files.RUN)
        if run is None:
            return RunObservation(state=RunState.ABSENT)
        owner, launch = str(run.get("owner", "")), str(run.get("launch", ""))
        state = run_files.read_json(self.folder / run_files.STATE)
        is_here = state is None or state.get("host") == socket.gethostname()
        # The supervisor writes the end file before it releases the lock, so test the lock first.
        is_held = self._is_locked()
        end = run_files.read_json(self.folder / run_files.END)
        if end is not None:
            return RunObservation(
                state=RunState.ENDED,
                owner=owner,
                launch=launch,
                exit_code=int(end["exit_code"]),
                was_asked=bool(end.get("was_asked")),
            )
        if is_held or not is_here:
            return RunObservation(
                state=RunState.RUNNING, owner=owner, launch=launch, heartbeat=str(state), is_here=is_here
            )
        return RunObservation(state=RunState.LOST, owner=owner, launch=launch)

    def ask_to_end(self, launch: str = "") -> bool:
        """Ask the supervisor to end the run. The supervisor reads the request within a second.

        Args:
            launch: unique name of the run to end. If empty, end the current run of the folder.

        Returns:
            Whether such a run exists.
        """
        found = self.observe()
        if found.state is RunState.ABSENT or (launch and found.launch != launch):
            return False
        (self.folder / run_files.END_WANTED).touch()
        return True

    def has_heartbeat(self, timeout_s: float) -> bool:
        """Return whether a run on another machine refreshes its heartbeat, or ends, within this time."""
        first, deadline = self.observe(), time.monotonic() + timeout_s
        while (seen := self.observe()).heartbeat == first.heartbeat and seen.state is RunState.RUNNING:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.5)
        return True

    def is_asked_to_end(self) -> bool:
        return (self.folder / run_files.END_WANTED).exists()

    def wait_for_end(self, timeout_s: float) -> RunObservation:
        """Wait until the run has ended, but not longer than this time; return the last observation."""
        deadline = time.monotonic() + timeout_s
        while (seen := self.observe()).state is RunState.RUNNING and time.monotonic() < deadline:
            time.sleep(0.2)
        return seen

    def clear_away(self) -> None:
        """Remove the folder. If the supervisor died, end its program first."""
        self.end_orphan()
        aside = self.folder.with_name(f"{self.folder.name}.{uuid.uuid4().hex[:8]}")
        try:
            self.folder.rename(aside)  # atomic, even if deleting the files fails
        except FileNotFoundError:
            return
        shutil.rmtree(aside, ignore_errors=True)

    def new_output(self) -> list[str]:
        """Return the complete lines of output that no process has returned before, but at most 256 KiB."""
        shown = self.folder / run_files.SHOWN
        lines, self._shown = self.output_from(max(self._shown, _number(shown)))
        if lines:
            with suppress(OSError):  # another process may then show these lines again
                new_file = shown.with_name(f"{shown.name}.new")
                new_file.write_text(str(self._shown))
                os.replace(new_file, shown)
        return lines

    def output_from(self, position: int, most_bytes: int = 256 << 10) -> tuple[list[str], int]:
        """Return the complete lines of output that begin at a position, and the position after these lines."""
        try:
            with (self.folder / run_files.OUTPUT).open("rb") as file:
                file.seek(position)
                content = file.read(most_bytes)
        except FileNotFoundError:
            return [], position
        whole = content[: content.rfind(b"\n") + 1]
        if not whole and len(content) == most_bytes:
            whole = content  # one line that is longer than the limit
        return whole.decode(errors="replace").splitlines(), position + len(whole)

    def output_bytes(self) -> int:
        try:
            return (self.folder / run_files.OUTPUT).stat().st_size
        except FileNotFoundError:
            return 0

    def _is_locked(self) -> bool:
        try:
            with (self.folder / run_files.LOCK).open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except (FileNotFoundError, PermissionError):
            return False
        return False

    def end_orphan(self) -> None:
        """End the program of a run whose supervisor died; do nothing if the supervisor is alive."""
        if self.observe().state is not RunState.LOST:
            return
        state = run_files.read_json(self.folder / run_files.STATE) or {}
        try:
            process = psutil.Process(int(state.get("pid") or 0))
            if state.get("created") != process.create_time():
                return
            for each in (*process.children(recursive=True), process):
                each.kill()
            process.wait(5)
        except (psutil.Error, ValueError):
            return


def sweep_abandoned(root: Path) -> None:
    """Remove runs that ended at least a day ago and that no task has removed, including runs of other machines.

    The last change of a run's folder counts as the end of the run, because the folder of an active run changes every
    second. The function ignores folders whose names do not have the form of a run's name.
    """
    for folder in root.iterdir():
        if not _OUR_NAME.search(folder.name):
            continue
        run = SupervisedRun(folder)
        try:
            age = time.time() - folder.stat().st_mtime
            seen = run.observe()
            if age > _ABANDONED_AFTER_S and (seen.state is not RunState.RUNNING or not seen.is_here):
                run.clear_away()
        except OSError:
            continue  # the folder belongs to another user, or is already removed


def _number(path: Path) -> int:
    try:
        return int(path.read_text())
    except (FileNotFoundError, ValueError):
        return 0
