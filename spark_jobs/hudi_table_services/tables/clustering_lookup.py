"""Find the clusterings that a request names, or explain why they are not on the timeline."""

from dataclasses import dataclass
from typing import ClassVar

from hudi_table_services.errors import ObjectNotFoundError
from hudi_table_services.model.instant import Instant
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.clustering_history import GAVE_WAY_KEY, Clustering, ClusteringHistory
from hudi_table_services.tables.plans.plan_history import PlanHistory


@dataclass(frozen=True, slots=True)
class ClusteringLookup(PlanHistory[Clustering]):
    """The clusterings of a timeline that was loaded once. Each file of the timeline is read at most once."""

    noun: ClassVar[str] = "clustering"

    history: ClusteringHistory

    @classmethod
    def load(cls, store: TimelineStore) -> "ClusteringLookup":
        """Load the timeline and its clusterings.

        Raises:
            MalformedMetadataError: the plan of a pending clustering cannot be read.
        """
        timeline = store.load()
        return cls(store, timeline, ClusteringHistory.load(store, timeline))

    @property
    def plans(self) -> tuple[Clustering, ...]:
        return self.history.clusterings

    def current(self, requested_time: str) -> Clustering | None:
        return self.exact(requested_time) or self.history.successor_of(requested_time)

    def why_missing(self, requested_time: str) -> str | None:
        if (write := self.released_by(requested_time)) is not None:
            return f"write {write} released all file groups of clustering {requested_time} and thereby cancelled it"
        return PlanHistory.why_missing(self, requested_time)

    def released_by(self, requested_time: str) -> str | None:
        """The write that released all file groups of a plan; None if the active timeline has no such write."""
        return self._removed_by(requested_time, self.timeline.completed_writes, self._released_by)

    def _released_by(self, write: Instant) -> frozenset[str]:
        try:
            extra = self.store.commit_metadata(write).extra_metadata
        except ObjectNotFoundError:
            return frozenset()  # the write was just archived
        return frozenset(extra.get(GAVE_WAY_KEY, "").split(","))
