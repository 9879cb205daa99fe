"""Rewrite the file slices of one clustering group: read, bring into order, write files of even size, check.

Rows keep their commit time, sequence number and key. What went in and what came out is counted: rows, and a checksum
of their keys, the latter read back from the files written.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from hudi_table_services.execution.base_file_reader import keys_of, open_base_file, rows_of, with_kept_meta
from hudi_table_services.execution.base_file_writer import (
    RECORD_KEY,
    BaseFileSpec,
    BaseFileWriter,
    BloomSettings,
)
from hudi_table_services.execution.clustering.column_ranges import RowGroupRange, ranges_of
from hudi_table_services.execution.clustering.key_checksum import KeyChecksum
from hudi_table_services.execution.clustering.row_order import RowOrder, divide_evenly
from hudi_table_services.execution.file_groups import ensure_partition_metadata, write_token
from hudi_table_services.execution.parquet_format import ParquetFormat
from hudi_table_services.execution.running_commit import require_running
from hudi_table_services.hudi_format.markers import MarkerKind
from hudi_table_services.model.clustering import Layout
from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.write_stat import WriteStat
from hudi_table_services.storage.stores.storage import Storage

_CHUNK_ROWS = 1 << 15
_PEEKED_BYTES = 48 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteJob:
    """What all tasks of one execution share.

    Attributes:
        instant_time: requested time of the clustering.
        attempt: who holds the heartbeat; a task whose attempt lost it leaves nothing behind.
        data_schema: Arrow schema of the user's columns as the table has them now.
        avro_schema_json: the same with meta fields, for footers.
        task_memory_bytes: Arrow bytes that a task may hold to sort them; what it needs at its peak: docs/clustering.md.
        footer: further pairs for the footers of the new files.
        staging_folder: where larger groups are exchanged.
    """

    storage: Storage
    instant_time: str
    attempt: str
    data_schema: pa.Schema
    avro_schema_json: str
    parquet: ParquetFormat
    bloom: BloomSettings
    layout: Layout
    task_memory_bytes: int
    staging_folder: str
    footer: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class InputFile:
    """A base file to be rewritten: path relative to the base path, bytes."""

    path: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTask:
    """One group of a plan.

    Attributes:
        index: place of the group in the plan.
        inputs: in the order in which rows are read.
        file_ids: one for each file to be written.
        first_number: number of the first of them among all files of the instant, part of write tokens.
    """

    index: int
    partition_path: str
    inputs: tuple[InputFile, ...]
    file_ids: tuple[str, ...]
    first_number: int = 0

    @property
    def input_bytes(self) -> int:
        return sum(file.size_bytes for file in self.inputs)


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file written and read back."""

    stat: WriteStat
    checksum: KeyChecksum
    ranges: tuple[RowGroupRange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOutcome:
    """What became of a group, or of a part of it.

    Attributes:
        input_sizes: bytes of the files that were read.
        read: rows and keys that were read.
        footer_rows: rows that the files have by their footers, each file counted once.
        ranges: of the row groups read.
    """

    index: int
    partition_path: str
    input_sizes: tuple[int, ...]
    written: tuple[WrittenFile, ...]
    read: KeyChecksum
    footer_rows: int
    ranges: tuple[RowGroupRange, ...]

    @property
    def input_bytes(self) -> int:
        return sum(self.input_sizes)


@dataclass(frozen=True, slots=True)
class TooLarge:
    """The group does not fit a task's memory; nothing was written."""

    index: int


class Input:
    """Reads the files of a group one after the other and takes stock of them."""

    def __init__(self, job: RewriteJob, files: Sequence[InputFile]) -> None:
        self._job = job
        self._files = files
        self.checksum = KeyChecksum()
        self.ranges: list[RowGroupRange] = []
        self._footer_rows: dict[str, int] = {}

    @property
    def footer_rows(self) -> int:
        """Rows that the files read so far have by their footers."""
        return sum(self._footer_rows.values())

    def rows(self) -> Iterator[pa.Table]:
        for each in self._files:
            with open_base_file(self._job.storage, each.path, each.size_bytes) as file:
                self._footer_rows[each.path] = file.metadata.num_rows
                self.ranges.extend(ranges_of(file.metadata, self._job.layout.columns))
                for rows in rows_of(file, self._job.data_schema):
                    self.checksum += KeyChecksum.of(rows[RECORD_KEY])
                    yield rows


def rewrite_group(job: RewriteJob, task: GroupTask) -> GroupOutcome | TooLarge:
    """Rewrite a group in one task: row by row where order does not matter, else all of it in memory."""
    source = Input(job, task.inputs)
    if not job.layout.is_sorted and len(task.file_ids) == 1:
        written = write_output(job, task, 0, source.rows())
    else:
        table = _all_rows(job, source)
        if table is None:
            return TooLarge(task.index)
        ordered = _in_order(table, job.layout)
        shares = divide_evenly(table.num_rows, len(task.file_ids))
        written = [
            file
            for place, (start, stop) in enumerate(shares)
            for file in write_output(job, task, place, ordered(start, stop))
        ]
    return outcome_of(task, written, source.checksum, source.footer_rows, source.ranges)


def outcome_of(
    task: GroupTask,
    written: Iterable[WrittenFile],
    read: KeyChecksum,
    footer_rows: int,
    ranges: Iterable[RowGroupRange] = (),
) -> GroupOutcome:
    """The outcome of a group, or of a part of it."""
    return GroupOutcome(
        index=task.index,
        partition_path=task.partition_path,
        input_sizes=tuple(file.size_bytes for file in task.inputs),
        written=tuple(written),
        read=read,
        footer_rows=footer_rows,
        ranges=tuple(ranges),
    )


def _all_rows(job: RewriteJob, source: Input) -> pa.Table | None:
    """The rows as one table with one chunk per column; None as soon as they pass the task's memory."""
    schema = with_kept_meta(job.data_schema)
    chunks: dict[str, list[pa.Array]] = {
        name: [pa.nulls(0, schema.field(name).type)] for name in schema.names
    }
    size_bytes = 0
    for rows in source.rows():
        for name in schema.names:
            chunks[name] += rows[name].chunks
        size_bytes += rows.nbytes
        if size_bytes > job.task_memory_bytes:
            return None
    # Column by column, so that never all of the rows are there twice, not even as memory that Arrow keeps.
    columns = []
    for name in schema.names:
        columns.append(pa.concat_arrays(chunks.pop(name)))
        pa.default_memory_pool().release_unused()
    return pa.Table.from_arrays(columns, schema=schema)


def _in_order(table: pa.Table, layout: Layout) -> Callable[[int, int], Iterator[pa.Table]]:
    """Gives the rows between two places of the order, in chunks."""
    order = RowOrder.of(layout, table).indices(table) if layout.is_sorted else None

    def between(start: int, stop: int) -> Iterator[pa.Table]:
        for first in range(start, stop, _CHUNK_ROWS):
            count = min(_CHUNK_ROWS, stop - first)
            yield table.slice(first, count) if order is None else table.take(order.slice(first, count))

    return between


def write_output(job: RewriteJob, task: GroupTask, place: int, rows: Iterable[pa.Table]) -> list[WrittenFile]:
    """Write one file of a group and read back what it holds; none where there are no rows.

    Args:
        place: which of the task's files.
        rows: in order; the user's columns behind `KEPT_META_COLUMNS`.
    """
    started = time.monotonic()
    number = task.first_number + place
    head, rest, expected_rows = _peek(rows, job.bloom.max_entries)
    if not head:
        return []
    spec = BaseFileSpec(
        base_file=BaseFile(
            file_id=task.file_ids[place], write_token=str(write_token(number)), instant_time=job.instant_time
        ),
        partition_path=task.partition_path,
        expected_rows=expected_rows,
        data_schema=job.data_schema,
        avro_schema_json=job.avro_schema_json,
        marker_kind=MarkerKind.CREATE,
        footer=job.footer,
    )
    ensure_partition_metadata(job.storage, job.instant_time, task.partition_path)
    with BaseFileWriter(job.storage, spec, job.parquet, job.bloom) as writer:
        require_running(job.storage, spec, job.attempt)
        while head:  # let go one by one: they may be as large as a row group
            writer.write(head.popleft())
        for table in rest:
            writer.write(table)
    require_running(job.storage, spec, job.attempt)
    return [_read_back(job, spec, writer.row_count, int((time.monotonic() - started) * 1000))]


def _peek(rows: Iterable[pa.Table], most: int) -> tuple[deque[pa.Table], Iterator[pa.Table], int]:
    """The first tables with rows, the others, and how many rows the bloom filter has to be made for.

    Args:
        most: rows from which on the filter becomes no larger; where the first tables are large that is assumed.
    """
    iterator = iter(rows)
    head: deque[pa.Table] = deque()
    count = size_bytes = 0
    for table in iterator:
        if table.num_rows == 0:
            continue
        head.append(table)
        count += table.num_rows
        size_bytes += table.nbytes
        if count >= most or size_bytes >= _PEEKED_BYTES:
            return head, iterator, max(count, most)
    return head, iterator, count


def _read_back(job: RewriteJob, spec: BaseFileSpec, rows: int, elapsed_ms: int) -> WrittenFile:
    size_bytes = job.storage.size(spec.path)
    with open_base_file(job.storage, spec.path, size_bytes) as file:
        checksum = sum((KeyChecksum.of(keys) for keys in keys_of(file)), KeyChecksum())
        ranges = ranges_of(file.metadata, job.layout.columns)
    stat = WriteStat(
        file_id=spec.base_file.file_id,
        partition_path=spec.partition_path,
        path=spec.path,
        num_writes=rows,
        num_inserts=rows,
        file_size_bytes=size_bytes,
        total_create_time_ms=elapsed_ms,
    )
    return WrittenFile(stat, checksum, ranges)
