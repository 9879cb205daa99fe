"""What a user wants to read."""

from dataclasses import dataclass
from enum import Enum

from hudi_table_services.model.reading.predicate import Predicate


class QueryType(str, Enum):
    """Values of ``hoodie.datasource.query.type``."""

    SNAPSHOT = "snapshot"
    """The rows as of an instant, by default the latest; log files are merged with base files."""
    READ_OPTIMIZED = "read_optimized"
    """The rows of base files only: for merge-on-read tables, the rows as of the last compaction of each file group."""
    INCREMENTAL = "incremental"
    """The latest state of the rows that the commits of a window changed."""


class HolesPolicy(str, Enum):
    """Values of ``hoodie.read.timeline.holes.resolution.policy``.

    A hole is a pending write in the window of an incremental query of a table without completion times. The write may
    complete later, and then the next window would not contain it.
    """

    FAIL = "FAIL"
    BLOCK = "BLOCK"
    """The window ends before the pending write."""


EARLIEST = "earliest"
"""Beginning of a window that contains all commits of the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableQuery:
    """One read of a table.

    Attributes:
        as_of: point in time of a snapshot or read-optimized query, as the user wrote it: the requested time of an
            instant, or a date and time; empty for the latest state.
        begin: start of the window of an incremental query, exclusive, or `EARLIEST`. Bounds are completion times from
            table version 8 on, and requested times in earlier versions.
        end: end of the window, inclusive; empty for the latest commit.
        scans_table_if_incomplete: whether an incremental query reads the whole table if commits of the window are
            archived or their files were deleted. Such a read returns only rows that no later commit changed.
        columns: names of the columns to read, in the wanted order; None for all columns, after the meta columns.
        predicates: conditions that all rows of the result fulfil.
        skips_files: whether statistics and indexes are used to leave out files.
        metadata_enable: ``hoodie.metadata.enable``: False if the metadata table must not be read.
    """

    query_type: QueryType = QueryType.SNAPSHOT
    as_of: str = ""
    begin: str = ""
    end: str = ""
    holes: HolesPolicy = HolesPolicy.FAIL
    scans_table_if_incomplete: bool = False
    columns: tuple[str, ...] | None = None
    predicates: tuple[Predicate, ...] = ()
    skips_files: bool = True
    metadata_enable: bool = True
