"""Put small tasks together into one Spark task: starting one costs as much as writing a megabyte."""

import heapq
from collections.abc import Sequence

BYTES_OF_A_SPARK_TASK = 16 << 20
"""Compressed bytes written, one to two seconds of a core. Handing a task to a Python worker takes 0.1 s."""

BYTES_OF_A_FILE = 128 << 10
"""What opening and closing a file costs, in the same measure."""


def group_tasks(weights: Sequence[int], parallelism: int) -> tuple[tuple[int, ...], ...]:
    """Indices of tasks by Spark task, heaviest Spark task first; each task is in exactly one.

    There are as many Spark tasks as the whole weight asks for, in full rounds of the cluster. The heaviest tasks
    are placed first, each where least is waiting, so that Spark tasks end at about the same time.

    Args:
        weights: estimated cost of each task, in bytes written.
        parallelism: Spark tasks that run at once.
    """
    rounds = -(-sum(weights) // (BYTES_OF_A_SPARK_TASK * parallelism))
    count = min(len(weights), max(1, rounds) * parallelism)
    waiting: list[tuple[int, int, list[int]]] = [(0, number, []) for number in range(count)]
    for index in sorted(range(len(weights)), key=lambda i: (-weights[i], i)):
        weight, number, group = heapq.heappop(waiting)
        group.append(index)
        heapq.heappush(waiting, (weight + weights[index], number, group))
    return tuple(tuple(group) for _, _, group in sorted(waiting, key=lambda w: (-w[0], w[1])))
