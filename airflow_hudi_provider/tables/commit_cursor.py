"""How far somebody has followed a table's commits, so that none is told twice for good and none is passed over."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hudi_table_services.model.instant import Instant
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage.file_slices import first_write_time

OPEN_INSTANTS = 100
"""So many of the newest instants are remembered one by one: writers' clocks differ."""

_BEFORE_ALL = "0"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitCursor:
    """A place on a timeline.

    Writes complete in another order than they are requested, and version 6 does not say when one completed. A single
    time would pass over a write that began early and ended late, so this keeps the known ones of the part of the
    timeline in which something may still complete.

    Attributes:
        floor: whatever was requested before is over and done with; empty: the
            beginning of the active timeline.
        known: requested times, at or after the floor, of completed writes that were told or not wanted.
    """

    floor: str = ""
    known: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def before_all(cls) -> "CommitCursor":
        """Nothing is known: whatever there is will be new, archived meanwhile or not."""
        return cls(floor=_BEFORE_ALL)

    @classmethod
    def at_head(cls, timeline: Timeline) -> "CommitCursor":
        """Everything that has completed is known; whatever comes later is new, archived meanwhile or not."""
        return cls.before_all().past(timeline, timeline.completed_writes)

    def new_writes(self, timeline: Timeline, archived: Iterable[Instant] = ()) -> tuple[Instant, ...]:
        """Completed writes that are not known, in the order in which they became visible."""
        candidates = {*timeline.completed_writes, *archived}
        new = [i for i in candidates if i.requested_time >= self.floor and i.requested_time not in self.known]
        return tuple(sorted(new, key=lambda i: (i.visible_from, i.requested_time)))

    def needs_archive(self, timeline: Timeline) -> bool:
        """Whether writes may have left the active timeline before they were told."""
        first = first_write_time(timeline)
        return bool(self.floor) and (first is None or self.floor < first)

    def past(
        self, timeline: Timeline, settled: Iterable[Instant], waiting: Iterable[Instant] = ()
    ) -> "CommitCursor":
        """The place at which further writes are known.

        Args:
            timeline: at the look that found them.
            settled: new writes that were told, or are not wanted.
            waiting: new writes that are to be told later.
        """
        times = sorted(i.requested_time for i in timeline.instants)
        pending = [i.requested_time for i in timeline.pending if i.action.writes_data]
        untold = [i.requested_time for i in waiting]
        floor = max(self.floor, min([*times[-OPEN_INSTANTS:], *pending, *untold], default=""))
        known = {*self.known, *(i.requested_time for i in settled)}
        return CommitCursor(floor=floor, known=frozenset(time for time in known if time >= floor))

    def to_json(self) -> dict[str, Any]:
        return {"floor": self.floor, "known": sorted(self.known)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "CommitCursor":
        """Raises KeyError or TypeError where it is none."""
        known: Sequence[str] = values["known"]
        return cls(floor=str(values["floor"]), known=frozenset(map(str, known)))
