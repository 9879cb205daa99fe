"""Write file groups. One Spark task per file group merges its changes, appends its inserts and returns a write stat."""

import logging
import time
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hudi_table_services.errors import MalformedMetadataError, ObjectExistsError, UnsupportedTableError
from hudi_table_services.execution.base_file_reader import open_base_file, rows_of, rows_of_row_group
from hudi_table_services.execution.base_file_writer import (
    COMMIT_TIME,
    RECORD_KEY,
    SEQUENCE_NUMBER,
    BaseFileSpec,
    BaseFileWriter,
    BloomSettings,
    new_record_columns,
)
from hudi_table_services.execution.metadata_table.row_changes import (
    RowChangeStager,
    SecondaryStaging,
    StagedSecondaryKeys,
)
from hudi_table_services.execution.metadata_table.staged_keys import KeyStaging, StagedKeys
from hudi_table_services.execution.parquet_format import ParquetFormat
from hudi_table_services.execution.row_group_copies.encoded_row_groups import open_encoded
from hudi_table_services.execution.row_group_copies.row_group_choice import StoredRowGroup, row_groups_to_copy
from hudi_table_services.execution.running_commit import require_running
from hudi_table_services.execution.staging import (
    BASE_ROW_COLUMN,
    CHANGE_COLUMN,
    KEY_COLUMN,
    StagedBatch,
    StagedReader,
    StagedRows,
)
from hudi_table_services.execution.writing.merging import MergeCounts, Merger
from hudi_table_services.hudi_format.bucket_ids import has_bucket_ids
from hudi_table_services.hudi_format.markers import MarkerKind
from hudi_table_services.hudi_format.partition_metadata import (
    PARTITION_METAFILE,
    encode_partition_metadata,
)
from hudi_table_services.model.data_file import BaseFile, WriteToken
from hudi_table_services.model.file_group import FileGroupId, FileSlice, LogTarget
from hudi_table_services.model.metadata_table import FileStatistics
from hudi_table_services.model.write_stat import NEW_FILE_GROUP, WriteStat
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.stores.storage import Storage

