"""The common context of the services of a metadata table: its files and timelines, the table lock, timeline changes."""

from dataclasses import dataclass, replace

from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.write_stat import CommitMetadata
from hudi_table_services.storage.locks.lock import TableLock
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable, open_metadata_table
from hudi_table_services.tables.table import TableAccess


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedServices:
    """An open metadata table whose services run under the table lock.

    Attributes:
        table: the table to which the metadata table belongs.
        metadata: the metadata table, with both timelines.
        lock: the table lock; None if the services need not verify it.
    """

    table: TableAccess
    metadata: MetadataTable
    lock: TableLock | None

    @classmethod
    def open(cls, table: TableAccess, lock: TableLock | None) -> "OpenedServices":
        """Raises the errors of `open_metadata_table`."""
        metadata = open_metadata_table(table.storage, table.config, table.clock)
        return cls(table=table, metadata=metadata, lock=lock)

    def reloaded(self) -> "OpenedServices":
        """Load the timeline of the metadata table again. That of the table does not change under the table lock."""
        timeline = self.metadata.timeline_store.load()
        return replace(self, metadata=replace(self.metadata, timeline=timeline))

    @property
    def own_table(self) -> TableAccess:
        """The metadata table as `TableAccess`, for functions that work on any table."""
        return TableAccess(storage=self.metadata.storage, clock=self.table.clock, config=self.metadata.config)

    def verify_lock(self) -> None:
        """Call this right before a step that deletes files or completes an instant.

        Raises:
            LockNotAcquiredError: another writer took the lock over.
        """
        if self.lock is not None:
            self.lock.verify()

    def request(self, action: Action, plan: bytes, instant_time: str) -> Instant:
        """Request a service with its plan.

        Raises:
            LockNotAcquiredError: see `verify_lock`; nothing was requested.
            InstantExistsError: another writer requested the same service.
        """
        self.verify_lock()
        return self.metadata.timeline_store.request(action, plan, instant_time)

    def complete(self, pending: Instant, content: bytes) -> Instant:
        """Complete a service.

        Raises:
            LockNotAcquiredError: see `verify_lock`; the service stays pending.
            InstantVanishedError, InstantExistsError, CommitStateUnknownError: see `TimelineStore.complete`.
        """
        self.verify_lock()
        return self.metadata.timeline_store.complete(pending, content)

    def encoded(self, metadata: CommitMetadata) -> bytes:
        return encode_commit_metadata(metadata, self.metadata.config.table_version)

    def fresh_instant(self) -> str:
        """An instant time that is later than every time on both timelines."""
        stores = (self.table.timeline_store, self.metadata.timeline_store)
        return max(store.new_instant_time() for store in stores)
