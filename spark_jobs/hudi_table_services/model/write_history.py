"""The recent writes of a table, and the sizes of its files after each write."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from hudi_table_services.model.instant import Instant
from hudi_table_services.model.write_stat import WriteOperation


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteSummary:
    """One completed write.

    Attributes:
        rows_inserted, rows_updated, rows_deleted: sums of the write stats.
        files_written, bytes_written: number and size of the written base files and log files.
        files_replaced: number of file groups that readers no longer see after this write.
        partitions: ordered partition paths in which the write wrote or replaced files.
        extra_metadata: pairs that the commit stores, without the schema.
    """

    instant: Instant
    operation: WriteOperation
    rows_inserted: int = 0
    rows_updated: int = 0
    rows_deleted: int = 0
    files_written: int = 0
    bytes_written: int = 0
    files_replaced: int = 0
    partitions: tuple[str, ...] = ()
    extra_metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSizes:
    """Base files that readers saw right after a write.

    Attributes:
        sizes_bytes: size of each file, in ascending order.
        unknown_count: number of files that are not in `sizes_bytes`. Their size is unknown, because the files were
            cleaned and their writes were archived.
    """

    instant: Instant
    sizes_bytes: tuple[int, ...]
    unknown_count: int = 0


class HistoryEnd(Enum):
    """Why a history does not contain older writes."""

    NOTHING_OLDER = "nothing_older"
    """Neither the timeline nor the archive has older writes."""

    ENOUGH = "enough"
    """The caller requested no older writes."""

    ARCHIVE_TOO_LARGE = "archive_too_large"
    """The archive files with older writes exceed the size limit."""

    ARCHIVE_UNREADABLE = "archive_unreadable"
    """The archive is damaged, or needs a package that is not installed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableHistory:
    """Latest completed writes, archived or not, in the order in which they became visible.

    Attributes:
        writes: the writes, oldest first.
        sizes: file sizes after each write, in the order of `writes`.
        end: why there are no older writes.
    """

    writes: tuple[WriteSummary, ...] = ()
    sizes: tuple[FileSizes, ...] = ()
    end: HistoryEnd = HistoryEnd.NOTHING_OLDER
