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

_MOST_TRIES = 64
"""Largest number of tasks that are considered for a part, so that plans of many files do not take seconds."""


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
    tasks = _Tasks([sum(costs[file] for file in group) for group in groups])
    tasks.add_empty(min(sum(counts), largest_number_of_groups(costs, parallelism)))
    home = {file: task for task, group in enumerate(groups) for file in group}
    read: list[dict[int, list[int]]] = [{} for _ in tasks.usual]
    for file, task in home.items():
        read[task][file] = [0]
    for part in _movable(costs, counts):
        task = tasks.place(part, home[part.file])
        read[task].setdefault(part.file, []).append(part.number)
    order = sorted(range(len(read)), key=lambda task: (-tasks.usual[task], task))
    return [
        [(file, tuple(sorted(parts))) for file, parts in read[task].items()] for task in order if read[task]
    ]


class _Tasks:
    """The costs of all tasks: the usual costs, if files have many row groups, and the largest possible costs."""

    def __init__(self, costs: Sequence[int]) -> None:
        self.usual = list(costs)
        self._possible = list(costs)
        self._limit = max(costs, default=0)
        self._lightest = [(cost, cost, task) for task, cost in enumerate(costs)]
        heapq.heapify(self._lightest)

    def add_empty(self, count: int) -> None:
        """Add tasks without files until there are `count` tasks."""
        for task in range(len(self.usual), count):
            self.usual.append(0)
            self._possible.append(0)
            heapq.heappush(self._lightest, (0, 0, task))

    def place(self, part: _Part, home: int) -> int:
        """Move a part from its home to one of the lightest tasks, if possible and useful. Return the part's task."""
        considered: list[tuple[int, int, int]] = []
        found = home
        while self._lightest and len(considered) < _MOST_TRIES:
            entry = heapq.heappop(self._lightest)
            usual, possible, task = entry
            if (usual, possible) != (self.usual[task], self._possible[task]):
                continue  # The costs of the task have changed since, and another entry contains them.
            considered.append(entry)
            if usual + part.usual >= self.usual[home]:
                break
            if possible + part.largest <= self._limit:
                found = considered.pop()[2]
                break
        for entry in considered:
            heapq.heappush(self._lightest, entry)
        if found != home:
            self._add(found, part.usual, part.largest)
            self._add(home, -part.usual, 0)
        return found

    def _add(self, task: int, usual: int, possible: int) -> None:
        self.usual[task] += usual
        self._possible[task] += possible
        heapq.heappush(self._lightest, (self.usual[task], self._possible[task], task))


def _movable(costs: Sequence[int], counts: Sequence[int]) -> list[_Part]:
    """Return all parts except the first of each file, those with the largest possible cost first."""
    parts = [
        _Part(-(-cost // (number + 1)), cost // count, file, number)
        for file, (cost, count) in enumerate(zip(costs, counts, strict=True))
        for number in range(1, count)
    ]
    return sorted(parts, key=lambda part: (-part.largest, part.file, part.number))
