"""Merge the log files of one file slice into a new base file.

A merged row keeps the meta columns of the winning version of the record, except for the file name, which is new. To
verify the new file, the module reads its keys back from storage. Their checksum must be that of the written keys, and
their number must be the number of rows that the merge expects.
"""

import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace

import pyarrow as pa

from hudi_table_services.contract.text import counted
from hudi_table_services.errors import CorruptTableError, ExecutionFailedError, ObjectNotFoundError
from hudi_table_services.execution.base_file_reader import keys_of, open_base_file
from hudi_table_services.execution.base_file_writer import (
    RECORD_KEY,
    BaseFileSpec,
    BaseFileWriter,
    BloomSettings,
)
from hudi_table_services.execution.clustering.key_checksum import KeyChecksum
from hudi_table_services.execution.compaction.finished_slices import (
    find_record,
    fingerprint_of,
    write_record,
)
from hudi_table_services.execution.file_groups import ensure_partition_metadata, write_token
from hudi_table_services.execution.log_merging.base_changes import ChangeCounts
from hudi_table_services.execution.log_merging.merged_slice import (
    MergedSlice,
    open_merged_slice,
)
from hudi_table_services.execution.log_merging.slice_reading import LogMerging
from hudi_table_services.execution.parquet_format import ParquetFormat
from hudi_table_services.execution.running_commit import require_running
from hudi_table_services.hudi_format.markers import MarkerKind
from hudi_table_services.model.data_file import BaseFile, WriteToken
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.metadata_table import FileStatistics
from hudi_table_services.model.write_stat import NEW_FILE_GROUP, WriteStat
from hudi_table_services.storage.log_files.slice_log import SliceLog, read_slice_log
from hudi_table_services.storage.stores.paths import file_name
from hudi_table_services.storage.stores.storage import Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionJob:
    """Settings shared by all tasks of one execution.

    Attributes:
        instant_time: requested time of the compaction.
        attempt: owner of the heartbeat; a task deletes its file if this attempt has lost the heartbeat.
        merging: how log files are merged, including the memory of a merge.
        data_schema: Arrow schema of the user's columns in the table's current schema.
        avro_schema_json: the same schema with meta fields, for footers.
        records_folder: folder of the records of finished slices, which the next attempt reads.
        names_previous_file: whether write stats contain the name of the previous base file (table version 8 and later).
        statistics_columns: columns whose statistics the tasks collect; a dotted path for a member of a struct.
    """

    storage: Storage
    instant_time: str
    attempt: str
    merging: LogMerging
    data_schema: pa.Schema
    avro_schema_json: str
    parquet: ParquetFormat
    bloom: BloomSettings
    records_folder: str
    names_previous_file: bool
    statistics_columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceTask:
    """One operation of the plan.

    Attributes:
        number: number of the operation in the plan; part of the write token.
        file_slice: exactly the base file and the log files of the operation, with their sizes.
    """

    number: int
    file_slice: FileSlice

    @property
    def log_bytes(self) -> int:
        return sum(max(log.size_bytes, 0) for log in self.file_slice.log_files)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactedSlice:
    """Result of merging one file slice: a new base file, or the file of an earlier attempt.

    Attributes:
        number: as in `SliceTask`.
        statistics: None if the job names no columns, or if the file is reused.
        is_reused: whether an earlier attempt wrote the file.
        spills: whether the merge used temporary files.
        skipped: see `SliceLog.skipped`.
    """

    number: int
    stat: WriteStat
    statistics: FileStatistics | None = None
    is_reused: bool = False
    spills: bool = False
    skipped: tuple[tuple[str, int], ...] = ()


def compact_slice(job: CompactionJob, task: SliceTask) -> CompactedSlice:
    """Merge one slice, on an executor. If an earlier attempt completed the same merge, use the file of that attempt.

    Raises:
        MalformedMetadataError, CorruptTableError: a log file is damaged.
        UnsupportedTableError: a log file has a block or a column that this release cannot merge.
        InvalidDataError, InvalidRequestError: a value does not fit the type of its column in the table.
        ExecutionFailedError: the new file does not have the expected rows.
        InstantVanishedError: another attempt owns the plan now.
        StorageError: a file cannot be read or written.
    """
    log = read_slice_log(job.storage, task.file_slice, job.merging.visibility)
    fingerprint = _fingerprint(job, task, log)
    earlier = _earlier(job, task, fingerprint)
    if earlier is not None:
        return CompactedSlice(number=task.number, stat=earlier, is_reused=True, skipped=log.skipped)
    written = _merge(job, task, log)
    write_record(job.storage, job.records_folder, written.stat, fingerprint)
    return written


def _fingerprint(job: CompactionJob, task: SliceTask, log: SliceLog) -> str:
    base = task.file_slice.base_file
    return fingerprint_of(
        (
            job.instant_time,
            str(task.file_slice.file_group_id),
            "" if base is None else base.file_name,
            *(log_file.file_name for log_file in task.file_slice.log_files),
            *((block.path, block.position, block.instant_time) for block in log.blocks),
            job.merging.rule,
            job.avro_schema_json,
        )
    )


