"""Find incoming rows that equal the stored row with their key, so that a write can leave them out.

One Spark task for each file group reads the row groups that contain keys of the batch. Its memory is bounded by the
incoming rows of the file group and a batch of stored rows.
"""

import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudi_table_services.contract.text import counted
from hudi_table_services.execution.arrow_schema import conform
from hudi_table_services.execution.base_file_reader import column_names, open_base_file, rows_per_batch
from hudi_table_services.execution.numpy_types import Flags, Integers
from hudi_table_services.execution.spark_tasks import run_tasks
from hudi_table_services.execution.staging import (
    BASE_ROW_COLUMN,
    CHANGE_COLUMN,
    StagedBatch,
    StagedFileWriter,
    StagedReader,
)
from hudi_table_services.execution.task_groups import BYTES_OF_A_FILE
from hudi_table_services.execution.writing.merging import Change, without_flags
from hudi_table_services.execution.writing.record_index import RoutedBatch
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.storage.stores.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareTask:
    """The changes of one file group.

    Attributes:
        folder: staging folder for the rows that are not equal.
        data_schema: Arrow schema of the user's columns in the writer schema.
        current: slice that contains the stored rows.
        changes: staged batches with rows that change this file group.
    """

    storage: Storage
    folder: str
    data_schema: pa.Schema
    current: FileSlice
    changes: tuple[StagedBatch, ...]


@dataclass(frozen=True, slots=True)
class ComparedRows:
    """The changes that remain, and the number of rows that were left out."""

    batches: tuple[StagedBatch, ...]
    unchanged_count: int


def without_unchanged(
    spark: "SparkSession",
    storage: Storage,
    folder: str,
    data_schema: pa.Schema,
    routed: RoutedBatch,
    slices: Mapping[FileGroupId, FileSlice],
) -> RoutedBatch:
    """Leave out the updates whose values are already stored.

    Args:
        folder: staging folder.
        data_schema: Arrow schema of the user's columns in the writer schema.
        slices: newest slices of the file groups that the batch changes.

    Raises:
        HudiTableServiceError: see `run_tasks`.
    """
    changes: dict[FileGroupId, list[StagedBatch]] = defaultdict(list)
    for batch in routed.batches:
        if batch.file_id is not None:
            changes[FileGroupId(batch.partition_path, batch.file_id)].append(batch)
    tasks = [
        CompareTask(
            storage=storage,
            folder=folder,
            data_schema=data_schema,
            current=slices[group],
            changes=tuple(batches),
        )
        for group, batches in changes.items()
    ]
    compared = run_tasks(
        spark,
        tasks,
        compare,
        description=f"Compare rows with {counted(len(tasks), 'file group')}",
        weights=[task.current.size_bytes + BYTES_OF_A_FILE for task in tasks],
        measure=lambda found: (sum(batch.row_count for batch in found.batches), 0),
    )
    inserts = tuple(batch for batch in routed.batches if batch.file_id is None)
    return replace(
        routed,
        batches=(*(batch for found in compared for batch in found.batches), *inserts),
        unchanged_count=sum(found.unchanged_count for found in compared),
    )


def compare(task: CompareTask) -> ComparedRows:
    """Compare the changes of one file group with its base file, on an executor."""
    base_file, path = task.current.base_file, task.current.base_file_path
    if base_file is None or path is None or task.current.log_files:
        # With log files, the base file does not always contain the current version of a row.
        return ComparedRows(task.changes, 0)
    reader = StagedReader(task.storage)
    incoming = pa.Table.from_batches([reader.read(batch) for batch in task.changes])
    reader.close()
    order = np.argsort(incoming[BASE_ROW_COLUMN].to_numpy(), kind="stable")
    incoming = incoming.take(pa.array(order)).combine_chunks()
    base_rows = incoming[BASE_ROW_COLUMN].to_numpy()
    with open_base_file(task.storage, path, base_file.size_bytes) as file:
        equal = _equal_rows(file, task.data_schema, incoming, base_rows)
    kinds = incoming[CHANGE_COLUMN].to_numpy()
    # Keep rows whose change has a flag, such as `DELETED_ELSEWHERE`: such a row also deletes a row in another
    # partition, or no stored row has its key. If several rows change one stored row, keep them all, because the last
    # row wins.
    unchanged = equal & (kinds == Change.UPDATE) & _occurs_once(base_rows)
    if not unchanged.any():
        return ComparedRows(task.changes, 0)
    kept = incoming.filter(pa.array(~unchanged)).combine_chunks()
    return ComparedRows(_staged(task, kept), int(unchanged.sum()))


