"""Clusterings on the active timeline: their plans, their requests, and the settings of the files that they wrote."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from hudi_table_services.errors import MalformedMetadataError, ObjectNotFoundError
from hudi_table_services.hudi_format.table_service_plans import decode_requested_replace
from hudi_table_services.model.clustering import SettledSlice
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_service_plans import ClusteringPlan, RequestedReplace
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import REQUEST_ID_KEY
from hudi_table_services.options.clustering import DEFAULT_CLUSTERING
from hudi_table_services.options.keys.clustering import TARGET_FILE_MAX_BYTES
from hudi_table_services.planning.clustering.stored_plan import read_plan_settings
from hudi_table_services.storage.damage import naming
from hudi_table_services.storage.parallel import map_in_parallel
from hudi_table_services.storage.timeline_store import TimelineStore

PARENT_KEY = "airflow.clustering.schedule"
"""Key in the extra metadata of plans that were scheduled together. The value is the first plan's requested time."""

PREDECESSOR_KEY = "airflow.clustering.instead_of"
"""Key in the extra metadata of a plan that replaced an older plan. The value is the older plan's requested time.

A write replaces a plan to release file groups from it."""

GAVE_WAY_KEY = "airflow.clustering.gave_way"
"""Key in the extra metadata of a write. The value lists the requested times of the plans that the write replaced or
cancelled, separated by commas."""


@dataclass(frozen=True, slots=True)
class Clustering:
    """One clustering of the timeline, in any state."""

    instant: Instant
    plan: ClusteringPlan
    extra_metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def request_id(self) -> str | None:
        return self.extra_metadata.get(REQUEST_ID_KEY)

    @property
    def schedule(self) -> str:
        """Requested time that identifies the schedule. Plans that were scheduled together have the same value."""
        return self.extra_metadata.get(PARENT_KEY, self.instant.requested_time)

    @property
    def file_groups(self) -> frozenset[FileGroupId]:
        return frozenset(FileGroupId(s.partition_path, s.file_id) for g in self.plan.groups for s in g.slices)


@dataclass(frozen=True, slots=True)
class ClusteringHistory:
    """All clusterings of the active timeline, oldest first."""

    clusterings: tuple[Clustering, ...] = ()

    @classmethod
    def load(cls, store: TimelineStore, timeline: Timeline) -> "ClusteringHistory":
        """Read the requested file of every replace commit: only this file shows whether the instant is a clustering.

        Raises:
            MalformedMetadataError: the plan of a pending clustering cannot be read.
        """
        replaces = [i for i in timeline if i.action.comparable is Action.REPLACE_COMMIT]
        found = map_in_parallel(lambda instant: _clustering(store, instant), replaces)
        return cls(tuple(each for each in found if each is not None))

    @property
    def requested_times(self) -> frozenset[str]:
        return frozenset(each.instant.requested_time for each in self.clusterings)

    @property
    def pending(self) -> tuple[Clustering, ...]:
        return tuple(each for each in self.clusterings if not each.instant.is_completed)

    @property
    def newest(self) -> Clustering | None:
        return self.clusterings[-1] if self.clusterings else None

    def find(self, requested_time: str) -> Clustering | None:
        return next((c for c in self.clusterings if c.instant.requested_time == requested_time), None)

    def successor_of(self, requested_time: str) -> "Clustering | None":
        """The newest plan in the chain of plans that replaced the given plan; None if no plan replaced it."""
        found = None
        while True:
            later = [c for c in self.clusterings if c.extra_metadata.get(PREDECESSOR_KEY) == requested_time]
            if not later:
                return found
            found = later[-1]
            requested_time = found.instant.requested_time

    def of_request(self, request_id: str) -> tuple[Clustering, ...]:
        return tuple(each for each in self.clusterings if each.request_id == request_id)

    def settled(self, snapshot: TableSnapshot) -> dict[FileGroupId, SettledSlice]:
        """Map each file group to the settings of the clustering that wrote its latest slice.

        A file group is left out if another action wrote its latest slice. It is also left out if the slice has log
        files, because its rows have changed since the clustering.
        """
        by_time = {
            each.instant.requested_time: _settings(each.plan)
            for each in self.clusterings
            if each.instant.is_completed
        }
        return {
            file_slice.file_group_id: by_time[file_slice.base_instant_time]
            for file_slice in snapshot.all_slices
            if file_slice.base_instant_time in by_time and not file_slice.log_files
        }


def _clustering(store: TimelineStore, instant: Instant) -> Clustering | None:
    requested = _requested(store, instant)
    if requested is None or requested.clustering_plan is None:
        return None
    return Clustering(instant, requested.clustering_plan, requested.extra_metadata)


def _requested(store: TimelineStore, instant: Instant) -> RequestedReplace | None:
    try:
        content = store.read_requested(instant)
        with naming(store.requested_path_of(instant)):
            return decode_requested_replace(content) if content else None
    except ObjectNotFoundError:
        return None  # the instant was just archived or rolled back
    except MalformedMetadataError:
        if instant.is_completed:
            return None
        raise


def _settings(plan: ClusteringPlan) -> SettledSlice:
    """Settings of the files that a plan wrote. Hudi's plans lack the target size, because the executor chooses it."""
    settings = read_plan_settings(plan, DEFAULT_CLUSTERING)
    says_target = TARGET_FILE_MAX_BYTES.key in plan.strategy.parameters
    return settings if says_target else replace(settings, target_file_max_bytes=None)
