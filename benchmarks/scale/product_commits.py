"""Commits that the product makes on a generated table: from the request of the instant to its completion."""

from dataclasses import dataclass, field

from hudi_table_services.commits.attempt import CommitAttempt
from hudi_table_services.commits.measured_lock import MeasuredLock
from hudi_table_services.commits.stopwatch import Stopwatch
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.write_stat import (
    REQUEST_ID_KEY,
    SCHEMA_KEY,
    CommitMetadata,
    WriteOperation,
)
from hudi_table_services.options.locks import LockOptions
from hudi_table_services.storage.locks.lock import TableLock, table_lock
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from hudi_table_services.tables.table import TableAccess
from scale.base_files import SCHEMA_JSON
from scale.instants import commit_metadata
from scale.shapes import TableShape


def lock_of_table(table: TableAccess, request_id: str) -> TableLock:
    return table_lock(table.storage, LockOptions(), table.clock, request_id)


@dataclass
class ProductCommit:
    """One commit. Its plan is based on the state of the table when this object is created.

    Attributes:
        inner_lock: the table lock; None means `lock_of_table`. A caller may pass a lock that measures.
    """

    table: TableAccess
    shape: TableShape
    request_id: str
    inner_lock: TableLock | None = None
    lock: MeasuredLock = field(init=False)
    snapshot: TableSnapshot = field(init=False)

    def __post_init__(self) -> None:
        self.lock = MeasuredLock(self.inner_lock or lock_of_table(self.table, self.request_id), Stopwatch())
        self.snapshot = load_snapshot(self.table.storage, ())

    def attempt(self) -> CommitAttempt:
        action = Action.DELTA_COMMIT if self.shape.kind.has_logs else Action.COMMIT
        return CommitAttempt(self.table, self.snapshot, action, self.lock, self.request_id)

    def start(self, attempt: CommitAttempt) -> None:
        extra = {SCHEMA_KEY: SCHEMA_JSON, REQUEST_ID_KEY: self.request_id}
        attempt.start(
            CommitMetadata(
                operation_type=WriteOperation.UPSERT, partition_to_write_stats={}, extra_metadata=extra
            )
        )

    def metadata(self, commit: int, own_time: str) -> CommitMetadata:
        """Metadata of a commit that writes the file groups of commit number `commit`.

        The time of the earlier version of the file groups is the time of the oldest write on the timeline. Checks for
        conflicts do not read it.
        """
        earlier = self.snapshot.timeline.completed_writes[0].requested_time
        logs = self.shape.kind.has_logs
        return commit_metadata(self.shape, commit, own_time, earlier, logs=logs, request_id=self.request_id)
