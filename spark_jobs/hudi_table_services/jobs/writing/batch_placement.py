"""Stage the rows of a request and find the place of each row: an existing file group, or a new file group."""

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hudi_table_services.contract.text import counted
from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.errors import InvalidDataError
from hudi_table_services.execution.arrow_schema import arrow_schema
from hudi_table_services.execution.sources.source import in_session_zone
from hudi_table_services.execution.spark_tasks import default_parallelism
from hudi_table_services.execution.writing.file_samples import sample_base_files
from hudi_table_services.execution.writing.record_index import IndexLookup, RecordIndex, RoutedBatch
from hudi_table_services.execution.writing.stage_input import (
    StagedInput,
    StagingSpec,
    stage_input,
    stage_source,
)
from hudi_table_services.execution.writing.task_assignment import workload_of
from hudi_table_services.execution.writing.unchanged_rows import without_unchanged
from hudi_table_services.jobs.writing.bucket_checks import (
    bucket_hash,
    index_buckets_of,
    refuse_bucket_index,
)
from hudi_table_services.jobs.writing.index_settings import index_lookup
from hudi_table_services.jobs.writing.searched_files import SearchedFiles
from hudi_table_services.jobs.writing.table_access import table_rule
from hudi_table_services.jobs.writing.write_settings import WriteSettings
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.file_sizing import CommitTotals, FileSizingPlan
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.table_version import TableType
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import OVERWRITE, WriteOperation
from hudi_table_services.options.keys.writing import INSERT_DUP_POLICY
from hudi_table_services.options.writing_values import InsertDupPolicy, WriteOptions
from hudi_table_services.planning.file_sizing.file_sizing import plan_file_sizing
from hudi_table_services.planning.file_sizing.hudi_parity import commit_totals
from hudi_table_services.planning.file_sizing.index_buckets import plan_index_buckets
from hudi_table_services.storage.file_slices import visibility_of
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.table import TableAccess

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LOG = logging.getLogger(__name__)
_SAMPLE_ROWS_OF_NEW_TABLE = 50_000
_SAMPLE_ROWS = 2_000
_PADDING_OPERATIONS = (WriteOperation.UPSERT, WriteOperation.INSERT)
"""Operations that pad small files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedBatch:
    """The rows of a request with their places.

    Attributes:
        read_count: number of rows of the input.
        snapshot: the table for which the places were found, limited to the partitions of the batch.
    """

    staged: StagedInput
    routed: RoutedBatch
    snapshot: TableSnapshot

    @property
    def read_count(self) -> int:
        return self.staged.row_count

    def changed_file_groups(self, operation: WriteOperation) -> set[FileGroupId]:
        """File groups that the write changes or replaces."""
        if operation in OVERWRITE:
            return {s.file_group_id for s in self.snapshot.all_slices}
        batches = self.routed.batches
        return {FileGroupId(b.partition_path, b.file_id) for b in batches if b.file_id is not None}

    @property
    def reinserted_file_groups(self) -> frozenset[FileGroupId]:
        """Return the file groups to which the write adds rows whose keys earlier log files have deleted."""
        batches = (b for b in self.routed.batches if b.reinsert_count)
        return frozenset(FileGroupId(b.partition_path, b.file_id) for b in batches if b.file_id is not None)


def stage_batch(
    source: "DataFrame",
    request: UpsertRequest | None,
    table: TableAccess,
    folder: str,
    settings: WriteSettings,
) -> StagedInput:
    """Read the input once and stage its rows. Raises the errors of `stage_input`; nothing was committed.

    Args:
        request: the request that names the source of the rows; None if the rows have another source.
    """
    # Base files give a better estimate of the record size than the batch. So if there are base files, a small sample of
    # the batch is enough.
    sample_rows = _SAMPLE_ROWS if table.exists else _SAMPLE_ROWS_OF_NEW_TABLE
    spec = StagingSpec(
        storage=table.storage,
        folder=folder,
        schema=settings.staged_schema,
        key_generator=settings.key_generator,
        parquet=settings.parquet,
        sample_rows=0 if settings.operation is WriteOperation.DELETE else sample_rows,
    )
    if settings.uses_session_zone and settings.zoned.paths:
        staged = stage_input(in_session_zone(source, settings.zoned.schema), spec)
    elif request is None or request.source is None:
        staged = stage_input(source, spec)
    else:
        staged = stage_source(source, request.source, request.storage_options, spec)
    _LOG.info(
        "Staged %s of %s", counted(staged.row_count, "row"), counted(len(staged.partition_paths), "partition")
    )
    return staged


def place_rows(
    index: RecordIndex, staged: StagedInput, snapshot: TableSnapshot, files: SearchedFiles
) -> PlacedBatch:
    """Find the place of each row. Look up the record keys if the operation requires a lookup."""
    routed = index.place(staged, files.slices, visibility_of(snapshot), files.key_ranges)
    if files.is_required:
        routed = replace(routed, files_pruned=routed.files_pruned + files.pruned_count)
        is_copy_on_write = snapshot.config.table_type is TableType.COPY_ON_WRITE
        _LOG.info("%s", routed.lookup(staged.row_count, "base file" if is_copy_on_write else "file slice"))
    return PlacedBatch(staged=staged, routed=routed, snapshot=snapshot)


def without_unchanged_rows(
    spark: "SparkSession", storage: Storage, folder: str, settings: WriteSettings, placed: PlacedBatch
) -> PlacedBatch:
    """Leave out the updates that would not change the stored row.

    Args:
        folder: staging folder.
    """
    schema = arrow_schema(settings.writer_schema, with_meta_fields=False)
    slices = {each.file_group_id: each for each in placed.snapshot.all_slices}
    routed = without_unchanged(spark, storage, folder, schema, placed.routed, slices)
    _LOG.info("Left out %s that the batch does not change", counted(routed.unchanged_count, "row"))
    return replace(placed, routed=routed)


def lookup_for(
    spark: "SparkSession", options: WriteOptions, settings: WriteSettings, config: TableConfig
) -> IndexLookup:
    """Return the settings of the key lookup, with as many tasks as the cluster can run at the same time.

    Raises:
        InvalidRequestError: see `bucket_hash`.
    """
    buckets = bucket_hash(options, settings.key_generator, config.table_version)
    return index_lookup(options, settings, default_parallelism(spark), table_rule(config), buckets)


def refuse_duplicates(placed: PlacedBatch, options: WriteOptions) -> None:
    """Apply ``hoodie.datasource.insert.dup.policy=fail``: refuse keys that are repeated or already in the table."""
    if (
        options.operation is not WriteOperation.INSERT
        or options.insert_dup_policy is not InsertDupPolicy.FAIL
    ):
        return
    repeated, existing = placed.routed.superseded_count, placed.routed.dropped_existing_count
    if repeated or existing:
        raise InvalidDataError(
            f"The batch contains {counted(repeated, 'row')} with the key of another row of the batch, and "
            f"{counted(existing, 'row')} with a key that is already in the table; "
            f"{INSERT_DUP_POLICY}=fail refuses such rows.",
            hint="Remove these rows, or use the operation upsert or the policy drop.",
        )


def plan_batch(table: TableAccess, placed: PlacedBatch, options: WriteOptions) -> FileSizingPlan:
    """Choose the file groups to which the rows are written.

    Raises:
        UnsupportedTableError: see `refuse_bucket_index`.
    """
    has_buckets = options.index_type.has_buckets
    if not has_buckets and any(batch.file_id is None for batch in placed.routed.batches):
        refuse_bucket_index(table, placed.snapshot, options)
    storage = table.storage
    workload = workload_of(placed.routed.batches, placed.staged.bytes_per_record)
    if options.file_sizing.parity and not has_buckets:
        workload = replace(workload, commit_totals=_latest_totals(table, placed.snapshot.timeline, options))
    is_padding = options.operation in _PADDING_OPERATIONS
    samples = sample_base_files(storage, placed.snapshot, [p.partition_path for p in workload.partitions])
    sizing_snapshot = placed.snapshot
    if options.operation in OVERWRITE:
        sizing_snapshot = replace(placed.snapshot, file_slices={})
    if has_buckets:
        numbers = index_buckets_of(sizing_snapshot.all_slices)
        return plan_index_buckets(sizing_snapshot, workload, samples, options.file_sizing, numbers)
    return plan_file_sizing(
        sizing_snapshot, workload, samples, options.file_sizing, pad_small_files=is_padding
    )


def _latest_totals(table: TableAccess, timeline: Timeline, options: WriteOptions) -> tuple[CommitTotals, ...]:
    """Return the input of Hudi's record size estimate: bytes and rows of the latest commits; see `hudi_record_size`."""
    store, wanted = table.timeline_store, options.file_sizing.estimator_max_commits
    found: list[CommitTotals] = []
    for instant in reversed(timeline.completed_writes):
        if wanted == 0:
            break
        totals = commit_totals(instant, store.commit_metadata(instant))
        wanted -= bool(totals)
        found.extend(totals)
    return tuple(found)
