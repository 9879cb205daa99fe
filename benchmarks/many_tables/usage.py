"""Measure processor time and memory of process trees."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

import psutil

_MIB = 1 << 20


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


def usage_of(pid: int) -> Usage:
    """Return the usage of a process and its descendants."""
    cpu = memory = 0.0
    count = 0
    for process in _tree(pid):
        try:
            times, pss = process.cpu_times(), process.memory_full_info().pss
        except psutil.Error:
            continue  # The process has ended. Its parent's times contain its time.
        cpu += times.user + times.system + times.children_user + times.children_system
        memory += pss / _MIB
        count += 1
    return Usage(cpu_seconds=cpu, memory_mib=memory, processes=count)


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
