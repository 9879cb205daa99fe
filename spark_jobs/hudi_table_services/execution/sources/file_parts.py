"""Divide the Parquet files of a source into parts of about the same size, each for one Spark task.

A part of a file is a range of bytes. As in Spark and parquet-mr, a row group belongs to the part that contains the
middle of its bytes. So each row group belongs to exactly one part, and a plan needs no footer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hudi_table_services.execution.task_groups import BYTES_OF_A_SPARK_TASK

if TYPE_CHECKING:
    import pyarrow.parquet as pq

MAX_PART_BYTES = 128 << 20
"""Largest size of a part; the default of Spark's file readers (``spark.sql.files.maxPartitionBytes``)."""

_ROUNDS = 3
"""Number of parts for each core, so that all cores end at about the same time although parts differ."""


@dataclass(frozen=True, slots=True)
class FilePart:
    """A range of bytes of a file.

    Attributes:
        file: number of the file in the list of files.
        start, stop: first byte of the range, and the byte after its end.
    """

    file: int
    start: int
    stop: int


def divide(sizes: Sequence[int], parallelism: int) -> list[tuple[FilePart, ...]]:
    """Return the parts of each task. Tasks, and parts within a task, are in the order of the files and of their bytes.

    Args:
        sizes: size of each file in bytes; empty files belong to no task.
        parallelism: number of Spark tasks that run at the same time.
    """
    wanted = -(-sum(sizes) // (_ROUNDS * parallelism))
    limit = min(MAX_PART_BYTES, max(BYTES_OF_A_SPARK_TASK, wanted))
    tasks: list[tuple[FilePart, ...]] = []
    parts: list[FilePart] = []
    room = limit
    for file, size in enumerate(sizes):
        start = 0
        while start < size:
            stop = min(size, start + room)
            parts.append(FilePart(file, start, stop))
            room -= stop - start
            start = stop
            if room == 0:
                tasks.append(tuple(parts))
                parts, room = [], limit
    return [*tasks, tuple(parts)] if parts else tasks


def row_groups_of(metadata: "pq.FileMetaData", part: FilePart) -> list[int]:
    """Return the numbers of the row groups that belong to a part of the file."""
    return [
        number
        for number in range(metadata.num_row_groups)
        if part.start <= _middle(metadata.row_group(number)) < part.stop
    ]


def _middle(row_group: "pq.RowGroupMetaData") -> int:
    """Return the position of the middle byte of a row group in its file."""
    columns = [row_group.column(number) for number in range(row_group.num_columns)]
    start = min(column.dictionary_page_offset or column.data_page_offset for column in columns)
    return int(start + sum(column.total_compressed_size for column in columns) // 2)
