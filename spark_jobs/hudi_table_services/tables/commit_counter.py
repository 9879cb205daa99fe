"""Count the commits since the newest completed or pending clustering, without Spark.

Clustering jobs compare this number with the limits of their request (`CommitGate`). Airflow's sensors and triggers
also use this number.
"""

from collections.abc import Callable, Collection, Iterable, MutableMapping, Sequence
from dataclasses import dataclass, field, replace

from hudi_table_services.errors import ObjectNotFoundError
from hudi_table_services.model.archival import ArchivedOperation
from hudi_table_services.model.clustering import CommitCount
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import WriteOperation
from hudi_table_services.planning.commit_count import COUNTED_OPERATIONS, count_commits, counts
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.parallel import map_in_parallel
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from hudi_table_services.tables.clustering_history import ClusteringHistory


@dataclass(frozen=True, slots=True)
class CommitCounter:
    """Counts the completed writes of all writers since the newest completed or pending clustering.

    Attributes:
        archive: the archived writes, which are read only if the active timeline has no clustering, and only up to the
            newest clustering. None counts only writes of the active timeline, as Hudi does.
        remembered: operations of the timeline's writes by requested time, as earlier counts have read them. A count
            adds the operations that it reads, and removes those that it does not need.
    """

    store: TimelineStore
    timeline: Timeline
    archive: ArchivedTimeline | None = None
    remembered: MutableMapping[str, WriteOperation] = field(default_factory=dict)

    @classmethod
    def load(
        cls,
        storage: Storage,
        config: TableConfig,
        remembered: MutableMapping[str, WriteOperation] | None = None,
    ) -> "CommitCounter":
        """Load the timeline. Raises the errors of `TimelineStore.load`."""
        store = TimelineStore(storage, config, SystemClock())
        timeline = store.load()
        archive = ArchivedTimeline(storage, config) if timeline.may_have_archive else None
        return cls(store, timeline, archive, {} if remembered is None else remembered)

    def count(
        self,
        operations: Sequence[WriteOperation] = (),
        *,
        history: ClusteringHistory | None = None,
        enough: int | None = None,
        row_writes: Collection[str] = (),
    ) -> CommitCount:
        """Count the writes.

        Args:
            operations: write operations to count; if empty, all operations that change rows (`COUNTED_OPERATIONS`).
            history: clusterings of the timeline, if they are already loaded.
            enough: number of commits after which no further archived write is read, because the caller only compares
                the count with this number. None counts all of them: a table that was never clustered may have an
                archive of many thousands of writes.
            row_writes: requested times of commits that are known to have changed rows. Their metadata is read only if
                `operations` are given.
        """
        clusterings = (history or ClusteringHistory.load(self.store, self.timeline)).requested_times
        newest = max(clusterings, default="")
        later = [i for i in self.timeline.completed_writes if i.requested_time > newest]
        wanted: Collection[WriteOperation] = operations or COUNTED_OPERATIONS
        # If `operations` is empty, `count_commits` also counts commits whose operations it does not know. So the
        # metadata of the commits in `row_writes` need not be read.
        skipped = frozenset() if operations else frozenset(row_writes)
        found = self._operations([i for i in later if not _is_known(i, skipped)])
        count = count_commits(self.timeline, clusterings, found, wanted)
        if clusterings or self.archive is None or not self.archive.has_begun:
            return count
        if enough is not None and count.count >= enough:
            return replace(count, is_complete=False)
        # An archival deletes instants of the active timeline after it archived them, so a write may be in both.
        active = {instant.requested_time for instant in later}
        before, is_complete = _since_newest_clustering(
            self.archive.newest_readable_operations(),
            None if enough is None else enough - count.count,
            lambda write: write.instant.requested_time not in active and counts(write, wanted),
        )
        if before:
            known = {write.instant.requested_time: write.operation for write in before}
            count = count_commits(
                Timeline.of((*(write.instant for write in before), *self.timeline)),
                {time for time, operation in known.items() if operation is WriteOperation.CLUSTER},
                {**found, **known},
                wanted,
            )
        return replace(count, is_complete=is_complete)

    def count_all(self, history: ClusteringHistory) -> CommitCount:
        """Count every completed write of the active timeline, including compactions, as Hudi does."""
        return count_commits(self.timeline, history.requested_times, {}, parity=True)

    def _operations(self, instants: Sequence[Instant]) -> dict[str, WriteOperation]:
        """Map the requested time of each write to its operation. Leave out writes that were just archived."""
        known = dict(self.remembered)
        unread = [i for i in instants if i.requested_time not in known]
        read = zip(unread, map_in_parallel(lambda i: _operation(self.store, i), unread), strict=True)
        known.update({i.requested_time: operation for i, operation in read if operation is not None})
        found = {i.requested_time: known[i.requested_time] for i in instants if i.requested_time in known}
        self.remembered.clear()
        self.remembered.update(found)
        return found


def _since_newest_clustering(
    archived: Iterable[ArchivedOperation],
    missing: int | None,
    is_counted: Callable[[ArchivedOperation], bool],
) -> tuple[tuple[ArchivedOperation, ...], bool]:
    """Return the first archived writes, and whether these are all writes since the newest clustering.

    The writes end with the first clustering, or with the write that completes the missing number of commits.
    """
    found: list[ArchivedOperation] = []
    for write in archived:
        found.append(write)
        if write.operation is WriteOperation.CLUSTER:
            break
        if missing is not None and is_counted(write):
            missing -= 1
            if not missing:
                return tuple(found), False
    return tuple(found), True


def _is_known(instant: Instant, row_writes: Collection[str]) -> bool:
    return instant.action is Action.COMMIT and instant.requested_time in row_writes


def _operation(store: TimelineStore, instant: Instant) -> WriteOperation | None:
    try:
        return store.commit_metadata(instant).operation_type
    except ObjectNotFoundError:
        return None
