"""Describe the live files and partitions of a table for `hudi-services show`. Pages in Airflow show the same values."""

from collections.abc import Collection

from hudi_table_services.model.overview.table_overview import FileTotals, LiveFile, PartitionSummary
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.overview.partition_summaries import read_contents
from hudi_table_services.tables.views.documents import FileRow, FilesView, PartitionRow, PartitionsView
from hudi_table_services.tables.views.named_partitions import refuse_unknown_partitions


def read_files(storage: Storage, partitions: Collection[str] = ()) -> FilesView:
    """Read the live files of a table.

    Args:
        partitions: partition paths to show; empty means all partitions.

    Raises:
        InvalidRequestError: a partition path is unknown.
        TableNotFoundError: there is no table.
        CorruptTableError: the timeline, or the metadata of a commit, cannot be read.
    """
    contents = read_contents(storage)
    refuse_unknown_partitions(partitions, [each.partition_path for each in contents.partitions])
    return FilesView(
        table_name=contents.snapshot.config.table_name,
        files=tuple(
            _file(each)
            for path, files in sorted(contents.files.items())
            if not partitions or path in partitions
            for each in sorted(files, key=lambda file: (-file.size_bytes, file.file_id))
        ),
    )


def read_partitions(storage: Storage) -> PartitionsView:
    """Read the partitions of a table. Raises the errors of `read_files`."""
    contents = read_contents(storage)
    return PartitionsView(
        table_name=contents.snapshot.config.table_name,
        partitions=tuple(map(_partition, contents.partitions)),
    )


def exact_rows(totals: FileTotals) -> int | None:
    """Return the number of rows, or None if the number of rows of a file is not known."""
    return None if totals.uncounted_files else totals.row_count


def _file(file: LiveFile) -> FileRow:
    return FileRow(
        partition_path=file.partition_path,
        file_id=file.file_id,
        name=file.path.rpartition("/")[2],
        size_bytes=file.size_bytes,
        log_files=file.log_files,
        log_bytes=file.log_bytes,
        row_count=file.row_count,
        instant_time=file.written_by,
    )


def _partition(summary: PartitionSummary) -> PartitionRow:
    totals = summary.totals
    return PartitionRow(
        partition_path=summary.partition_path,
        file_count=totals.file_count,
        size_bytes=totals.size_bytes,
        small_file_count=totals.small_file_count,
        row_count=exact_rows(totals),
        last_write=totals.last_write,
        log_files=totals.log_files,
        log_bytes=totals.log_bytes,
    )
