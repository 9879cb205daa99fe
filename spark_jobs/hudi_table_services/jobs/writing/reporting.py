"""Report the plan and the result of a write: log lines and the result document."""

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hudi_table_services.commits.stopwatch import Stopwatch
from hudi_table_services.contract.completed_request import result_of_completed
from hudi_table_services.contract.result import (
    FileGroupChange,
    FileStats,
    JobResult,
    Outcome,
    PartitionReport,
    RowCounts,
)
from hudi_table_services.contract.text import counted, did_you_mean, human_bytes
from hudi_table_services.contract.writing import NO_SOURCE_ROWS, UpsertRequest
from hudi_table_services.execution.arrow_schema import arrow_schema
from hudi_table_services.execution.base_file_writer import footer_bytes
from hudi_table_services.execution.file_groups import WrittenFileGroup
from hudi_table_services.hudi_format.avro_schema import to_avro_json
from hudi_table_services.jobs.writing.batch_placement import PlacedBatch
from hudi_table_services.jobs.writing.write_settings import WriteSettings
from hudi_table_services.model.file_sizing import BucketKind, FileSizingPlan, PartitionSizing, WriteBucket
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.write_stat import CommitMetadata, WriteStat
from hudi_table_services.options.writing_values import WriteOptions
from hudi_table_services.planning.file_sizing.write_profile import ReplacedIds
from hudi_table_services.planning.table.missing_columns import filling_option, warn_of_replaced_values
from hudi_table_services.planning.table.ordering_texts import note_on_texts
from hudi_table_services.planning.table.table_changes import partition_matches
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.overview.row_counts import row_counts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger(__name__)
_LOGGED_PARTITIONS = 50
_REPEATED_SHARE = 10
"""A new table causes a warning if at least one in this many rows has the record key of another row."""


