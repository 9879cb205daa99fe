"""Count the commits since the newest completed or pending clustering, without Spark.

Clustering jobs compare this number with the limits of their request (`CommitGate`). Airflow's sensors and triggers
also use this number.
"""

from collections.abc import Callable, Collection, Iterable, Sequence

from hudi_table_services.errors import ObjectNotFoundError
from hudi_table_services.model.archival import ArchivedOperation
from hudi_table_services.model.clustering import CommitCount
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import WriteOperation
from hudi_table_services.planning.commit_count import COUNTED_OPERATIONS, count_commits
from hudi_table_services.storage.parallel import map_in_parallel
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.clustering_history import ClusteringHistory


def count_commits_of(
    store: TimelineStore,
    timeline: Timeline,
    operations: Sequence[WriteOperation] | None = (),
    *,
    history: ClusteringHistory | None = None,
    archived: Callable[[], Iterable[ArchivedOperation]] = tuple,
    row_writes: Collection[str] = (),
) -> CommitCount:
    """Count the completed writes of all writers since the newest completed or pending clustering.

    Args:
        operations: write operations to count; if empty, all operations that change rows (`COUNTED_OPERATIONS`). None
            counts every completed write, as Hudi does.
        history: clusterings of the timeline, if they are already loaded.
        archived: returns the operations of the archived writes, newest requested time first. The function is called
            only if the active timeline has no clustering, and its result is read only up to the newest clustering.
        row_writes: requested times of commits that are known to have changed rows. Their metadata is read only if
            `operations` are given.
    """
    parity = operations is None
    clusterings = (history or ClusteringHistory.load(store, timeline)).requested_times
    before = _since_newest_clustering(archived()) if not clusterings and not parity else ()
    if before:
        timeline = Timeline.of((*(write.instant for write in before), *timeline))
        clusterings = frozenset(
            write.instant.requested_time for write in before if write.operation is WriteOperation.CLUSTER
        )
    newest = max(clusterings, default="")
    later = [i for i in timeline.completed_writes if i.requested_time > newest]
    wanted: Collection[WriteOperation] = operations or COUNTED_OPERATIONS
    known = {write.instant.identity: write.operation for write in before}
    # If `operations` is empty, `count_commits` also counts commits whose operations it does not know. So the metadata
    # of the commits in `row_writes` need not be read.
    skipped = frozenset() if operations else frozenset(row_writes)
    read = [i for i in later if i.identity not in known and not _is_known(i, skipped)]
    found = {} if parity else _operations(store, read)
    found.update({time: operation for (time, _), operation in known.items()})
    return count_commits(timeline, clusterings, found, wanted, parity=parity)


def _since_newest_clustering(archived: Iterable[ArchivedOperation]) -> tuple[ArchivedOperation, ...]:
    """Return the first writes, up to and including the first clustering; all writes if none is a clustering."""
    found = []
    for write in archived:
        found.append(write)
        if write.operation is WriteOperation.CLUSTER:
            break
    return tuple(found)


def _is_known(instant: Instant, row_writes: Collection[str]) -> bool:
    return instant.action is Action.COMMIT and instant.requested_time in row_writes


def _operations(store: TimelineStore, instants: Sequence[Instant]) -> dict[str, WriteOperation]:
    """Map the requested time of each write to its operation. Leave out writes that were just archived."""
    found = zip(instants, map_in_parallel(lambda i: _operation(store, i), instants), strict=True)
    return {instant.requested_time: operation for instant, operation in found if operation is not None}


def _operation(store: TimelineStore, instant: Instant) -> WriteOperation | None:
    try:
        return store.commit_metadata(instant).operation_type
    except ObjectNotFoundError:
        return None
