"""Sort groups that do not fit into the memory of a task, by distributing their rows to buckets that fit.

The exchange has three steps. First, a sample determines the bounds of buckets of about equal size. Second, the rows are
distributed to the buckets, in staged files on the table's own storage (docs/adr/0012). Third, each output file gets an
equal share of the sorted rows. The size of a bucket bounds the memory, no matter how large the group is. A value that
alone would fill several buckets gets a separate bucket, whose rows are streamed without sorting.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from hudi_table_services.execution.base_file_reader import columns_of, with_kept_meta
from hudi_table_services.execution.clustering.column_ranges import RowGroupRange
from hudi_table_services.execution.clustering.inputs import InputFile, OpenInput, open_input
from hudi_table_services.execution.clustering.key_checksum import KeyChecksum
from hudi_table_services.execution.clustering.rewrite import (
    GroupOutcome,
    GroupTask,
    Input,
    RewriteJob,
    merged_columns,
    outcome_of,
    write_output,
)
from hudi_table_services.execution.clustering.row_order import (
    RowOrder,
    count_at_or_below,
    divide_evenly,
    evenly,
    sorted_indices,
)
from hudi_table_services.execution.numpy_types import Flags, Integers
from hudi_table_services.execution.staging import StagedBatch, StagedFileWriter, StagedReader

_SAMPLED_ROWS = 100_000
_BUCKETS_PER_MEMORY = 3
"""Number of buckets that fit into a task's memory.

The number is above 1, because samples are inexact and an output may need parts of two buckets.
"""
_CHUNK_ROWS = 1 << 15
_MEASURED_FILES = 16
_MEASURED_ROWS = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSample:
    """Sample of an input file, taken before the rows of its group are distributed.

    Attributes:
        rows: number of rows of the file.
        encoded_bytes: bytes of the file before compression. Because of dictionaries, this number is often much smaller
            than the number of Arrow bytes.
        keys: sort columns of some rows.
        measured_rows, measured_bytes: number and Arrow bytes of the rows that were read completely; 0 if the file was
            not measured.
    """

    rows: int
    encoded_bytes: int
    keys: pa.Table
    measured_rows: int
    measured_bytes: int


def is_measured(place: int, files: int) -> bool:
    """Whether to read complete rows of the file at this position in the group, to measure their size in memory."""
    return place % math.ceil(files / _MEASURED_FILES) == 0


def sample_file(job: RewriteJob, file: InputFile, files: int, measures: bool) -> FileSample:
    """Sample rows at even distances.

    Args:
        files: number of files of the group. The samples of all these files together have about `_SAMPLED_ROWS` rows.
    """
    wanted = max(64, math.ceil(_SAMPLED_ROWS / files))
    sort_columns = pa.schema([job.data_schema.field(name) for name in job.layout.columns])
    keys = [sort_columns.empty_table()]
    with open_input(job.storage, file, job.merging, merged_columns(job, *sort_columns.names)) as opened:
        rows = opened.row_count
        keys.extend(
            evenly(table, max(1, round(wanted * table.num_rows / max(1, rows))))
            for table in opened.columns(sort_columns)
        )
        head = _first_rows(job, file, opened) if measures and rows else sort_columns.empty_table()
        return FileSample(
            rows=rows,
            encoded_bytes=opened.encoded_bytes + file.log_bytes,
            keys=pa.concat_tables(keys),
            measured_rows=head.num_rows,
            measured_bytes=head.nbytes,
        )


def _first_rows(job: RewriteJob, file: InputFile, opened: OpenInput) -> pa.Table:
    """Return some complete rows of the base file or, if there is no base file with rows, of the log files."""
    if opened.base is not None and opened.base.metadata.num_rows:
        return next(columns_of(opened.base, with_kept_meta(job.data_schema), _MEASURED_ROWS))
    with open_input(job.storage, file, job.merging, job.data_schema) as whole:
        return next(whole.rows()).slice(0, _MEASURED_ROWS)


def arrow_bytes(samples: Sequence[FileSample]) -> int:
    """Estimate the size of all rows in memory from the measured rows. The result is at least the rows' encoded size."""
    rows = sum(each.rows for each in samples)
    measured_rows = max(1, sum(each.measured_rows for each in samples))
    estimate = rows * sum(each.measured_bytes for each in samples) // measured_rows
    return max(estimate, sum(each.encoded_bytes for each in samples))


