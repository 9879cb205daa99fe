"""Combine small tasks into one Spark task, because the start of each Spark task costs time."""

import heapq
from collections.abc import Sequence

BYTES_OF_A_SPARK_TASK = 16 << 20
"""Target size of a Spark task: compressed bytes that a core writes in 1 to 2 s. The start of a Spark task takes about
50 ms of a core, most of it in the JVM (Spark 3.5)."""

BYTES_OF_A_FILE = 128 << 10
"""Cost of opening and closing a file: the number of bytes that a task writes in the same time."""


def group_tasks(weights: Sequence[int], parallelism: int) -> tuple[tuple[int, ...], ...]:
    """Group tasks into Spark tasks: one tuple of task indices per Spark task, heaviest first.

    Each task is in exactly one Spark task. The number of Spark tasks depends on the total weight, rounded up to a
    multiple of `parallelism`. Tasks are added in descending order of weight, each to the lightest Spark task, so that
    all Spark tasks end at about the same time.

    Args:
        weights: estimated cost of each task, in bytes written.
        parallelism: number of Spark tasks that run at the same time.
    """
    count = min(len(weights), largest_number_of_groups(weights, parallelism))
    groups: list[tuple[int, int, list[int]]] = [(0, number, []) for number in range(count)]
    for index in sorted(range(len(weights)), key=lambda i: (-weights[i], i)):
        weight, number, group = heapq.heappop(groups)
        group.append(index)
        heapq.heappush(groups, (weight + weights[index], number, group))
    return tuple(tuple(group) for _, _, group in sorted(groups, key=lambda g: (-g[0], g[1])))


def largest_number_of_groups(weights: Sequence[int], parallelism: int) -> int:
    """Return the number of Spark tasks for tasks that could be divided into any number of tasks; see `group_tasks`."""
    rounds = -(-sum(weights) // (BYTES_OF_A_SPARK_TASK * parallelism))
    return max(1, rounds) * parallelism
