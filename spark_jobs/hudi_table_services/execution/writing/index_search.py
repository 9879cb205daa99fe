"""Look up the keys of a staged batch in the record index of the metadata table, in one Spark job.

The result is a set of file groups. The base files of other file groups contain none of the keys, so the search in base
files (`tagging`) leaves them out. A task receives some file groups of the record index, reads the keys of the batch,
and looks up the keys that belong to its file groups.
"""

import math
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_table_services.contract.text import counted
from hudi_table_services.execution.base_file_writer import utf8_buffers
from hudi_table_services.execution.spark_tasks import default_parallelism, run_tasks
from hudi_table_services.execution.staging import KEY_COLUMN, StagedBatch, StagedReader
from hudi_table_services.execution.task_groups import BYTES_OF_A_FILE
from hudi_table_services.execution.writing.tagging import key_buckets
from hudi_table_services.hudi_format.metadata_table.key_groups import file_groups_of
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.storage.metadata_table.unusable import UnusableMetadataTable
from hudi_table_services.storage.stores.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAX_KEYS_PER_TASK = 1_000_000
"""Maximum number of keys, on average, that one task keeps in memory. A key is a Python object of about 100 bytes."""

MAX_LIVE_GROUPS = 1_000
"""Each task receives a copy of the list of live file groups, if the table has at most this number of them."""

MAX_PROBED_LIVE_GROUPS = 20
"""The driver looks up some keys before the tasks start, if the table has at most this number of live file groups."""

_MAX_PROBED_BYTES = 64 << 20
"""Maximum size of a file group of the record index from which the driver reads."""

_BYTES_OF_A_BLOCK = 64 << 10
_BYTES_OF_A_KEY = 16


SearchResult = set[FileGroupId] | UnusableMetadataTable


class IndexGroups(Protocol):
    """Some file groups of the record index, with consecutive numbers. The object can be pickled.

    The class that implements this protocol is in `storage.metadata_table.record_locations`, because the creation of its
    objects needs the timeline of the table, which `execution` does not read.
    """

    @property
    def count(self) -> int: ...

    @property
    def size_bytes(self) -> int: ...

    def part(self, start: int, stop: int) -> "IndexGroups": ...

    def locate(
        self, keys: Sequence[frozenset[bytes]], enough: frozenset[FileGroupId] | None = None
    ) -> SearchResult: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSearchTask:
    """Some file groups of the record index, and the batch whose keys are looked up there.

    Attributes:
        storage: the table's storage.
        groups: these file groups.
        first_group: number of the first of these file groups; their numbers are consecutive.
        group_count: number of all file groups among which the keys are divided: all file groups of the record index or,
            in a partitioned record index, the file groups of one partition of the table.
        bucket, bucket_count: hash bucket of the keys to look up, and number of buckets. Buckets limit the memory.
        enough: file groups of the table. When the task has found keys in all these file groups, it ends early. None
            means that the task looks up all its keys.
    """

    storage: Storage
    batches: tuple[StagedBatch, ...]
    groups: IndexGroups
    first_group: int
    group_count: int
    bucket: int = 0
    bucket_count: int = 1
    enough: frozenset[FileGroupId] | None = None


@dataclass(frozen=True, slots=True)
class SearchedGroups:
    """Some batches, and the file groups of the record index that can have their keys.

    The hash of a key determines its file group in the index.
    """

    batches: tuple[StagedBatch, ...]
    groups: IndexGroups

    @property
    def key_count(self) -> int:
        return sum(batch.row_count for batch in self.batches)


def search_record_index(
    spark: "SparkSession",
    storage: Storage,
    batches: Sequence[StagedBatch],
    index: IndexGroups,
    live: Collection[FileGroupId],
    *,
    max_keys_per_task: int = MAX_KEYS_PER_TASK,
) -> SearchResult:
    """Return the file groups in which the record index locates keys of the batch, or why the index cannot be used.

    Often, for example if the keys are random, every live file group has keys of the batch. In this case, some of the
    keys suffice to find all live file groups, and the tasks do not look up the other keys. For a table with few file
    groups, the driver first looks up some keys: if these keys are in all file groups, no Spark job is necessary.

    Args:
        batches: staged rows; each record batch occurs once.
        live: file groups with a live base file. Other file groups can be missing in the result.
    """
    probed = probe_record_index(storage, batches, index, frozenset(live))
    if probed is not None:
        return probed
    searched = [SearchedGroups(tuple(batches), index)]
    return search_groups(spark, storage, searched, live=live, max_keys_per_task=max_keys_per_task)