@dataclass(frozen=True, slots=True)
class Buckets:
    """Bounds that divide the ordered rows of a group into consecutive buckets.

    Attributes:
        bounds: sort keys; each bucket contains the rows between two consecutive bounds.
        excluded: for each bound, whether rows equal to the bound belong to the bucket before the bound.
    """

    order: RowOrder
    bounds: pa.Table
    excluded: Flags

    @classmethod
    def of(cls, job: RewriteJob, samples: Sequence[FileSample]) -> "Buckets":
        """Choose bounds for which `_BUCKETS_PER_MEMORY` buckets fit into a task's memory together."""
        sample = pa.concat_tables([each.keys for each in samples]).combine_chunks()
        order = RowOrder.of(job.layout, sample)
        keys = order.keys(sample)
        wanted = math.ceil(arrow_bytes(samples) * _BUCKETS_PER_MEMORY / job.task_memory_bytes)
        ordered = keys.take(sorted_indices(keys)).combine_chunks()
        positions = np.unique(
            np.linspace(0, max(0, ordered.num_rows - 1), max(2, wanted + 1)).astype(np.int64)
        )
        picked = ordered.take(pa.array(positions[1:-1]))
        return cls(order, *_with_heavy_values_apart(picked))

    def number_of_each(self, keys: pa.Table) -> Integers:
        """Return for each row the number of its bucket. Buckets are numbered in order."""
        return count_at_or_below(keys, self.bounds, self.excluded)

    def is_constant(self, bucket: int) -> bool:
        """Whether all rows of the bucket compare equal."""
        return (
            0 < bucket < len(self.excluded) and bool(self.excluded[bucket]) and not self.excluded[bucket - 1]
        )


def _with_heavy_values_apart(picked: pa.Table) -> tuple[pa.Table, Flags]:
    """Return bounds from the picked keys. A key that was picked twice gets two bounds, because it fills a bucket alone.

    The second result is `Buckets.excluded`.
    """
    runs = _runs(picked)
    rows: list[int] = []
    excluded: list[bool] = []
    for start, length in runs:
        rows.append(start)
        excluded.append(False)
        if length > 1:
            rows.append(start)
            excluded.append(True)
    return picked.take(pa.array(rows, pa.int64())), np.array(excluded, dtype=bool)


def _runs(ordered: pa.Table) -> list[tuple[int, int]]:
    """Return the first row and the length of each run of equal rows."""
    if ordered.num_rows == 0:
        return []
    rows = ordered.to_pylist()
    starts = [0, *(i for i in range(1, len(rows)) if not _same(rows[i], rows[i - 1]))]
    return [(start, stop - start) for start, stop in zip(starts, [*starts[1:], len(rows)], strict=True)]


def _same(one: dict[str, object], other: dict[str, object]) -> bool:
    return all(a == b or (a != a and b != b) for a, b in zip(one.values(), other.values(), strict=True))


@dataclass(frozen=True, slots=True)
class BucketRun:
    """The rows of one bucket in one staged file."""

    bucket: int
    batch: StagedBatch


@dataclass(frozen=True, slots=True)
class Distributed:
    """Result of distributing the rows of some input files."""

    index: int
    runs: tuple[BucketRun, ...]
    read: KeyChecksum
    footer_rows: int
    ranges: tuple[RowGroupRange, ...]
    skipped: frozenset[tuple[str, int]]


