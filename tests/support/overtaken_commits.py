"""A commit of the tested writer. Other writers act after the snapshot of this writer and before its commit."""

from collections.abc import Callable, Sequence

from hudi_table_services.commits.attempt import CommitAttempt
from hudi_table_services.model.concurrent_change import ConcurrentChange
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.options.locks import LockOptions
from hudi_table_services.storage.locks.lock import table_lock
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from hudi_table_services.tables.table import TableAccess
from support.small_tables import SCHEMA, SmallTable, base_file_name


def written(group: FileGroupId, time: str, **counts: int | str) -> WriteStat:
    path = f"{group.partition_path}/{base_file_name(group.file_id, time)}"
    return WriteStat(file_id=group.file_id, partition_path=group.partition_path, path=path, **counts)  # type: ignore[arg-type]


def commit_ours(
    table: SmallTable,
    others_act: Callable[[], object],
    refuse: Callable[[Sequence[ConcurrentChange]], None],
    *,
    snapshot: TableSnapshot | None = None,
    changes: FileGroupId | None = None,
) -> Instant:
    """Write and commit.

    Args:
        others_act: acts as other writers, after the write has begun and before it is committed.
        refuse: compares the keys of the commits that added rows, and raises an error if the write must not commit.
        snapshot: the snapshot with which the write was planned; None means the current one.
        changes: the file group that the write changes, if any.
    """
    access = TableAccess(storage=table.storage, clock=table.clock, config=table.config)
    lock = table_lock(table.storage, LockOptions())
    snapshot = snapshot or load_snapshot(table.storage)
    with CommitAttempt(access, snapshot, Action.COMMIT, lock, "ours") as attempt:
        stats = [written(changes, attempt.instant_time, prev_commit="1")] if changes else []
        metadata = CommitMetadata(
            operation_type=WriteOperation.UPSERT,
            partition_to_write_stats={stat.partition_path: (stat,) for stat in stats},
            extra_metadata={"schema": SCHEMA},
        )
        attempt.start(metadata)
        others_act()
        return attempt.complete(metadata, Comparison(refuse))


class Comparison:
    """A comparison of keys with every commit that adds rows."""

    def __init__(self, refuse: Callable[[Sequence[ConcurrentChange]], None]) -> None:
        self.refuse = refuse

    def concerns(self, change: ConcurrentChange) -> bool:
        return bool(change.added_to)
