"""Decide where a micro-batch of a stream ends."""

from collections.abc import Iterable
from itertools import groupby

from hudi_table_services.model.reading.stream import BatchLimits, CommitSize


def batch_end(commits: Iterable[CommitSize], limits: BatchLimits, start: str) -> str:
    """Return the time at which the last commit of the next batch became visible; `start` if there are no commits.

    Commits that became visible at the same time belong to the same batch, because the offset of a stream is a time, and
    so cannot separate these commits.
    """
    ordered = sorted(commits, key=lambda each: each.visible_from)
    end, count, size_bytes = start, 0, 0
    for time, found in groupby(ordered, key=lambda each: each.visible_from):
        sizes = [each.size_bytes for each in found]
        count += len(sizes)
        size_bytes += sum(sizes)
        if end != start and _exceeds(limits, count, size_bytes):
            break
        end = time
    return end


def _exceeds(limits: BatchLimits, count: int, size_bytes: int) -> bool:
    too_many = limits.commits is not None and count > limits.commits
    return too_many or (limits.size_bytes is not None and size_bytes > limits.size_bytes)