def distribute(job: RewriteJob, task: GroupTask, buckets: Buckets, staged_path: str) -> Distributed:
    """Write the rows of the task's inputs into a staged file in which each batch belongs to one bucket."""
    source = Input(job, task.inputs)
    writer: StagedFileWriter | None = None
    runs: list[BucketRun] = []
    for table in _gathered(source.rows(), job.task_memory_bytes // 4):
        numbers = buckets.number_of_each(buckets.order.keys(table))
        indices = np.argsort(numbers, kind="stable")
        ordered = table.take(pa.array(indices)).combine_chunks()
        writer = writer or StagedFileWriter(job.storage, staged_path, ordered.schema)
        found, starts = np.unique(numbers[indices], return_index=True)
        for bucket, start, stop in zip(found, starts, [*starts[1:], len(indices)], strict=True):
            for batch in ordered.slice(start, stop - start).to_batches(_CHUNK_ROWS):
                writer.write(batch, task.partition_path)
                runs.append(BucketRun(int(bucket), writer.batches[-1]))
    if writer is not None:
        writer.close()
    return Distributed(
        task.index,
        tuple(runs),
        source.checksum,
        source.footer_rows,
        tuple(source.ranges),
        frozenset(source.skipped),
    )


def _gathered(tables: Iterator[pa.Table], size_bytes: int) -> Iterator[pa.Table]:
    """Combine the tables into tables of about `size_bytes`."""
    pending: list[pa.Table] = []
    pending_bytes = 0
    for table in tables:
        pending.append(table)
        pending_bytes += table.nbytes
        if pending_bytes >= size_bytes:
            yield pa.concat_tables(pending).combine_chunks()
            pending, pending_bytes = [], 0
    if pending:
        yield pa.concat_tables(pending).combine_chunks()


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputTask:
    """One output file of an exchanged group.

    Attributes:
        group: the group, with the id of this file only.
        runs: runs of the buckets that contain the file's rows, in order of the buckets.
        first_row, stop_row: range of the file's rows among the ordered rows of these buckets; `stop_row` is exclusive.
    """

    group: GroupTask
    buckets: Buckets
    runs: tuple[BucketRun, ...]
    first_row: int
    stop_row: int


def output_tasks(group: GroupTask, buckets: Buckets, distributed: Sequence[Distributed]) -> list[OutputTask]:
    """Return one task per output file, with the runs that contain its rows.

    The row counts of the output files differ by at most one.
    """
    runs = sorted((run for each in distributed for run in each.runs), key=lambda run: run.bucket)
    total = sum(run.batch.row_count for run in runs)
    tasks = []
    for index, (start, stop) in enumerate(divide_evenly(total, len(group.file_ids))):
        part = replace(
            group, file_ids=(group.file_ids[index],), first_number=group.first_number + index, inputs=()
        )
        needed, skipped = _overlapping(runs, start, stop)
        tasks.append(
            OutputTask(
                group=part,
                buckets=buckets,
                runs=needed,
                first_row=start - skipped,
                stop_row=stop - skipped,
            )
        )
    return tasks


def _overlapping(runs: Sequence[BucketRun], start: int, stop: int) -> tuple[tuple[BucketRun, ...], int]:
    """Return the runs of the buckets with the rows `start` to `stop`, and the number of rows before these buckets."""
    sizes: dict[int, int] = {}
    for run in runs:
        sizes[run.bucket] = sizes.get(run.bucket, 0) + run.batch.row_count
    needed: set[int] = set()
    skipped = position = 0
    for bucket, rows in sizes.items():
        if position + rows <= start:
            skipped += rows
        elif position < stop:
            needed.add(bucket)
        position += rows
    return tuple(run for run in runs if run.bucket in needed), skipped


def write_share(job: RewriteJob, task: OutputTask) -> GroupOutcome:
    """Write one output file of an exchanged group."""
    written = write_output(
        job, task.group, 0, _between(_ordered_rows(job, task), task.first_row, task.stop_row)
    )
    return outcome_of(task.group, written, KeyChecksum(), 0)


def _ordered_rows(job: RewriteJob, task: OutputTask) -> Iterator[pa.Table]:
    reader = StagedReader(job.storage)
    for bucket in dict.fromkeys(run.bucket for run in task.runs):
        batches = (reader.read(run.batch) for run in task.runs if run.bucket == bucket)
        if task.buckets.is_constant(bucket):
            yield from (pa.Table.from_batches([batch]) for batch in batches)
            continue
        table = pa.Table.from_batches(list(batches)).combine_chunks()
        order = task.buckets.order.indices(table)
        for start in range(0, len(order), _CHUNK_ROWS):
            yield table.take(order.slice(start, _CHUNK_ROWS))
    reader.close()


def _between(tables: Iterator[pa.Table], start: int, stop: int) -> Iterator[pa.Table]:
    position = 0
    for table in tables:
        low, high = max(start - position, 0), min(stop - position, table.num_rows)
        if low < high:
            yield table.slice(low, high - low)
        position += table.num_rows
        if position >= stop:
            return