class Report:
    """Builds the results of one job."""

    def __init__(
        self, spark: "SparkSession", request: UpsertRequest, options: WriteOptions, watch: Stopwatch
    ) -> None:
        self._spark = spark
        self._request = request
        self._options = options
        self._watch = watch
        self._warnings: list[str] = []
        self._replaced_groups = 0
        self._replaced_rows: int | None = None
        self.warn(*options.warnings)

    def warn(self, *warnings: str) -> None:
        """Log the warnings and add them to the result. Each warning is added once."""
        for warning in warnings:
            if warning not in self._warnings:
                _LOG.warning("%s", warning)
                self._warnings.append(warning)

    def log_plan(self, plan: FileSizingPlan) -> None:
        """Log one line per partition with the padded, new and rewritten file groups."""
        for sizing in plan.partitions[:_LOGGED_PARTITIONS]:
            rewritten = len(sizing.buckets) - len(sizing.padded_buckets) - len(sizing.new_buckets)
            _LOG.info(
                "Partition %r: the plan pads %s with %s, creates %s with %s and rewrites %s; %s",
                sizing.partition_path,
                counted(len(sizing.padded_buckets), "small file"),
                counted(sum(b.insert_count for b in sizing.padded_buckets), "row"),
                counted(len(sizing.new_buckets), "new file group"),
                counted(sum(b.insert_count for b in sizing.new_buckets), "row"),
                counted(rewritten, "other file group"),
                sizing.record_size,
            )
        if (more := len(plan.partitions) - _LOGGED_PARTITIONS) > 0:
            _LOG.info("… and %s", counted(more, "more partition"))

    def replacing(self, storage: Storage, snapshot: TableSnapshot, replaced: ReplacedIds | None) -> None:
        """Count and log the stored rows that an overwrite or `delete_partition` removes.

        Args:
            replaced: partition path → ids of the file groups; None if the operation replaces no file group.
        """
        groups = self._replaced_groups = _replaced_count(replaced)
        rows = self._replaced_rows = _replaced_rows(storage, snapshot, replaced) if replaced else None
        if replaced:
            _LOG.info(
                "The write removes %s in %s of %s",
                "all rows" if rows is None else counted(rows, "stored row"),
                counted(groups, "file group"),
                counted(len(replaced), "partition"),
            )

    def planned(self, placed: PlacedBatch, plan: FileSizingPlan, settings: WriteSettings) -> JobResult:
        """Result of a dry run. Ordering values are not compared, so `updated` may count rows older than stored rows."""
        partitions = _partitions(placed.snapshot, plan, (), {})
        footer = footer_bytes(
            arrow_schema(settings.writer_schema, with_meta_fields=False),
            to_avro_json(settings.writer_schema, self._request.table_name, with_meta_fields=True),
            settings.parquet,
        )
        changes = [batch for batch in placed.routed.batches if batch.file_id is not None]
        deleted = sum(batch.delete_count for batch in changes)
        rows = replace(
            _rows(placed, (), plan.insert_count),
            updated=sum(batch.row_count for batch in changes) - deleted,
            deleted=deleted,
            replaced=self._replaced_rows,
        )
        option = filling_option(self._options.hoodie_options)
        self.warn(*warn_of_replaced_values(settings.filled, rows.updated, option, dry_run=True))
        result = self._result(Outcome.PLANNED, partitions=tuple(_with_footers(p, footer) for p in partitions))
        _LOG.info(
            "Would insert %s, update %d and delete %d; nothing was written.",
            counted(rows.inserted, "row"),
            rows.updated,
            rows.deleted,
        )
        return replace(
            result,
            reason="dry run: nothing was written",
            rows=rows,
            replaced_file_groups=self._replaced_groups,
        )

    def nothing_to_do(self, placed: PlacedBatch) -> JobResult:
        """Result of a batch that changes nothing and therefore has no instant."""
        reason = "no row of the batch changes the table" if placed.read_count else NO_SOURCE_ROWS
        return replace(self._result(Outcome.NOTHING_TO_DO), reason=reason, rows=_rows(placed, (), 0))

    def completed(
        self,
        placed: PlacedBatch,
        plan: FileSizingPlan,
        written: Sequence[WrittenFileGroup],
        settings: WriteSettings,
        instant: Instant,
        metadata: CommitMetadata,
    ) -> JobResult:
        """Result of a commit, with planned and written sizes side by side."""
        replaced = metadata.partition_to_replace_file_ids
        partitions = _partitions(placed.snapshot, plan, written, replaced or {})
        rows = _rows(placed, written, sum(w.stat.num_inserts for w in written))
        if rows.older_than_stored and not (rows.inserted or rows.updated or rows.deleted):
            self.warn(
                "The commit changed no row, because the value of the ordering field is smaller than in the stored row "
                f"({counted(rows.older_than_stored, 'row')})."
                f"{note_on_texts(settings.combine_fields, settings.writer_schema)}"
            )
        if not placed.snapshot.timeline.completed_writes:
            self.warn(*_warn_of_repeated_keys(rows, settings))
        option = filling_option(self._options.hoodie_options)
        self.warn(*warn_of_replaced_values(settings.filled, rows.updated, option))
        result = replace(
            self._result(Outcome.COMPLETED, instant, partitions),
            rows=replace(rows, replaced=self._replaced_rows),
            replaced_file_groups=_replaced_count(replaced),
        )
        _LOG.info(
            "Commit %s inserted %s, updated %d and deleted %d. Before: %s (%s), after: %s (%s)",
            instant.requested_time,
            counted(rows.inserted, "row"),
            rows.updated,
            rows.deleted,
            counted(result.files_before.file_count, "file"),
            human_bytes(result.files_before.size_bytes),
            counted(result.files_after.file_count, "file"),
            human_bytes(result.files_after.size_bytes),
        )
        return result

    def reused(self, instant: Instant, metadata: CommitMetadata) -> JobResult:
        """Result of a request that an earlier attempt completed."""
        return replace(
            result_of_completed(self._request, instant, metadata),
            timings_s=dict(self._watch.seconds),
            spark_application_id=application_id(self._spark),
            warnings=tuple(self._warnings),
        )

    def partitions_deleted(
        self, snapshot: TableSnapshot, replaced: ReplacedIds | None, instant: Instant | None
    ) -> JobResult:
        """Result of `delete_partition`. Without an instant, it is the result of a dry run."""
        self.warn(*_unmatched(self._options.partitions_to_delete, snapshot.partitions))
        if not replaced:
            return replace(
                self._result(Outcome.NOTHING_TO_DO),
                reason=f"no partition with files matches {', '.join(self._options.partitions_to_delete)}",
            )
        partitions = tuple(
            PartitionReport(
                partition_path=path,
                files_before=FileStats.of([s.size_bytes for s in snapshot.slices_of(path)]),
            )
            for path in replaced
        )
        outcome = Outcome.PLANNED if instant is None else Outcome.COMPLETED
        return replace(
            self._result(outcome, instant, partitions),
            rows=RowCounts(replaced=self._replaced_rows),
            replaced_file_groups=_replaced_count(replaced),
        )

    def _result(
        self, outcome: Outcome, instant: Instant | None = None, partitions: tuple[PartitionReport, ...] = ()
    ) -> JobResult:
        """Result with the fields that every result has. Callers add rows, reason and replaced file groups."""
        return replace(
            JobResult.of(self._request, outcome),
            operation=self._options.operation.value.lower(),
            action=instant.action.value if instant else None,
            instant_time=instant.requested_time if instant else None,
            completion_time=instant.completion_time if instant else None,
            files_before=_sum(p.files_before for p in partitions),
            files_after=_sum(p.files_after for p in partitions),
            partitions=partitions,
            timings_s=dict(self._watch.seconds),
            spark_application_id=application_id(self._spark),
            warnings=tuple(self._warnings),
        )


