"""Sample memory, open files, sockets and threads of every process of an Airflow. Write the samples to a CSV file."""

import csv
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import psutil

_MIB = 1 << 20
_TASK_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]+")


@dataclass(frozen=True, slots=True)
class Sample:
    """One process at one time.

    Attributes:
        seconds: seconds since sampling began.
        component: the part of `AirflowStack` to whose session the process belongs.
        role: command line of the process, shortened.
        uss: memory, in MiB, that the process shares with no other process. It would become free if the process ended.
        files: open descriptors, including sockets.
    """

    seconds: float
    component: str
    pid: int
    role: str
    rss: float
    pss: float
    uss: float
    files: int
    sockets: int
    threads: int


def samples(seconds: float, sessions: Mapping[str, int]) -> Iterator[Sample]:
    """Sample the running processes of the components. `sessions` maps each component to the id of its session."""
    names = {session: component for component, session in sessions.items()}
    for process in psutil.process_iter():
        try:
            component = names.get(os.getsid(process.pid))
            if component is not None:
                yield _sample(seconds, component, process)
        except (psutil.Error, OSError):
            continue


def _sample(seconds: float, component: str, process: psutil.Process) -> Sample:
    memory = process.memory_full_info()
    targets = [os.readlink(each) for each in _descriptors(process.pid)]
    return Sample(
        round(seconds, 1),
        component,
        process.pid,
        _role(process),
        round(memory.rss / _MIB, 2),
        round(memory.pss / _MIB, 2),
        round(memory.uss / _MIB, 2),
        len(targets),
        sum(target.startswith("socket:") for target in targets),
        process.num_threads(),
    )


def _descriptors(pid: int) -> list[Path]:
    return [each for each in Path(f"/proc/{pid}/fd").iterdir() if each.is_symlink()]


def _role(process: psutil.Process) -> str:
    words = [Path(word).name if word.startswith("/") else word for word in process.cmdline()]
    return _TASK_ID.sub("…", " ".join(" ".join(words).split()))[:50]


class SampleFile:
    """A CSV file of samples, flushed after each sample."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", newline="")
        self._rows = csv.writer(self._file)
        self._rows.writerow([field.name for field in fields(Sample)])

    def add(self, sample: Sample) -> None:
        self._rows.writerow(astuple(sample))
        self._file.flush()

    def close(self) -> None:
        self._file.close()
