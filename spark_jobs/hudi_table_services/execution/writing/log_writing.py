"""Write the changes of one file slice of a merge-on-read table into a new log file, in one Spark task.

The task reads only the incoming rows of the slice. It reads the base file and the other log files only if an index of
the metadata table needs the stored rows (`log_index_changes`). If the table has a bucket index, the log file also gets
the new rows of the slice's bucket, as in Hudi.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from hudi_table_services.contract.text import counted
from hudi_table_services.errors import InvalidDataError
from hudi_table_services.execution.base_file_writer import (
    COMMIT_TIME,
    FILE_NAME,
    PARTITION_PATH,
    RECORD_KEY,
    SEQUENCE_NUMBER,
    new_record_columns,
)
from hudi_table_services.execution.file_groups import (
    WriteJob,
    WriteTask,
    WrittenFileGroup,
    data_columns,
    write_file_group,
    write_token,
)
from hudi_table_services.execution.log_files.avro_encoder import encode_avro_block
from hudi_table_services.execution.log_files.delete_content import UNORDERED, DeleteOrdering, delete_contents
from hudi_table_services.execution.log_files.log_file_writer import LogFileSpec, write_log_file
from hudi_table_services.execution.log_files.parquet_data_block import encode_parquet_block
from hudi_table_services.execution.log_merging.row_versions import NewLog
from hudi_table_services.execution.log_merging.slice_reading import LogMerging
from hudi_table_services.execution.metadata_table.log_statistics import statistics_of_rows
from hudi_table_services.execution.numpy_types import Flags
from hudi_table_services.execution.staging import CHANGE_COLUMN, KEY_COLUMN, StagedReader
from hudi_table_services.execution.writing.log_index_changes import stage_log_changes
from hudi_table_services.execution.writing.merging import DELETED_BEFORE, Change, has_flag, without_flags
from hudi_table_services.hudi_format.log_blocks import BlockType
from hudi_table_services.hudi_format.ordering_values import OrderingValue
from hudi_table_services.model.data_file import LogFile
from hudi_table_services.model.file_group import LogTarget
from hudi_table_services.model.write_stat import WriteStat


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """How a write encodes log files.

    Attributes:
        merging: how readers merge the log files. In written rows, the ordering columns of its rule must not be null,
            because Hudi 0.15 fails on such rows.
        delete_ordering: ordering values of rows that are marked as deletes.
        data_block: `BlockType.AVRO_DATA` or `BlockType.PARQUET_DATA`.
        max_block_bytes: approximate limit of the size that the rows of one data block have in memory. Further rows go
            to the next block of the same file.
        has_record_stats: whether the write stat has the empty field ``recordsStats``, as in table version 6.
    """

    merging: LogMerging
    delete_ordering: DeleteOrdering = UNORDERED
    data_block: BlockType = BlockType.AVRO_DATA
    max_block_bytes: int = 256 << 20
    has_record_stats: bool = False


def write_bucket(job: WriteJob, logs: LogSettings | None, task: WriteTask) -> WrittenFileGroup:
    """Write a base file or, if the task names a log file, this log file. Runs on an executor.

    Args:
        logs: None if the table is copy-on-write.
    """
    if task.log is None or logs is None:
        return write_file_group(job, task)
    return write_slice_log(job, logs, task, task.log)


def write_slice_log(job: WriteJob, logs: LogSettings, task: WriteTask, target: LogTarget) -> WrittenFileGroup:
    """Write the changes of a slice into its new log file.

    Raises:
        InvalidDataError: the ordering value of a row is null, or the ordering value of a delete cannot be stored.
        InstantVanishedError: see `write_log_file`.
    """
    started = time.monotonic()
    incoming = _incoming(job, task)
    flags = incoming[CHANGE_COLUMN].to_numpy()
    inserted = task.insert_count + int(
        (has_flag(flags, DELETED_BEFORE) & (without_flags(flags) == Change.UPDATE)).sum()
    )
    rows, deleted_keys, ordering = _changes(job, logs, task, incoming)
    deletes = delete_contents(deleted_keys, task.partition_path, ordering)
    staged = stage_log_changes(job, task, logs.merging, incoming, NewLog(rows, deletes))
    spec = LogFileSpec(
        log_file=LogFile(
            file_id=task.file_id,
            instant_time=target.instant_time,
            version=target.version,
            write_token=str(write_token(task.number)),
        ),
        partition_path=task.partition_path,
        instant_time=job.instant_time,
        schema=job.avro_schema_json,
    )
    blocks = [(logs.data_block, content) for content in _data_contents(job, logs, rows)]
    size = write_log_file(job.storage, spec, [*blocks, *((BlockType.DELETE, each) for each in deletes)])
    stat = WriteStat(
        file_id=task.file_id,
        partition_path=task.partition_path,
        path=spec.path,
        prev_commit=target.previous_commit,
        num_writes=rows.num_rows,
        num_inserts=inserted,
        num_update_writes=rows.num_rows - inserted,
        num_deletes=len(deleted_keys),
        file_size_bytes=size,
        total_upsert_time_ms=int((time.monotonic() - started) * 1000),
        extra=_log_fields(spec.log_file, logs, target),
    )
    statistics = None
    if job.statistics_columns:
        statistics = statistics_of_rows(
            task.partition_path, spec.log_file.file_name, [rows], job.statistics_columns
        )
    return WrittenFileGroup(
        stat=stat,
        older_incoming_count=0,
        data_size_bytes=0,
        statistics=statistics,
        keys=staged.keys,
        secondary=staged.secondary,
        keys_depend_on_compaction=staged.depends_on_compaction,
    )


def _log_fields(log_file: LogFile, logs: LogSettings, target: LogTarget) -> dict[str, object]:
    """Return the fields that only the write stats of log files have (HoodieDeltaWriteStat)."""
    fields: dict[str, object] = {
        "logVersion": log_file.version,
        "logOffset": 0,
        "baseFile": target.base_file_name,
        "logFiles": [*target.earlier_logs, log_file.file_name],
    }
    return {**fields, "recordsStats": {"val": None}} if logs.has_record_stats else fields


def _incoming(job: WriteJob, task: WriteTask) -> pa.Table:
    """Return the staged changes of the slice, and its new rows."""
    reader = StagedReader(job.storage)
    changes = [reader.read(batch) for batch in task.changes]
    table = pa.Table.from_batches([*changes, *reader.iter_rows(task.inserts)])
    reader.close()
    return table


def _changes(
    job: WriteJob, logs: LogSettings, task: WriteTask, table: pa.Table
) -> tuple[pa.Table, list[str], list[OrderingValue]]:
    """Return the rows for data blocks with their meta columns, and the keys of deletes with their ordering values."""
    kinds = without_flags(table[CHANGE_COLUMN].to_numpy())
    soft, hard = _where(table, kinds == Change.DELETE), _where(table, kinds == Change.DELETE_ALWAYS)
    keys: list[str] = [*soft[KEY_COLUMN].to_pylist(), *hard[KEY_COLUMN].to_pylist()]
    ordering = [*logs.delete_ordering.values(soft), *UNORDERED.values(hard)]
    updates = _where(table, kinds == Change.UPDATE)
    # The batch of a delete may lack the ordering columns.
    for name in logs.merging.rule.ordering_fields if updates.num_rows else ():
        if updates[name].null_count:
            raise InvalidDataError(
                f"The ordering column {name!r} is null in {counted(updates[name].null_count, 'update')} of the file "
                f"group {task.file_id}. Readers cannot compare such rows in log files.",
                hint="Remove these rows, or fill the column in the source query.",
            )
    return _records(job, task, updates), keys, ordering


def _where(table: pa.Table, mask: Flags) -> pa.Table:
    return table.filter(pa.array(mask))


def _records(job: WriteJob, task: WriteTask, rows: pa.Table) -> pa.Table:
    """Return the rows as a data block stores them. As in Hudi, the column of the file name contains the file id."""
    count = rows.num_rows
    commit_time, sequence = new_record_columns(rows, job.instant_time, str(task.number), 0)
    columns = {
        COMMIT_TIME: commit_time,
        SEQUENCE_NUMBER: sequence,
        RECORD_KEY: rows[KEY_COLUMN],
        PARTITION_PATH: pa.repeat(pa.scalar(task.partition_path, pa.string()), count),
        FILE_NAME: pa.repeat(pa.scalar(task.file_id, pa.string()), count),
    }
    fields = [pa.field(name, pa.string()) for name in columns]
    schema = pa.schema([*fields, *job.data_schema])
    return pa.Table.from_arrays([*columns.values(), *data_columns(job, rows)], schema=schema)


def _data_contents(job: WriteJob, logs: LogSettings, rows: pa.Table) -> Iterator[bytes]:
    if not rows.num_rows:
        return
    bytes_per_row = max(1, rows.nbytes // rows.num_rows)
    rows_per_block = max(1, logs.max_block_bytes // bytes_per_row)
    for first in range(0, rows.num_rows, rows_per_block):
        part = rows.slice(first, rows_per_block)
        if logs.data_block is BlockType.PARQUET_DATA:
            yield encode_parquet_block(part, job.avro_schema_json, job.parquet)
        else:
            yield encode_avro_block(part, job.avro_schema_json)
