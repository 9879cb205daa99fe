"""Count the commits and rows of a table that a reader of its changes has not read yet."""

from dataclasses import dataclass

from hudi_table_services.model.write_stat import MOVE_ROWS, CommitMetadata
from hudi_table_services.storage.archive.repeated_reads import repeat_if_deleted
from hudi_table_services.storage.parallel import map_in_parallel
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from hudi_table_services.tables.table import TableAccess

_READ_COMMITS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceBacklog:
    """The commits after a position, without table services that only move rows, such as clusterings.

    Attributes:
        commits: number of commits; a lower bound unless `is_exact`.
        rows: number of rows that these commits inserted, updated or deleted; None if this number is not known.
        since: the time at which the oldest of these commits became visible; empty if there is none.
        is_exact: whether all commits after the position are on the active timeline and were read.
    """

    commits: int
    rows: int | None
    since: str
    is_exact: bool


def source_backlog(table: TableAccess, position: str) -> SourceBacklog:
    """Return what a reader at this position has not read. At most the 200 oldest commits are read.

    Raises:
        CorruptTableError, StorageError: a commit cannot be read.
    """
    return repeat_if_deleted(lambda: _backlog(table, position), "the source")


def _backlog(table: TableAccess, position: str) -> SourceBacklog:
    writes = sorted(table.load_timeline().completed_writes, key=lambda each: each.visible_from)
    unread = [each for each in writes if each.visible_from > position]
    metadata = map_in_parallel(table.timeline_store.commit_metadata, unread[:_READ_COMMITS])
    found = [
        (instant, each)
        for instant, each in zip(unread, metadata, strict=False)
        if each.operation_type not in MOVE_ROWS
    ]
    is_older = not writes or position < writes[0].visible_from
    is_archived = is_older and ArchivedTimeline(table.storage, table.config).has_begun
    counts = [_row_count(each) for _, each in found]
    known = [count for count in counts if count is not None]
    is_exact = len(unread) <= _READ_COMMITS and not is_archived
    return SourceBacklog(
        commits=len(found),
        rows=sum(known) if is_exact and len(known) == len(counts) else None,
        since=found[0][0].visible_from if found else "",
        is_exact=is_exact,
    )


def _row_count(commit: CommitMetadata) -> int | None:
    """Return the number of changed rows; None if the commit replaced file groups, whose number of rows is unknown."""
    if commit.partition_to_replace_file_ids:
        return None
    return sum(stat.num_inserts + stat.num_update_writes + stat.num_deletes for stat in commit.write_stats)
