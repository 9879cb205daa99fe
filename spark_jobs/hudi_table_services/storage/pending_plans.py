"""Read the pending plans of table services. Each plan reserves its file groups while it is pending."""

from contextlib import suppress

from hudi_table_services.errors import MalformedMetadataError, ObjectNotFoundError
from hudi_table_services.hudi_format.table_service_plans import (
    decode_compaction_plan,
    decode_requested_replace,
)
from hudi_table_services.hudi_format.workload_profile import replaced_by_profile
from hudi_table_services.model.concurrent_change import ChangeKind, ConcurrentChange
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.table_service_plans import ClusteringPlan, CompactionOperation
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import CommitMetadata
from hudi_table_services.storage.damage import naming
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.storage.timeline_store import TimelineStore


def clustering_plan_of(store: TimelineStore, instant: Instant) -> ClusteringPlan | None:
    """Plan of a pending clustering; None if the instant is not a pending clustering, for example an overwrite.

    In timeline layout 1 only the plan distinguishes a pending clustering from a pending overwrite.

    Raises:
        MalformedMetadataError: the requested file cannot be read.
    """
    if instant.is_completed or instant.action.comparable is not Action.REPLACE_COMMIT:
        return None
    content = store.read_requested(instant)
    with naming(store.requested_path_of(instant)):
        return decode_requested_replace(content).clustering_plan if content else None


def is_pending_row_write(store: TimelineStore, instant: Instant) -> bool:
    """Whether an instant is a pending write of rows. False for pending plans of table services."""
    if (
        instant.is_completed
        or not instant.action.writes_data
        or instant.action is not instant.action.comparable
    ):
        return False
    return clustering_plan_of(store, instant) is None


def planned_file_groups(store: TimelineStore, instant: Instant) -> frozenset[FileGroupId]:
    """Return the file groups that a pending clustering or (log) compaction will rewrite; empty for other instants."""
    if instant.action in (Action.COMPACTION, Action.LOG_COMPACTION):
        operations = _compactions(store, instant)
        return frozenset(FileGroupId(o.partition_path, o.file_id) for o in operations)
    plan = clustering_plan_of(store, instant)
    groups = plan.groups if plan is not None else ()
    return frozenset(FileGroupId(s.partition_path, s.file_id) for group in groups for s in group.slices)


def _compactions(store: TimelineStore, instant: Instant) -> tuple[CompactionOperation, ...]:
    content = store.read_requested(instant)
    with naming(store.requested_path_of(instant)):
        return decode_compaction_plan(content).operations if content else ()


def planned_file_names(store: TimelineStore, instant: Instant) -> frozenset[str]:
    """Names of the files of `planned_file_paths`."""
    return frozenset(path.rpartition("/")[2] for path in planned_file_paths(store, instant))


def planned_file_paths(store: TimelineStore, instant: Instant) -> frozenset[str]:
    """Return the paths of data files that a pending clustering or compaction will read; empty for other instants."""
    if instant.action in (Action.COMPACTION, Action.LOG_COMPACTION):
        operations = _compactions(store, instant)
        files = [(o.partition_path, p) for o in operations for p in (o.data_file_path, *o.delta_file_paths)]
    else:
        plan = clustering_plan_of(store, instant)
        slices = [s for group in (plan.groups if plan is not None else ()) for s in group.slices]
        files = [(s.partition_path, p) for s in slices for p in (s.data_file_path, *s.delta_file_paths)]
    return frozenset(join_path(folder, path.rpartition("/")[2]) for folder, path in files if path)


def groups_being_written(store: TimelineStore, timeline: Timeline) -> dict[FileGroupId, str]:
    """Map each file group that an inflight write rewrites or replaces to a phrase that names this write.

    The inflight file of each write names the file groups. Writes that only add file groups are not included.
    """
    return {
        group: f"of the write {write.instant.requested_time}"
        for write in running_writes(store, timeline)
        for group in write.file_groups
    }


def running_writes(store: TimelineStore, timeline: Timeline) -> tuple[ConcurrentChange, ...]:
    """Return the inflight writes of rows, each with the file groups that it rewrites or replaces."""
    return tuple(
        ConcurrentChange(
            instant=instant,
            kind=ChangeKind.BEING_WRITTEN,
            file_groups=_named_by_profile(store, instant),
        )
        for instant in timeline.pending
        if instant.state is InstantState.INFLIGHT and is_pending_row_write(store, instant)
    )


def workload_profiles(store: TimelineStore, timeline: Timeline) -> dict[str, CommitMetadata]:
    """Map the requested time of each inflight delta commit to its workload profile.

    A delta commit is left out if it has just ended, or if its profile cannot be read: its file groups are unknown.
    """
    profiles = {}
    for instant in timeline.pending:
        if instant.action is Action.DELTA_COMMIT and instant.state is InstantState.INFLIGHT:
            with suppress(ObjectNotFoundError, MalformedMetadataError):
                profiles[instant.requested_time] = store.commit_metadata(instant)
    return profiles


def _named_by_profile(store: TimelineStore, instant: Instant) -> frozenset[FileGroupId]:
    """Return the file groups that the inflight file of a write names as rewritten or replaced.

    The result is empty if the file cannot be read, or if the write has just ended.
    """
    try:
        profile = store.commit_metadata(instant)
        replaced = replaced_by_profile(profile)
    except (ObjectNotFoundError, MalformedMetadataError):
        return frozenset()
    rewritten = {
        FileGroupId(stat.partition_path, stat.file_id) for stat in profile.write_stats if stat.file_id
    }
    return frozenset(rewritten | {FileGroupId(path, i) for path, ids in replaced.items() for i in ids})
