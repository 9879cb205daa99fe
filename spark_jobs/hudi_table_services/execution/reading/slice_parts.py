"""Divide the slices of a read into Spark tasks that take about the same time.

Large base files are divided, so that a read of few files uses all cores. A part of a base file consists of whole row
groups, because Arrow decodes whole row groups. The module `shared_files` chooses the tasks.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hudi_table_services.execution.reading.shared_files import part_of_file, share_files
from hudi_table_services.execution.task_groups import BYTES_OF_A_FILE, BYTES_OF_A_SPARK_TASK
from hudi_table_services.model.data_file import LogFile
from hudi_table_services.model.file_group import FileSlice

_READ_SPEED = 3
"""Number of bytes that a task reads in the time in which a task writes one byte."""

_LOG_COST = 4
"""Number of bytes of a base file that a task reads in the time in which it merges one byte of a log file."""

_PARTS_OF_A_CORE = 4
"""Number of parts into which the work of one core is divided if they do not become too small."""

_SMALLEST_PART = BYTES_OF_A_SPARK_TASK // 4
"""Smallest value for the largest cost of a part: 12 MiB of a base file. Row groups are usually not larger if this
engine wrote the file, because its writer buffers at most 64 MiB of Arrow. Each part opens the file and reads the
footer again, even if the part turns out to be empty. This costs about `BYTES_OF_A_FILE`."""

_MOST_PARTS = 16
"""Largest number of parts of a file, because the footer of a large file with many row groups is large, too."""


@dataclass(frozen=True, slots=True, order=True)
class SlicePart:
    """A part of a file slice: consecutive row groups of its base file, or the whole slice.

    Attributes:
        number: position of the part in the slice, from 0.
        count: number of parts of the slice; 1 if the part is the whole slice. Parts with about the same number of row
            groups follow each other. If the base file has fewer row groups than `count`, the last parts are empty.
    """

    file_slice: FileSlice
    number: int = 0
    count: int = 1

    def row_groups(self, total: int) -> range:
        """Return the numbers of the row groups of this part, for a base file with `total` row groups."""
        return part_of_file(self.number, self.count, total)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadWork:
    """The work of reading slices.

    Attributes:
        share_of_columns: part of the columns that the read decodes, between 0 and 1.
        merges_logs: whether the read merges log files with their base file.
        divides_files: whether several tasks may read one base file.
    """

    share_of_columns: float
    merges_logs: bool
    divides_files: bool

    def groups(self, slices: Sequence[FileSlice], parallelism: int) -> list[tuple[SlicePart, ...]]:
        """Return what each Spark task reads, the largest task first.

        Args:
            parallelism: number of Spark tasks that run at the same time.
        """
        costs = [self._cost(each) for each in slices]
        largest = _cost_of_a_part(sum(costs), parallelism)
        counts = [
            min(_MOST_PARTS, -(-cost // largest)) if self._can_be_divided(each) else 1
            for each, cost in zip(slices, costs, strict=True)
        ]
        return [
            tuple(part for file, numbers in task for part in _parts(slices[file], numbers, counts[file]))
            for task in share_files(costs, counts, parallelism)
        ]

    def _cost(self, file_slice: FileSlice) -> int:
        """Return the number of bytes that a task writes in the time in which a task reads the slice."""
        base = 0 if file_slice.base_file is None else max(0, file_slice.base_file.size_bytes)
        logs = sum(max(0, log.size_bytes) + BYTES_OF_A_FILE for log in self._logs(file_slice))
        return BYTES_OF_A_FILE + (int(base * self.share_of_columns) + _LOG_COST * logs) // _READ_SPEED

    def _can_be_divided(self, file_slice: FileSlice) -> bool:
        return self.divides_files and not self._logs(file_slice)

    def _logs(self, file_slice: FileSlice) -> tuple[LogFile, ...]:
        return file_slice.log_files if self.merges_logs else ()


def _parts(file_slice: FileSlice, numbers: tuple[int, ...], count: int) -> list[SlicePart]:
    """Return the parts of a slice that one task reads; the whole slice if the task reads all parts."""
    if len(numbers) == count:
        return [SlicePart(file_slice)]
    return [SlicePart(file_slice, number, count) for number in numbers]


def _cost_of_a_part(total: int, parallelism: int) -> int:
    """Return the largest cost of a part, so that equal parts of one file are a multiple of `parallelism`."""
    parts_of_a_core = min(_PARTS_OF_A_CORE, total // (_SMALLEST_PART * parallelism))
    return max(_SMALLEST_PART, -(-total // (max(1, parts_of_a_core) * parallelism)))