def _occurs_once(base_rows: Integers) -> Flags:
    """Return the mask of the sorted numbers that occur once."""
    same = base_rows[1:] == base_rows[:-1]
    occurs_once: Flags = ~(np.append(same, False) | np.append(False, same))
    return occurs_once


def _staged(task: CompareTask, kept: pa.Table) -> tuple[StagedBatch, ...]:
    if not kept.num_rows:
        return ()
    writer = StagedFileWriter(task.storage, f"{task.folder}/changed-{uuid.uuid4().hex}.arrow", kept.schema)
    group = task.current.file_group_id
    for batch in kept.to_batches():
        deletes = int((without_flags(batch.column(CHANGE_COLUMN).to_numpy()) != Change.UPDATE).sum())
        writer.write(batch, group.partition_path, group.file_id, deletes)
    writer.close()
    return tuple(writer.batches)


def _equal_rows(file: pq.ParquetFile, schema: pa.Schema, incoming: pa.Table, base_rows: Integers) -> Flags:
    """Return the mask of the incoming rows whose values equal those of the stored row."""
    equal = np.zeros(len(base_rows), dtype=bool)
    for start, stored in _row_groups(file, schema, base_rows):
        low, high = np.searchsorted(base_rows, [start, start + stored.num_rows])
        if low == high:
            continue
        theirs = stored.take(pa.array(base_rows[low:high] - start))
        ours = incoming.slice(low, high - low)
        same = np.ones(high - low, dtype=bool)
        for field in schema:
            same &= _equal_values(ours[field.name], theirs[field.name], same)
        equal[low:high] = same
    return equal


def _row_groups(
    file: pq.ParquetFile, schema: pa.Schema, base_rows: Integers
) -> Iterator[tuple[int, pa.Table]]:
    """Yield the row groups that contain one of `base_rows`, in parts: the number of the first row, and the rows."""
    present = column_names(file)
    columns = [name for name in schema.names if name in present]
    start = 0
    for number in range(file.metadata.num_row_groups):
        count = file.metadata.row_group(number).num_rows
        low, high = np.searchsorted(base_rows, [start, start + count])
        if low < high:
            first = start
            for batch in file.iter_batches(
                rows_per_batch(file), row_groups=[number], columns=columns, use_threads=False
            ):
                yield first, conform(pa.Table.from_batches([batch]), schema)
                first += batch.num_rows
        start += count


def _equal_values(ours: pa.ChunkedArray, theirs: pa.ChunkedArray, wanted: Flags) -> Flags:
    """Return the mask of the rows with equal values. Two nulls are equal, and two NaN are equal.

    Args:
        wanted: mask of the rows whose result is used.
    """
    if pa.types.is_nested(ours.type):
        # Arrow does not compare nested values. For Python, two NaN inside them differ, so the write keeps such a row.
        found = np.zeros(len(ours), dtype=bool)
        rows = np.flatnonzero(wanted)
        indices = pa.array(rows)
        pairs = zip(ours.take(indices).to_pylist(), theirs.take(indices).to_pylist(), strict=True)
        found[rows] = [left == right for left, right in pairs]
        return found
    same = pc.fill_null(pc.equal(ours, theirs), False)
    same = pc.or_(same, pc.and_(pc.is_null(ours), pc.is_null(theirs)))
    if pa.types.is_floating(ours.type):
        both_nan = pc.and_(pc.fill_null(pc.is_nan(ours), False), pc.fill_null(pc.is_nan(theirs), False))
        same = pc.or_(same, both_nan)
    mask: Flags = same.to_numpy()
    return mask