def search_groups(
    spark: "SparkSession",
    storage: Storage,
    searched: Sequence[SearchedGroups],
    *,
    live: Collection[FileGroupId] = (),
    max_keys_per_task: int = MAX_KEYS_PER_TASK,
) -> SearchResult:
    """Do the same as `search_record_index` for several sets of file groups, each with its own keys, in one Spark job.

    Without `live`, the tasks look up all keys.
    """
    key_count = sum(each.key_count for each in searched)
    if not key_count:
        return set()
    enough = frozenset(live) if live and len(live) <= min(key_count, MAX_LIVE_GROUPS) else None
    # With many sets of file groups, one task for each set is enough.
    least = -(-2 * default_parallelism(spark) // len(searched))
    tasks = [
        replace(task, enough=enough)
        for each in searched
        for task in _tasks(storage, each.batches, each.groups, least, max_keys_per_task)
    ]
    results = run_tasks(
        spark,
        tasks,
        find_file_groups,
        description=f"Look up {counted(key_count, 'key')} in the record index of the metadata table",
        weights=[_weight(task) for task in tasks],
    )
    found: set[FileGroupId] = set()
    for result in results:
        if isinstance(result, UnusableMetadataTable):
            return result
        found |= result
    return found


def probe_record_index(
    storage: Storage, batches: Sequence[StagedBatch], index: IndexGroups, live: frozenset[FileGroupId]
) -> SearchResult | None:
    """Look up some keys of a batch in one file group of the record index.

    Returns:
        The live file groups if each of them has one of these keys; the reason if the index cannot be used; None if
        tasks must look up the keys.
    """
    # With fewer keys than blocks, each key would need a separate request.
    has_many_keys = sum(each.row_count for each in batches) * _BYTES_OF_A_BLOCK >= index.size_bytes
    batch = next((each for each in batches if each.row_count), None)
    if batch is None or not live or len(live) > MAX_PROBED_LIVE_GROUPS or not has_many_keys:
        return None
    with closing(StagedReader(storage, [KEY_COLUMN])) as reader:
        column = reader.read(batch).column(0)
    numbers = file_groups_of(*utf8_buffers(column), index.count)
    group = int(numbers[0])
    probed = index.part(group, group + 1)
    if probed.size_bytes > _MAX_PROBED_BYTES:
        return None
    keys = sorted(column.filter(pa.array(numbers == group)).cast(pa.binary()).to_pylist())
    # Neighbouring keys are in neighbouring blocks, which one request reads.
    found = probed.locate([frozenset(keys[: _sample_size(len(live))])], live)
    return found if isinstance(found, UnusableMetadataTable) or found >= live else None


def _sample_size(group_count: int) -> int:
    """Return the number of random keys that are in all file groups with a probability of 95 % (coupon collector)."""
    return math.ceil(group_count * (math.log(group_count) + 3))


def find_file_groups(task: IndexSearchTask) -> SearchResult:
    """Look up the keys of one task, on an executor. Raise StorageError if a staged file cannot be read."""
    return task.groups.locate(_keys_by_group(task), task.enough)


def _tasks(
    storage: Storage,
    batches: tuple[StagedBatch, ...],
    index: IndexGroups,
    least: int,
    max_keys_per_task: int,
) -> Iterator[IndexSearchTask]:
    """Yield `least` tasks, or more if the keys of the batch do not fit into `least` tasks."""
    key_count, group_count = sum(batch.row_count for batch in batches), index.count
    wanted = max(least, -(-key_count // max_keys_per_task))
    size = max(1, group_count // wanted)
    bucket_count = -(-key_count * size // (group_count * max_keys_per_task))
    for first in range(0, group_count, size):
        groups = index.part(first, first + size)
        for bucket in range(bucket_count):
            yield IndexSearchTask(
                storage=storage,
                batches=batches,
                groups=groups,
                first_group=first,
                group_count=group_count,
                bucket=bucket,
                bucket_count=bucket_count,
            )


def _weight(task: IndexSearchTask) -> int:
    """Estimate the bytes that a task reads: the keys of the batch, and the task's part of the record index."""
    key_bytes = sum(batch.row_count for batch in task.batches) * _BYTES_OF_A_KEY
    return key_bytes + BYTES_OF_A_FILE * task.groups.count + task.groups.size_bytes


def _keys_by_group(task: IndexSearchTask) -> list[frozenset[bytes]]:
    """Return for each file group of the task the keys of the batch that belong to the file group, as UTF-8."""
    count = task.groups.count
    keys, groups = [pa.array([], pa.string())], [np.empty(0, dtype=np.int64)]
    reader = StagedReader(task.storage, [KEY_COLUMN])
    for batch in task.batches:
        column = reader.read(batch).column(0)
        numbers = file_groups_of(*utf8_buffers(column), task.group_count) - task.first_group
        mask = (numbers >= 0) & (numbers < count)
        if task.bucket_count > 1:
            mask &= key_buckets(column, task.bucket_count) == task.bucket
        keys.append(column.filter(pa.array(mask)))
        groups.append(numbers[mask])
    reader.close()
    every, number_of = pa.concat_arrays(keys), np.concatenate(groups)
    return [
        frozenset(pc.unique(every.filter(pa.array(number_of == group))).cast(pa.binary()).to_pylist())
        for group in range(count)
    ]
