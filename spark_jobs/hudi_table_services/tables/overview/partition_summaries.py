"""Read the live files of a table, and sum them up by partition: files, small files, sizes, rows, last write."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.overview.table_overview import (
    FileSizeLimits,
    FileTotals,
    LiveFile,
    PartitionSummary,
)
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.write_stat import CommitMetadata
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.overview.row_counts import FOOTER_LIMIT, recorded_row_counts, row_counts
from hudi_table_services.tables.overview.size_limits import size_limits
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from hudi_table_services.tables.written_files import WrittenFiles


@dataclass(frozen=True, kw_only=True)
class TableContents:
    """The live files of a table, with the newest write.

    Attributes:
        snapshot: the table as of its latest completed write.
        files: maps each partition path to its live files, ordered by path.
        limits: limits by which files count as small.
        last_write: the newest visible write of the active timeline with its metadata; None if there is none.
    """

    snapshot: TableSnapshot
    files: Mapping[str, tuple[LiveFile, ...]]
    limits: FileSizeLimits
    last_write: tuple[Instant, CommitMetadata] | None = None

    @cached_property
    def partitions(self) -> tuple[PartitionSummary, ...]:
        """The partitions with live files, ordered by path."""
        return tuple(
            PartitionSummary(partition_path=path, totals=FileTotals.of(files))
            for path, files in sorted(self.files.items())
            if files
        )

    @cached_property
    def totals(self) -> FileTotals:
        """Sums over all live files."""
        return FileTotals.total_of(partition.totals for partition in self.partitions)


def read_contents(storage: Storage, *, footer_limit: int = FOOTER_LIMIT) -> TableContents:
    """Read the live files of a table.

    This takes one listing of the table, one read per completed write of the active timeline, and at most `footer_limit`
    footers, for files whose writes are archived.

    Raises:
        TableNotFoundError: there is no table.
        CorruptTableError: an instant of the active timeline cannot be read.
    """
    snapshot = load_snapshot(storage)
    store = TimelineStore(storage, snapshot.config, SystemClock())
    writes = WrittenFiles(store).writes(snapshot.timeline)
    limits = size_limits((instant, metadata.extra_metadata) for instant, metadata in writes)
    rows = row_counts(
        storage, snapshot.all_slices, recorded_row_counts(metadata for _, metadata in writes), footer_limit
    )
    files: dict[str, list[LiveFile]] = defaultdict(list)
    for each in snapshot.all_slices:
        files[each.file_group_id.partition_path].append(_live_file(each, rows, limits))
    return TableContents(
        snapshot=snapshot,
        files={path: _ordered(found) for path, found in files.items()},
        limits=limits,
        last_write=max(
            writes, key=lambda write: (write[0].visible_from, write[0].requested_time), default=None
        ),
    )


def _ordered(files: list[LiveFile]) -> tuple[LiveFile, ...]:
    """Return the files of one partition, ordered by path. If only one file is small, it does not count as small."""
    has_several = sum(file.is_small for file in files) > 1
    every = (file if has_several or not file.is_small else replace(file, is_small=False) for file in files)
    return tuple(sorted(every, key=lambda file: file.path))


def _live_file(slice_: FileSlice, rows: Mapping[str, int], limits: FileSizeLimits) -> LiveFile:
    path, size_bytes = slice_.base_file_path or "", slice_.size_bytes
    return LiveFile(
        partition_path=slice_.file_group_id.partition_path,
        file_id=slice_.file_group_id.file_id,
        path=path,
        size_bytes=size_bytes,
        written_by=slice_.base_instant_time,
        row_count=rows.get(path),
        log_files=len(slice_.log_files),
        log_bytes=sum(log.size_bytes for log in slice_.log_files),
        is_small=size_bytes < limits.small_file_limit_bytes,
    )
