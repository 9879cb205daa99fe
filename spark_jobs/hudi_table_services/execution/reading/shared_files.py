"""Let several Spark tasks share a file, so that no task reads more than if each file were read by one task.

The driver does not know the numbers of row groups. A file with one row group cannot be shared, and files of Hudi's
Spark writer often have one. The parts of a file are therefore ordered: part n has row groups only if the file has more
than n of them, and then at most 1/(n+1) of the file. The first part stays in the task that would read the whole file.
Each further part moves to another task if this task cannot become larger than the largest task without sharing,
whatever the numbers of row groups are.
"""

import heapq
from collections.abc import Sequence
from typing import NamedTuple

from hudi_table_services.execution.task_groups import group_tasks, largest_number_of_groups


class _Part(NamedTuple):
    """A part of a file that may move. `largest` and `usual` are its costs with few and with many row groups."""

    largest: int
    usual: int
    file: int
    number: int


def part_of_file(number: int, count: int, total: int) -> range:
    """Return the numbers of the row groups of a part, for a file with `count` parts and `total` row groups."""
    each, more = divmod(total, count)
    start = number * each + min(number, more)
    return range(start, start + each + (number < more))


def share_files(
    costs: Sequence[int], counts: Sequence[int], parallelism: int
) -> list[list[tuple[int, tuple[int, ...]]]]:
    """Return the files and the numbers of their parts that each Spark task reads, the largest task first.

    Args:
        costs: cost of each file; see `group_tasks`.
        counts: number of parts of each file; 1 if the file cannot be shared.
        parallelism: number of Spark tasks that run at the same time.
    """
    groups = group_tasks(costs, parallelism)
    tasks = min(sum(counts), largest_number_of_groups(costs, parallelism))
    home = {file: task for task, group in enumerate(groups) for file in group}
    # The cost of each task if all files have many row groups. Without sharing, the row groups do not matter.
    usual = [sum(costs[file] for file in group) for group in groups] + [0] * (tasks - len(groups))
    limit = max(usual, default=0)
    possible = [(cost, task) for task, cost in enumerate(usual)]  # largest possible costs
    heapq.heapify(possible)
    read: list[dict[int, list[int]]] = [{file: [0] for file in group} for group in groups]
    read += [{} for _ in range(tasks - len(groups))]
    for part in _movable(costs, counts):
        largest, task = possible[0]
        first = home[part.file]
        if largest + part.largest <= limit and usual[task] + part.usual < usual[first]:
            heapq.heapreplace(possible, (largest + part.largest, task))
            usual[task] += part.usual
            usual[first] -= part.usual
        else:
            task = first
        read[task].setdefault(part.file, []).append(part.number)
    order = sorted(range(tasks), key=lambda task: (-usual[task], task))
    return [
        [(file, tuple(sorted(parts))) for file, parts in read[task].items()] for task in order if read[task]
    ]


def _movable(costs: Sequence[int], counts: Sequence[int]) -> list[_Part]:
    """Return all parts except the first of each file, those with the largest possible cost first."""
    parts = [
        _Part(-(-cost // (number + 1)), cost // count, file, number)
        for file, (cost, count) in enumerate(zip(costs, counts, strict=True))
        for number in range(1, count)
    ]
    return sorted(parts, key=lambda part: (-part.largest, part.file, part.number))
