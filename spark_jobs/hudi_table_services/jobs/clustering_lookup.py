"""Find the clustering that a request names, or say what is there instead."""

from hudi_table_services.errors import InvalidRequestError, ObjectNotFoundError
from hudi_table_services.hudi_format.table_service_plans import decode_rollback_metadata
from hudi_table_services.jobs.clustering_history import GAVE_WAY_KEY, Clustering, ClusteringHistory
from hudi_table_services.jobs.table_access import TableAccess
from hudi_table_services.model.instant import Action
from hudi_table_services.model.timeline import Timeline


def find_clustering(table: TableAccess, requested_time: str) -> Clustering:
    """The clustering of that requested time, in any state, or the one that took its place.

    Raises:
        InvalidRequestError: it was rolled back, is no clustering, or is not on the active timeline.
    """
    timeline = table.load_timeline()
    history = ClusteringHistory.load(table.timeline_store, timeline)
    found = history.find(requested_time) or history.successor_of(requested_time)
    if found is not None:
        return found
    others = timeline.find(requested_time)
    if others:
        raise InvalidRequestError(
            f"Instant {requested_time} is a {others[0].action.value}, not a clustering."
        )
    if (write := gave_way_to(table, requested_time)) is not None:
        raise InvalidRequestError(
            f"Clustering {requested_time} gave way to the write {write}, which changed all of its groups.",
            hint="Schedule a new one.",
        )
    undone_by = _undone_by(table, timeline, requested_time)
    if undone_by is not None:
        raise InvalidRequestError(
            f"Clustering {requested_time} was cancelled: rollback {undone_by} took it off the timeline.",
            hint="Schedule a new one.",
        )
    raise InvalidRequestError(
        f"There is no instant {requested_time} on the active timeline.",
        hint="Check the base path; a clustering that was completed long ago may be archived.",
    )


def was_cancelled(table: TableAccess, requested_time: str) -> bool:
    """Whether a rollback took the plan off the timeline."""
    timeline = table.load_timeline()
    return not timeline.find(requested_time) and _undone_by(table, timeline, requested_time) is not None


def gave_way_to(table: TableAccess, requested_time: str) -> str | None:
    """The write that a plan gave all of its groups up to; None: there is none on the active timeline."""
    timeline = table.load_timeline()
    history = ClusteringHistory.load(table.timeline_store, timeline)
    if timeline.find(requested_time) or history.successor_of(requested_time) is not None:
        return None
    for write in timeline.completed_writes:
        if write.requested_time > requested_time:
            try:
                extra = table.timeline_store.commit_metadata(write).extra_metadata
            except ObjectNotFoundError:
                continue
            if requested_time in extra.get(GAVE_WAY_KEY, "").split(","):
                return write.requested_time
    return None


def _undone_by(table: TableAccess, timeline: Timeline, requested_time: str) -> str | None:
    for rollback in timeline.completed:
        if rollback.action is Action.ROLLBACK and rollback.requested_time > requested_time:
            try:
                undone = decode_rollback_metadata(table.timeline_store.read(rollback)).commits_rolled_back
            except ObjectNotFoundError:
                continue
            if requested_time in undone:
                return rollback.requested_time
    return None
