"""Tag and route a staged batch in two Spark jobs.

The first job finds the stored rows that have keys of the batch (`tagging`). The second job assigns each row of the
batch to the changes of a file group or to the inserts (`routing`).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hudi_table_services.contract.text import counted
from hudi_table_services.execution.log_merging.searched_logs import LogReading, SearchedLogs
from hudi_table_services.execution.spark_tasks import run_tasks
from hudi_table_services.execution.staging import StagedBatch
from hudi_table_services.execution.task_groups import BYTES_OF_A_FILE
from hudi_table_services.execution.writing.routing import RouteTask, RoutingRules, route
from hudi_table_services.execution.writing.stage_input import StagedInput
from hudi_table_services.execution.writing.tagging import BaseFileRef, TagResult, TagTask, find_tags
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.merging.merge_rule import MergeRule
from hudi_table_services.storage.file_slices import Visibility
from hudi_table_services.storage.stores.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAX_KEYS_PER_TASK = 6_000_000
"""Maximum number of keys that one task keeps in memory: the keys of one partition, or of the whole batch with a global
index."""

KeyRanges = Mapping[str, tuple[str, str]]
"""Maps the paths of base files to their smallest and greatest keys."""

_BYTES_OF_A_KEY = 16
_BYTES_OF_FILE_KEYS = 4 << 20
"""Estimated size of the key column of a base file."""

_LEAST_BYTES_OF_FILE_KEYS = 1 << 20
"""Least cost of a base file: a task reads this many bytes in the time in which it opens a file of an object store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexLookup:
    """Settings for finding the file groups that have keys of a batch.

    Attributes:
        searches_files: True for upsert, delete, and an insert that refuses or drops existing keys. If False, the index
            only combines rows of the batch.
        is_global: whether keys are unique in the whole table; otherwise they are unique per partition.
        combine: whether rows of the batch with the same key are combined into one row.
        use_footers: whether to skip files whose key range or bloom filter excludes all keys of the batch.
        ordering_fields, rule, compares_moves: see `TagTask`.
        log_reading: how tasks search log files; None for a copy-on-write table.
        parallelism: target number of Spark tasks for reading key columns.
    """

    searches_files: bool
    is_global: bool = False
    combine: bool = False
    use_footers: bool = False
    ordering_fields: tuple[str, ...] = ()
    rule: MergeRule | None = None
    log_reading: LogReading | None = None
    compares_moves: bool = False
    rules: RoutingRules = field(default_factory=RoutingRules)
    parallelism: int = 2

    @property
    def noun(self) -> str:
        """Noun for a file group that is searched, for messages."""
        return "base file" if self.log_reading is None else "file slice"

    def step(self, key_count: int, file_count: int) -> str:
        """Describe the step that looks up keys in base files and combines rows, for the log and for Spark.

        Args:
            file_count: number of base files, or of file slices, to search; 0 if rows are only combined.
        """
        if file_count:
            return f"Look up {counted(key_count, 'key')} in {counted(file_count, self.noun)}"
        why = f" (there are no {self.noun}s to search)" if self.searches_files else ""
        return f"Combine the rows with equal keys among {counted(key_count, 'row')}{why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutedBatch:
    """All rows of the batch, divided into changes of file groups and inserts.

    Attributes:
        batches: batches of changes, which have a file id, and batches of inserts, whose file id is None.
        superseded_count: number of rows that were replaced by another row of the batch with the same key.
        matched_count: number of base rows whose key is in the batch.
        unchanged_count: number of updates that were left out, because the stored row has the same values.
        files_searched: number of base files whose keys were read.
        files_pruned: number of base files that were not searched, because an index of the metadata table or their
            footers exclude all keys of the batch.
    """

    batches: tuple[StagedBatch, ...]
    superseded_count: int = 0
    matched_count: int = 0
    unmatched_delete_count: int = 0
    dropped_existing_count: int = 0
    older_count: int = 0
    unchanged_count: int = 0
    files_searched: int = 0
    files_pruned: int = 0

    def lookup(self, key_count: int, noun: str = "base file") -> str:
        """Describe the result of a lookup of keys, for the log.

        Args:
            noun: see `IndexLookup.noun`.
        """
        pruned = f"indexes and footers ruled out {self.files_pruned}"
        duplicates = f"the batch has {counted(self.superseded_count, 'superseded row')}"
        if self.files_searched:
            files = counted(self.files_searched, noun)
            found = f"{self.matched_count} were found"
            return f"Looked up {counted(key_count, 'key')} in {files} ({pruned}): {found}, and {duplicates}"
        if self.files_pruned:
            return f"No {noun} can contain one of {counted(key_count, 'key')} ({pruned}), and {duplicates}"
        return f"There are no {noun}s in which to look up {counted(key_count, 'key')}, and {duplicates}"


