"""Measure the processor time of each process of a process tree."""

from dataclasses import dataclass
from enum import Enum

import psutil


class Role(str, Enum):
    """The part of a process in a scenario."""

    DRIVER = "Python driver"
    JVM = "JVM"
    WORKER = "Python workers"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessTime:
    """Processor seconds of one process, without its children."""

    pid: int
    role: Role
    cpu_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeTimes:
    """Processor seconds of a process tree.

    Attributes:
        processes: the running processes.
        ended_cpu_seconds: processor seconds of ended processes whose parent has waited for them.
    """

    processes: tuple[ProcessTime, ...]
    ended_cpu_seconds: float

    def since(self, before: "TreeTimes") -> "TreeTimes":
        """Return the processor seconds between two measurements of the same tree."""
        earlier = {each.pid: each.cpu_seconds for each in before.processes}
        return TreeTimes(
            processes=tuple(
                ProcessTime(pid=p.pid, role=p.role, cpu_seconds=p.cpu_seconds - earlier.get(p.pid, 0.0))
                for p in self.processes
            ),
            ended_cpu_seconds=max(0.0, self.ended_cpu_seconds - before.ended_cpu_seconds),
        )


def tree_times(pid: int) -> TreeTimes:
    """Measure the tree below a process, which is the Python driver."""
    root = psutil.Process(pid)
    found = []
    ended = 0.0
    for process in (root, *root.children(recursive=True)):
        try:
            with process.oneshot():
                times = process.cpu_times()
                role = _role(process, pid)
        except psutil.NoSuchProcess:
            continue  # a worker that ended between the two calls
        found.append(ProcessTime(pid=process.pid, role=role, cpu_seconds=times.user + times.system))
        ended += times.children_user + times.children_system
    return TreeTimes(processes=tuple(found), ended_cpu_seconds=ended)


def _role(process: psutil.Process, root: int) -> Role:
    if process.pid == root:
        return Role.DRIVER
    return Role.JVM if process.name() == "java" else Role.WORKER
