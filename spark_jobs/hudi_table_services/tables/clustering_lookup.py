"""Find the clusterings that a request names, or explain why they are not on the timeline."""

from dataclasses import dataclass, field

from hudi_table_services.errors import InvalidRequestError, ObjectNotFoundError
from hudi_table_services.hudi_format.table_service_plans import decode_rollback_metadata
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage.damage import naming
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.clustering_history import GAVE_WAY_KEY, Clustering, ClusteringHistory


@dataclass(frozen=True, slots=True)
class ClusteringLookup:
    """The clusterings of a timeline that was loaded once. Each file of the timeline is read at most once."""

    store: TimelineStore
    timeline: Timeline
    history: ClusteringHistory
    _named_times: dict[Instant, frozenset[str]] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def load(cls, store: TimelineStore) -> "ClusteringLookup":
        """Load the timeline and its clusterings.

        Raises:
            MalformedMetadataError: the plan of a pending clustering cannot be read.
        """
        timeline = store.load()
        return cls(store, timeline, ClusteringHistory.load(store, timeline))

    @property
    def pending(self) -> tuple[Clustering, ...]:
        return self.history.pending

    def current(self, requested_time: str) -> Clustering | None:
        """The clustering of this requested time, in any state, or the plan that replaced it."""
        return self.history.find(requested_time) or self.history.successor_of(requested_time)

    def find(self, requested_time: str) -> Clustering:
        """The result of `current`. It is an error if there is no such clustering.

        Raises:
            InvalidRequestError: the instant was rolled back, is not a clustering, or is not on the active timeline.
        """
        found = self.current(requested_time)
        if found is not None:
            return found
        others = self.timeline.find(requested_time)
        if others:
            raise InvalidRequestError(
                f"Instant {requested_time} is a {others[0].action.value}, not a clustering.",
                hint="`hudi-services show table TABLE` lists the pending clusterings.",
            )
        if (reason := self.why_missing(requested_time)) is not None:
            raise InvalidRequestError(f"{reason[0].upper()}{reason[1:]}.", hint="Schedule a new clustering.")
        raise InvalidRequestError(
            f"There is no instant {requested_time} on the active timeline.",
            hint="Check the base path. If the clustering was completed long ago, it may be archived.",
        )

    def why_missing(self, requested_time: str) -> str | None:
        """Return a clause that says why a plan was removed without replacement; None if the reason is unknown."""
        if (write := self.released_by(requested_time)) is not None:
            return f"write {write} released all file groups of clustering {requested_time} and thereby cancelled it"
        if (rollback := self.cancelled_by(requested_time)) is not None:
            return (
                f"clustering {requested_time} was cancelled: rollback {rollback} removed it from the timeline"
            )
        return None

    def released_by(self, requested_time: str) -> str | None:
        """The write that released all file groups of a plan; None if the active timeline has no such write."""
        if self._is_present(requested_time):
            return None
        return self._first_that_names(requested_time, self.timeline.completed_writes)

    def cancelled_by(self, requested_time: str) -> str | None:
        """The rollback that removed a plan from the timeline.

        None if there is no such rollback, or if a new plan replaced the given plan.
        """
        if self._is_present(requested_time):
            return None
        rollbacks = tuple(i for i in self.timeline.completed if i.action is Action.ROLLBACK)
        return self._first_that_names(requested_time, rollbacks)

    def _is_present(self, requested_time: str) -> bool:
        return bool(self.timeline.find(requested_time)) or self.current(requested_time) is not None

    def _first_that_names(self, requested_time: str, instants: tuple[Instant, ...]) -> str | None:
        for instant in instants:
            if instant.requested_time > requested_time and requested_time in self._named_by(instant):
                return instant.requested_time
        return None

    def _named_by(self, instant: Instant) -> frozenset[str]:
        """Requested times of the instants that a rollback undid, or of the plans that a write cancelled."""
        if instant not in self._named_times:
            try:
                self._named_times[instant] = self._read(instant)
            except ObjectNotFoundError:
                self._named_times[instant] = frozenset()  # the instant was just archived
        return self._named_times[instant]

    def _read(self, instant: Instant) -> frozenset[str]:
        if instant.action is Action.ROLLBACK:
            with naming(self.store.path_of(instant)):
                return frozenset(decode_rollback_metadata(self.store.read(instant)).commits_rolled_back)
        extra = self.store.commit_metadata(instant).extra_metadata
        return frozenset(extra.get(GAVE_WAY_KEY, "").split(","))