def _earlier(job: CompactionJob, task: SliceTask, fingerprint: str) -> WriteStat | None:
    """Return the write stat of a file that an earlier attempt completed; None if there is no such intact file."""
    group = task.file_slice.file_group_id
    stat = find_record(job.storage, job.records_folder, group, fingerprint)
    if stat is None or not job.storage.exists(stat.path):
        return None
    base = BaseFile.from_file_name(file_name(stat.path))
    is_own = (base.file_id, base.instant_time, stat.file_id) == (
        group.file_id,
        job.instant_time,
        group.file_id,
    )
    if not is_own or job.storage.size(stat.path) != stat.file_size_bytes:
        return None
    try:
        with open_base_file(job.storage, stat.path, stat.file_size_bytes) as file:
            return stat if file.metadata.num_rows == stat.num_writes else None
    except (CorruptTableError, ObjectNotFoundError):
        return None  # the file is damaged, or has been deleted since the function found it


def _merge(job: CompactionJob, task: SliceTask, log: SliceLog) -> CompactedSlice:
    started = time.monotonic()
    with open_merged_slice(job.storage, task.file_slice, job.merging, job.data_schema, log) as merged:
        spec, writer = _write(job, task, merged.rows(), merged.row_count)
        stat = _stat(job, task, spec, writer.row_count, merged.changes.counts)
        scan_ms, spills = merged.scan_ms, merged.spills
    merge_ms = int((time.monotonic() - started) * 1000) - scan_ms
    has_base = task.file_slice.base_file is not None
    stat = replace(
        stat,
        total_scan_time_ms=scan_ms,
        total_upsert_time_ms=merge_ms if has_base else 0,
        total_create_time_ms=0 if has_base else merge_ms,
        extra=_log_facts(job, task, merged),
    )
    return CompactedSlice(
        number=task.number,
        stat=stat,
        statistics=writer.statistics,
        spills=spills,
        skipped=log.skipped,
    )


def _write(
    job: CompactionJob, task: SliceTask, rows: Iterable[pa.Table], expected: int
) -> tuple[BaseFileSpec, BaseFileWriter]:
    """Write the merged rows into a new base file, and read its keys back. If no row is left, the file has no rows."""
    group, base = task.file_slice.file_group_id, task.file_slice.base_file
    spec = BaseFileSpec(
        base_file=BaseFile(
            file_id=group.file_id, write_token=str(_unique_token(task)), instant_time=job.instant_time
        ),
        partition_path=group.partition_path,
        expected_rows=expected,
        data_schema=job.data_schema,
        avro_schema_json=job.avro_schema_json,
        marker_kind=MarkerKind.CREATE if base is None else MarkerKind.MERGE,
        statistics_columns=job.statistics_columns,
    )
    ensure_partition_metadata(job.storage, job.instant_time, group.partition_path)
    checksum = KeyChecksum()
    with BaseFileWriter(job.storage, spec, job.parquet, job.bloom) as writer:
        require_running(job.storage, spec, job.attempt)
        for table in rows:
            checksum += KeyChecksum.of(table[RECORD_KEY])
            writer.write(table)
    require_running(job.storage, spec, job.attempt)
    _check(job, spec, checksum, expected)
    return spec, writer


def _unique_token(task: SliceTask) -> WriteToken:
    """Return a write token that no other try of a task has, in any attempt.

    All attempts use the same file id and instant, and a new Spark application counts its stages and its tasks from 0
    again. With equal names, a late task of a dead attempt could overwrite or delete a committed base file. So the stage
    is a random number; Hudi parses it as a Java int (FSUtils, Hudi 1.2).
    """
    return replace(write_token(task.number), stage=secrets.randbits(31))


def _check(job: CompactionJob, spec: BaseFileSpec, written: KeyChecksum, expected: int) -> None:
    with open_base_file(job.storage, spec.path, job.storage.size(spec.path)) as file:
        stored = sum((KeyChecksum.of(keys) for keys in keys_of(file)), KeyChecksum())
    if stored != written or written.rows != expected:
        raise ExecutionFailedError(
            f"{spec.path} has {counted(stored.rows, 'row')} with the key checksum {stored.hash_sum:x}, but the "
            f"merge of its file slice has {counted(expected, 'row')}, of which {written.rows} with the key checksum "
            f"{written.hash_sum:x} were written.",
            hint="Nothing was committed; the table is unchanged. Run the job again. If it fails again, send this "
            "message and the log of the job to the maintainers of this project.",
        )


def _stat(
    job: CompactionJob, task: SliceTask, spec: BaseFileSpec, rows: int, counts: ChangeCounts
) -> WriteStat:
    base = task.file_slice.base_file
    return WriteStat(
        file_id=task.file_slice.file_group_id.file_id,
        partition_path=spec.partition_path,
        path=spec.path,
        prev_commit=NEW_FILE_GROUP if base is None else task.file_slice.base_instant_time,
        prev_base_file=base.file_name if base is not None and job.names_previous_file else None,
        num_writes=rows,
        num_inserts=counts.appended,
        num_update_writes=counts.replaced,
        num_deletes=counts.deleted,
        file_size_bytes=job.storage.size(spec.path),
    )


def _log_facts(job: CompactionJob, task: SliceTask, merged: MergedSlice) -> dict[str, object]:
    """Return the write stat's fields about the log files, with Hudi's names (HoodieCompactor, HoodieWriteStat).

    Leave out fields that are 0.
    """
    facts = {
        "totalLogRecords": merged.blocks.record_count,
        "totalUpdatedRecordsCompacted": merged.changes.key_count,
        "totalLogBlocks": len(merged.log.blocks),
        "totalLogFilesCompacted": len(task.file_slice.log_files),
        "totalLogSizeCompacted": task.log_bytes,
        "totalCorruptLogBlock": len(merged.log.incomplete),
        **({"totalLogReadTimeMs": merged.scan_ms} if job.names_previous_file else {}),
    }
    return {name: value for name, value in facts.items() if value}
