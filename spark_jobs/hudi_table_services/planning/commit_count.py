"""Decide by a number of commits whether a clustering is due (BaseHoodieTableServiceClient; Hudi 1.2).

The count begins after the newest clustering. As in Hudi, this clustering can have any state, and any writer can have
scheduled it. Unlike in Hudi, compactions do not count, because they write no new rows.
"""

from collections.abc import Collection, Mapping

from hudi_table_services.contract.text import counted
from hudi_table_services.model.archival import ArchivedOperation
from hudi_table_services.model.clustering import CommitCount, CommitGate
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import WriteOperation

COUNTED_OPERATIONS = frozenset(
    {
        WriteOperation.INSERT,
        WriteOperation.INSERT_PREPPED,
        WriteOperation.UPSERT,
        WriteOperation.UPSERT_PREPPED,
        WriteOperation.BULK_INSERT,
        WriteOperation.BULK_INSERT_PREPPED,
        WriteOperation.DELETE,
        WriteOperation.DELETE_PREPPED,
        WriteOperation.BOOTSTRAP,
        WriteOperation.INSERT_OVERWRITE,
        WriteOperation.INSERT_OVERWRITE_TABLE,
        WriteOperation.DELETE_PARTITION,
    }
)
"""Operations that change the rows of a table."""


def count_commits(
    timeline: Timeline,
    clusterings: Collection[str],
    operations: Mapping[str, WriteOperation],
    wanted_operations: Collection[WriteOperation] = COUNTED_OPERATIONS,
    *,
    parity: bool = False,
) -> CommitCount:
    """Count the completed writes that were requested after the newest clustering.

    Args:
        clusterings: requested times of the timeline's clusterings in any state. The caller reads them from commit
            metadata and plans, because the names of the instants do not distinguish clusterings from overwrites.
        operations: maps the requested time of each completed write to its write operation. A commit or deltacommit that
            this mapping lacks, or whose operation is unknown, counts if all `COUNTED_OPERATIONS` are wanted.
        wanted_operations: the operations among `COUNTED_OPERATIONS` that count; other operations never count.
        parity: whether every completed write counts, including compactions, as in Hudi.
    """
    since = max((i for i in timeline if _is_clustering(i, clusterings)), default=None)
    later = [i for i in timeline.completed_writes if since is None or i.requested_time > since.requested_time]
    wanted = COUNTED_OPERATIONS.intersection(wanted_operations)
    narrowed = wanted != COUNTED_OPERATIONS
    counted = [i for i in later if parity or _counts(i, operations, wanted, narrowed)]
    return CommitCount(
        count=len(counted),
        since=since,
        instants=tuple(i.requested_time for i in counted),
        not_counted=len(later) - len(counted),
    )


def counts(
    write: ArchivedOperation, wanted_operations: Collection[WriteOperation] = COUNTED_OPERATIONS
) -> bool:
    """Return whether `count_commits` counts this archived write."""
    wanted = COUNTED_OPERATIONS.intersection(wanted_operations)
    known = {write.instant.requested_time: write.operation}
    return _counts(write.instant, known, wanted, wanted != COUNTED_OPERATIONS)


def commits_in_words(count: CommitCount) -> str:
    """Describe the number of commits, and the clustering after which they are counted."""
    commits = counted(count.count, "commit")
    if count.since is not None:
        return f"{commits} since clustering {count.since.requested_time} ({count.since.state.value})"
    return (
        f"{commits} and no clustering yet"
        if count.is_complete
        else f"at least {commits} without a clustering"
    )


def gate_reason(count: CommitCount, gate: CommitGate) -> str | None:
    """Return the reason why it is too early for a clustering, or None if a clustering is due."""
    if gate.wanted <= 0 or count.count >= gate.wanted:
        return None
    key = f" ({gate.key}={gate.wanted})" if gate.key else ""
    since = "and no clustering yet"
    if count.since is not None:
        since = f"since clustering {count.since.requested_time} ({count.since.state.value})"
    return f"a clustering is due after {counted(gate.wanted, 'commit')}{key}; the table has {count.count} {since}"


def _is_clustering(instant: Instant, clusterings: Collection[str]) -> bool:
    return instant.action.comparable is Action.REPLACE_COMMIT and instant.requested_time in clusterings


def _counts(
    instant: Instant,
    operations: Mapping[str, WriteOperation],
    wanted: Collection[WriteOperation],
    narrowed: bool,
) -> bool:
    operation = operations.get(instant.requested_time, WriteOperation.UNKNOWN)
    if operation is WriteOperation.UNKNOWN:
        return not narrowed and instant.action is not Action.REPLACE_COMMIT
    return operation in wanted
