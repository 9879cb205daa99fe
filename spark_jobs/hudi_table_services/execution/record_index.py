"""Tag and route a staged batch: two Spark jobs that turn rows into changes of file groups and inserts."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hudi_table_services.execution.routing import RouteTask, RoutingRules, route
from hudi_table_services.execution.spark_tasks import run_tasks
from hudi_table_services.execution.stage_input import StagedInput
from hudi_table_services.execution.staging import StagedBatch
from hudi_table_services.execution.tagging import BaseFileRef, TagResult, TagTask, find_tags
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.storage.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAX_KEYS_PER_TASK = 6_000_000
"""Keys of one partition (or of the batch, for a global index) that one task holds in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexLookup:
    """How the rows of a batch find their file groups.

    Attributes:
        searches_files: upsert, delete, or insert that refuses or drops existing keys; False: only combine.
        is_global: a key is unique in the table, not in its partition.
        combine: rows of the batch with the same key become one.
        use_footers: prune files by key range and bloom filter.
        compares_moves: event time decides whether a row that would move to another partition beats the stored one.
        parallelism: Spark tasks wanted for reading key columns.
    """

    searches_files: bool
    is_global: bool = False
    combine: bool = False
    use_footers: bool = False
    ordering_fields: tuple[str, ...] = ()
    compares_moves: bool = False
    rules: RoutingRules = RoutingRules()
    parallelism: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutedBatch:
    """Every row of the batch with its place.

    Attributes:
        batches: changes carry a file id, inserts do not.
        superseded_count: rows replaced by another row of the batch with the same key.
        matched_count: base rows hit.
        files_searched, files_pruned: base files whose keys were read, and those a footer ruled out.
    """

    batches: tuple[StagedBatch, ...]
    superseded_count: int = 0
    matched_count: int = 0
    unmatched_delete_count: int = 0
    dropped_existing_count: int = 0
    older_count: int = 0
    files_searched: int = 0
    files_pruned: int = 0


def route_batch(
    spark: "SparkSession",
    storage: Storage,
    folder: str,
    staged: StagedInput,
    slices: Iterable[FileSlice],
    lookup: IndexLookup,
) -> RoutedBatch:
    """Find the place of every staged row.

    Args:
        folder: staging folder for intermediate files.
        slices: live file slices that may hold keys of the batch.
    """
    targets = _targets(slices) if lookup.searches_files else ()
    tag_tasks = _tag_tasks(storage, folder, staged, targets, lookup)
    tagged = run_tasks(
        spark,
        tag_tasks,
        find_tags,
        description=f"Look up {staged.row_count} keys in {len(targets)} base files",
    )
    by_file: dict[str, list[StagedBatch]] = defaultdict(list)
    for result in tagged:
        for path, batch in result.batches:
            by_file[path].append(batch)
    totals = _totals(tagged)
    if not by_file and not lookup.rules.deletes and not lookup.rules.honours_deleted_flag:
        return RoutedBatch(batches=staged.batches, **totals)
    return _route(spark, storage, folder, staged, targets, by_file, lookup.rules, totals)


def _totals(tagged: Sequence[TagResult]) -> dict[str, int]:
    return {
        "matched_count": sum(r.matched_count for r in tagged),
        "files_searched": sum(r.files_read for r in tagged),
        "files_pruned": sum(r.files_pruned for r in tagged),
    }


def _targets(slices: Iterable[FileSlice]) -> tuple[BaseFileRef, ...]:
    refs = [
        BaseFileRef(s.file_group_id.partition_path, s.file_group_id.file_id, path)
        for s in slices
        if (path := s.base_file_path) is not None
    ]
    return tuple(sorted(refs, key=lambda ref: (ref.partition_path, ref.file_id)))


def _tag_tasks(
    storage: Storage,
    folder: str,
    staged: StagedInput,
    targets: tuple[BaseFileRef, ...],
    lookup: IndexLookup,
) -> list[TagTask]:
    """Search tasks take neighbouring files of one partition; one task per scope also combines."""
    scopes = [staged.batches] if lookup.is_global else [staged.of_partition(p) for p in staged.partition_paths]
    tasks: list[TagTask] = []
    for batches in scopes:
        if not batches:
            continue
        rows = sum(batch.row_count for batch in batches)
        buckets = -(-rows // MAX_KEYS_PER_TASK)
        mine = _targets_of(batches, targets, lookup.is_global)
        groups = _chunks(mine, max(1, len(targets) // max(1, 2 * lookup.parallelism)))
        for bucket in range(buckets):
            for position, (first, files) in enumerate(groups or [(0, ())]):
                if not files and not lookup.combine:
                    continue
                tasks.append(
                    TagTask(
                        storage=storage,
                        folder=folder,
                        batches=batches,
                        base_files=files,
                        first_target=first,
                        combine=lookup.combine and position == 0,
                        bucket=bucket,
                        bucket_count=buckets,
                        ordering_fields=lookup.ordering_fields,
                        use_footers=lookup.use_footers,
                        compares_moves=lookup.rules.moves_rows and lookup.compares_moves,
                    )
                )
    return tasks


def _targets_of(
    batches: Sequence[StagedBatch], targets: tuple[BaseFileRef, ...], is_global: bool
) -> list[tuple[int, BaseFileRef]]:
    partition = batches[0].partition_path
    return [(i, t) for i, t in enumerate(targets) if is_global or t.partition_path == partition]


def _chunks(
    targets: list[tuple[int, BaseFileRef]], size: int
) -> list[tuple[int, tuple[BaseFileRef, ...]]]:
    return [
        (targets[start][0], tuple(ref for _, ref in targets[start : start + size]))
        for start in range(0, len(targets), size)
    ]


def _route(
    spark: "SparkSession",
    storage: Storage,
    folder: str,
    staged: StagedInput,
    targets: tuple[BaseFileRef, ...],
    tags: dict[str, list[StagedBatch]],
    rules: RoutingRules,
    totals: dict[str, int],
) -> RoutedBatch:
    by_path: dict[str, list[StagedBatch]] = defaultdict(list)
    for batch in staged.batches:
        by_path[batch.path].append(batch)
    tasks = [
        RouteTask(
            storage=storage,
            folder=folder,
            batches=tuple(batches),
            tags=tuple(tags.get(path, ())),
            targets=targets,
            rules=rules,
        )
        for path, batches in by_path.items()
    ]
    routed = run_tasks(spark, tasks, route, description="Route the rows to their file groups")
    return RoutedBatch(
        batches=tuple(batch for result in routed for batch in result.batches),
        superseded_count=sum(r.superseded_count for r in routed),
        unmatched_delete_count=sum(r.unmatched_delete_count for r in routed),
        dropped_existing_count=sum(r.dropped_existing_count for r in routed),
        older_count=sum(r.older_count for r in routed),
        **totals,
    )
