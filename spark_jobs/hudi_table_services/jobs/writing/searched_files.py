"""Use the indexes of the metadata table to decide which base files a write searches for its keys."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hudi_table_services.contract.text import counted
from hudi_table_services.execution.writing.index_search import (
    SearchedGroups,
    SearchResult,
    search_groups,
    search_record_index,
)
from hudi_table_services.execution.writing.record_index import IndexLookup
from hudi_table_services.execution.writing.stage_input import StagedInput
from hudi_table_services.hudi_format.metadata_table.file_groups import COLUMN_STATS, RECORD_INDEX
from hudi_table_services.jobs.writing.bucket_checks import check_bucket_index
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.options.keys.writing import INDEX_TYPE, METADATA_ENABLE
from hudi_table_services.options.writing_values import WriteOptions
from hudi_table_services.storage.metadata_table.key_ranges import KeyRange, key_ranges
from hudi_table_services.storage.metadata_table.record_locations import (
    open_partitioned_record_index,
    open_record_index,
)
from hudi_table_services.storage.metadata_table.unusable import Reason, UnusableMetadataTable
from hudi_table_services.tables.snapshots.log_sizes import refuse_short_logs
from hudi_table_services.tables.table import TableAccess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger(__name__)

MANY_FILES = 20
"""From this number of files on, a write reads column statistics.

Reading column statistics costs about as many requests as a listing from the metadata table. A file that is not opened
saves 2 requests."""


@dataclass(frozen=True, slots=True)
class SearchedFiles:
    """File slices that a write searches for its keys.

    Attributes:
        slices: the slices that may have a key of the batch.
        pruned_count: number of other live slices, in which the record index locates no key of the batch.
        is_required: whether the operation requires a lookup of keys; if not, there are no slices.
        warnings: why the record index was not used; empty if it was used, or if the options do not require it.
        key_ranges: maps the paths of base files to their smallest and greatest keys, from the column statistics; files
            without usable statistics are missing.
    """

    slices: tuple[FileSlice, ...]
    pruned_count: int = 0
    is_required: bool = True
    warnings: tuple[str, ...] = ()
    key_ranges: Mapping[str, KeyRange] = field(default_factory=dict)


def searched_files(
    spark: "SparkSession",
    table: TableAccess,
    staged: StagedInput,
    snapshot: TableSnapshot,
    options: WriteOptions,
    lookup: IndexLookup,
) -> SearchedFiles:
    """Return the file slices to search: those that the record index names, or all slices of the snapshot.

    A log file that is shorter than its commit recorded has lost rows. A snapshot from the metadata table contains the
    recorded sizes, so the search fails on such a file. A snapshot from a listing contains the actual sizes, so this
    function compares them with the recorded sizes.

    The record index only limits the search: the base files decide whether a key is in the table. An entry of the index
    that names a file group without a live file slice is ignored, as in Hudi. If the index cannot be used, all files of
    the table are searched, as with GLOBAL_SIMPLE (SparkMetadataTableRecordIndex.tagLocation, Hudi 0.15 and 1.2). If a
    partitioned index cannot be used, all files in the partitions of the batch are searched, as with SIMPLE
    (SparkMetadataTableRecordLevelIndex, Hudi 1.2).

    Raises:
        StorageError, ExecutionFailedError: a file cannot be read, and the reason is not damage.
        InvalidRequestError, UnsupportedTableError, CorruptTableError: see `check_bucket_index` and
            `refuse_short_logs`.
    """
    found = _searched_files(spark, table, staged, snapshot, options, lookup)
    if not snapshot.is_from_metadata_table:
        refuse_short_logs(table.timeline_store, snapshot, found.slices)
    return found


def _searched_files(
    spark: "SparkSession",
    table: TableAccess,
    staged: StagedInput,
    snapshot: TableSnapshot,
    options: WriteOptions,
    lookup: IndexLookup,
) -> SearchedFiles:
    if lookup.rules.buckets is not None:
        check_bucket_index(table, staged.partition_paths, snapshot, options, lookup.rules.buckets)
    if not lookup.searches_files:
        return SearchedFiles((), is_required=False)
    slices = snapshot.all_slices
    if not slices or not staged.row_count:
        return SearchedFiles(slices)
    if not options.index_type.uses_record_index:
        return _with_key_ranges(table, snapshot, options, SearchedFiles(slices))
    if options.metadata.enable is False:
        return SearchedFiles(
            slices, warnings=_warnings(options, f"the request sets {METADATA_ENABLE}=false.")
        )
    search = _search if options.index_type.is_global else _search_partitions
    found = search(spark, table, staged, snapshot)
    if isinstance(found, UnusableMetadataTable):
        warnings = _warnings(options, f"{found.reason.value}. {found.message}")
        return _with_key_ranges(table, snapshot, options, SearchedFiles(slices, warnings=warnings))
    kept = tuple(s for s in slices if s.file_group_id in found)
    _LOG.info(
        "The record index locates keys of the batch in %s of %d",
        counted(len(kept), "file group"),
        len(slices),
    )
    return SearchedFiles(kept, len(slices) - len(kept))


def _with_key_ranges(
    table: TableAccess, snapshot: TableSnapshot, options: WriteOptions, files: SearchedFiles
) -> SearchedFiles:
    """Add the key ranges of the files, if there are enough files and the metadata table has column statistics."""
    if options.metadata.enable is False or len(files.slices) < MANY_FILES:
        return files
    if COLUMN_STATS not in snapshot.config.metadata_partitions:
        return files
    found = key_ranges(table.storage, snapshot.config, snapshot.timeline, table.clock, files.slices)
    if isinstance(found, UnusableMetadataTable):
        _LOG.warning(
            "The column statistics of the metadata table are not used: %s. %s",
            found.reason.value,
            found.message,
        )
        return files
    return replace(files, key_ranges=found)


def _search(
    spark: "SparkSession", table: TableAccess, staged: StagedInput, snapshot: TableSnapshot
) -> SearchResult:
    index = open_record_index(table.storage, snapshot.config, snapshot.timeline, table.clock)
    if isinstance(index, UnusableMetadataTable):
        return index
    live = [file_slice.file_group_id for file_slice in snapshot.all_slices]
    return search_record_index(spark, table.storage, staged.batches, index, live)


def _search_partitions(
    spark: "SparkSession", table: TableAccess, staged: StagedInput, snapshot: TableSnapshot
) -> SearchResult:
    """Look up the keys of each partition of the batch in the file groups of the index for this partition."""
    index = open_partitioned_record_index(table.storage, snapshot.config, snapshot.timeline, table.clock)
    if isinstance(index, UnusableMetadataTable):
        return index
    searched = []
    for path in staged.partition_paths:
        if path in index:
            searched.append(SearchedGroups(staged.of_partition(path), index[path]))
        elif snapshot.slices_of(path):
            return UnusableMetadataTable(
                Reason.DAMAGED,
                f"`{RECORD_INDEX}` has no file groups for the partition {path!r}, although the partition has files.",
            )
    return search_groups(spark, table.storage, searched)


def _warnings(options: WriteOptions, reason: str) -> tuple[str, ...]:
    name = options.index_type.value
    return (
        f"{INDEX_TYPE}={name}: the record index of the metadata table is not used, so the write searched base files, "
        f"as with {options.index_type.without_record_index.value}: {reason}",
    )
