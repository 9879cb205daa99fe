"""Rewrite the file slices of one clustering group into sorted files of even size.

Rows keep their commit time, sequence number and key. The module counts the rows that it reads, and computes a checksum
of their keys. Then the module reads the written files back from storage, and computes the number and the checksum of
the written rows. `run.check_outcome` compares the two results, to verify that no row was lost.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from hudi_table_services.execution.base_file_reader import keys_of, open_base_file, with_kept_meta
from hudi_table_services.execution.base_file_writer import (
    RECORD_KEY,
    BaseFileSpec,
    BaseFileWriter,
    BloomSettings,
)
from hudi_table_services.execution.clustering.column_ranges import RowGroupRange, ranges_of
from hudi_table_services.execution.clustering.inputs import InputFile, open_input
from hudi_table_services.execution.clustering.key_checksum import KeyChecksum
from hudi_table_services.execution.clustering.row_order import RowOrder, divide_evenly
from hudi_table_services.execution.file_groups import ensure_partition_metadata, write_token
from hudi_table_services.execution.log_merging.slice_reading import LogMerging
from hudi_table_services.execution.metadata_table.staged_keys import KeyStager, KeyStaging, StagedKeys
from hudi_table_services.execution.parquet_format import ParquetFormat
from hudi_table_services.execution.running_commit import require_running
from hudi_table_services.hudi_format.markers import MarkerKind
from hudi_table_services.model.clustering import Layout
from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.metadata_table import FileStatistics
from hudi_table_services.model.write_stat import WriteStat
from hudi_table_services.storage.stores.storage import Storage

_CHUNK_ROWS = 1 << 15
_MAX_PEEKED_BYTES = 48 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteJob:
    """Settings shared by all tasks of one execution.

    Attributes:
        instant_time: requested time of the clustering.
        attempt: owner of the heartbeat; a task deletes its files if this attempt has lost the heartbeat.
        data_schema: Arrow schema of the user's columns in the table's current schema.
        avro_schema_json: the same schema with meta fields, for footers.
        task_memory_bytes: maximum Arrow bytes that a task sorts in memory; docs/clustering.md has the peak memory use.
        footer: additional key-value pairs for the footers of the new files.
        staging_folder: folder for the staged rows of groups that do not fit into the memory of one task.
        statistics_columns: columns whose statistics the tasks collect; a dotted path for a member of a struct.
        key_staging: where the tasks stage the keys of the new files; None if these keys are not wanted.
        merging: how log files are merged; None for a copy-on-write table.
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
    statistics_columns: tuple[str, ...] = ()
    key_staging: KeyStaging | None = None
    merging: LogMerging | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTask:
    """One group of a plan.

    Attributes:
        index: index of the group in the plan.
        inputs: inputs in the order in which their rows are read.
        file_ids: one id for each file to be written.
        first_number: number of the group's first output file among all files of the instant; part of write tokens.
    """

    index: int
    partition_path: str
    inputs: tuple[InputFile, ...]
    file_ids: tuple[str, ...]
    first_number: int = 0

    @property
    def input_bytes(self) -> int:
        return sum(file.total_bytes for file in self.inputs)


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file that was written and read back.

    Attributes:
        statistics: None if the job names no columns.
        keys: all keys of the file; None if the job stages no keys.
    """

    stat: WriteStat
    checksum: KeyChecksum
    ranges: tuple[RowGroupRange, ...]
    statistics: FileStatistics | None = None
    keys: StagedKeys | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOutcome:
    """Result of rewriting a group or a part of a group.

    Attributes:
        input_sizes: bytes of each file that was read. A file slice with log files counts as one file.
        read: number and key checksum of the rows that were read.
        footer_rows: number of rows of the input files according to their footers, each file counted once. If a file
            slice has log files, the number includes the changes that their merge found.
        ranges: column ranges of the row groups that were read; only those of base files.
        skipped: the results of `SliceLog.skipped` of the merged file slices.
    """

    index: int
    partition_path: str
    input_sizes: tuple[int, ...]
    written: tuple[WrittenFile, ...]
    read: KeyChecksum
    footer_rows: int
    ranges: tuple[RowGroupRange, ...]
    skipped: frozenset[tuple[str, int]] = frozenset()

    @property
    def input_bytes(self) -> int:
        return sum(self.input_sizes)


@dataclass(frozen=True, slots=True)
class TooLarge:
    """Result for a group that does not fit into a task's memory; nothing was written."""

    index: int


class Input:
    """Reads the files of a group one after another, and records row counts, column ranges and the key checksum."""

    def __init__(self, job: RewriteJob, files: Sequence[InputFile]) -> None:
        self._job = job
        self._files = files
        self.checksum = KeyChecksum()
        self.ranges: list[RowGroupRange] = []
        self.skipped: set[tuple[str, int]] = set()
        self._footer_rows: dict[str, int] = {}

    @property
    def footer_rows(self) -> int:
        """Number of rows of the files read so far, see `GroupOutcome`."""
        return sum(self._footer_rows.values())

    def rows(self) -> Iterator[pa.Table]:
        for each in self._files:
            with open_input(self._job.storage, each, self._job.merging, self._job.data_schema) as file:
                self._footer_rows[each.path] = file.row_count
                self.skipped.update(file.skipped)
                if file.base is not None:
                    self.ranges.extend(ranges_of(file.base.metadata, self._job.layout.columns))
                for rows in file.rows():
                    self.checksum += KeyChecksum.of(rows[RECORD_KEY])
                    yield rows


