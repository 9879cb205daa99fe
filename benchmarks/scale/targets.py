"""Targets of the measured operations, and their comparison with the figures."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from scale.growth import log_log_slope
from scale.measuring import Measurement
from scale.shapes import TableKind

MAX_SLOPE = 1.1
_LEAST_CPU_S, _LEAST_MIB = 0.01, 1.0
"""Smaller figures count as these figures in slopes, because they show the resolution of the clock or the size of the
interpreter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Upper limits of an operation on tables of at most 100,000 file groups; None means no limit."""

    seconds: float | None = None
    requests: int | None = None
    peak_mib: float | None = None


_PLAN = Limits(seconds=5.0, peak_mib=1024.0)
_POLL = Limits(seconds=0.2, requests=3)
LIMITS = {
    "timeline": _PLAN,
    "upsert plan": _PLAN,
    "clustering plan": _PLAN,
    "compaction plan": _PLAN,
    "clean plan": _PLAN,
    "health": _PLAN,
    "archive": _PLAN,
    "page": Limits(seconds=2.0),
    "sensor, first poll": _POLL,
    "sensor": _POLL,
    "commit sensor, first poll": _POLL,
    "commit sensor": _POLL,
    "commit": Limits(seconds=0.5, requests=20),
    "services of commits": Limits(),
}
"""Limits by operation. The limits of a commit are those of the critical section that completes its instant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A figure, and the limit that it must not exceed."""

    name: str
    figure: float
    limit: float

    @property
    def is_met(self) -> bool:
        return self.figure <= self.limit


def verdicts(each: Measurement, *, uses_cpu_time: bool) -> Iterator[Verdict]:
    """Compare the figures of one measurement with the limits.

    Args:
        uses_cpu_time: compare processor seconds instead of seconds, because other programs use the machine.
    """
    limits = LIMITS[each.operation]
    seconds = each.cpu_s if uses_cpu_time else each.seconds
    name = "cpu s" if uses_cpu_time else "seconds"
    for figure_name, figure, limit in (
        (name, seconds, limits.seconds),
        ("requests", float(each.request_count), limits.requests),
        ("peak MiB", each.peak_mib, limits.peak_mib),
    ):
        if limit is not None:
            yield Verdict(name=figure_name, figure=figure, limit=float(limit))


_FIGURES: dict[str, Callable[[Measurement], float]] = {
    "cpu s": lambda each: max(each.cpu_s, _LEAST_CPU_S),
    "requests": lambda each: float(max(each.request_count, 1)),
    "peak MiB": lambda each: max(each.peak_mib, _LEAST_MIB),
}


def slopes(measured: Sequence[Measurement]) -> Iterator[Verdict]:
    """Yield the growth of each figure of one operation on tables of one kind in one store, if there are two sizes."""
    if len({each.groups for each in measured}) < 2:
        return
    for name, figure in _FIGURES.items():
        points = [(float(each.groups), figure(each)) for each in measured]
        yield Verdict(name=f"slope of {name}", figure=log_log_slope(points), limit=MAX_SLOPE)


def has_operation(kind: TableKind, operation: str) -> bool:
    """Whether an operation is possible on tables of a kind: only tables with log files are compacted."""
    return kind.has_logs or operation != "compaction plan"