_LOG = logging.getLogger(__name__)
_ARROW_WRITER = "parquet-cpp-arrow"
"""Beginning of the name of the writer in footers that pyarrow writes. Footers of other writers have other schemas."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteJob:
    """Settings shared by all tasks of one commit.

    Attributes:
        instant_time: requested time of the commit.
        data_schema: Arrow schema of the user's columns in the writer schema.
        avro_schema_json: writer schema with meta fields, for footers.
        ordering_fields: columns that a merge compares if event time determines which row wins; empty if incoming rows
            always win.
        statistics_columns: columns whose statistics the tasks collect; a dotted path for a member of a struct.
        key_staging: where the tasks stage the keys that they insert and delete; None if these keys are not wanted.
        secondary: where the tasks stage keys of secondary indexes.
        small_row_group_bytes: see `row_group_copies.row_group_choice`.
    """

    storage: Storage
    instant_time: str
    data_schema: pa.Schema
    avro_schema_json: str
    parquet: ParquetFormat
    bloom: BloomSettings
    ordering_fields: tuple[str, ...] = ()
    statistics_columns: tuple[str, ...] = ()
    key_staging: KeyStaging | None = None
    secondary: tuple[SecondaryStaging, ...] = ()
    small_row_group_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteTask:
    """One file group to write.

    Attributes:
        number: position of the task in the commit; part of sequence numbers.
        current: slice to merge with; None for a new file group.
        inserts: staged rows to append, in order.
        changes: staged batches with rows that change this file group.
        expected_bytes: size of the file according to the plan.
        log: the log file that gets the changes; None if the task writes a base file.
    """

    number: int
    partition_path: str
    file_id: str
    current: FileSlice | None
    inserts: tuple[StagedRows, ...] = ()
    changes: tuple[StagedBatch, ...] = ()
    expected_bytes: int = 0
    log: LogTarget | None = None

    @property
    def insert_count(self) -> int:
        return sum(run.row_count for run in self.inserts)


@dataclass(frozen=True, slots=True)
class WrittenFileGroup:
    """Outcome of a task.

    Attributes:
        older_incoming_count: number of incoming rows that were dropped because the stored row has a larger ordering
            value.
        data_size_bytes: bytes of the file without its footer.
        statistics: None if the job names no columns.
        keys: keys that the file group did not have before, and keys that it no longer has; None if there are no such
            keys, or if the job stages no keys.
        secondary: changed entries of the secondary indexes that the job names.
        keys_depend_on_compaction: see `StagedRowChanges.depends_on_compaction`.
    """

    stat: WriteStat
    older_incoming_count: int
    data_size_bytes: int
    statistics: FileStatistics | None = None
    keys: StagedKeys | None = None
    secondary: tuple[StagedSecondaryKeys, ...] = ()
    keys_depend_on_compaction: bool = False


def new_file_id() -> str:
    """Return a new file id ``<uuid>-0``. It has no underscore and no dot, because these separate parts of file names.

    The id does not begin like the id of an index bucket's file group. Otherwise, a write could refuse the table because
    it seems to have a bucket index; see `hudi_format.bucket_ids`.
    """
    file_id = ""
    while not file_id or has_bucket_ids([file_id]):
        file_id = f"{uuid.uuid4()}-0"
    return file_id


def write_file_group(job: WriteJob, task: WriteTask) -> WrittenFileGroup:
    """Write one file group, on an executor.

    A retry has its own write token, so it writes a new file. The job deletes the files of failed task attempts.

    Raises:
        UnsupportedTableError: the current slice has log files, whose rows would be lost.
    """
    if task.current is not None and task.current.log_files:
        raise UnsupportedTableError(
            f"The base file of {task.current.file_group_id} cannot be written again, because its slice has log files.",
            hint="Nothing was committed. Compact the table, then run the request again.",
        )
    started = time.monotonic()
    changes = _load_changes(job, task)
    base_file = BaseFile(
        file_id=task.file_id, write_token=str(write_token(task.number)), instant_time=job.instant_time
    )
    ensure_partition_metadata(job.storage, job.instant_time, task.partition_path)
    group_id = FileGroupId(task.partition_path, task.file_id)
    with (
        _open_current(job.storage, task.current) as current,
        RowChangeStager(job.storage, job.key_staging, job.secondary, group_id) as stager,
    ):
        spec = BaseFileSpec(
            base_file=base_file,
            partition_path=task.partition_path,
            expected_rows=(current.metadata.num_rows if current else 0) + task.insert_count,
            data_schema=job.data_schema,
            avro_schema_json=job.avro_schema_json,
            marker_kind=MarkerKind.CREATE if task.current is None else MarkerKind.MERGE,
            statistics_columns=job.statistics_columns,
        )
        with BaseFileWriter(job.storage, spec, job.parquet, job.bloom) as writer:
            require_running(job.storage, spec)
            counts = _merge(job, task, current, changes, writer, stager)
            _append_inserts(job, task, 0 if changes is None else changes.num_rows, writer, stager)
        staged = stager.close()
        require_running(job.storage, spec)
    elapsed_ms = int((time.monotonic() - started) * 1000)
    stat = _stat(job, task, spec, writer, counts, elapsed_ms)
    return WrittenFileGroup(
        stat=stat,
        older_incoming_count=counts.kept_older_incoming,
        data_size_bytes=writer.data_size_bytes,
        statistics=writer.statistics,
        keys=staged.keys,
        secondary=staged.secondary,
    )


def _open_current(
    storage: Storage, current: FileSlice | None
) -> AbstractContextManager[pq.ParquetFile | None]:
    """Open the base file to merge with; None if the file group has no base file."""
    path = current.base_file_path if current else None
    if current is None or current.base_file is None or path is None:
        return nullcontext()
    return open_base_file(storage, path, current.base_file.size_bytes)


def _merge(
    job: WriteJob,
    task: WriteTask,
    current: pq.ParquetFile | None,
    changes: pa.Table | None,
    writer: BaseFileWriter,
    stager: RowChangeStager,
) -> MergeCounts:
    if current is None:
        return MergeCounts()
    merger = None
    if changes is not None:
        merger = Merger(changes, job.ordering_fields, stager)
    copied = _copy_row_groups(job, task, current, merger, writer)
    for rows in _rows_without(current, copied, job.data_schema, merger):
        writer.write(rows if merger is None else merger.apply(rows))
    return merger.counts if merger is not None else MergeCounts()


def _copy_row_groups(
    job: WriteJob, task: WriteTask, current: pq.ParquetFile, merger: Merger | None, writer: BaseFileWriter
) -> frozenset[int]:
    """Copy row groups that the task does not change, if that is possible and useful. Return their numbers."""
    metadata = current.metadata
    path = None if task.current is None else task.current.base_file_path
    if path is None or not metadata.created_by.startswith(_ARROW_WRITER):
        return frozenset()
    stored: list[StoredRowGroup] = []
    first = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        is_changed = merger is not None and merger.changes(first, group.num_rows)
        stored.append(StoredRowGroup(group.num_rows, group.total_byte_size, is_changed))
        first += group.num_rows
    numbers = row_groups_to_copy(stored, task.insert_count, job.small_row_group_bytes)
    if not numbers:
        return frozenset()
    with ExitStack() as stack:
        try:
            source = stack.enter_context(open_encoded(job.storage, path))
        except MalformedMetadataError as error:
            _LOG.info("All rows of %s are decoded: its row groups cannot be copied (%s)", path, error.message)
            return frozenset()
        return writer.copy(current, source, numbers)


def _rows_without(
    current: pq.ParquetFile, copied: frozenset[int], data_schema: pa.Schema, merger: Merger | None
) -> Iterator[pa.Table]:
    """Yield the rows of the other row groups, in file order. The merger skips the copied row groups."""
    if not copied:
        yield from rows_of(current, data_schema)
        return
    for number in range(current.metadata.num_row_groups):
        if number not in copied:
            yield from rows_of_row_group(current, number, data_schema)
        elif merger is not None:
            merger.skip(current.metadata.row_group(number).num_rows)


def _append_inserts(
    job: WriteJob, task: WriteTask, first_sequence: int, writer: BaseFileWriter, stager: RowChangeStager
) -> None:
    reader = StagedReader(job.storage)
    sequence = first_sequence
    for batch in reader.iter_rows(task.inserts):
        rows = _as_records(job, task, pa.Table.from_batches([batch]), sequence)
        stager.inserted(rows)
        writer.write(rows)
        sequence += batch.num_rows
    reader.close()


def _load_changes(job: WriteJob, task: WriteTask) -> pa.Table | None:
    """Return the incoming rows of the file group with this commit's meta columns, in order of the changed base rows."""
    if not task.changes:
        return None
    reader = StagedReader(job.storage)
    table = pa.Table.from_batches([reader.read(batch) for batch in task.changes])
    reader.close()
    order = np.argsort(table[BASE_ROW_COLUMN].to_numpy(), kind="stable")
    table = table.take(pa.array(order)).combine_chunks()
    records = _as_records(job, task, table, 0)
    for name in (BASE_ROW_COLUMN, CHANGE_COLUMN):
        records = records.append_column(name, table[name])
    return records


