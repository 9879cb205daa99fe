"""Measure processor time and memory of process trees."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

import psutil

_MIB = 1 << 20
_DAEMON = "pyspark.daemon"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Usage of the processes of one component at one time.

    Attributes:
        cpu_seconds: processor seconds since the component started, with those of processes that have ended.
        memory_mib: memory of the running processes. Pages that several processes share count once (PSS).
        processes: number of running processes.
    """

    cpu_seconds: float
    memory_mib: float
    processes: int


class ProcessTree:
    """A process and its descendants.

    The processor time of an ended process is part of the times of its parent. The daemon of Spark's Python workers is
    an exception, because it does not wait for its workers. So the last known time of each worker counts.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._workers: dict[tuple[int, float], float] = {}

    def usage(self) -> Usage:
        """Return the usage until now. Call this function every few seconds, to see workers before they end."""
        cpu = memory = 0.0
        count = 0
        for process in _tree(self._pid):
            try:
                used, pss = _cpu_seconds(process), process.memory_full_info().pss
                if _is_worker(process):
                    self._workers[process.pid, process.create_time()] = used
                    used = 0.0
            except psutil.Error:
                continue  # The process has ended.
            cpu += used
            memory += pss / _MIB
            count += 1
        return Usage(cpu_seconds=cpu + sum(self._workers.values()), memory_mib=memory, processes=count)


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system + times.children_user + times.children_system)


def _is_worker(process: psutil.Process) -> bool:
    parent = process.parent()
    return parent is not None and _DAEMON in parent.cmdline()


def _tree(pid: int) -> list[psutil.Process]:
    try:
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    except psutil.Error:
        return []


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Memory of one component over time, in MiB.

    Attributes:
        first, last: medians of the first and of the last third of the samples.
        peak: the largest sample.
    """

    first: float
    last: float
    peak: float


def memory_of(samples: list[Mapping[str, Usage]]) -> dict[str, Memory]:
    """Return the memory of each component. `samples` are in the order of time; at least three of them."""
    third = max(1, len(samples) // 3)
    found = {}
    for name in samples[0]:
        values = [sample[name].memory_mib for sample in samples]
        found[name] = Memory(first=median(values[:third]), last=median(values[-third:]), peak=max(values))
    return found
