"""Stage how a new log file of a slice changes the record index and the secondary indexes of the metadata table.

As in Hudi, an update changes no entry of the record index, a delete removes the entry, and a row whose key an earlier
log file has deleted gets an entry again. A delete with an ordering value can lose against the stored row; the entry of
this row must then stay. Therefore, if the incoming rows alone do not determine the changes, the module compares the
rows before and after the log file.

A late row loses if an earlier log file has deleted its key. But if a pending compaction merges this delete into the
base file, the row wins as soon as the compaction completes. The index would then need another entry, but compactions
change no index. The module reports such a case (`StagedRowChanges.depends_on_compaction`).
"""

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from hudi_table_services.execution.base_file_writer import RECORD_KEY
from hudi_table_services.execution.file_groups import WriteJob, WriteTask
from hudi_table_services.execution.log_merging.row_versions import NewLog, row_versions
from hudi_table_services.execution.log_merging.slice_reading import LogMerging
from hudi_table_services.execution.metadata_table.row_changes import RowChangeStager, StagedRowChanges
from hudi_table_services.execution.numpy_types import Flags
from hudi_table_services.execution.staging import CHANGE_COLUMN, KEY_COLUMN
from hudi_table_services.execution.writing.merging import (
    DELETED_BEFORE,
    DELETED_ELSEWHERE,
    NEW_KEY,
    Change,
    has_flag,
    without_flags,
)
from hudi_table_services.model.file_group import FileGroupId


def stage_log_changes(
    job: WriteJob, task: WriteTask, merging: LogMerging, incoming: pa.Table, new: NewLog
) -> StagedRowChanges:
    """Stage how the log file that the task is going to write changes the indexes. Without indexes, do nothing.

    The function reads the stored rows only if the incoming rows do not determine the changes. This is the case if the
    table has a secondary index, if a delete has an ordering value, or if an earlier log file has deleted the row of an
    update. It is also the case if a row with a new key is added to a slice with log files, because these log files can
    have a delete of the key with a larger ordering value.

    Args:
        incoming: the staged changes of the slice.
        new: content of the log file.

    Raises:
        MalformedMetadataError, UnsupportedTableError, InvalidDataError, ObjectNotFoundError: see `row_versions`.
    """
    if task.current is None or (job.key_staging is None and not job.secondary):
        return StagedRowChanges()
    flagged = incoming[CHANGE_COLUMN].to_numpy()
    kinds, was_deleted = without_flags(flagged), has_flag(flagged, DELETED_BEFORE)
    deleted_elsewhere = _keys(incoming, has_flag(flagged, DELETED_ELSEWHERE))
    is_new = has_flag(flagged, NEW_KEY)
    is_uncertain = (kinds == Change.DELETE) | ((kinds == Change.UPDATE) & was_deleted)
    if task.current.log_files:
        is_uncertain |= is_new
    group = FileGroupId(task.partition_path, task.file_id)
    with RowChangeStager(job.storage, job.key_staging, job.secondary, group) as stager:
        depends_on_compaction = False
        if job.secondary or is_uncertain.any():
            reading = merging.reading(job.data_schema, stager.columns)
            keys = pc.unique(incoming[KEY_COLUMN])
            found = row_versions(job.storage, task.current, reading, keys, new)
            stager.replaced(found.before, found.after)
            depends_on_compaction = stager.differ(found.after, found.after_compaction)
            is_kept = pc.is_in(found.after[RECORD_KEY], value_set=deleted_elsewhere.combine_chunks())
            stager.inserted(found.after.filter(is_kept))
        else:
            gone = _keys(incoming, (kinds == Change.DELETE_ALWAYS) & ~was_deleted)
            stager.deleted(pa.table({RECORD_KEY: gone}))
            added = pa.chunked_array(
                [*deleted_elsewhere.chunks, *_keys(incoming, is_new).chunks], pa.string()
            )
            stager.inserted(pa.table({RECORD_KEY: added}))
        return replace(stager.close(), depends_on_compaction=depends_on_compaction)


def _keys(incoming: pa.Table, mask: Flags) -> pa.ChunkedArray:
    return incoming[KEY_COLUMN].filter(pa.array(mask))