class RecordIndex:
    """Finds the file group of every staged row, in two Spark jobs.

    Args:
        folder: staging folder for intermediate files.
    """

    def __init__(self, spark: "SparkSession", storage: Storage, folder: str, lookup: IndexLookup) -> None:
        self._spark = spark
        self._storage = storage
        self._folder = folder
        self._lookup = lookup

    def place(
        self,
        staged: StagedInput,
        slices: Iterable[FileSlice],
        visibility: Visibility,
        key_ranges: KeyRanges | None = None,
    ) -> RoutedBatch:
        """Tag and route the rows.

        Args:
            slices: live file slices that may have keys of the batch.
            visibility: the instants whose log blocks readers see.
            key_ranges: maps the paths of base files to their smallest and greatest keys. Files with unknown ranges are
                missing.
        """
        searches = self._lookup.searches_files
        targets = self._targets(slices, visibility, key_ranges or {}) if searches else ()
        tasks = self._tag_tasks(staged, targets)
        tagged = self._tag(tasks, self._lookup.step(staged.row_count, len(targets)))
        by_file: dict[str, list[StagedBatch]] = defaultdict(list)
        for result in tagged:
            for path, batch in result.batches:
                by_file[path].append(batch)
        rules = self._lookup.rules
        if by_file or rules.deletes or rules.honours_deleted_flag or rules.buckets is not None:
            routed = self._route(staged, targets, by_file)
        else:
            routed = RoutedBatch(batches=staged.batches)
        return replace(
            routed,
            matched_count=sum(r.matched_count for r in tagged),
            files_searched=sum(r.files_read for r in tagged),
            files_pruned=sum(r.files_pruned for r in tagged),
        )

    def count_matches(self, staged: StagedInput, slices: Iterable[FileSlice], visibility: Visibility) -> int:
        """Count the rows of these files whose keys are in the batch, whatever the write operation is."""
        targets = self._targets(slices, visibility, {})
        tasks = [
            replace(task, combine=False, compares_moves=False)
            for task in self._tag_tasks(staged, targets)
            if task.base_files
        ]
        found = self._tag(
            tasks,
            f"Look for {counted(staged.row_count, 'key')} in {self._counted(targets)} of other writers",
        )
        return sum(result.matched_count for result in found)

    def _targets(
        self, slices: Iterable[FileSlice], visibility: Visibility, key_ranges: KeyRanges
    ) -> tuple[BaseFileRef, ...]:
        reading = self._lookup.log_reading
        refs = [_target(s, reading, visibility, key_ranges) for s in slices if s.base_file or s.log_files]
        return tuple(sorted(refs, key=lambda ref: (ref.partition_path, ref.file_id)))

    def _counted(self, targets: Sequence[BaseFileRef]) -> str:
        return counted(len(targets), self._lookup.noun)

    def _tag(self, tasks: list[TagTask], description: str) -> list[TagResult]:
        weights = [_weight(task) for task in tasks]
        return run_tasks(self._spark, tasks, find_tags, description=description, weights=weights)

    def _tag_tasks(self, staged: StagedInput, targets: tuple[BaseFileRef, ...]) -> list[TagTask]:
        scopes = (
            [staged.batches]
            if self._lookup.is_global
            else [staged.of_partition(path) for path in staged.partition_paths]
        )
        group_size = max(1, len(targets) // max(1, 2 * self._lookup.parallelism))
        return [
            task for batches in scopes if batches for task in self._tasks_of(batches, targets, group_size)
        ]

    def _tasks_of(
        self, batches: tuple[StagedBatch, ...], targets: tuple[BaseFileRef, ...], group_size: int
    ) -> Iterator[TagTask]:
        """Yield tasks that search consecutive files. Keys that do not fit into one task are divided into hash buckets.

        The first task of each bucket also combines rows. This task exists even if there is no file to search.
        """
        lookup = self._lookup
        bucket_count = -(-sum(batch.row_count for batch in batches) // MAX_KEYS_PER_TASK)
        groups = _chunks(_targets_of(batches, targets, lookup.is_global), group_size)
        if not groups and lookup.combine:
            groups = [(0, ())]
        for bucket in range(bucket_count):
            for position, (first_target, files) in enumerate(groups):
                yield TagTask(
                    storage=self._storage,
                    folder=self._folder,
                    batches=batches,
                    base_files=files,
                    first_target=first_target,
                    combine=lookup.combine and position == 0,
                    bucket=bucket,
                    bucket_count=bucket_count,
                    ordering_fields=lookup.ordering_fields,
                    rule=lookup.rule,
                    use_footers=lookup.use_footers,
                    compares_moves=lookup.rules.moves_rows and lookup.compares_moves,
                )

    def _route(
        self, staged: StagedInput, targets: tuple[BaseFileRef, ...], tags: dict[str, list[StagedBatch]]
    ) -> RoutedBatch:
        by_path: dict[str, list[StagedBatch]] = defaultdict(list)
        for batch in staged.batches:
            by_path[batch.path].append(batch)
        tasks = [
            RouteTask(
                storage=self._storage,
                folder=self._folder,
                batches=tuple(batches),
                tags=tuple(tags.get(path, ())),
                targets=targets,
                rules=self._lookup.rules,
            )
            for path, batches in by_path.items()
        ]
        routed = run_tasks(
            self._spark,
            tasks,
            route,
            description="Route the rows to their file groups",
            weights=[BYTES_OF_A_FILE + sum(batch.size_bytes for batch in task.batches) for task in tasks],
        )
        return RoutedBatch(
            batches=tuple(batch for result in routed for batch in result.batches),
            superseded_count=sum(r.superseded_count for r in routed),
            unmatched_delete_count=sum(r.unmatched_delete_count for r in routed),
            dropped_existing_count=sum(r.dropped_existing_count for r in routed),
            older_count=sum(r.older_count for r in routed),
        )


def _weight(task: TagTask) -> int:
    """Estimate the bytes that a task reads: the keys of staged rows and of base files, and whole log files."""
    key_count = sum(batch.row_count for batch in task.batches)
    logs = [log for file in task.base_files if file.logs for log in file.logs.file_slice.log_files]
    log_bytes = sum(BYTES_OF_A_FILE + max(log.size_bytes, 0) for log in logs)
    file_keys = sum(_key_bytes(file) for file in task.base_files)
    return key_count * _BYTES_OF_A_KEY + file_keys + log_bytes + BYTES_OF_A_FILE


def _key_bytes(file: BaseFileRef) -> int:
    if file.size_bytes < 0:
        return _BYTES_OF_FILE_KEYS
    return max(_LEAST_BYTES_OF_FILE_KEYS, min(file.size_bytes, _BYTES_OF_FILE_KEYS))


def _target(
    file_slice: FileSlice, reading: LogReading | None, visibility: Visibility, key_ranges: KeyRanges
) -> BaseFileRef:
    group, path = file_slice.file_group_id, file_slice.base_file_path or ""
    logs = None
    if reading is not None and file_slice.log_files:
        logs = SearchedLogs(file_slice, reading, visibility)
    size = file_slice.base_file.size_bytes if file_slice.base_file is not None else 0
    return BaseFileRef(group.partition_path, group.file_id, path, key_ranges.get(path), logs, size)


def _targets_of(
    batches: Sequence[StagedBatch], targets: tuple[BaseFileRef, ...], is_global: bool
) -> list[tuple[int, BaseFileRef]]:
    partition = batches[0].partition_path
    return [(i, t) for i, t in enumerate(targets) if is_global or t.partition_path == partition]


def _chunks(targets: list[tuple[int, BaseFileRef]], size: int) -> list[tuple[int, tuple[BaseFileRef, ...]]]:
    return [
        (targets[start][0], tuple(ref for _, ref in targets[start : start + size]))
        for start in range(0, len(targets), size)
    ]