def _replaced_count(replaced: Mapping[str, tuple[str, ...]] | None) -> int:
    return sum(len(file_ids) for file_ids in (replaced or {}).values())


def _replaced_rows(storage: Storage, snapshot: TableSnapshot, replaced: ReplacedIds) -> int | None:
    """Return the number of rows in the file groups; None if log files or unread footers make it unknown."""
    slices = [
        each
        for path, ids in replaced.items()
        for each in snapshot.slices_of(path)
        if each.file_group_id.file_id in ids
    ]
    counts = row_counts(storage, slices, {})
    return sum(counts.values()) if len(counts) == len(slices) else None


def _unmatched(patterns: Iterable[str], partitions: Sequence[str]) -> Iterator[str]:
    """Yield a warning for each pattern of partitions to delete that matches no partition with files."""
    for pattern in patterns:
        if not any(partition_matches(path, (pattern,)) for path in partitions):
            hint = did_you_mean(pattern, partitions, otherwise="`show partitions` lists the partitions.")
            yield f"Nothing to delete for {pattern}: the table has no partition of this name. {hint}"


def application_id(spark: "SparkSession") -> str | None:
    """Id of the Spark application. None under Spark Connect, which does not provide the id."""
    return spark.conf.get("spark.app.id", None)


def _warn_of_repeated_keys(rows: RowCounts, settings: WriteSettings) -> tuple[str, ...]:
    """Return a sentence if a new table lacks many rows of the source, because other rows have the same record keys.

    With an ordering field, the user knows that rows can have the same key.
    """
    if settings.combine_fields or rows.superseded * _REPEATED_SHARE < max(rows.read, 1):
        return ()
    keys = ", ".join(settings.key_generator.record_key_fields)
    return (
        f"{rows.superseded:,} of {rows.read:,} rows are not in the table, because another row of the source has the "
        f"same record key ({keys}). If each row is a record, choose a record key whose values are unique, and load the "
        "rows into a new table.",
    )


def _sum(stats: Iterable[FileStats]) -> FileStats:
    histogram: dict[str, int] = defaultdict(int)
    count = size = 0
    for one in stats:
        count, size = count + one.file_count, size + one.size_bytes
        for name, files in one.histogram.items():
            histogram[name] += files
    return FileStats(file_count=count, size_bytes=size, histogram=dict(histogram))


def _rows(placed: PlacedBatch, written: Sequence[WrittenFileGroup], inserted: int) -> RowCounts:
    routed = placed.routed
    return RowCounts(
        read=placed.read_count,
        inserted=inserted,
        updated=sum(w.stat.num_update_writes for w in written),
        deleted=sum(w.stat.num_deletes for w in written),
        superseded=routed.superseded_count,
        older_than_stored=routed.older_count + sum(w.older_incoming_count for w in written),
        unmatched_deletes=routed.unmatched_delete_count,
        dropped_existing=routed.dropped_existing_count,
        unchanged=routed.unchanged_count,
    )


