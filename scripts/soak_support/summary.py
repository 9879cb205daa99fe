"""Write the plain-text summary of a soak, with PASS or FAIL."""

from collections.abc import Mapping, Sequence

from soak_support.growth import LIMITS, MAX_PROCESS_GROWTH, Growth, growths, process_counts
from soak_support.sampling import Sample


def summary(
    all_samples: Sequence[Sample],
    warm_up_s: float,
    runs: Mapping[str, Mapping[str, int]],
    notes: Sequence[str],
) -> tuple[str, list[str]]:
    """Return the text and the problems.

    Args:
        runs: for each DAG, the number of runs in each state.
        notes: further lines.
    """
    found = sorted(growths(all_samples, warm_up_s), key=lambda growth: (growth.component, growth.pid))
    counts = process_counts(all_samples, warm_up_s)
    problems = [problem for growth in found for problem in growth.problems()]
    problems += [
        f"{component} has more processes: {count.first:.0f} → {count.last:.0f}"
        for component, count in counts.items()
        if count.more > MAX_PROCESS_GROWTH
    ]
    problems += [f"{dag_id} has failed runs" for dag_id, states in runs.items() if states.get("failed")]
    problems += [f"{dag_id} never ran" for dag_id, states in runs.items() if not states]
    if not found:
        problems.append("The soak was too short: no process has enough samples")
    lines = [*_head(all_samples, warm_up_s), *map(_line, found), ""]
    lines += ["smallest number of processes at the same time: " + _of_counts(counts)]
    lines += [
        f"{dag_id}: " + (", ".join(f"{n} {s}" for s, n in states.items()) or "no runs")
        for dag_id, states in runs.items()
    ]
    lines += [*notes, "", f"Limits: {LIMITS}.", *problems, "FAIL" if problems else "PASS", ""]
    return "\n".join(lines), problems


def _head(all_samples: Sequence[Sample], warm_up_s: float) -> list[str]:
    last = max((sample.seconds for sample in all_samples), default=0.0)
    rounds = len({sample.seconds for sample in all_samples})
    return [
        f"{last / 60:.0f} minutes, {rounds} rounds of samples; the first {warm_up_s / 60:.0f} minutes are warm-up.",
        "Each column shows the median of the first third → the median of the last third. Memory also "
        "has the growth per hour. Memory is in MiB; USS is unshared memory.",
        "",
        f"{'process':<58} {'USS':>21} {'RSS':>21} {'files':>12} {'sockets':>11} {'threads':>11}",
    ]


def _line(growth: Growth) -> str:
    name = f"{growth.component:<13} {growth.pid:>7} {growth.role}"[:58]
    memory = [
        f"{each.first:>6.1f} → {each.last:>6.1f} {each.per_hour:>+6.1f}" for each in (growth.uss, growth.rss)
    ]
    numbers = [
        f"{each.first:>4.0f} → {each.last:>4.0f}" for each in (growth.files, growth.sockets, growth.threads)
    ]
    return f"{name:<58} {memory[0]} {memory[1]}  {'  '.join(numbers)}"


def _of_counts(counts: Mapping[str, object]) -> str:
    return "; ".join(
        f"{component} {count.first:.0f} → {count.last:.0f}"  # type: ignore[attr-defined]
        for component, count in counts.items()
    )
