"""Find the plans of one table service on the timeline, or explain why they are not there."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Generic, Protocol, TypeVar

from hudi_table_services.errors import InvalidRequestError, ObjectNotFoundError
from hudi_table_services.hudi_format.table_service_plans import decode_rollback_metadata
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import REQUEST_ID_KEY
from hudi_table_services.storage.damage import naming
from hudi_table_services.storage.timeline_store import TimelineStore


class PlannedInstant(Protocol):
    """An instant that carries out a plan: a clustering or a compaction, in any state."""

    @property
    def instant(self) -> Instant: ...

    @property
    def request_id(self) -> str | None:
        """Id of the request that scheduled the plan; None if the plan contains no request id."""

    @property
    def file_groups(self) -> frozenset[FileGroupId]: ...


PlanT = TypeVar("PlanT", bound=PlannedInstant)


@dataclass(frozen=True, slots=True)
class PlanHistory(ABC, Generic[PlanT]):
    """The plans of one service on a timeline that was loaded once. Each rollback and write is read at most once."""

    noun: ClassVar[str]
    """Name of the service."""

    store: TimelineStore
    timeline: Timeline
    _named_times: dict[Instant, frozenset[str]] = field(
        default_factory=dict, repr=False, compare=False, kw_only=True
    )

    @property
    @abstractmethod
    def plans(self) -> tuple[PlanT, ...]:
        """All plans of the active timeline, in any state, oldest first."""

    @property
    def pending(self) -> tuple[PlanT, ...]:
        return tuple(each for each in self.plans if not each.instant.is_completed)

    def exact(self, requested_time: str) -> PlanT | None:
        """The plan of this requested time, in any state."""
        return next((each for each in self.plans if each.instant.requested_time == requested_time), None)

    def current(self, requested_time: str) -> PlanT | None:
        """The plan of this requested time, in any state, or the plan that replaced it."""
        return self.exact(requested_time)

    def find(self, requested_time: str) -> PlanT:
        """The result of `current`. It is an error if there is no such plan.

        Raises:
            InvalidRequestError: the plan was removed, belongs to another service, or is not on the active timeline.
        """
        found = self.current(requested_time)
        if found is not None:
            return found
        others = self.timeline.find(requested_time)
        if others:
            raise InvalidRequestError(
                f"Instant {requested_time} is a {others[0].action.value}, not a {self.noun}.",
                hint=f"`hudi-services show table TABLE` lists the pending {self.noun}s.",
            )
        if (reason := self.why_missing(requested_time)) is not None:
            raise InvalidRequestError(
                f"{reason[0].upper()}{reason[1:]}.", hint=f"Schedule a new {self.noun}."
            )
        raise InvalidRequestError(
            f"There is no instant {requested_time} on the active timeline.",
            hint=f"Check the base path. If the {self.noun} was completed long ago, it may be archived.",
        )

    def select(self, requested_times: Sequence[str]) -> tuple[list[PlanT], list[str]]:
        """Return the plans that a request names, and a clause about each named plan that was removed.

        Without names, return all pending plans. A removed plan is not a failure, because an earlier attempt of the
        request may have cancelled the plan. Each plan is returned once, even if the request names both the plan and the
        older plan that it replaces.

        Raises:
            InvalidRequestError: see `find`.
        """
        removed = {time: words for time in requested_times if (words := self.why_missing(time)) is not None}
        named = [self.find(time) for time in requested_times if time not in removed]
        once = {each.instant.requested_time: each for each in named}
        return list(once.values() if requested_times else self.pending), list(removed.values())

    def scheduled_by(self, request_id: str) -> tuple[PlanT, ...]:
        """Return the plans that this request scheduled."""
        return tuple(each for each in self.plans if each.request_id == request_id)

    def executed_by(self, request_id: str) -> tuple[PlanT, ...]:
        """Return the plans that this request completed, whichever request scheduled them."""
        return tuple(
            each
            for each in self.plans
            if each.instant.is_completed
            and self.store.commit_metadata(each.instant).extra_metadata.get(REQUEST_ID_KEY) == request_id
        )

    def why_missing(self, requested_time: str) -> str | None:
        """Return a clause that says why a plan was removed without replacement; None if the reason is unknown."""
        rollback = self.cancelled_by(requested_time)
        if rollback is None:
            return None
        return f"{self.noun} {requested_time} was cancelled: rollback {rollback} removed it from the timeline"

    def cancelled_by(self, requested_time: str) -> str | None:
        """The rollback that removed a plan from the timeline.

        None if there is no such rollback, or if a new plan replaced the given plan.
        """
        rollbacks = [i for i in self.timeline.completed if i.action is Action.ROLLBACK]
        return self._removed_by(requested_time, rollbacks, self._undone_by)

    def _removed_by(
        self,
        requested_time: str,
        instants: Sequence[Instant],
        removed_by: Callable[[Instant], frozenset[str]],
    ) -> str | None:
        """The first of these instants that removed a plan; None if there is none, or if the plan is present.

        Args:
            removed_by: reads the requested times of the plans that an instant removed.
        """
        if self.timeline.find(requested_time) or self.current(requested_time) is not None:
            return None
        for instant in instants:
            if instant.requested_time > requested_time:
                if instant not in self._named_times:
                    self._named_times[instant] = removed_by(instant)
                if requested_time in self._named_times[instant]:
                    return instant.requested_time
        return None

    def _undone_by(self, rollback: Instant) -> frozenset[str]:
        try:
            with naming(self.store.path_of(rollback)):
                return frozenset(decode_rollback_metadata(self.store.read(rollback)).commits_rolled_back)
        except ObjectNotFoundError:
            return frozenset()  # the rollback was just archived
