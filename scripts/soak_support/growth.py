"""Compute growth from samples, and compare it with the limits."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from soak_support.sampling import Sample

USS_SHARE = 0.10
USS_MIB = 20.0
MAX_FILE_GROWTH = 10
"""A worker of the executor has seven more open files while it runs a task."""
MAX_THREAD_GROWTH = 5
MAX_PROCESS_GROWTH = 2
"""Allowed growth of the number of processes. The number varies, because each task that is running has processes."""
LIMITS = (
    "growth from the first to the last third of the time: "
    f"memory (the smaller growth of USS and RSS): at most {USS_SHARE:.0%} of USS plus {USS_MIB:.0f} MiB; "
    f"open files: at most {MAX_FILE_GROWTH} more; threads: at most {MAX_THREAD_GROWTH} more; "
    f"processes of a component: at most {MAX_PROCESS_GROWTH} more"
)
_MIN_PRESENCE = 0.9
"""Share of the rounds in which a process must exist to be evaluated. Other processes are tasks, parsers and jobs."""


@dataclass(frozen=True, slots=True)
class Change:
    """Median of a figure in the first and in the last third of the time, and the growth of the figure per hour."""

    first: float
    last: float
    per_hour: float

    @property
    def more(self) -> float:
        return self.last - self.first


@dataclass(frozen=True, slots=True)
class Growth:
    """Growth of one process that ran during the whole time."""

    component: str
    pid: int
    role: str
    uss: Change
    rss: Change
    files: Change
    sockets: Change
    threads: Change

    def problems(self) -> list[str]:
        """Return the figures above their limits."""
        found = []
        # After a fork, two processes share memory pages. If one process writes to a shared page or frees the page, the
        # USS of a process grows without any allocation, and its RSS does not grow.
        if min(self.uss.more, self.rss.more) > USS_SHARE * self.uss.first + USS_MIB:
            found.append(f"USS {self.uss.first:.0f} → {self.uss.last:.0f} MiB")
        if self.files.more > MAX_FILE_GROWTH:
            found.append(f"open files {self.files.first:.0f} → {self.files.last:.0f}")
        if self.threads.more > MAX_THREAD_GROWTH:
            found.append(f"threads {self.threads.first:.0f} → {self.threads.last:.0f}")
        return [f"{self.component} {self.pid} ({self.role}): {problem}" for problem in found]


def growths(all_samples: Sequence[Sample], warm_up_s: float) -> list[Growth]:
    """Return the growth of the processes that existed in nearly all rounds after the warm-up."""
    kept = [sample for sample in all_samples if sample.seconds >= warm_up_s]
    rounds = sorted({sample.seconds for sample in kept})
    by_process: dict[tuple[str, int], list[Sample]] = defaultdict(list)
    for sample in kept:
        by_process[sample.component, sample.pid].append(sample)
    lasting = [found for found in by_process.values() if len(found) >= _MIN_PRESENCE * len(rounds)]
    return [_growth(found) for found in lasting if len(found) >= 3]


def process_counts(all_samples: Sequence[Sample], warm_up_s: float) -> dict[str, Change]:
    """Return, for each component, the change of the smallest number of processes that ran at the same time.

    A process that never ends is part of the smallest number. Tasks are not, because at some times no task runs. The
    largest number would rise on a busy machine, because tasks overlap there.
    """
    kept = [sample for sample in all_samples if sample.seconds >= warm_up_s]
    rounds = sorted({sample.seconds for sample in kept})
    if len(rounds) < 3:
        return {}
    found = {}
    for component in sorted({sample.component for sample in kept}):
        of_round = dict.fromkeys(rounds, 0)
        for sample in kept:
            of_round[sample.seconds] += sample.component == component
        found[component] = change(of_round.items(), typical=min)
    return found


def change(
    points: Iterable[tuple[float, float]], typical: Callable[[Iterable[float]], float] = median
) -> Change:
    """Compare the typical value of the first and last third of at least three points (seconds, value)."""
    ordered = sorted(points)
    third = len(ordered) // 3
    first, last = ordered[:third], ordered[-third:]
    before, after = typical(value for _, value in first), typical(value for _, value in last)
    hours = (median(time for time, _ in last) - median(time for time, _ in first)) / 3600
    return Change(before, after, (after - before) / hours if hours else 0.0)


def _growth(found: Sequence[Sample]) -> Growth:
    def of(name: str) -> Change:
        return change((sample.seconds, float(getattr(sample, name))) for sample in found)

    newest = found[-1]
    return Growth(
        newest.component,
        newest.pid,
        newest.role,
        uss=of("uss"),
        rss=of("rss"),
        files=of("files"),
        sockets=of("sockets"),
        threads=of("threads"),
    )
