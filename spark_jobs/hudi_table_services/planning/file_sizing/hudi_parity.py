"""Plan file sizes as Hudi 1.x does, for users who want the files that a writer of Hudi would create.

This module follows UpsertPartitioner, SparkUpsertDeltaCommitPartitioner and AverageRecordSizeEstimator (Hudi 1.2), and
calculates with integers. The record size is computed from the totals of the latest commits, including footers. In
copy-on-write tables small files are padded in order of file id; Hudi uses the order of its view, which is not defined.
In merge-on-read tables the smallest files are padded first, up to the limit on candidates. Growth by updates is not
counted. A remainder becomes a separate file. Hudi then assigns rows to files at random, so the row counts in Hudi's
plan are only expected values. The counts of this module are exact, because random assignment cannot be reproduced.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

from hudi_table_services.model.data_file import BASE_FILE_EXTENSIONS
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.file_sizing import (
    CommitTotals,
    FileSizingOptions,
    FileSizingPlan,
    PartitionSizing,
    PartitionWorkload,
    RecordSizeEstimate,
    RecordSizeSource,
    SkippedFileGroup,
    Workload,
)
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.table_version import TableType
from hudi_table_services.model.write_stat import CommitMetadata, WriteStat
from hudi_table_services.planning.file_sizing.file_cost import FileCost
from hudi_table_services.planning.file_sizing.small_files import (
    NO_INSERTS_LEFT,
    NO_ROOM,
    OVER_CANDIDATES_LIMIT,
    find_small_files,
    skip,
)
from hudi_table_services.planning.file_sizing.write_buckets import PartitionRoom, sizes_of, updates_of

_ESTIMATING_ACTIONS = frozenset({Action.COMMIT, Action.DELTA_COMMIT, Action.COMPACTION})
"""Actions whose instants are used to estimate the record size. Replacecommits are not used, because clustered files
compress better than other files."""


def commit_totals(instant: Instant, metadata: CommitMetadata) -> tuple[CommitTotals, ...]:
    """Return the totals of a completed instant for `hudi_record_size`; empty for actions that Hudi's estimator ignores.

    A delta commit has one entry per base file. Every other commit has one entry for all its files.
    """
    if instant.action not in _ESTIMATING_ACTIONS:
        return ()
    if instant.action is Action.DELTA_COMMIT:
        base_files = (s for s in metadata.write_stats if _is_base_file(s))
        return tuple(_totals(instant, [stat]) for stat in base_files)
    return (_totals(instant, metadata.write_stats),)


def _is_base_file(stat: WriteStat) -> bool:
    name = stat.path.rsplit("/", 1)[-1]
    return not name.startswith(".") and any(name.endswith(e) for e in BASE_FILE_EXTENSIONS)


def _totals(instant: Instant, stats: Iterable[WriteStat]) -> CommitTotals:
    stats = list(stats)
    return CommitTotals(
        requested_time=instant.requested_time,
        action=instant.action,
        bytes_written=sum(s.file_size_bytes for s in stats),
        records_written=sum(s.num_writes for s in stats),
    )


def hudi_record_size(totals: Iterable[CommitTotals], options: FileSizingOptions) -> RecordSizeEstimate:
    """Return the bytes per record, a whole number, of the latest commits that are large enough.

    If no commit is large enough, return the configured estimate.
    """
    relevant = sorted(t for t in totals if t.action in _ESTIMATING_ACTIONS)
    instants = sorted({t.requested_time for t in relevant}, reverse=True)[: options.estimator_max_commits]
    threshold = int(options.estimation_threshold * options.small_file_limit_bytes)
    minimum = max(threshold, options.estimator_metadata_bytes)
    pooled = [
        t
        for t in relevant
        if t.requested_time in instants and t.bytes_written > minimum and t.records_written > 0
    ]
    if not pooled:
        return RecordSizeEstimate(
            bytes_per_record=float(options.record_size_estimate_bytes),
            source=RecordSizeSource.EXPLICIT_OPTION
            if options.record_size_estimate_is_explicit
            else RecordSizeSource.DEFAULT_OPTION,
        )
    size_bytes = sum(t.bytes_written - options.estimator_metadata_bytes for t in pooled)
    records = sum(t.records_written for t in pooled)
    return RecordSizeEstimate(
        bytes_per_record=float(max(size_bytes // records, 1)),
        source=RecordSizeSource.COMMIT_HISTORY,
        sampled_files=len(pooled),
        sampled_records=records,
    )


def plan_as_hudi(
    snapshot: TableSnapshot, workload: Workload, options: FileSizingOptions, *, pad_small_files: bool
) -> FileSizingPlan:
    """Plan a workload, which `check_workload` has accepted, as Hudi 1.x does."""
    estimate = hudi_record_size(workload.commit_totals, options)
    return FileSizingPlan(
        partitions=tuple(
            _plan_partition(snapshot, partition, estimate, options, pad_small_files)
            for partition in sorted(workload.partitions, key=lambda p: p.partition_path)
        )
    )


def _plan_partition(
    snapshot: TableSnapshot,
    partition: PartitionWorkload,
    estimate: RecordSizeEstimate,
    options: FileSizingOptions,
    pad_small_files: bool,
) -> PartitionSizing:
    path = partition.partition_path
    average = int(estimate.bytes_per_record)
    small_files = find_small_files(snapshot, path, options, pad_small_files=pad_small_files)
    candidates, over_limit = _in_hudi_order(small_files.candidates, snapshot, options)
    padding, not_padded = _pad(partition.insert_count, average, candidates, options)
    room = PartitionRoom(
        partition_path=path,
        sizes=sizes_of(snapshot, path),
        updates=updates_of(partition),
        cost=FileCost(bytes_per_record=average),
        record_size=estimate,
        incoming_record_size=average,
        counts_growth=False,
    )
    per_file = _records_per_new_file(average, options)
    new_files = _open_new_files(partition.insert_count - sum(padding.values()), per_file)
    skipped = tuple(sorted(small_files.skipped + over_limit + not_padded)) if partition.insert_count else ()
    return PartitionSizing(
        partition_path=path,
        buckets=room.update_buckets(padding) + tuple(room.insert_bucket(n) for n in new_files),
        skipped=skipped,
        record_size=estimate,
        records_per_new_file=per_file,
    )


def _in_hudi_order(
    candidates: Sequence[FileSlice], snapshot: TableSnapshot, options: FileSizingOptions
) -> tuple[Sequence[FileSlice], tuple[SkippedFileGroup, ...]]:
    if snapshot.config.table_type is TableType.COPY_ON_WRITE:
        return candidates, ()
    ascending = sorted(candidates, key=lambda s: (s.size_bytes, s.file_group_id))
    limit = options.small_file_candidates_limit
    return ascending[:limit], tuple(skip(s, OVER_CANDIDATES_LIMIT) for s in ascending[limit:])


def _pad(
    inserts: int, average: int, candidates: Sequence[FileSlice], options: FileSizingOptions
) -> tuple[Mapping[str, int], tuple[SkippedFileGroup, ...]]:
    padding: dict[str, int] = {}
    not_padded = []
    left = inserts
    for candidate in candidates:
        fitting = (options.max_file_size_bytes - candidate.size_bytes) // average
        if left == 0 or fitting <= 0:
            not_padded.append(skip(candidate, NO_ROOM if left else NO_INSERTS_LEFT))
            continue
        padding[candidate.file_group_id.file_id] = min(fitting, left)
        left -= padding[candidate.file_group_id.file_id]
    return padding, tuple(not_padded)


def _records_per_new_file(average: int, options: FileSizingOptions) -> int:
    if not options.insert_auto_split:
        return options.insert_split_size
    return math.ceil(options.max_file_size_bytes / average)


def _open_new_files(records: int, per_file: int) -> tuple[int, ...]:
    full, rest = divmod(records, per_file)
    return (per_file,) * full + ((rest,) if rest else ())
