"""Read the stacks that py-spy and async-profiler write: one line per stack, frames separated by ``;``, then a count."""

import re
from collections import Counter
from dataclasses import dataclass

from bench.profiling.rules import JAVA_RULES, PYTHON_RULES
from bench.profiling.steps import Step

_PROCESS = re.compile(r'^process (\d+):"')
_ADDRESS = re.compile(r"^0x[0-9a-f]+ \(.*\)$")


@dataclass(frozen=True, slots=True)
class Stack:
    """A sampled stack of one process.

    Attributes:
        pid: id of the process.
        frames: names of the frames, outermost first.
        step: the step to which the stack belongs.
        samples: number of samples with this stack.
    """

    pid: int
    frames: tuple[str, ...]
    step: Step
    samples: int


def python_stacks(text: str) -> list[Stack]:
    """Parse the output of ``py-spy record --subprocesses --native --format raw``.

    The first frames of a line name the process of the stack and its parents, with their command lines.

    Raises:
        ValueError: a line names no process or no count.
    """
    found: Counter[tuple[int, tuple[str, ...]]] = Counter()
    for line in text.splitlines():
        stack, count = _counted(line)
        pid, frames = _without_processes(stack)
        found[pid, frames] += count
    return [Stack(pid, frames, _python_step(frames), count) for (pid, frames), count in found.items()]


def java_stacks(text: str, pid: int) -> list[Stack]:
    """Parse the collapsed stacks of async-profiler with its option ``threads``: the first frame names the thread."""
    found: Counter[tuple[str, ...]] = Counter()
    for line in text.splitlines():
        stack, count = _counted(line)
        frames = stack.split(";")
        frames[0] = re.sub(r" tid=\d+", "", frames[0])
        found[tuple(frames)] += count
    return [Stack(pid, frames, JAVA_RULES.step_of(frames), count) for frames, count in found.items()]


def _counted(line: str) -> tuple[str, int]:
    stack, separator, count = line.rpartition(" ")
    if not separator or not count.isdigit():
        raise ValueError(f"This line is not a stack with a count: {line[:200]!r}")
    return stack, int(count)


def _without_processes(stack: str) -> tuple[int, tuple[str, ...]]:
    """Return the id of the innermost process, and the frames after the processes.

    A command line may contain ``;``, so a process ends at the first frame with a closing quotation mark.
    """
    parts = stack.split(";")
    pid: int | None = None
    position = 0
    while position < len(parts) and (found := _PROCESS.match(parts[position])):
        pid = int(found[1])
        while position < len(parts) - 1 and not parts[position].endswith('"'):
            position += 1
        position += 1
    if pid is None:
        raise ValueError(f"This stack names no process: {stack[:200]!r}")
    return pid, tuple(parts[position:])


def _python_step(frames: tuple[str, ...]) -> Step:
    """Return the step. Frames that are only an address, such as internal functions of libc, do not decide it."""
    return PYTHON_RULES.step_of([frame for frame in frames if not _ADDRESS.match(frame)])
