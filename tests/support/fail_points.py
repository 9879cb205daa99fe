"""Count the places at which tests made a job fail, and list the counts at the end of the test run."""

from collections import Counter

TRIED: Counter[str] = Counter()
"""Maps each job to the number of failures that tests caused in the job and checked."""


def tried(job: str, points: int = 1) -> None:
    """Record that a test made the job fail at `points` places."""
    TRIED[job] += points


def summary() -> list[str]:
    """One line per job and, at the end, the total; empty if no test made a job fail."""
    if not TRIED:
        return []
    lines = [f"{job}: {points}" for job, points in sorted(TRIED.items())]
    return [*lines, f"total: {sum(TRIED.values())}"]
