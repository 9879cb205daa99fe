"""A supervised run, as its task and its trigger see it."""

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
"""Of a run, or of one that was being removed."""


class RunState(Enum):
    """How a run is."""

    ABSENT = "absent"
    """There is none, or not on this machine."""
    RUNNING = "running"
    ENDED = "ended"
    LOST = "lost"
    """Its supervisor died, e.g. since the machine was started anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLook:
    """What is seen of a run.

    Attributes:
        owner: whose run it is; another owner may not take it up.
        launch: told to this run only.
        exit_code: of spark-submit, once it has ended; negative: the signal that ended it.
        was_asked: somebody wanted it to end.
        sign: differs with every sign of life.
        is_here: on this machine, so that `state` is certain.
    """

    state: RunState
    owner: str = ""
    launch: str = ""
    exit_code: int | None = None
    was_asked: bool = False
    sign: str = ""
    is_here: bool = True


def folder_of_runs(setting: str = "") -> Path:
    """Where the runs of this user are.

    Args:
        setting: ``[hudi] run_folder``; empty: a folder in the temporary one.

    Raises:
        HudiTaskRefusedError: others could put their own files there.
    """
    folder = Path(setting) if setting else Path(tempfile.gettempdir()) / f"airflow-hudi-runs-{os.getuid()}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.stat() if setting else folder.lstat()
    is_safe = stat.S_ISDIR(status.st_mode) and not status.st_mode & stat.S_IWOTH
    if not is_safe or (not setting and status.st_uid != os.getuid()):
        raise HudiTaskRefusedError(
            f"{folder} is another user's, or others may write there, and could slip results under tasks. Set [hudi] "
            "run_folder to a folder that only Airflow's own user may write."
        )
    return folder


class SupervisedRun:
    """One run.

    Args:
        folder: of this run alone; need not exist.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._shown = 0

    @classmethod
    def of_task(cls, root: Path, place: tuple[str, ...]) -> "SupervisedRun":
        """The run of a task, the same for all its tries.

        Args:
            place: dag, run, task and map index.
        """
        digest = hashlib.sha256("\0".join(place).encode()).hexdigest()[:20]
        return cls(root / f"{_UNSAFE.sub('_', '-'.join(place[:3]))[:_LONGEST_NAME]}-{digest}")

    def begin(self, owner: str) -> None:
        """An empty folder for a new run; what an earlier one left there goes.

        Raises:
            HudiTaskError: the folder cannot be had.
        """
        self.clear_away()
        try:
            self.folder.mkdir(mode=0o700, parents=True)
            run_files.write_json(self.folder / run_files.RUN, {"owner": owner, "launch": uuid.uuid4().hex})
        except OSError as error:
            raise HudiTaskError(
                f"The folder for a Spark run, {self.folder}, cannot be made: {error}"
            ) from error

    def write_launcher(self, binary: str) -> str:
        """A program that takes the arguments of spark-submit and returns as soon as that runs; its path.

        Args:
            binary: spark-submit, as a path or a name on the path.

        Raises:
            HudiTaskRefusedError: programs cannot be run there.
        """
        package_parent = str(Path(__file__).resolve().parents[2])
        code = (
            # Neither the folder it is started in nor ours may stand before the standard library.
            f"import sys; sys.path[:1] = []; sys.path.append({package_parent!r}); "
            "from airflow_hudi_provider.spark.supervisor import main; sys.exit(main())"
        )
        parts = [sys.executable, "-c", code, str(self.folder), binary]
        launcher = self.folder / run_files.LAUNCHER
        launcher.write_text(f'#!/bin/sh\nexec {shlex.join(parts)} "$@"\n')
        launcher.chmod(0o700)
        if not os.access(launcher, os.X_OK):
            raise HudiTaskRefusedError(
                f"Programs cannot be run in {self.folder}, which a deferred Spark run needs: set [hudi] run_folder to "
                "a folder of a file system without noexec, or deferrable=False."
            )
        return str(launcher)

    def look(self) -> RunLook:
        """How the run is now. Raises OSError: the file system does not answer."""
        run = run_files.read_json(self.folder / run_files.RUN)
        if run is None:
            return RunLook(state=RunState.ABSENT)
        owner, launch = str(run.get("owner", "")), str(run.get("launch", ""))
        state = run_files.read_json(self.folder / run_files.STATE)
        is_here = state is None or state.get("host") == socket.gethostname()
        # The end is written before the lock is let go: look at it in the other order.
        is_held = self._is_locked()
        end = run_files.read_json(self.folder / run_files.END)
        if end is not None:
            return RunLook(
                state=RunState.ENDED,
                owner=owner,
                launch=launch,
                exit_code=int(end["exit_code"]),
                was_asked=bool(end.get("was_asked")),
            )
        if is_held or not is_here:
            return RunLook(
                state=RunState.RUNNING, owner=owner, launch=launch, sign=str(state), is_here=is_here
            )
        return RunLook(state=RunState.LOST, owner=owner, launch=launch)

    def ask_to_end(self, launch: str = "") -> bool:
        """Have the supervisor end the run; it sees that within a second.

        Args:
            launch: this run and no later one; empty: whichever there is.

        Returns:
            Whether there is such a run.
        """
        found = self.look()
        if found.state is RunState.ABSENT or (launch and found.launch != launch):
            return False
        (self.folder / run_files.END_WANTED).touch()
        return True

    def has_heartbeat(self, patience_s: float) -> bool:
        """Whether a run on another machine lives, which only its signs of life can tell."""
        first, deadline = self.look(), time.monotonic() + patience_s
        while (seen := self.look()).sign == first.sign and seen.state is RunState.RUNNING:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.5)
        return True

    def is_asked_to_end(self) -> bool:
        return (self.folder / run_files.END_WANTED).exists()

    def wait_for_end(self, patience_s: float) -> RunLook:
        """Look until the run runs no more, or patience ends."""
        deadline = time.monotonic() + patience_s
        while (seen := self.look()).state is RunState.RUNNING and time.monotonic() < deadline:
            time.sleep(0.2)
        return seen

    def clear_away(self) -> None:
        """Remove the folder; a program whose supervisor died ends before."""
        self.end_orphan()
        aside = self.folder.with_name(f"{self.folder.name}.{uuid.uuid4().hex[:8]}")
        try:
            self.folder.rename(aside)  # at once, whatever becomes of its files
        except FileNotFoundError:
            return
        shutil.rmtree(aside, ignore_errors=True)

    def new_output(self) -> list[str]:
        """Whole lines of the output that were not asked for before, by whichever process; at most a quarter MiB."""
        shown = self.folder / run_files.SHOWN
        lines, self._shown = self.output_from(max(self._shown, _number(shown)))
        if lines:
            with suppress(OSError):  # another process may show them again
                beside = shown.with_name(f"{shown.name}.new")
                beside.write_text(str(self._shown))
                os.replace(beside, shown)
        return lines

    def output_from(self, position: int, most_bytes: int = 256 << 10) -> tuple[list[str], int]:
        """Whole lines from a position on, and the position after them."""
        try:
            with (self.folder / run_files.OUTPUT).open("rb") as file:
                file.seek(position)
                content = file.read(most_bytes)
        except FileNotFoundError:
            return [], position
        whole = content[: content.rfind(b"\n") + 1]
        if not whole and len(content) == most_bytes:
            whole = content  # a line without end
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
        """End the program of a run whose supervisor died; nothing where it lives."""
        if self.look().state is not RunState.LOST:
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
    """Remove runs that ended a day ago or more, on whichever machine, and whose task never came back.

    A run that goes on changes its folder every second. Folders with names of other kinds are somebody else's.
    """
    for folder in root.iterdir():
        if not _OUR_NAME.search(folder.name):
            continue
        run = SupervisedRun(folder)
        try:
            age = time.time() - folder.stat().st_mtime
            seen = run.look()
            if age > _ABANDONED_AFTER_S and (seen.state is not RunState.RUNNING or not seen.is_here):
                run.clear_away()
        except OSError:
            continue  # another user's, or gone


def _number(path: Path) -> int:
    try:
        return int(path.read_text())
    except (FileNotFoundError, ValueError):
        return 0
