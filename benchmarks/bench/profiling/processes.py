"""Measure the processor time of each process of a process tree."""

from dataclasses import dataclass, replace
from enum import Enum

import psutil


class Role(str, Enum):
    """The role of a process in a scenario."""

    DRIVER = "Python driver"
    JVM = "JVM"
    WORKER = "Python workers"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessTime:
    """Processor seconds of one process, without its children.

    Attributes:
        hidden_seconds: the part of `cpu_seconds` that py-spy cannot sample: in a Python worker, all threads except the
            main thread, because these are native threads of Arrow.
    """

    pid: int
    role: Role
    cpu_seconds: float
    hidden_seconds: float = 0.0


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
        earlier = {each.pid: each for each in before.processes}
        return TreeTimes(
            processes=tuple(_difference(each, earlier.get(each.pid)) for each in self.processes),
            ended_cpu_seconds=max(0.0, self.ended_cpu_seconds - before.ended_cpu_seconds),
        )


def _difference(after: ProcessTime, before: ProcessTime | None) -> ProcessTime:
    if before is None:
        return after
    return replace(
        after,
        cpu_seconds=after.cpu_seconds - before.cpu_seconds,
        hidden_seconds=max(0.0, after.hidden_seconds - before.hidden_seconds),
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
                main = _main_thread_seconds(process) if role is Role.WORKER else None
        except psutil.NoSuchProcess:
            continue  # a worker that ended between the two calls
        seconds = times.user + times.system
        hidden = 0.0 if main is None else max(0.0, seconds - main)
        found.append(ProcessTime(pid=process.pid, role=role, cpu_seconds=seconds, hidden_seconds=hidden))
        ended += times.children_user + times.children_system
    return TreeTimes(processes=tuple(found), ended_cpu_seconds=ended)


def _main_thread_seconds(process: psutil.Process) -> float:
    return sum(each.user_time + each.system_time for each in process.threads() if each.id == process.pid)


def _role(process: psutil.Process, root: int) -> Role:
    if process.pid == root:
        return Role.DRIVER
    return Role.JVM if process.name() == "java" else Role.WORKER
