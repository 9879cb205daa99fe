"""Load what an incremental query reads: the commits of its window, and the file slices that they wrote."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from hudi_table_services.contract.text import counted
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.archival import ArchivedWrite
from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.instant import Action
from hudi_table_services.model.reading.query import HolesPolicy, TableQuery
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.options.keys.archival import MIN_COMMITS
from hudi_table_services.options.keys.cleaning import COMMITS_RETAINED
from hudi_table_services.options.keys.reading import FULL_SCAN, HOLES_POLICY
from hudi_table_services.planning.reading.window import Window, WindowCommits, before_holes, commits_of
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.file_listing import list_partitions
from hudi_table_services.storage.file_slices import Visibility, first_write_time, latest_slices
from hudi_table_services.storage.parallel import map_in_parallel
from hudi_table_services.storage.pending_plans import is_pending_row_write
from hudi_table_services.storage.stores.storage import Storage, StoredObject
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from hudi_table_services.tables.reading.points_in_time import window_bound


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedSlices:
    """The file slices that an incremental query reads.

    Attributes:
        slices: the newest slices of the window, which contain only files that commits of the window wrote.
        visibility: the instants whose log blocks are read; other log blocks are ignored.
        missing: paths of files of these slices that do not exist any more.
    """

    slices: tuple[FileSlice, ...]
    visibility: Visibility
    missing: tuple[str, ...] = ()


def window_commits(
    storage: Storage, snapshot: TableSnapshot, query: TableQuery
) -> tuple[Window, WindowCommits]:
    """Return the window of a query and its commits.

    Args:
        snapshot: the latest state; its file slices are not needed.

    Raises:
        InvalidRequestError: a bound is not a point in time; or a write that belongs to the window is still pending.
        CorruptTableError, UnsupportedTableError: see `ArchivedTimeline.writes`.
    """
    until = window_bound(query.end, snapshot.config) if query.end else ""
    wanted = Window(after=window_bound(query.begin, snapshot.config), until=until)
    window, _ = end_before_holes(storage, snapshot, wanted, query.holes)
    return window, commits_in(storage, snapshot, window)


def end_before_holes(
    storage: Storage, snapshot: TableSnapshot, window: Window, holes: HolesPolicy
) -> tuple[Window, str]:
    """End a window before a pending write that, once completed, will be visible from a time inside the window.

    The function changes only windows of tables without completion times. In other tables, a pending write becomes
    visible after all completed writes.

    Returns:
        The window, and the requested time of the pending write; empty if there is no such write.

    Raises:
        InvalidRequestError: there is such a write, and `holes` is FAIL.
    """
    config, timeline = snapshot.config, snapshot.timeline
    if config.table_version.layout.has_completion_time_in_names:
        return window, ""
    store = TimelineStore(storage, config, SystemClock())
    pending = [i for i in timeline.pending if is_pending_row_write(store, i)]
    shorter, hole = before_holes(window, timeline.completed_writes, pending)
    if hole and holes is HolesPolicy.FAIL:
        raise InvalidRequestError(
            f"The write {hole} is pending, and later writes have completed. A window that ends after {hole} would "
            "miss its rows.",
            hint=f"Wait until the write has completed, or roll it back if its writer died. With {HOLES_POLICY}="
            f"{HolesPolicy.BLOCK.value}, the read ends before the pending write.",
        )
    return shorter, hole


def commits_in(storage: Storage, snapshot: TableSnapshot, window: Window) -> WindowCommits:
    """Return the commits of a window, with their metadata; without archived commits if the window contains all commits.

    Raises:
        CorruptTableError, UnsupportedTableError: see `ArchivedTimeline.writes`.
    """
    store = TimelineStore(storage, snapshot.config, SystemClock())
    active = [i for i in snapshot.timeline.completed_writes if window.contains(i)]
    metadata = dict(zip(active, map_in_parallel(store.commit_metadata, active), strict=True))
    return commits_of(window, metadata, _archived(storage, snapshot, window))


def archived_in(storage: Storage, snapshot: TableSnapshot, window: Window) -> tuple[ArchivedWrite, ...]:
    """Return the archived writes of a window; nothing if the window contains all commits.

    Raises:
        CorruptTableError, UnsupportedTableError: see `ArchivedTimeline.writes`.
    """
    active = {instant.identity for instant in snapshot.timeline.completed_writes}
    return tuple(
        write
        for write in _archived(storage, snapshot, window)
        if window.contains(write.instant) and write.identity not in active
    )


def _archived(storage: Storage, snapshot: TableSnapshot, window: Window) -> Iterable[ArchivedWrite]:
    """Archived writes that may be in a window.

    A window after the first write of the active timeline can contain archived writes only if the table has completion
    times. A window of such a table selects writes by completion times, but archival selects them by requested times. So
    a write that ran for a long time can complete in the window, and be archived soon after that.
    """
    timeline, layout = snapshot.timeline, snapshot.config.table_version.layout
    first = first_write_time(timeline)
    if not timeline.may_have_archive or first is None or window.is_unbounded:
        return ()
    if window.after >= first and not layout.has_completion_time_in_names:
        return ()
    return ArchivedTimeline(storage, snapshot.config).writes_completed_after(window.after)


def changed_slices(storage: Storage, snapshot: TableSnapshot, commits: WindowCommits) -> ChangedSlices:
    """Return the slices that the commits wrote, as Hudi's incremental relations choose them (Hudi 1.2).

    Only files that the commits of the window name are read. So the base file of a slice is read only if a commit of the
    window wrote it, and a row of a log file is returned even if it loses against the row of an older base file.
    """
    config, timeline = snapshot.config, snapshot.timeline
    has_own = config.table_version.has_own_log_instants
    last = commits.last_requested
    slicing = Visibility.of(timeline, has_own_log_instants=has_own, as_of=last).knowing(commits.visible_from)
    reading = replace(slicing, completed=dict(commits.visible_from), first_write_time=None)
    paths = commits.written_paths()
    present = list_partitions(storage, paths.keys())
    replaced = _replaced(storage, snapshot, commits)
    slices: list[FileSlice] = []
    missing: list[str] = []
    for partition, written in sorted(paths.items()):
        found = {stored.path: stored for stored in present.get(partition, ())}
        files = [found.get(path) or StoredObject(path, 0, 0) for path in sorted(written)]
        newest = latest_slices(partition, files, slicing, replaced.get(partition, ()), _pick_last)
        slices += newest
        missing += [path for each in newest for path in each.paths if path not in found]
    return ChangedSlices(slices=tuple(slices), visibility=reading, missing=tuple(missing))


def refuse_incomplete(commits: WindowCommits, missing: Collection[str]) -> None:
    """Refuse to read a window, because files that its commits wrote were deleted.

    Raises:
        InvalidRequestError: the message names a file, and the settings that keep files and commits longer.
    """
    raise InvalidRequestError(
        f"{counted(len(missing), 'file')} that the commits of the window wrote, for example {min(missing)}, "
        f"do not exist any more. {counted(commits.archived, 'commit')} of the window are archived.",
        hint=f"Read the table as a snapshot, and continue from {commits.until}. Or set {FULL_SCAN}=true: the read "
        "then returns the rows of the window that no later commit changed. To keep files longer, raise "
        f"{COMMITS_RETAINED} and {MIN_COMMITS}.",
    )


def _replaced(storage: Storage, snapshot: TableSnapshot, commits: WindowCommits) -> Mapping[str, set[str]]:
    """Map each partition path to the file groups that replace commits replaced until the end of the window.

    Archived replace commits are those of the window. An earlier replace commit replaced only file groups to which no
    commit of the window has written.

    The function compares the time from which a replace commit is visible, not its requested time. A clustering that
    completes after the window must not remove rows from the window, because no later window contains these rows.
    """
    store = TimelineStore(storage, snapshot.config, SystemClock())
    replaces = [
        i
        for i in snapshot.timeline.completed_writes
        if i.action is Action.REPLACE_COMMIT and i.visible_from <= commits.until
    ]
    active = map_in_parallel(store.commit_metadata, replaces)
    found: dict[str, set[str]] = {}
    for metadata in (*active, *(write.metadata for write in commits.writes)):
        for path, file_ids in (metadata.partition_to_replace_file_ids or {}).items():
            found.setdefault(path, set()).update(file_ids)
    return found


def _pick_last(partition_path: str, candidates: Collection[BaseFile]) -> BaseFile:
    return max(candidates, key=lambda base: base.file_name)
