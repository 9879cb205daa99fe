"""The overview of a table: files, rows, partitions, schemas, limits of file sizes, and the table lock."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveFile:
    """The latest file slice of one file group.

    Attributes:
        path: path of the base file, relative to the base path of the table; empty if the slice has only log files.
        size_bytes: size of base file and log files.
        row_count: exact number of rows; None if it is not known.
        log_files, log_bytes: number and total size of the log files. Only merge-on-read tables have them.
        written_by: requested time of the instant that wrote the base file.
        is_small: whether this file and at least one other file of its partition are smaller than the small-file limit
            of the table's writers. A clustering cannot merge a single small file, so such a file does not count.
    """

    partition_path: str
    file_id: str
    path: str
    size_bytes: int
    written_by: str
    row_count: int | None = None
    log_files: int = 0
    log_bytes: int = 0
    is_small: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTotals:
    """Sums over live files.

    Attributes:
        small_file_count: number of files with `is_small`.
        row_count: rows of the files whose number of rows is known. If `uncounted_files` is 0, this is the exact number
            of rows. Otherwise the exact number is this number or more.
        uncounted_files: number of files whose number of rows is not known.
        last_write: requested time of the newest instant that wrote one of the base files; empty without files.
        log_files, log_bytes: number and total size of the log files.
    """

    file_count: int = 0
    small_file_count: int = 0
    size_bytes: int = 0
    row_count: int = 0
    uncounted_files: int = 0
    last_write: str = ""
    log_files: int = 0
    log_bytes: int = 0

    @classmethod
    def of(cls, files: Iterable[LiveFile]) -> "FileTotals":
        """Return the sums over files."""
        small = size = rows = uncounted = logs = log_bytes = count = 0
        last_write = ""
        for file in files:  # one loop, because a table can have a hundred thousand files
            count += 1
            small += file.is_small
            size += file.size_bytes
            rows += file.row_count or 0
            uncounted += file.row_count is None
            logs += file.log_files
            log_bytes += file.log_bytes
            last_write = max(last_write, file.written_by)
        return cls(
            file_count=count,
            small_file_count=small,
            size_bytes=size,
            row_count=rows,
            uncounted_files=uncounted,
            last_write=last_write,
            log_files=logs,
            log_bytes=log_bytes,
        )

    @classmethod
    def total_of(cls, parts: "Iterable[FileTotals]") -> "FileTotals":
        """Return the sums over several sets of files that have no file in common."""
        every = list(parts)
        return cls(
            file_count=sum(part.file_count for part in every),
            small_file_count=sum(part.small_file_count for part in every),
            size_bytes=sum(part.size_bytes for part in every),
            row_count=sum(part.row_count for part in every),
            uncounted_files=sum(part.uncounted_files for part in every),
            last_write=max((part.last_write for part in every), default=""),
            log_files=sum(part.log_files for part in every),
            log_bytes=sum(part.log_bytes for part in every),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSummary:
    """The live files of one partition path; the path is ``""`` in a table without partitions."""

    partition_path: str
    totals: FileTotals


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSizeLimits:
    """The limits that decide whether files of a table are small or large.

    Attributes:
        small_file_limit_bytes: smaller files count as small.
        max_file_size_bytes: target size of a base file.
        recorded_by: requested time of the write that recorded the limits; empty if the limits are Hudi's defaults,
            because no write recorded limits.
    """

    small_file_limit_bytes: int
    max_file_size_bytes: int
    recorded_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaColumn:
    """A column of a table: its name, its type in the notation of `model.schema`, and its comment."""

    name: str
    type: str
    nullable: bool = True
    comment: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaVersion:
    """A schema, and how it differs from the schema before it.

    Attributes:
        instant_time: requested time of the first known write with this schema; empty if only the properties of the
            table contain the schema.
        operation: write operation of this write, in lower case.
        columns: columns without Hudi's meta columns, in the order of the schema.
        added, removed: names of columns.
        changed: sentences, such as ``fare: int became long``.
    """

    instant_time: str = ""
    operation: str = ""
    columns: tuple[SchemaColumn, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaHistory:
    """The schemas of a table, oldest first.

    Attributes:
        is_whole: whether every write since the creation of the table was read. If not, older schemas may exist.
        searched_writes: number of writes that were read.
    """

    versions: tuple[SchemaVersion, ...] = ()
    is_whole: bool = True
    searched_writes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LockHolder:
    """The writer that holds the table lock now.

    Attributes:
        path: path of the lock file, relative to the base path.
        owner: name of the owner in the lock file.
        request_id: id of the request whose job holds the lock; empty if the lock file names none, as in locks of Hudi.
        is_expired: whether the next writer may take the lock over, because its owner has died.
        changed_ms: last change of the lock file, in epoch milliseconds.
        valid_until_ms: epoch milliseconds until which the lock is valid without a renewal; None if it never expires.
        problem: why the lock file cannot be read; empty if it can.
    """

    path: str
    owner: str = ""
    request_id: str = ""
    is_expired: bool = False
    changed_ms: int | None = None
    valid_until_ms: int | None = None
    problem: str = ""
