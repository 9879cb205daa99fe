"""Find the commits and files in the window of an incremental query."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from hudi_table_services.model.archival import ArchivedWrite
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation

_FIRST = "0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A range of points in time at which writes became visible.

    Attributes:
        after: start of the range, exclusive.
        until: end of the range, inclusive; empty for no limit.
    """

    after: str
    until: str = ""

    @property
    def is_unbounded(self) -> bool:
        """Return whether every write of the table is in the window."""
        return self.after <= _FIRST and not self.until

    def contains(self, instant: Instant) -> bool:
        time = instant.visible_from
        return time > self.after and (not self.until or time <= self.until)


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowCommits:
    """The commits of a window.

    Attributes:
        writes: completed writes with their metadata, ordered by the times at which they became visible.
        archived: how many of the writes are archived.
        until: the time at which the last of the writes became visible, for the next window; the start of the window if
            there are no writes.
    """

    writes: tuple[ArchivedWrite, ...]
    archived: int
    until: str

    @property
    def commit_times(self) -> tuple[str, ...]:
        """Return the values of ``_hoodie_commit_time`` in the rows that these commits wrote."""
        return tuple(sorted({write.instant.requested_time for write in self.writes}))

    @property
    def last_requested(self) -> str:
        return max(self.commit_times)

    @property
    def visible_from(self) -> Mapping[str, str]:
        """Map each requested time to the time at which the write became visible."""
        return {write.instant.requested_time: write.instant.visible_from for write in self.writes}

    def written_paths(self) -> Mapping[str, frozenset[str]]:
        """Map each partition path to the data files that the commits wrote.

        The files that log compactions wrote are left out: the log files that a log compaction replaces have the same
        rows, with the same commit times.
        """
        found: dict[str, set[str]] = {}
        for write in self.writes:
            if write.metadata.operation_type is not WriteOperation.LOG_COMPACT:
                for path, stats in write.metadata.partition_to_write_stats.items():
                    found.setdefault(path, set()).update(stat.path for stat in stats)
        return {path: frozenset(paths) for path, paths in found.items()}


def commits_of(
    window: Window, active: Mapping[Instant, CommitMetadata], archived: Iterable[ArchivedWrite]
) -> WindowCommits:
    """Return the commits of a window.

    Args:
        active: completed writes of the active timeline; may contain writes outside of the window.
        archived: completed writes of the archive. A write may be in both, if an archival was interrupted.
    """
    known = {instant.identity for instant in active}
    old = [each for each in archived if each.identity not in known and window.contains(each.instant)]
    new = [
        ArchivedWrite(instant=instant, metadata=metadata)
        for instant, metadata in active.items()
        if window.contains(instant)
    ]
    writes = sorted([*old, *new], key=lambda w: (w.instant.visible_from, w.instant.requested_time))
    until = writes[-1].instant.visible_from if writes else window.after
    return WindowCommits(writes=tuple(writes), archived=len(old), until=until)


def before_holes(
    window: Window, writes: Collection[Instant], pending: Iterable[Instant]
) -> tuple[Window, str]:
    """End a window before the first pending write if a later write of the window is already completed.

    Call this function only for tables without completion times. In a table with completion times, a pending write
    becomes visible only after all writes that are completed now, so a later window contains it.

    Args:
        writes: completed writes of the table.
        pending: pending writes of rows.

    Returns:
        The window, and the requested time of the pending write; empty if there is no such write.
    """
    first = min((each.requested_time for each in pending), default="")
    if not first or not any(window.contains(each) and each.visible_from > first for each in writes):
        return window, ""
    earlier = [each.visible_from for each in writes if each.visible_from < first]
    end = max(earlier, default=_FIRST)
    until = end if not window.until else min(end, window.until)
    return Window(after=window.after, until=max(until, window.after, _FIRST)), first