def _as_records(job: WriteJob, task: WriteTask, rows: pa.Table, first_sequence: int) -> pa.Table:
    """Return the rows as this commit stores them: commit time, sequence number and key, then the user's columns."""
    commit_time, sequence = new_record_columns(rows, job.instant_time, str(task.number), first_sequence)
    columns = [commit_time, sequence, rows[KEY_COLUMN], *data_columns(job, rows)]
    meta = [pa.field(name, pa.string()) for name in (COMMIT_TIME, SEQUENCE_NUMBER, RECORD_KEY)]
    return pa.Table.from_arrays(columns, schema=pa.schema([*meta, *job.data_schema]))


def data_columns(job: WriteJob, rows: pa.Table) -> list[pa.ChunkedArray | pa.Array]:
    """Return the user's columns of staged rows, in the order of the writer schema."""
    present = set(rows.schema.names)
    return [
        # The staged rows of a delete have only the columns that a delete needs.
        rows[field.name] if field.name in present else pa.nulls(rows.num_rows, field.type)
        for field in job.data_schema
    ]


def ensure_partition_metadata(storage: Storage, instant_time: str, partition_path: str) -> None:
    """Create the partition's metadata file if it is missing. Hudi reads a partition without this file as empty."""
    path = f"{partition_path}/{PARTITION_METAFILE}" if partition_path else PARTITION_METAFILE
    if storage.exists(path):
        return
    depth = len(partition_path.split("/")) if partition_path else 0
    content = encode_partition_metadata(instant_time, depth, SystemClock().now())
    with suppress(ObjectExistsError):  # another task of the same partition created it first
        storage.create(path, content)


def write_token(number: int) -> WriteToken:
    """Return a write token. Every attempt of every task of one Spark application has a different write token."""
    from pyspark import TaskContext

    context = TaskContext.get()
    if context is None:
        return WriteToken(task_partition=number, stage=0, attempt=0)
    return WriteToken(task_partition=number, stage=context.stageId(), attempt=context.taskAttemptId())


def _stat(
    job: WriteJob,
    task: WriteTask,
    spec: BaseFileSpec,
    writer: BaseFileWriter,
    counts: MergeCounts,
    elapsed_ms: int,
) -> WriteStat:
    previous = task.current.base_file if task.current else None
    return WriteStat(
        file_id=task.file_id,
        partition_path=task.partition_path,
        path=spec.path,
        prev_commit=previous.instant_time if previous else NEW_FILE_GROUP,
        prev_base_file=previous.file_name if previous else None,
        num_writes=writer.row_count,
        num_inserts=task.insert_count,
        num_update_writes=counts.updated,
        num_deletes=counts.deleted,
        file_size_bytes=job.storage.size(spec.path),
        total_create_time_ms=0 if previous else elapsed_ms,
        total_upsert_time_ms=elapsed_ms if previous else 0,
    )
