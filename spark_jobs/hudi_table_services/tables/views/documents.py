"""Views of a table: the documents that `hudi-services show` prints as JSON. Fields ``*_at`` are ISO times in UTC."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hudi_table_services.contract.health import PendingInstant


@dataclass(frozen=True, slots=True, kw_only=True)
class InstantView:
    """One instant of the timeline. Counts are zero for instants that write no data and for pending instants.

    Attributes:
        instant_time: requested time, as the timeline stores it.
        requested_at, completed_at: the two times of the instant. `completed_at` is empty for pending instants and
            before table version 8; both are empty if the digits are not a date.
        operation: write operation in lower case; empty for instants that write no data.
        request_id: request of this project that made the instant; empty for other writers.
        files_written, bytes_written: number and size of the written base files and log files.
        files_replaced: number of file groups that readers no longer see after the write.
        partition_count: number of partition paths in which the write wrote or replaced files.
        undone: for a rollback or a restore, requested times of the instants that it undid.
        undo_reason: why these instants were undone, in words; empty if the timeline does not contain the reason, as for
            rollbacks of Hudi.
    """

    instant_time: str
    action: str
    state: str
    requested_at: str = ""
    completed_at: str = ""
    operation: str = ""
    request_id: str = ""
    rows_inserted: int = 0
    rows_updated: int = 0
    rows_deleted: int = 0
    files_written: int = 0
    bytes_written: int = 0
    files_replaced: int = 0
    partition_count: int = 0
    undone: tuple[str, ...] = ()
    undo_reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableView:
    """Properties and present state of a table.

    Attributes:
        table_type: ``COPY_ON_WRITE`` or ``MERGE_ON_READ``.
        partition_time_format: pattern of the formatted times in partition paths; empty if no partition column has
            formatted times.
        file_count, size_bytes: number and total size of the live files. In merge-on-read tables, a file slice counts
            as one file.
        log_files, log_bytes: number and total size of the log files that no compaction has merged.
        oldest_log: requested time of the write of the oldest of these log files; empty if there are none. In table
            version 6, names of log files do not contain this time, so this is the earliest time at which the file can
            have been written.
        row_count: number of rows of the live files; None if commits of the active timeline do not cover every file, or
            if a file slice has log files, because only a merge shows its number of rows.
        metadata_partitions: active partitions of the metadata table; empty if the table has no metadata table.
        instant_count: number of instants on the active timeline.
        last_write: the newest completed write of the active timeline; None if there is none.
        pending: the pending instants, oldest first, each with the next step.
    """

    table_name: str
    base_path: str
    table_type: str
    table_version: int
    record_key: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    partition_time_format: str = ""
    ordering_fields: tuple[str, ...] = ()
    partition_count: int = 0
    file_count: int = 0
    size_bytes: int = 0
    log_files: int = 0
    log_bytes: int = 0
    oldest_log: str = ""
    row_count: int | None = None
    metadata_partitions: tuple[str, ...] = ()
    instant_count: int = 0
    last_write: InstantView | None = None
    pending: tuple[PendingInstant, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineView:
    """The newest instants of the active timeline.

    Attributes:
        instants: the instants, newest first.
        instant_count: number of all instants on the active timeline.
        has_archive: whether the archive contains older instants.
    """

    table_name: str
    instants: tuple[InstantView, ...] = ()
    instant_count: int = 0
    has_archive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRow:
    """The latest file slice of a live file group.

    Attributes:
        name: name of the base file; empty if the slice has only log files.
        size_bytes: size of the base file and its log files.
        log_files, log_bytes: number and total size of the log files.
        row_count: number of rows; None if it is not known, or if the slice has log files.
        instant_time: requested time of the write that wrote the base file.
    """

    partition_path: str
    file_id: str
    name: str
    size_bytes: int
    log_files: int
    row_count: int | None
    instant_time: str
    log_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesView:
    """The live files of a table, ordered by partition path, then by size, largest first."""

    table_name: str
    files: tuple[FileRow, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRow:
    """Live files of one partition path.

    Attributes:
        small_file_count: number of files below the small-file limit of the table's writers; 0 if there is only one such
            file.
        row_count: number of rows; None if the number of rows of a file is not known, or if a file slice has log files.
        last_write: requested time of the newest write among the live base files.
        log_files, log_bytes: number and total size of the log files.
    """

    partition_path: str
    file_count: int
    size_bytes: int
    small_file_count: int
    row_count: int | None
    last_write: str
    log_files: int = 0
    log_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionsView:
    """The partitions of a table, ordered by partition path."""

    table_name: str
    partitions: tuple[PartitionRow, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnView:
    """One column of a table, with its type as in Spark SQL. Roles are ``record key``, ``partition``, ``ordering``."""

    name: str
    type: str
    nullable: bool
    roles: tuple[str, ...] = ()
    doc: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaView:
    """The columns of a table after its newest write, without Hudi's meta columns."""

    table_name: str
    columns: tuple[ColumnView, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitPartition:
    """Changes that a write made in one partition path."""

    partition_path: str
    rows_inserted: int = 0
    rows_updated: int = 0
    rows_deleted: int = 0
    files_written: int = 0
    bytes_written: int = 0
    files_replaced: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitView:
    """One instant in detail.

    Attributes:
        is_archived: whether the instant is only in the archive.
        partitions: the partitions of a completed write, ordered by partition path.
        extra_metadata: pairs that the write stored, without the schema.
        pending: meaning and next step of a pending instant; None for completed instants.
    """

    table_name: str
    instant: InstantView
    is_archived: bool = False
    partitions: tuple[CommitPartition, ...] = ()
    extra_metadata: Mapping[str, str] = field(default_factory=dict)
    pending: PendingInstant | None = None
