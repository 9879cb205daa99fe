"""Read the live files of a table, with the number of rows that commits of the active timeline record for them."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.options.keys.writing import SMALL_FILE_LIMIT
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.snapshot_loader import load_snapshot
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.views.documents import FilesView, LiveFile, LivePartition, PartitionsView
from hudi_table_services.tables.written_files import WrittenFiles


def read_files(storage: Storage, partitions: Sequence[str] = ()) -> FilesView:
    """Read the live files of a table.

    Args:
        partitions: partition paths to read; empty means all partitions.

    Raises:
        TableNotFoundError: there is no table.
        CorruptTableError: the timeline, or the metadata of a commit, cannot be read.
    """
    snapshot = load_snapshot(storage, partitions or None)
    return FilesView(
        table_name=snapshot.config.table_name, files=live_files(snapshot, row_counts(storage, snapshot))
    )


def read_partitions(storage: Storage) -> PartitionsView:
    """Read the partitions of a table. Raises the errors of `read_files`."""
    view = read_files(storage)
    by_path = groupby(view.files, key=lambda each: each.partition_path)
    return PartitionsView(
        table_name=view.table_name,
        partitions=tuple(_partition(path, list(files)) for path, files in by_path),
    )


def row_counts(storage: Storage, snapshot: TableSnapshot) -> Mapping[str, int]:
    """Map the path of each file that a commit of the active timeline wrote to its number of rows."""
    store = TimelineStore(storage, snapshot.config, SystemClock())
    writes = WrittenFiles(store).writes(snapshot.timeline)
    return {stat.path: stat.num_writes for _, metadata in writes for stat in metadata.write_stats}


def live_files(snapshot: TableSnapshot, rows: Mapping[str, int]) -> tuple[LiveFile, ...]:
    """Describe the live files, ordered by partition path, then by size, largest first."""
    files = [_file(each, rows) for each in snapshot.all_slices]
    return tuple(sorted(files, key=lambda each: (each.partition_path, -each.size_bytes, each.file_id)))


def total_rows(files: Iterable[LiveFile]) -> int | None:
    """Add the rows of files. Return None if the number of rows of a file is not known."""
    counts = [each.row_count for each in files]
    return None if None in counts else sum(count or 0 for count in counts)


def _file(file_slice: FileSlice, rows: Mapping[str, int]) -> LiveFile:
    path = file_slice.base_file_path
    is_exact = path is not None and not file_slice.log_files
    return LiveFile(
        partition_path=file_slice.file_group_id.partition_path,
        file_id=file_slice.file_group_id.file_id,
        name=file_slice.base_file.file_name if file_slice.base_file else "",
        size_bytes=file_slice.size_bytes,
        log_files=len(file_slice.log_files),
        row_count=rows.get(path) if is_exact and path else None,
        instant_time=file_slice.base_instant_time,
    )


def _partition(path: str, files: Sequence[LiveFile]) -> LivePartition:
    limit_bytes = SMALL_FILE_LIMIT.default_value
    return LivePartition(
        partition_path=path,
        file_count=len(files),
        size_bytes=sum(each.size_bytes for each in files),
        small_file_count=sum(each.size_bytes < limit_bytes for each in files),
        row_count=total_rows(files),
        last_write=max(each.instant_time for each in files),
    )
