"""What else becomes of a table when the first write of its active timeline becomes another one.

Readers take every file that is older than this write for committed, and no younger one that the timeline does not
know. So moving it back hides archived commits, and moving it on shows files of writes that never completed. Commits
that savepoints hold do not count as the first one: creating or deleting a savepoint moves it, too.
"""

from collections.abc import Mapping, Set
from contextlib import suppress

from hudi_table_services.errors import InvalidRequestError, MalformedFileNameError
from hudi_table_services.model.archival import ArchivedWrite
from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage.file_listing import list_partitions
from hudi_table_services.storage.file_slices import first_write_time
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from hudi_table_services.tables.table import TableAccess

_NEXT_COMMIT = Instant(requested_time="9" * 17, action=Action.COMMIT, state=InstantState.REQUESTED)
"""Later than all there are."""


def hidden_writes(table: TableAccess, before: Timeline, after: Timeline) -> tuple[ArchivedWrite, ...]:
    """Archived writes that readers see with the timeline as it is, and would not see any more.

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
    """Raises InvalidRequestError where archived commits would not be seen any more; see also `hidden_writes`."""
    if hidden := hidden_writes(table, before, after):
        raise InvalidRequestError(
            f"{len(hidden)} archived commits would not be seen any more, such as "
            f"{hidden[-1].instant.requested_time}: too few commits would be left on the active timeline.",
            hint="Undo fewer commits; what is archived cannot be undone, and has to be written again instead.",
        )


def require_nothing_shown(table: TableAccess, before: Timeline, after: Timeline) -> None:
    """Raises InvalidRequestError where files that belong to no commit would be seen, now or with the next commit."""
    shown = strays(table, before, first_write_time(Timeline.of((*after, _NEXT_COMMIT))) or "")
    if shown:
        time = min(shown)
        raise InvalidRequestError(
            f"Files of {time}, which never completed, would count as committed ({shown[time]}).",
            hint="Nothing was done. Run repair_orphan_files.py --execute first.",
        )


def strays(table: TableAccess, timeline: Timeline, until: str) -> Mapping[str, str]:
    """Files that no completed or pending write wrote, from the first write of the timeline up to a requested time.

    Returns:
        The time in their names → the path of one of them.
    """
    first = first_write_time(timeline) or ""
    if first >= until:
        return {}
    known = {i.requested_time for i in timeline if i.action.writes_data}
    found: dict[str, str] = {}
    for path, files in list_partitions(table.storage).items():
        for stored in files:
            with suppress(MalformedFileNameError):
                time = BaseFile.from_file_name(stored.name).instant_time
                if first <= time < until and time not in known:
                    found[time] = join_path(path, stored.name)
    return {time: found[time] for time in never_completed(table, found.keys())}


def never_completed(table: TableAccess, times: Set[str]) -> Set[str]:
    """Those of them that the archive does not hold: commits around a savepoint may have been archived."""
    if not times:
        return times
    archived = ArchivedTimeline(table.storage, table.config).writes()
    return times - {each.instant.requested_time for each in archived}
