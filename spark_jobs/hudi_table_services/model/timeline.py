"""The timeline: all instants of a table in order. Each instant has its most advanced state."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from hudi_table_services.model.instant import Action, Instant


@dataclass(frozen=True, slots=True)
class Timeline:
    """Instants ordered by requested time, one per requested time and action. Create a timeline with `of`.

    Attributes:
        may_have_archive: False if the table has no folder for archived instants; True if it has one or may have one.
    """

    instants: tuple[Instant, ...] = ()
    may_have_archive: bool = field(default=True, compare=False)

    @classmethod
    def of(cls, state_files: Iterable[Instant], *, may_have_archive: bool = True) -> "Timeline":
        """Build a timeline that contains the most advanced state of each instant (HoodieActiveTimeline)."""
        best: dict[tuple[str, Action], Instant] = {}
        for instant in state_files:
            known = best.get(instant.identity)
            if known is None or instant.state.rank > known.state.rank:
                best[instant.identity] = instant
        ordered = sorted(best.values(), key=lambda i: (i.requested_time, i.action.value))
        return cls(tuple(ordered), may_have_archive)

    def __iter__(self) -> Iterator[Instant]:
        return iter(self.instants)

    def __len__(self) -> int:
        return len(self.instants)

    @property
    def completed(self) -> tuple[Instant, ...]:
        """Return the completed instants, ordered by requested time."""
        return tuple(i for i in self.instants if i.is_completed)

    @property
    def pending(self) -> tuple[Instant, ...]:
        """Return the requested and inflight instants, oldest first. A pending plan reserves its file groups."""
        return tuple(i for i in self.instants if not i.is_completed)

    @property
    def completed_writes(self) -> tuple[Instant, ...]:
        """Return Hudi's "commits timeline": completed commit, deltacommit and replacecommit instants."""
        return tuple(i for i in self.completed if i.action.writes_data)

    def newest_writes(self, count: int = 5) -> str:
        """Return the requested times of the newest completed writes, newest first, for messages."""
        times = [i.requested_time for i in self.completed_writes[-count:]]
        return ", ".join(reversed(times)) or "none"

    def with_instant(self, instant: Instant) -> "Timeline":
        """Return the timeline after a new instant, or with the new state of an instant."""
        others = (i for i in self.instants if i.identity != instant.identity)
        return Timeline.of((*others, instant), may_have_archive=self.may_have_archive)

    def since(self, before: "Timeline") -> "Timeline":
        """Return the instants, or states of instants, that are not in `before`."""
        known = set(before.instants)
        return Timeline(tuple(i for i in self.instants if i not in known))

    def until(self, requested_time: str) -> "Timeline":
        """Return the instants that were requested at or before this time."""
        return Timeline(tuple(i for i in self.instants if i.requested_time <= requested_time))

    def without(self, removed: Iterable[Instant]) -> "Timeline":
        """Return the timeline without these instants."""
        identities = {i.identity for i in removed}
        return Timeline(tuple(i for i in self.instants if i.identity not in identities))

    def find(self, requested_time: str) -> tuple[Instant, ...]:
        return tuple(i for i in self.instants if i.requested_time == requested_time)
