"""Count the places at which tests made a job fail, and list them at the end of the run."""

from collections import Counter

TRIED: Counter[str] = Counter()
"""Job → failures that were provoked in it and checked."""


def tried(job: str, points: int = 1) -> None:
    """Record that a test made the job fail at so many places."""
    TRIED[job] += points


def summary() -> list[str]:
    """One line per job, the total last; nothing if no test let a job fail."""
    if not TRIED:
        return []
    lines = [f"{job}: {points}" for job, points in sorted(TRIED.items())]
    return [*lines, f"total: {sum(TRIED.values())}"]