def _partitions(
    snapshot: TableSnapshot,
    plan: FileSizingPlan,
    written: Sequence[WrittenFileGroup],
    replaced: Mapping[str, tuple[str, ...]],
) -> tuple[PartitionReport, ...]:
    by_partition: dict[str, list[WrittenFileGroup]] = defaultdict(list)
    for group in written:
        by_partition[group.stat.partition_path].append(group)
    return tuple(
        _partition(
            snapshot,
            sizing,
            by_partition[sizing.partition_path],
            set(replaced.get(sizing.partition_path, ())),
        )
        for sizing in plan.partitions
    )


def _partition(
    snapshot: TableSnapshot, sizing: PartitionSizing, written: list[WrittenFileGroup], replaced: set[str]
) -> PartitionReport:
    path = sizing.partition_path
    before = {s.file_group_id.file_id: s.size_bytes for s in snapshot.slices_of(path)}
    stats = {group.stat.file_id: group.stat for group in written}
    after = {file_id: size for file_id, size in before.items() if file_id not in replaced}
    after.update({file_id: _size_after(stat, before.get(file_id, 0)) for file_id, stat in stats.items()})
    rewritten = [b for b in sizing.buckets if b.kind is BucketKind.UPDATE and not b.is_padded]
    return PartitionReport(
        partition_path=path,
        padded=tuple(_change(b, stats.get(b.file_id or "")) for b in sizing.padded_buckets),
        opened=_new_file_groups(sizing, [stat for file_id, stat in stats.items() if file_id not in before]),
        rewritten=tuple(_change(b, stats.get(b.file_id or "")) for b in rewritten),
        skipped=tuple(f"{s.file_group_id}: {s.reason}" for s in sizing.skipped),
        record_size=str(sizing.record_size),
        record_size_bytes=round(sizing.record_size.bytes_per_record, 2),
        measured_record_size_bytes=_measured(written),
        files_before=FileStats.of(list(before.values())),
        files_after=FileStats.of(list(after.values())),
    )


def _with_footers(partition: PartitionReport, footer_size: int) -> PartitionReport:
    """Add the size of a footer to the expected size of each new file. The plan counts only rows and bloom filters."""
    opened = (replace(c, expected_size_bytes=c.expected_size_bytes + footer_size) for c in partition.opened)
    return replace(partition, opened=tuple(opened))


def _new_file_groups(sizing: PartitionSizing, stats: list[WriteStat]) -> tuple[FileGroupChange, ...]:
    """Match the new file groups of the plan, which have no id, with the written new file groups by row count."""
    buckets = sorted(sizing.new_buckets, key=lambda b: -b.insert_count)
    if not stats:
        return tuple(_change(bucket, None) for bucket in buckets)
    ordered = sorted(stats, key=lambda s: -s.num_writes)
    return tuple(_change(bucket, stat) for bucket, stat in zip(buckets, ordered, strict=True))


def _measured(written: Iterable[WrittenFileGroup]) -> float | None:
    """Bytes per row of the written base files. As in the estimate, footers do not count. None if none was written."""
    groups = [group for group in written if not group.stat.is_log_file]
    rows = sum(group.stat.num_writes for group in groups)
    return round(sum(group.data_size_bytes for group in groups) / rows, 2) if rows else None


def _change(bucket: WriteBucket, stat: WriteStat | None) -> FileGroupChange:
    return FileGroupChange(
        partition_path=bucket.partition_path,
        file_id=stat.file_id if stat else bucket.file_id,
        update_count=bucket.update_count,
        insert_count=bucket.insert_count,
        size_before_bytes=bucket.current_size_bytes,
        expected_size_bytes=bucket.expected_size_bytes,
        size_after_bytes=_size_after(stat, bucket.current_size_bytes) if stat else None,
    )


def _size_after(stat: WriteStat, before_bytes: int) -> int:
    """Size of a file slice after the write. A log file is added to the slice; a base file replaces it."""
    return stat.file_size_bytes + (before_bytes if stat.is_log_file else 0)
