"""Run one operation in a process of its own, and read its figures: seconds, processor seconds, requests, memory."""

import json
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TypeAlias

PROGRAM = Path(__file__).resolve().parent.parent / "scale_run.py"

Found: TypeAlias = Mapping[str, int]
"""What an operation found or planned, by noun, so that a report shows whether the operation did its work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Figures of one measured section. `cpu_s` are the processor seconds of all threads of the process."""

    seconds: float
    cpu_s: float
    requests: Mapping[str, int]

    @property
    def request_count(self) -> int:
        return sum(self.requests.values())


@dataclass
class Meter:
    """Measures sections of an operation.

    Attributes:
        counts: returns the number of all requests until now.
    """

    counts: Callable[[], "Counter[str]"]
    sections: list[Section] = field(default_factory=list)

    @contextmanager
    def measured(self) -> Iterator[None]:
        before = self.counts()
        started, worked = time.perf_counter(), time.process_time()
        yield
        seconds, cpu_s = time.perf_counter() - started, time.process_time() - worked
        requests = self.counts() - before
        self.sections.append(Section(seconds=seconds, cpu_s=cpu_s, requests=dict(requests)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """Figures of one operation on one table.

    Attributes:
        kind, groups, store: the table.
        seconds, cpu_s, requests: figures of the largest section. Only the operations `commit` and `services
            of commits` have several sections.
        median_seconds, median_requests: medians of all sections.
        peak_mib: largest resident set of the process, with the interpreter and its modules.
    """

    operation: str
    kind: str
    groups: int
    store: str
    seconds: float
    cpu_s: float
    requests: Mapping[str, int]
    median_seconds: float
    median_requests: float
    peak_mib: float
    found: Found

    @property
    def request_count(self) -> int:
        return sum(self.requests.values())


def print_figures(sections: list[Section], found: Found) -> None:
    """Print the figures of this process as one line of JSON."""
    document = {"sections": [asdict(each) for each in sections], "found": found, "peak_mib": peak_mib()}
    print(json.dumps(document))


def peak_mib() -> float:
    """Largest resident set of this process in MiB.

    On Linux, ``ru_maxrss`` of a new process is at least the resident set of the process that started it, so this
    function reads the peak of the address space instead.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(arguments: list[str], operation: str, kind: str, groups: int, store: str) -> Measurement:
    """Run an operation in a new process.

    Args:
        arguments: arguments of ``scale_run.py`` for the process.

    Raises:
        RuntimeError: the process failed; the message contains its last lines.
    """
    command = [sys.executable, str(PROGRAM), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = "\n".join(done.stderr.splitlines()[-15:])
        raise RuntimeError(f"{operation} on {kind} with {groups:,} file groups failed:\n{lines}")
    document = json.loads(done.stdout.splitlines()[-1])
    sections = [Section(**each) for each in document["sections"]]
    most = max(sections, key=lambda each: each.request_count)
    return Measurement(
        operation=operation,
        kind=kind,
        groups=groups,
        store=store,
        seconds=max(each.seconds for each in sections),
        cpu_s=max(each.cpu_s for each in sections),
        requests=most.requests,
        median_seconds=_median([each.seconds for each in sections]),
        median_requests=_median([float(each.request_count) for each in sections]),
        peak_mib=document["peak_mib"],
        found=document["found"],
    )


def _median(values: list[float]) -> float:
    ordered, middle = sorted(values), len(values) // 2
    return ordered[middle] if len(values) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
