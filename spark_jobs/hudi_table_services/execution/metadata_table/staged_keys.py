"""Stage the record keys that a commit adds to file groups or deletes from them, for the record index.

Each task writes its keys into a file of the job's staging folder, and returns only the path and counts. If the tasks
returned the keys themselves, the driver would need memory for all keys, and Spark limits the size of results. The
staged rows of the input cannot replace these files, because the staged rows lack the keys that a merge deletes, and
because a clustering can run without staged rows.

A staged file is an Arrow IPC file. Each of its record batches contains the keys of one file group of the record index.
So the driver processes one file group of the index at a time, and never has the keys of several file groups in memory.
At its end, the job deletes the staging folder with all files. If a task fails, `KeyStager` deletes its file.
"""

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import BinaryIO

import numpy as np
import pyarrow as pa
from pyarrow import ipc

from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.execution.base_file_writer import RECORD_KEY, utf8_buffers
from hudi_table_services.execution.numpy_types import Integers
from hudi_table_services.hudi_format.metadata_table.key_groups import file_groups_of
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.storage.stores.storage import Storage

DELETED_COLUMN = "deleted"
_SCHEMA = pa.schema([pa.field(RECORD_KEY, pa.string()), pa.field(DELETED_COLUMN, pa.bool_())])
_COMPRESSION = "lz4"
_BUFFERED_BYTES = 16 << 20


def groups_of_keys(keys: pa.StringArray, group_count: int) -> Integers:
    """Return the number of the file group of the record index for each key."""
    return file_groups_of(*utf8_buffers(keys), group_count)


@dataclass(frozen=True, slots=True)
class KeyStaging:
    """Settings with which the tasks of a commit stage keys of an index.

    Attributes:
        folder: staging folder of the job, which must exist until the commit is complete.
        group_count: number of file groups of the index, at least 1. In a partitioned record index, each partition of
            the table has this number of file groups, unless `other_counts` contains the partition.
        other_counts: maps partitions of the table to their numbers of file groups; only in a partitioned record index.
        groups: the rule that assigns keys to file groups. Tasks receive this picklable function.
    """

    folder: str
    group_count: int
    other_counts: Mapping[str, int] = field(default_factory=dict)
    groups: Callable[[pa.StringArray, int], Integers] = groups_of_keys

    def group_count_of(self, partition_path: str) -> int:
        """Return the number of file groups of the index that contain the keys of a partition of the table."""
        return self.other_counts.get(partition_path, self.group_count)


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedKeys:
    """A file with the keys that one task added to its file group or deleted from it.

    Attributes:
        path: staged file, relative to the base path.
        size_bytes: size of the staged file.
        file_group_id: the file group of the table.
        group_count: number of file groups of the record index among which the keys are divided.
        batch_groups: for each record batch, the number of the file group of the record index.
        new_count, deleted_count: numbers of keys.
    """

    path: str
    size_bytes: int
    file_group_id: FileGroupId
    group_count: int
    batch_groups: tuple[int, ...]
    new_count: int
    deleted_count: int

    def batches_of(self, group: int, group_count: int) -> tuple[int, ...]:
        """Return the indices of the record batches that can have keys of a file group of the record index."""
        is_divided_alike = group_count == self.group_count
        return tuple(
            index for index, stored in enumerate(self.batch_groups) if stored == group or not is_divided_alike
        )


class KeyStager:
    """Stages the keys of one file group of the table. If an error ends the `with` block, the staged file is deleted.

    Keys have no nulls. The stager needs memory for `_BUFFERED_BYTES` of keys, a copy of these keys, and the keys of one
    call.

    Args:
        staging: None if no keys are needed; in that case, the methods do nothing.
    """

    def __init__(self, storage: Storage, staging: KeyStaging | None, file_group_id: FileGroupId) -> None:
        self._storage = storage
        self._staging = staging
        self._file_group_id = file_group_id
        self._group_count = staging.group_count_of(file_group_id.partition_path) if staging is not None else 0
        self._path = ""
        self._sink: BinaryIO | None = None
        self._writer: ipc.RecordBatchFileWriter | None = None
        self._pending: list[pa.RecordBatch] = []
        self._pending_bytes = 0
        self._batch_groups: list[int] = []
        self._counts = {False: 0, True: 0}

    def __enter__(self) -> "KeyStager":
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error_type is None or self._sink is None:
            return
        with suppress(HudiTableServiceError, OSError):  # a failed deletion must not mask the original error
            self._sink.close()
            self._storage.delete(self._path)

    def add_new(self, keys: pa.ChunkedArray) -> None:
        """Add keys that the index must locate in this file group.

        These are new keys, and keys that the commit deletes from other file groups.
        """
        self._add(keys, is_deleted=False)

    def add_deleted(self, keys: pa.ChunkedArray) -> None:
        """Add keys that the file group no longer contains after the commit."""
        self._add(keys, is_deleted=True)

    def close(self) -> StagedKeys | None:
        """Complete the staged file. Return None if there are no keys; in that case, no file was written."""
        self._flush()
        if self._staging is None or self._writer is None or self._sink is None:
            return None
        self._writer.close()
        size_bytes = self._sink.tell()
        self._sink.close()
        return StagedKeys(
            path=self._path,
            size_bytes=size_bytes,
            file_group_id=self._file_group_id,
            group_count=self._group_count,
            batch_groups=tuple(self._batch_groups),
            new_count=self._counts[False],
            deleted_count=self._counts[True],
        )

    def _add(self, keys: pa.ChunkedArray, *, is_deleted: bool) -> None:
        if self._staging is None or len(keys) == 0:
            return
        self._counts[is_deleted] += len(keys)
        for chunk in keys.chunks:
            flags = pa.repeat(pa.scalar(is_deleted), len(chunk))
            self._pending.append(pa.record_batch([chunk, flags], schema=_SCHEMA))
        self._pending_bytes += keys.nbytes
        if self._pending_bytes >= _BUFFERED_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._staging is None or not self._pending:
            return
        rows = pa.Table.from_batches(self._pending).combine_chunks().to_batches()
        self._pending, self._pending_bytes = [], 0
        writer = self._writer or self._open(self._staging)
        for batch in rows:
            for group, part in _divided(batch, self._staging.groups, self._group_count):
                writer.write_batch(part)
                self._batch_groups.append(group)

    def _open(self, staging: KeyStaging) -> ipc.RecordBatchFileWriter:
        self._path = f"{staging.folder}/keys-{uuid.uuid4().hex}.arrow"
        self._sink = self._storage.open_writer(self._path)
        options = ipc.IpcWriteOptions(compression=_COMPRESSION)
        self._writer = ipc.new_file(self._sink, _SCHEMA, options=options)
        return self._writer


def _divided(
    batch: pa.RecordBatch, groups_of: Callable[[pa.StringArray, int], Integers], group_count: int
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield the number of each file group of the index with its keys. The keys keep their order."""
    groups = groups_of(batch.column(0), group_count)
    order = np.argsort(groups, kind="stable")
    rows, groups = batch.take(pa.array(order)), groups[order]
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    for start, stop in zip(starts, [*starts[1:], len(groups)], strict=True):
        yield int(groups[start]), rows.slice(start, stop - start)
