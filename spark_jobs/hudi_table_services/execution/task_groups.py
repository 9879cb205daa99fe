"""Combine small tasks into one Spark task: starting a Spark task costs as much as writing a megabyte."""

import heapq
from collections.abc import Sequence

BYTES_OF_A_SPARK_TASK = 16 << 20
"""Compressed bytes written by one Spark task: one to two seconds of a core. Starting a task in Python takes 0.1 s."""

BYTES_OF_A_FILE = 128 << 10
"""Cost of opening and closing a file, as an equivalent of written bytes."""


def group_tasks(weights: Sequence[int], parallelism: int) -> tuple[tuple[int, ...], ...]:
    """Indices of tasks grouped by Spark task, heaviest Spark task first; each task is in exactly one group.

    The number of Spark tasks follows from the total weight, rounded up to full rounds of the cluster. The heaviest
    tasks are placed first, each into the lightest Spark task, so that all Spark tasks end at about the same time.

    Args:
        weights: estimated cost of each task, in bytes written.
        parallelism: Spark tasks that run at once.
    """
    rounds = -(-sum(weights) // (BYTES_OF_A_SPARK_TASK * parallelism))
    count = min(len(weights), max(1, rounds) * parallelism)
    groups: list[tuple[int, int, list[int]]] = [(0, number, []) for number in range(count)]
    for index in sorted(range(len(weights)), key=lambda i: (-weights[i], i)):
        weight, number, group = heapq.heappop(groups)
        group.append(index)
        heapq.heappush(groups, (weight + weights[index], number, group))
    return tuple(tuple(group) for _, _, group in sorted(groups, key=lambda g: (-g[0], g[1])))