def merged_columns(job: RewriteJob, *names: str) -> pa.Schema:
    """Return the schema for `open_input` with only the named columns and the columns that a merge of log files needs.

    For a copy-on-write table, whose inputs have no log files, return all columns.
    """
    return job.data_schema if job.merging is None else job.merging.reading(job.data_schema, names).schema


def rewrite_group(job: RewriteJob, task: GroupTask) -> GroupOutcome | TooLarge:
    """Rewrite a group in one task.

    If the rows are not sorted and the group has one output file, the rows are streamed. Otherwise all rows are in
    memory at once.
    """
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
            for index, (start, stop) in enumerate(shares)
            for file in write_output(job, task, index, ordered(start, stop))
        ]
    return outcome_of(task, written, source.checksum, source.footer_rows, source.ranges, source.skipped)


def outcome_of(
    task: GroupTask,
    written: Iterable[WrittenFile],
    read: KeyChecksum,
    footer_rows: int,
    ranges: Iterable[RowGroupRange] = (),
    skipped: Iterable[tuple[str, int]] = (),
) -> GroupOutcome:
    """Build the outcome of a group or of a part of a group."""
    return GroupOutcome(
        index=task.index,
        partition_path=task.partition_path,
        input_sizes=tuple(file.total_bytes for file in task.inputs),
        written=tuple(written),
        read=read,
        footer_rows=footer_rows,
        ranges=tuple(ranges),
        skipped=frozenset(skipped),
    )


def _all_rows(job: RewriteJob, source: Input) -> pa.Table | None:
    """Return all rows as one table with one chunk per column, or None if the rows exceed the task's memory."""
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
    # Concatenate column by column and release each column's memory, so that the rows never exist in memory twice.
    columns = []
    for name in schema.names:
        columns.append(pa.concat_arrays(chunks.pop(name)))
        pa.default_memory_pool().release_unused()
    return pa.Table.from_arrays(columns, schema=schema)


def _in_order(table: pa.Table, layout: Layout) -> Callable[[int, int], Iterator[pa.Table]]:
    """Return a function that yields, in chunks, the rows between two positions in the order of the layout."""
    order = RowOrder.of(layout, table).indices(table) if layout.is_sorted else None

    def between(start: int, stop: int) -> Iterator[pa.Table]:
        for first in range(start, stop, _CHUNK_ROWS):
            count = min(_CHUNK_ROWS, stop - first)
            yield table.slice(first, count) if order is None else table.take(order.slice(first, count))

    return between


def write_output(job: RewriteJob, task: GroupTask, index: int, rows: Iterable[pa.Table]) -> list[WrittenFile]:
    """Write one file of a group and read it back. The result is empty if there are no rows.

    Args:
        index: index of the file among the task's files.
        rows: rows of the file in their order, with `KEPT_META_COLUMNS` before the user's columns.
    """
    started = time.monotonic()
    number = task.first_number + index
    head, rest, expected_rows = _peek(rows, job.bloom.max_entries)
    if not head:
        return []
    spec = BaseFileSpec(
        base_file=BaseFile(
            file_id=task.file_ids[index], write_token=str(write_token(number)), instant_time=job.instant_time
        ),
        partition_path=task.partition_path,
        expected_rows=expected_rows,
        data_schema=job.data_schema,
        avro_schema_json=job.avro_schema_json,
        marker_kind=MarkerKind.CREATE,
        footer=job.footer,
        statistics_columns=job.statistics_columns,
    )
    ensure_partition_metadata(job.storage, job.instant_time, task.partition_path)
    group_id = FileGroupId(task.partition_path, task.file_ids[index])
    with KeyStager(job.storage, job.key_staging, group_id) as stager:
        writer = _write(job, spec, _released(head, rest), stager)
        keys = stager.close()
        require_running(job.storage, spec, job.attempt)
    read_back = _read_back(job, spec, writer.row_count, int((time.monotonic() - started) * 1000))
    return [replace(read_back, statistics=writer.statistics, keys=keys)]


def _write(
    job: RewriteJob, spec: BaseFileSpec, tables: Iterable[pa.Table], stager: KeyStager
) -> BaseFileWriter:
    with BaseFileWriter(job.storage, spec, job.parquet, job.bloom) as writer:
        require_running(job.storage, spec, job.attempt)
        for table in tables:
            stager.add_new(table[RECORD_KEY])
            writer.write(table)
    return writer


def _released(head: deque[pa.Table], rest: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Yield all tables, and release each table when it is written, because the tables together can fill much memory."""
    while head:
        yield head.popleft()
    yield from rest


def _peek(rows: Iterable[pa.Table], max_entries: int) -> tuple[deque[pa.Table], Iterator[pa.Table], int]:
    """Return the first tables with rows, the remaining tables, and the expected number of rows for the bloom filter.

    Args:
        max_entries: number of rows beyond which the bloom filter does not grow. If the first tables do not contain all
            rows, the returned number of rows is at least `max_entries`.
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
        if count >= max_entries or size_bytes >= _MAX_PEEKED_BYTES:
            return head, iterator, max(count, max_entries)
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
