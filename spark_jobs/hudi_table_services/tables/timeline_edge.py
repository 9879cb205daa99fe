"""Check the side effects of a change that gives the active timeline another first write.

Readers treat every file that is older than the first write as committed. Readers ignore a file that is newer than the
first write and whose instant is not on the timeline. If the new first write is earlier than the old first write,
readers no longer see some archived commits. If the new first write is later, readers see files of writes that never
completed. Commits with a savepoint do not count as the first write, so creating or deleting a savepoint can change the
first write too.
"""

from collections.abc import Mapping, Set

from hudi_table_services.contract.text import counted
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.archival import ArchivedWrite
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage.file_listing import list_partitions
from hudi_table_services.storage.file_slices import first_write_time
from hudi_table_services.storage.log_files.written_instants import written_instants
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from hudi_table_services.tables.table import TableAccess

_NEXT_COMMIT = Instant(requested_time="9" * 17, action=Action.COMMIT, state=InstantState.REQUESTED)
"""An instant that is later than every instant of the timeline."""


def hidden_writes(table: TableAccess, before: Timeline, after: Timeline) -> tuple[ArchivedWrite, ...]:
    """Archived writes that readers see with the timeline `before`, and would not see with `after`.

    Raises:
        CorruptTableError: the archive cannot be read.
        UnsupportedTableError: the archive is Parquet, and pyarrow is not installed.
    """
    first, new_first = first_write_time(before), first_write_time(after)
    if first == new_first:
        return ()
    active = {i.identity for i in before}
    return tuple(
        write
        for write in ArchivedTimeline(table.storage, table.config).writes()
        if write.identity not in active and (new_first is None or write.instant.requested_time >= new_first)
    )


def require_nothing_hidden(table: TableAccess, before: Timeline, after: Timeline) -> None:
    """Raise InvalidRequestError if readers would no longer see some archived commits; see also `hidden_writes`."""
    if hidden := hidden_writes(table, before, after):
        raise InvalidRequestError(
            f"Readers would no longer see {counted(len(hidden), 'archived commit')}, such as "
            f"{hidden[-1].instant.requested_time}: too few commits would be left on the active timeline.",
            hint="Undo fewer commits. Archived commits cannot be undone; write corrected rows instead.",
        )


def require_nothing_shown(table: TableAccess, before: Timeline, after: Timeline) -> None:
    """Raise InvalidRequestError if readers would see uncommitted files with the timeline `after`.

    The check also covers the timeline as it will be after the next commit.
    """
    shown = uncommitted_files(table, before, first_write_time(Timeline.of((*after, _NEXT_COMMIT))) or "")
    if shown:
        time = min(shown)
        raise InvalidRequestError(
            f"Files of {time}, which never completed, would count as committed ({shown[time]}).",
            hint="Nothing was done. Run repair_orphan_files.py --execute first.",
        )


def uncommitted_files(table: TableAccess, timeline: Timeline, until: str) -> Mapping[str, str]:
    """Find files that belong to no completed or pending write.

    Only files with an instant time from the first write of the timeline up to `until` (exclusive) are checked. In table
    version 6, the blocks in log files are checked, too.

    Raises:
        MalformedMetadataError: see `written_instants`.

    Returns:
        The instant times in the names of such files, each with the path of one file.
    """
    first = first_write_time(timeline) or ""
    if first >= until:
        return {}
    known = {i.requested_time for i in timeline if i.action.writes_data}
    listed = list_partitions(table.storage)
    found = {
        written.instant_time: written.path
        for written in written_instants(table.storage, table.config.table_version, listed)
        if first <= written.instant_time < until and written.instant_time not in known
    }
    return {time: found[time] for time in never_completed(table, found.keys())}


def never_completed(table: TableAccess, times: Set[str]) -> Set[str]:
    """Return the times that the archive does not contain.

    The archive can contain commits that are later than the first active commit, because archival skips commits with
    savepoints.
    """
    if not times:
        return times
    archived = ArchivedTimeline(table.storage, table.config).writes()
    return times - {each.instant.requested_time for each in archived}
