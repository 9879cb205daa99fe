"""Store a position in a table's commits, so that each commit is reported at least once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hudi_table_services.model.instant import Instant
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage.file_slices import first_write_time

OPEN_INSTANTS = 100
"""Number of the newest instants that a cursor stores one by one.

The clocks of writers differ, so a new write may have an earlier requested time than existing writes.
"""

_BEFORE_ALL = "0"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitCursor:
    """A position on a timeline.

    Writes may complete in a different order than they were requested, and table version 6 does not record when a
    write completed. A cursor with a single time would skip a write that began early and ended late. This cursor
    therefore stores each known write at or after `floor`, where writes may still complete.

    Attributes:
        floor: a requested time. All writes with an earlier requested time were reported or do not count. If
            empty, the cursor is at the beginning of the active timeline.
        known: requested times, at or after the floor, of completed writes that were reported or do not count.
    """

    floor: str = ""
    known: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def before_all(cls) -> "CommitCursor":
        """Return a cursor without known writes: all writes are new, including archived writes."""
        return cls(floor=_BEFORE_ALL)

    @classmethod
    def at_head(cls, timeline: Timeline) -> "CommitCursor":
        """Return a cursor for which all completed writes are known. Later writes are new, even after their archival."""
        return cls.before_all().past(timeline, timeline.completed_writes)

    def new_writes(self, timeline: Timeline, archived: Iterable[Instant] = ()) -> tuple[Instant, ...]:
        """Return the completed writes that are new to this cursor, in the order in which they became visible."""
        candidates = {*timeline.completed_writes, *archived}
        new = [i for i in candidates if i.requested_time >= self.floor and i.requested_time not in self.known]
        return tuple(sorted(new, key=lambda i: (i.visible_from, i.requested_time)))

    def needs_archive(self, timeline: Timeline) -> bool:
        """Return whether writes may have been archived before they were reported."""
        first = first_write_time(timeline)
        return bool(self.floor) and (first is None or self.floor < first)

    def past(
        self, timeline: Timeline, settled: Iterable[Instant], waiting: Iterable[Instant] = ()
    ) -> "CommitCursor":
        """Return the cursor after a poll.

        Args:
            timeline: the timeline at the poll that found the writes.
            settled: new writes that were reported, or do not count.
            waiting: new writes that will be reported later.
        """
        times = sorted(i.requested_time for i in timeline.instants)
        pending = [i.requested_time for i in timeline.pending if i.action.writes_data]
        unreported = [i.requested_time for i in waiting]
        floor = max(self.floor, min([*times[-OPEN_INSTANTS:], *pending, *unreported], default=""))
        known = {*self.known, *(i.requested_time for i in settled)}
        return CommitCursor(floor=floor, known=frozenset(time for time in known if time >= floor))

    def to_json(self) -> dict[str, Any]:
        return {"floor": self.floor, "known": sorted(self.known)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "CommitCursor":
        """Read a cursor from JSON values. Raises KeyError or TypeError if the values are not a cursor."""
        known: Sequence[str] = values["known"]
        return cls(floor=str(values["floor"]), known=frozenset(map(str, known)))
